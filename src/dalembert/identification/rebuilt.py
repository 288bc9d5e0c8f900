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
    system, model = columns.system, columns.model
    robot: Any = system.robot
    joints, k = model.tree.nv, columns.inertial
    found = {kind: x[k + joints * i : k + joints * (i + 1)] for i, kind in enumerate(columns.kinds)}
    own = model.drive
    coulomb = found.get("coulomb", (own.coulomb_positive - own.coulomb_negative) / 2.0)
    offset = found.get("offset", (own.coulomb_positive + own.coulomb_negative) / 2.0)
    drive = Drive(
        found.get("viscous", own.viscous),
        offset + coulomb,
        offset - coulomb,
        found.get("rotor", own.rotor),
    )
    made: Any = with_inertial_parameters(model, x[:k])
    tree = replace(made.tree, drive=drive)
    whole = tree if made.tree is made else replace(made, tree=tree)
    fitted = type(robot)(whole)
    return fitted if robot is system else system.with_robot(fitted)  # type: ignore[attr-defined]  # of closed chains
