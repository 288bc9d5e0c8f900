"""Drivers replaced by torques at joints: the same motion, moved from elsewhere (004, p.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ConstraintError
from dalembert.linalg.geometry import ROUNDING, least_squares
from dalembert.mechanisms.ends import measure
from dalembert.systems.bodies.data import Element

if TYPE_CHECKING:
    from dalembert.mechanisms.state import State


def replaced(
    state: State, joints: Sequence[str], drivers: Sequence[str] | None
) -> tuple[np.ndarray, State]:
    """Solve −J_kᵀλ_k + J_θᵀ T = M v̇ − Q for the joint multipliers λ_k and the torques T.

    The columns are those of the Newtonian distribution matrix (004, p.2), found by virtual work.
    """
    d = state.description
    names = [driver.name for driver in d.drivers] if drivers is None else list(drivers)
    kept = [element for element in d.elements if element.name not in names]
    angles = [measure(d, f"torque at {joint}", joint) for joint in joints]
    columns = [-_rows(state, element).T for element in kept]
    columns += [_rows(state, element).T for element in angles]
    right = state.inertial()
    matrix = np.concatenate(columns, axis=1)
    found, left = least_squares(matrix, right, ROUNDING)
    gap = np.abs(left).max(initial=0.0)
    if gap > 1e-8 * max(1.0, np.abs(right).max(initial=0.0)):
        raise ConstraintError(
            f"{d.name}: torques at {', '.join(joints)} cannot replace {', '.join(names)} here "
            f"(left: {gap:.2g} N); name as many joints as there are driven motions"
        )
    torques = found[len(found) - len(joints) :]
    multipliers = np.zeros_like(state.multipliers)
    start = 0
    for element in kept:
        multipliers[d.rows_of(element.name)] = found[start : start + element.kind.rows]
        start += element.kind.rows
    return torques, replace(state, multipliers=multipliers)


def _rows(state: State, element: Element) -> np.ndarray:
    """J (rows, nv) of one element over the whole mechanism."""
    d = state.description
    J = state.measured(element)[1]
    full = np.zeros((element.kind.rows, len(d.bodies) + 1, d.space.nv))
    for k, body in enumerate(element.bodies):
        full[:, body] += J[:, k]
    return full[:, 1:].reshape(element.kind.rows, -1)
