"""`identify`: from a log to a fitted robot, stage by stage; `refit` repeats a stored fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.consistency import fit_bodies
from dalembert.identification.diagnostics import Diagnostic, check_held_out, check_log, report
from dalembert.identification.linear_fit import (
    CUTOFF_NOTE,
    ENOUGH,
    METHODS,
    choose_cutoff,
    fit_records,
    with_noise_widths,
)
from dalembert.identification.preparation import (
    STILL,
    Log,
    driven_joints,
    is_share,
    load_logs,
    load_records,
    log_arrays,
    longest_fitted_part,
    split,
    without_dither,
)
from dalembert.identification.pseudo_inertia import Shape
from dalembert.identification.record import Record, samples_between
from dalembert.identification.regressor import (
    BaseParameters,
    Friction,
    Regressor,
    base_parameters,
    build_regressor,
    driven_velocities,
    leaders,
    rebuild,
)
from dalembert.identification.residuals import residuals
from dalembert.identification.result import Fit
from dalembert.identification.simulation_error import refine_by_simulation
from dalembert.identification.storage import Inputs, load, unreadable
from dalembert.linalg import single_threaded
from dalembert.model.notes import LeftOut
from dalembert.systems.system import System
from dalembert.text import require_known, visible
from dalembert.version import deprecated

REPEATED = 1e-6  # of its deviation that a base parameter of a repeated fit may be off
NOT_IN_DRIVES = {
    "stribeck": "friction of a joint that hardly moves is larger by this, N m or N",
    "load": "friction grows by this part of the torque that the links need",
}


@single_threaded
def identify(
    system: System,
    log: Log,
    *,
    held_out: float | Log | None = 0.25,
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
    on_inconsistent: str = "raise",
    doubts: str | None = None,
) -> Fit:
    """Identify inertias, friction and rotors of a system from a log of its motion and torques.

    Parameters
    ----------
    system : System
        The prior: a robot, or a closed chain of one.
    log : xarray.Dataset, path, or a list of them
        As of `read_log` and `simulate`.
    held_out : float or log
        Share of the log, at its end, or another log, which is not fitted but predicted.
    friction : str, sequence of str or mapping
        Unknown kinds, of viscous, coulomb, offset, stribeck and load, of the joints that move and
        are driven; a mapping, as ``{"elbow": ("viscous", "coulomb")}``, names the joints too, passive
        ones as well. Joints of a closed chain or of a floating robot are driven where the log has a
        torque of theirs that is not always zero.
    rotor : bool
        Whether rotors of the joints that move and are driven are unknown.
    links : sequence of str, optional
        Only these links' inertias are unknown, and friction and rotors stay the system's: fit the
        empty arm before its payload.
    method : {"inverse_dynamics", "power", "simulation"}
        Equations that are fitted. "power" is the balance of energy, which needs no accelerations;
        "simulation" continues with the error of short simulated motions, which is better where
        positions are coarse or noisy.
    robust : bool
        Replace single torques far off their neighbours.
    cutoff : float, optional
        Hz of the filter of positions; by default chosen by their spectrum, and lowered as long as
        that predicts the torques better.
    delay : float
        Seconds by which torques in the log come after their motion.
    consistent : bool
        Give ``fit.robot`` inertias that real bodies can have, near the system's own where the log
        shows nothing; without it those of least squares.
    total_mass : float, optional
        kg of all links.
    shapes : mapping, optional
        `WithinBox` or `WithinEllipsoid` that contains a link's mass, by name of the link.
    distance : {"entropic", "geodesic"}
        From the system's own inertias.
    on_inconsistent : {"raise", "warn"}
        What to do with a log that cannot be of this robot as it says (units, signs, exchanged
        columns, gravity, delay).
    doubts : str, optional
        Deprecated: ``"refuse"`` is on_inconsistent="raise".

    Returns
    -------
    Fit
        `Fit.notes` lists the processing steps, `Fit.warnings` what is weak or inconsistent.

    Raises
    ------
    IdentificationError
        With the joint and the evidence, for an inconsistent log.
    """
    if doubts is not None:
        new = "warn" if doubts == "warn" else "raise"
        change = f"identify(doubts={doubts!r}) is now on_inconsistent={new!r}"
        deprecated(change, gone="0.3.0", stacklevel=3)
        on_inconsistent = new if doubts in ("refuse", "warn") else doubts
    require_known(method, (*METHODS, "simulation"), "there is no method")
    if on_inconsistent not in ("raise", "warn"):
        raise SettingError(f"on_inconsistent={on_inconsistent!r} must be one of 'raise', 'warn'")
    if held_out is not None and is_share(held_out) and not 0.0 <= float(held_out) < 1.0:
        raise SettingError(
            f"held_out={held_out!r} must be a log, or a share of it from 0 to below 1"
        )
    if isinstance(friction, Mapping):
        friction = {str(joint): _names(kinds) for joint, kinds in friction.items()}
    else:
        friction = _names(friction)
    options = {
        "friction": friction,
        "rotor": rotor,
        "links": None if links is None else _names(links),
        "method": method,
        "robust": robust,
        "cutoff": cutoff,
        "delay": delay,
        "consistent": consistent,
        "total_mass": total_mass,
        "shapes": None if shapes is None else dict(shapes),
        "distance": distance,
        "on_inconsistent": on_inconsistent,
    }
    test = held_out if is_share(held_out) else load_logs(system, held_out)
    return _fit(system, Inputs(load_logs(system, log), test, options))


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Several names, or one in place of them."""
    return (names,) if isinstance(names, str) else tuple(names)


def _fit(system: System, inputs: Inputs) -> Fit:
    """The fit of a system, its prior, to logs by the options of `identify`."""
    logs, options = inputs.logs, inputs.options
    regressor, base = _unknowns(system, inputs)
    fitted, tested, used = _prepare(regressor, base, inputs)
    regressor = with_noise_widths(regressor, fitted)
    some, on_inconsistent = samples_between(fitted, 0, ENOUGH), options["on_inconsistent"]
    messages = report(check_log(logs, some, regressor, options["delay"]), on_inconsistent)
    linear = options["method"] if options["method"] in METHODS else "inverse_dynamics"
    fit, notes = fit_records(regressor, base, fitted, linear, options["robust"])
    if options["method"] == "simulation":
        fit, simulation_notes = refine_by_simulation(fit, base, options["consistent"])
        notes += simulation_notes
    if options["cutoff"] is None and used is not None:
        notes = [CUTOFF_NOTE, *notes]
    regressor, x, bodies = fit.regressor, fit.x, None
    messages += report(check_held_out(regressor, fitted, tested, x), on_inconsistent)
    values = {"prior": regressor.values, "unconstrained": x}
    if options["consistent"]:
        settings = options["shapes"], options["total_mass"], options["distance"]
        bodies = fit_bodies(regressor, base, fit.estimate, *settings)
        messages += report(map(Diagnostic, bodies.warnings(fit.estimate.count)))
        values["consistent"] = x = bodies.x
        notes += bodies.notes
    share = inputs.held_out if is_share(inputs.held_out) else "a log"
    stated = {"held_out": share, **options, "cutoff used": used}
    processing = [line for record in fit.records for line in record.notes]
    notes = list(dict.fromkeys([*processing, *notes, *rest_friction_note(regressor, x)]))
    left = np.concatenate(residuals(regressor, fit.records, x))
    rms = np.sqrt(np.mean(left**2, axis=0))
    lines = provenance_lines(regressor, logs, stated, rms, notes)
    return Fit(
        robot=with_provenance(regressor.system_with(x), regressor, x, lines),
        prior=system,
        regressor=regressor,
        grouping=base,
        estimate=fit.estimate,
        values=values,
        records=fit.records,
        held_out=tested,
        settings=stated,
        notes=tuple(notes),
        warnings=messages,
        consistency=bodies,
        inputs=inputs,
    )


def _unknowns(system: System, inputs: Inputs) -> tuple[Regressor, BaseParameters]:
    """Regressor and base parameters of the options' unknowns."""
    logs, options, moving = inputs.logs, inputs.options, np.zeros(system.nv, dtype=bool)
    recorded = [log_arrays(system, log)[1] for log in logs]
    positions = [q[np.isfinite(q).all(axis=1)] for q in recorded]
    for q in positions:
        if len(q):
            moving |= np.ptp(system.difference(q[:1], q), axis=0) > STILL
    starts, driven = np.concatenate([q[:1] for q in positions]), driven_joints(system, logs)
    rows = driven_velocities(system, starts, driven)
    unknowns = options["friction"], options["rotor"], options["links"]
    regressor = build_regressor(system, *unknowns, rows, driven & moving)
    return regressor, base_parameters(regressor, starts=starts)


def _prepare(
    regressor: Regressor, base: BaseParameters, inputs: Inputs
) -> tuple[tuple[Record, ...], tuple[Record, ...], float | None]:
    """(records to fit, records held out, cut-off of their filter in Hz)."""
    system, cutoff, delay = regressor.system, inputs.options["cutoff"], inputs.options["delay"]
    if cutoff is None:
        part = longest_fitted_part(inputs.logs, inputs.held_out)
        cutoff = choose_cutoff(regressor, base, lambda c: load_records(system, part, c, delay))
    records, held_out = load_records(system, inputs.logs, cutoff, delay), inputs.held_out
    if isinstance(held_out, tuple):
        parts = records, load_records(system, held_out, cutoff, delay)
    else:
        parts = split(records, held_out or 0.0)
    fitted, tested = without_dither(system, *parts)
    return fitted, tested, cutoff


def rest_friction_note(regressor: Regressor, x: np.ndarray) -> list[str]:
    """Note that the robot's Coulomb friction jumps at rest, where the fit's rises over a width."""
    if "coulomb" not in regressor.kinds or regressor.widths is None:
        return []
    widths = regressor.widths[leaders(regressor.model)[0]]  # of every joint of the tree
    widths = widths[(widths > 0.0) & (x[regressor.kind_slice("coulomb")] != 0.0)]
    if not widths.any():
        return []
    return [
        f"Coulomb friction rises over {widths.min():.2g} to {widths.max():.2g} rad/s or m/s in "
        "errors() and predict(); the robot's own jumps at rest, where noise is the sign of a "
        "measured velocity: predict torques of pauses by predict()"
    ]


def with_provenance(
    system: System, regressor: Regressor, x: np.ndarray, lines: Sequence[str]
) -> System:
    """The fitted system with notes on the origin of its parameters, and on those it cannot hold."""
    robot: Any = system.robot
    notes, left_out = robot.model.tree.notes, []
    first = regressor.inertial
    for name, value in zip(regressor.names[first:], x[first:], strict=True):
        joint, _, kind = name.rpartition(":")
        if kind in NOT_IN_DRIVES and value:
            reason = f"{NOT_IN_DRIVES[kind]}: {value:.6g}"
            left_out.append(LeftOut(f"{kind} friction", joint, reason))
    notes = replace(
        notes,
        provenance=(*notes.provenance, *(visible(line) for line in lines)),
        left_out=(*notes.left_out, *left_out),
    )
    return rebuild(system, robot.model.with_notes(notes))


def provenance_lines(
    regressor: Regressor,
    logs: Sequence[Log],
    settings: Mapping[str, Any],
    rms: np.ndarray,
    notes: Sequence[str],
) -> tuple[str, ...]:
    """Lines on the fitted system, the settings, the `rms` (equations,) of the residuals, and notes.

    The residuals are those of `Fit.errors` on the fitted data.
    """
    options = ", ".join(f"{k}={v!r}" for k, v in settings.items() if v is not None)
    errors = ", ".join(f"{row} {value:.4g}" for row, value in zip(regressor.rows, rms, strict=True))
    sources = [PurePath(str(getattr(log, "attrs", {}).get("source", ""))).name for log in logs]
    named = ", ".join(source or "a log" for source in sources)
    return (
        f"inertias, friction and rotors of {regressor.system.name} fitted to {named} by dalembert: "
        f"{options}",
        f"RMS of measured less predicted torque, N m or N, torques not filtered: {errors}",
        *notes,
    )


def refit(path: str | PathLike[str], system: System | None = None) -> Fit:
    """Repeat the fit of a file by `Fit.save` from its inputs, and compare the results.

    On the same machine with the same versions the results are the same to the last bit.

    Parameters
    ----------
    path : path
        File by `Fit.save`.
    system : System, optional
        The prior of a closed chain, which is not in the file.

    Returns
    -------
    Fit
        The repeated fit.

    Raises
    ------
    IdentificationError
        If a base parameter differs by more than a millionth of its deviation.
    """
    path = Path(path)
    prior, logs, options, stored = load(path, system)
    try:
        fit = identify(prior, logs, **options)
    except TypeError as error:  # unknown options
        raise unreadable(path, error) from None
    scale = fit.deviations
    if stored.shape != fit.estimate.beta.shape:
        raise IdentificationError(f"{path}: its base parameters are not those of its robot")
    is_known = np.isfinite(scale) & (scale > 0.0)
    off = np.abs(stored - fit.estimate.beta)[is_known] / scale[is_known]
    if not (off <= REPEATED).all():
        raise IdentificationError(
            f"{path}: a base parameter is now {np.nanmax(off):.2g} deviations off; other versions?"
        )
    return fit
