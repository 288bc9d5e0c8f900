"""A system with the numbers of a fit put in, and the sentences that say where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from dalembert.formulations.derivatives.inertial import with_inertial_parameters
from dalembert.identification.columns import Columns, drive_values
from dalembert.model.model import Drive
from dalembert.model.notes import LeftOut
from dalembert.systems.system import System
from dalembert.text import visible

NO_PLACE = {
    "stribeck": "friction of a joint that hardly moves is larger by this, N m or N",
    "load": "friction grows by this part of the torque that the links need",
}


def with_values(columns: Columns, x: np.ndarray) -> System:
    """The columns' system with x (p,): offsets make Coulomb friction unequal by direction.

    A drive holds no Stribeck friction and none by load: these are left out.
    """
    made: Any = with_inertial_parameters(columns.model, x[: columns.inertial])
    return around(columns.system, with_drive(made, drive_of(columns, x)))


def at_rest_sentence(columns: Columns, x: np.ndarray) -> list[str]:
    """Where the robot predicts less well than the fit: its Coulomb friction has no width."""
    joints, k = columns.model.tree.nv, columns.inertial
    if "coulomb" not in columns.kinds or columns.widths is None or not columns.widths.any():
        return []
    first = k + joints * columns.kinds.index("coulomb")
    rubs = (columns.widths > 0.0) & (x[first : first + joints] != 0.0)
    if not rubs.any():
        return []
    low, high = columns.widths[rubs].min(), columns.widths[rubs].max()
    return [
        f"Coulomb friction rises over {low:.2g} to {high:.2g} rad/s or m/s in errors() and predict(); "
        "the robot's own jumps at rest, where noise is the sign of a measured velocity: predict "
        "torques of pauses by predict()"
    ]


def drive_of(columns: Columns, x: np.ndarray) -> Drive:
    """Friction and rotors of x (p,), the system's own where they are not among the columns."""
    joints, k = columns.model.tree.nv, columns.inertial
    found = drive_values(columns.model.drive)
    for i, kind in enumerate(columns.kinds):
        found[kind] = x[k + joints * i : k + joints * (i + 1)]
    coulomb, offset = found["coulomb"], found["offset"]
    return Drive(found["viscous"], offset + coulomb, offset - coulomb, found["rotor"])


def with_drive(model: Any, drive: Drive) -> Any:
    """The model with other drives, (joints of its tree,)."""
    tree = replace(model.tree, drive=drive)
    return tree if model.tree is model else replace(model, tree=tree)


def around(system: System, model: Any) -> System:
    """The robot of a model, or the closed chain that the system makes of it."""
    robot: Any = system.robot
    made = type(robot)(model)
    return made if robot is system else system.with_robot(made)  # type: ignore[attr-defined]  # of closed chains


def with_provenance(
    system: System, columns: Columns, x: np.ndarray, lines: Sequence[str]
) -> System:
    """The fitted system whose notes say where its numbers come from, and what it has no place for."""
    robot: Any = system.robot
    notes, left_out = robot.model.tree.notes, []
    for name, value in zip(columns.names[columns.inertial :], x[columns.inertial :], strict=True):
        joint, _, kind = name.rpartition(":")
        if kind in NO_PLACE and value:  # friction that a drive cannot hold
            left_out.append(LeftOut(f"{kind} friction", joint, f"{NO_PLACE[kind]}: {value:.6g}"))
    notes = replace(
        notes,
        provenance=(*notes.provenance, *(visible(line) for line in lines)),
        left_out=(*notes.left_out, *left_out),
    )
    return around(system, robot.model.with_notes(notes))


def sentences(
    columns: Columns,
    logs: Sequence[Any],
    settings: Mapping[str, Any],
    left: np.ndarray,
    said: Sequence[str],
) -> tuple[str, ...]:
    """What was fitted, with which settings, what was done, and the RMS of what is `left` (equations,).

    These are the numbers of `Fit.errors` on the fitted data.
    """
    shown = ", ".join(f"{k}={v!r}" for k, v in settings.items() if v is not None)
    errors = ", ".join(f"{row} {rms:.4g}" for row, rms in zip(columns.rows, left, strict=True))
    sources = [PurePath(str(getattr(log, "attrs", {}).get("source", ""))).name for log in logs]
    named = ", ".join(source or "a log" for source in sources)
    what = f"inertias, friction and rotors of {columns.system.name} fitted to {named} by dalembert"
    return (
        f"{what}: {shown}",
        f"RMS of measured less predicted torque, N m or N, torques not filtered: {errors}",
        *said,
    )
