"""From a log to a fitted robot: each stage a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.identification.afterwards import afterwards
from dalembert.identification.base import Base, base_of
from dalembert.identification.columns import columns_of
from dalembert.identification.evidence import evidence
from dalembert.identification.findings import judged, require_known
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
from dalembert.identification.rebuilt import with_values
from dalembert.identification.record import Record
from dalembert.identification.refining import beginning, refined
from dalembert.identification.shapes import Shape
from dalembert.identification.simulation_error import simulated
from dalembert.identification.solving import METHODS, Solved
from dalembert.identification.stored import Inputs
from dalembert.identification.tuning import choose_cutoff, with_noise_widths
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
    with `links` only these links' inertias are unknown. The equations are those of
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
    _require_method(method)
    require_known(doubts)
    require_share(held_out)
    settings = {
        "held_out": held_out if isinstance(held_out, float | int | None) else "a log",
        "friction": (friction,) if isinstance(friction, str) else tuple(friction),
        "rotor": rotor,
        "links": (links,) if isinstance(links, str) else links and tuple(links),
        "method": method,
        "robust": robust,
        "cutoff": cutoff,
        "delay": delay,
        "consistent": consistent,
        "total_mass": total_mass,
        "shapes": None if shapes is None else dict(shapes),
        "distance": distance,
        "doubts": doubts,
    }
    given = {k: v for k, v in settings.items() if k != "held_out"}
    logs = logs_of(system, log)
    inputs = Inputs(logs, held_out if is_share(held_out) else logs_of(system, held_out), given)
    columns = columns_of(system, friction, rotor, links)
    base = base_of(columns)
    if cutoff is None:
        some = part_of(logs, held_out)
        cutoff = choose_cutoff(columns, base, lambda c: records_of(system, some, c, delay))
    records = records_of(system, logs, cutoff, delay)
    fitted, held = split(system, records, held_out, cutoff, delay)
    fitted, held = without_dither(system, fitted, held)
    columns = with_noise_widths(columns, fitted)
    warned = judged(evidence(system, logs, beginning(fitted), columns, delay), doubts)
    linear = method if method in METHODS else "inverse_dynamics"
    found, said = refined(columns, base, fitted, linear, robust)
    if method == "simulation":
        found, more = simulated(found, base, consistent)
        said = [*said, *more]
    warned += judged(afterwards(found.columns, fitted, held, found.x), doubts)
    told = Told(inputs, settings | {"cutoff used": cutoff}, said, warned)
    return _fit(system, base, found, held, told)


class Told(NamedTuple):
    """What was given and asked for, what was done, and what was found against it."""

    inputs: Inputs
    settings: dict[str, Any]
    said: list[str]
    warned: tuple[str, ...]


def _fit(system: System, base: Base, found: Solved, held: tuple[Record, ...], told: Told) -> Fit:
    """The result, with the bodies of the robot made real where that is asked for."""
    columns, settings, said = found.columns, told.settings, told.said
    values, real = {"prior": columns.values, "unconstrained": found.x}, None
    if settings["consistent"]:
        kept = (settings[name] for name in ("shapes", "total_mass", "distance"))
        real = real_bodies(columns, base, found.estimate, *kept)
        values["consistent"], said = real.x, [*said, *real.said]
    x = list(values.values())[-1]
    done = tuple(dict.fromkeys([line for record in found.records for line in record.said] + said))
    lines = sentences(columns, told.inputs.logs, settings, found.estimate.noise, done)
    robot = with_provenance(with_values(columns, x), columns, x, lines)
    return Fit(
        robot,
        system,
        columns,
        base,
        found.estimate,
        values,
        found.records,
        held,
        settings,
        done,
        told.warned + (() if real is None else real.doubts(found.estimate.count)),
        real,
        told.inputs,
    )


def _require_method(method: str) -> None:
    methods = (*METHODS, "simulation")
    if method not in methods:
        raise UnknownNameError(
            f"method={method!r}{suggest(str(method), list(methods))} must be one of "
            f"{', '.join(map(repr, methods))}"
        )
