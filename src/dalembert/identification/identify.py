"""From a log to a fitted robot: each stage a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.identification.base import base_of
from dalembert.identification.columns import Friction, columns_of
from dalembert.identification.evidence import afterwards, evidence
from dalembert.identification.findings import DOUBTS, Finding, judged
from dalembert.identification.fit import Fit
from dalembert.identification.logs import (
    driven_in,
    is_share,
    logs_of,
    moving_in,
    part_of,
    records_of,
    require_share,
    split,
    starts_of,
    without_dither,
)
from dalembert.identification.random_motion import driven_velocities
from dalembert.identification.real_bodies import real_bodies
from dalembert.identification.rebuilt import (
    at_rest_sentence,
    sentences,
    with_provenance,
    with_values,
)
from dalembert.identification.shapes import Shape
from dalembert.identification.simulation_error import simulated
from dalembert.identification.solving import (
    CHOSEN,
    METHODS,
    beginning,
    choose_cutoff,
    leftovers,
    refined,
    with_noise_widths,
)
from dalembert.identification.stored import Inputs, damaged, load
from dalembert.linalg.threads import single_threaded
from dalembert.systems.system import System


@single_threaded
def identify(
    system: System,
    log: Any,
    *,
    held_out: Any = 0.25,
    friction: Friction = ("viscous", "coulomb", "offset"),
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

    `friction` names the kinds that are unknown, of viscous, coulomb, offset, stribeck and load, of
    the joints that move and are driven; a mapping, as ``{"elbow": ("viscous", "coulomb")}``, names
    the joints too, passive ones as well. Rotors are those of joints that move and are driven. Joints
    of a closed chain or of a floating robot are driven where the log has a torque of theirs that is
    not always zero. With `links` only these links' inertias are unknown, and friction and rotors stay
    the system's: fit the empty arm before its payload. The equations are those of
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
    methods = (*METHODS, "simulation")
    if method not in methods:
        raise UnknownNameError(f"method={method!r} is unknown{suggest(str(method), methods)}")
    if doubts not in DOUBTS:
        raise SettingError(f"doubts={doubts!r} must be one of {', '.join(map(repr, DOUBTS))}")
    require_share(held_out)
    friction = (
        {str(joint): _names(kinds) for joint, kinds in friction.items()}
        if isinstance(friction, Mapping)
        else _names(friction)
    )
    links = None if links is None else _names(links)
    given = {
        "friction": friction,
        "rotor": rotor,
        "links": links,
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
    kept = held_out if is_share(held_out) else logs_of(system, held_out)
    inputs = Inputs(logs_of(system, log), kept, given)
    starts, driven = starts_of(system, inputs.logs), driven_in(system, inputs.logs)
    rubbing = driven & moving_in(system, inputs.logs)
    rows = driven_velocities(system, starts, driven)
    columns = columns_of(system, friction, rotor, links, rows, rubbing)
    base = base_of(columns, starts=starts)

    # logs filtered, differentiated and divided into what is fitted and what is held out
    used = cutoff
    if cutoff is None:
        some = part_of(inputs.logs, inputs.held_out)
        used = choose_cutoff(columns, base, lambda c: records_of(system, some, c, delay))
    records = records_of(system, inputs.logs, used, delay)
    parts = split(system, records, inputs.held_out, used, delay)
    fitted, held = without_dither(system, *parts)
    columns = with_noise_widths(columns, fitted)
    warned = judged(evidence(system, inputs.logs, beginning(fitted), columns, delay), doubts)

    linear = method if method in METHODS else "inverse_dynamics"
    found, said = refined(columns, base, fitted, linear, robust)
    if method == "simulation":
        found, more = simulated(found, base, consistent)
        said = [*said, *more]
    if cutoff is None and used is not None:
        said = [CHOSEN, *said]
    columns = found.columns
    warned += judged(afterwards(columns, fitted, held, found.x), doubts)
    values, real = {"prior": columns.values, "unconstrained": found.x}, None
    if consistent:
        real = real_bodies(columns, base, found.estimate, shapes, total_mass, distance)
        warned += judged(map(Finding, real.doubts(found.estimate.count)))
        values["consistent"], said = real.x, [*said, *real.said]

    # the robot with the numbers found, and where they come from
    x = list(values.values())[-1]
    said = [*said, *at_rest_sentence(columns, x)]
    share = inputs.held_out if is_share(inputs.held_out) else "a log"
    settings = {"held_out": share, **inputs.given, "cutoff used": used}
    done = tuple(dict.fromkeys([line for record in found.records for line in record.said] + said))
    left = np.concatenate(leftovers(columns, found.records, x))
    lines = sentences(columns, inputs.logs, settings, np.sqrt(np.mean(left**2, axis=0)), done)
    return Fit(
        with_provenance(with_values(columns, x), columns, x, lines),
        system,
        columns,
        base,
        found.estimate,
        values,
        found.records,
        held,
        settings,
        done,
        warned,
        real,
        inputs,
    )


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Several names, or one in place of them."""
    return (names,) if isinstance(names, str) else tuple(names)


def refit(path: str | PathLike[str], system: System | None = None) -> Fit:
    """The fit of a file by `Fit.save`, made again from its inputs and compared with its numbers.

    On the same machine with the same versions the numbers are the same to the last bit; what
    differs by more than a millionth of its deviation is an error. A closed chain is not in the file:
    give the `system`.
    """
    where = Path(path)
    prior, logs, given, stored = load(where, system)
    try:
        found = identify(prior, logs, **given)
    except TypeError as error:  # of keywords that there are not
        raise damaged(where, error) from None
    scale = found.deviations
    if stored.shape != found.estimate.beta.shape:
        raise IdentificationError(f"{where}: its base parameters are not those of its robot")
    seen = np.isfinite(scale) & (scale > 0.0)
    off = np.abs(stored - found.estimate.beta)[seen] / scale[seen]
    if not (off <= 1e-6).all():
        raise IdentificationError(
            f"{where}: made again, a base parameter is {np.nanmax(off):.2g} deviations off; other "
            "versions, or a changed file"
        )
    return found
