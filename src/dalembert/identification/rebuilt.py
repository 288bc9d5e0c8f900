"""A system with the numbers of a fit put in: inertias, friction and rotors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.formulations.derivatives.inertial import with_inertial_parameters
from dalembert.identification.columns import Columns
from dalembert.model.model import Drive
from dalembert.systems.system import System


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
    own = columns.model.drive
    joints, k = columns.model.tree.nv, columns.inertial
    found = {kind: x[k + joints * i : k + joints * (i + 1)] for i, kind in enumerate(columns.kinds)}
    coulomb = found.get("coulomb", (own.coulomb_positive - own.coulomb_negative) / 2.0)
    offset = found.get("offset", (own.coulomb_positive + own.coulomb_negative) / 2.0)
    return Drive(
        found.get("viscous", own.viscous),
        offset + coulomb,
        offset - coulomb,
        found.get("rotor", own.rotor),
    )


def with_drive(model: Any, drive: Drive) -> Any:
    """The model with other drives, (joints of its tree,)."""
    tree = replace(model.tree, drive=drive)
    return tree if model.tree is model else replace(model, tree=tree)


def around(system: System, model: Any) -> System:
    """The robot of a model, or the closed chain that the system makes of it."""
    robot: Any = system.robot
    made = type(robot)(model)
    return made if robot is system else system.with_robot(made)  # type: ignore[attr-defined]  # of closed chains
