"""From a log to a fitted robot: each stage a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dalembert.identification.afterwards import afterwards
from dalembert.identification.base import Base, base_of
from dalembert.identification.columns import Columns, columns_of
from dalembert.identification.consistent import Consistent
from dalembert.identification.evidence import evidence
from dalembert.identification.findings import Finding, judged
from dalembert.identification.fit import Fit
from dalembert.identification.logs import (
    is_share,
    logs_of,
    part_of,
    records_of,
    require_share,
    split,
    without_dither,
)
from dalembert.identification.provenance import sentences, with_provenance
from dalembert.identification.real_bodies import real_bodies
from dalembert.identification.rebuilt import at_rest_sentence, with_values
from dalembert.identification.record import Record
from dalembert.identification.refining import beginning, refined
from dalembert.identification.settings import Settings, tuple_of
from dalembert.identification.shapes import Shape
from dalembert.identification.simulation_error import simulated
from dalembert.identification.solving import Solved
from dalembert.identification.stored import Inputs
from dalembert.identification.tuning import CHOSEN, choose_cutoff, with_noise_widths
from dalembert.linalg.threads import single_threaded
from dalembert.systems.system import System


@single_threaded
def identify(
    system: System,
    log: Any,
    *,
    held_out: Any = 0.25,
    friction: Sequence[str] = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    method: str = "inverse_dynamics",
    robust: bool = True,
    cutoff: float | None = None,
    delay: float = 0.0,
    consistent: bool = True,
    total_mass: float | None = None,
    shapes: Mapping[str, Shape] | None = None,
    distance: str = "entropic",
    doubts: str = "refuse",
) -> Fit:
    """The system's inertias, friction and rotors from a log of its motion and torques.

    `log` is an `xarray.Dataset` as `read_log` and `simulate` make it, a path, or a list of them. The
    last `held_out` of its time, or another log, is kept for judging the fit.

    `friction` names the kinds that are asked for, of viscous, coulomb, offset, stribeck and load;
    with `links` only these links' inertias are unknown, and friction and rotors stay the system's: fit
    the empty arm before its payload. The equations are those of
    ``"inverse_dynamics"``, or with ``method="power"`` the balance of energy, which needs no
    accelerations; ``"simulation"`` then goes on until short simulated motions meet the measured
    positions, which is better where these are coarse or noisy. `robust` takes single torques far off
    their neighbours as not measured.

    `cutoff`, Hz, is the filter's for positions; where it is None it is chosen by their spectrum, and
    lowered as long as that predicts the torques better. `delay`, s, is by how much torques in the log
    come after their motion.

    ``fit.robot`` has inertias that real bodies can have, near the system's own in the `distance`
    ("entropic" or "geodesic") where the log shows nothing; `total_mass`, kg, and `shapes`, in which a
    link's mass lies (`WithinBox`, `WithinEllipsoid` by name of the link), are kept. With
    ``consistent=False`` it has those of least squares.

    A log that cannot be of this robot as it says (units, signs, exchanged columns, gravity, delay) is
    refused with the evidence; ``doubts="warn"`` fits it all the same and says so in `Fit.warnings`.
    """
    chosen = None if links is None else tuple_of(links)
    solving = (tuple_of(friction), rotor, chosen, method, robust, cutoff, delay)
    settings = Settings(*solving, consistent, total_mass, shapes, distance, doubts)
    require_share(held_out)
    kept = held_out if is_share(held_out) else logs_of(system, held_out)
    inputs = Inputs(logs_of(system, log), kept, settings.by_name())
    columns = columns_of(system, settings.friction, rotor, settings.links)
    base = base_of(columns)
    data = _data(columns, base, inputs, settings)
    columns = with_noise_widths(columns, data.fitted)
    against = evidence(system, inputs.logs, beginning(data.fitted), columns, delay)
    warned = judged(against, doubts)
    found, said = _solved(columns, base, data.fitted, settings)
    if cutoff is None and data.cutoff is not None:
        said = [CHOSEN, *said]
    warned += judged(afterwards(found.columns, data.fitted, data.held, found.x), doubts)
    real = None
    if consistent:
        real = real_bodies(found.columns, base, found.estimate, shapes, total_mass, distance)
        warned += judged(map(Finding, real.doubts(found.estimate.count)))
    return _fit(inputs, base, data, found, real, said, warned)


class Data(NamedTuple):
    """Records of a log, with the cut-off, Hz, of their filter; None where nothing is filtered."""

    fitted: tuple[Record, ...]
    held: tuple[Record, ...]
    cutoff: float | None


def _data(columns: Columns, base: Base, inputs: Inputs, settings: Settings) -> Data:
    """The logs filtered, differentiated and divided into what is fitted and what is held out."""
    system, cutoff, delay = columns.system, settings.cutoff, settings.delay
    if cutoff is None:
        some = part_of(inputs.logs, inputs.held_out)
        cutoff = choose_cutoff(columns, base, lambda c: records_of(system, some, c, delay))
    records = records_of(system, inputs.logs, cutoff, delay)
    parts = split(system, records, inputs.held_out, cutoff, delay)
    fitted, held = without_dither(system, *parts)
    return Data(fitted, held, cutoff)


def _solved(
    columns: Columns, base: Base, records: tuple[Record, ...], settings: Settings
) -> tuple[Solved, list[str]]:
    """(the unconstrained fit, what was done for it)."""
    found, said = refined(columns, base, records, settings.linear, settings.robust)
    if settings.method != "simulation":
        return found, said
    found, more = simulated(found, base, settings.consistent)
    return found, [*said, *more]


def _fit(
    inputs: Inputs,
    base: Base,
    data: Data,
    found: Solved,
    real: Consistent | None,
    said: list[str],
    warned: tuple[str, ...],
) -> Fit:
    """The result: the robot with the numbers found, and where they come from."""
    columns, values = found.columns, {"prior": found.columns.values, "unconstrained": found.x}
    if real is not None:
        values["consistent"], said = real.x, [*said, *real.said]
    x = list(values.values())[-1]
    said = [*said, *at_rest_sentence(columns, x)]
    share = inputs.held_out if is_share(inputs.held_out) else "a log"
    settings = {"held_out": share, **inputs.given, "cutoff used": data.cutoff}
    done = tuple(dict.fromkeys([line for record in found.records for line in record.said] + said))
    lines = sentences(columns, inputs.logs, settings, found.estimate.noise, done)
    return Fit(
        with_provenance(with_values(columns, x), columns, x, lines),
        columns.system,
        columns,
        base,
        found.estimate,
        values,
        found.records,
        data.held,
        settings,
        done,
        warned,
        real,
        inputs,
    )
