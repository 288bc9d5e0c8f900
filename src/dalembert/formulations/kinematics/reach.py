"""One step of inverse kinematics: how far a frame is from where it should be, and where to go next.

Damped least squares (Levenberg 1944, Marquardt 1963) with the damping in proportion to what is left
(Chan and Lawrence 1988; Sugihara 2011): with the error e and its Jacobian J,

    (Jᵀ J + λ 1) δ = Jᵀ e ,   λ = k ½ eᵀ e ,

which goes along the gradient where it is far away or singular, and converges like Newton's method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.kinematics.frames import jacobian, pose
from dalembert.formulations.kinematics.operational import (
    Mechanism,
    contraction,
    slope_of_manipulability,
)
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.spatial.arrays import Matrix, Matrix3, Pose, Vector, Vector3
from dalembert.spatial.rotations import hat, log_so3

TASKS = ("pose", "position", "orientation", "axis", "position_axis")
GOALS = ("near", "center", "manipulability")
# the part of the pose by which manipulability is measured
MEASURED = {
    "pose": "pose",
    "position": "position",
    "orientation": "orientation",
    "axis": "orientation",
    "position_axis": "pose",
}
SHARE = 0.2  # of the way to the goal in one step
CLIMB = 0.05  # rad² or m² along ∂ log w / ∂q in one step
FLAT = 1e-6  # of w: below it the slope of log w is not followed further
LEAST = 1e-14  # of λ: keeps the factor of a singular J Jᵀ finite


class Limits(NamedTuple):
    """Coordinates of joints of one degree that have limits."""

    entries: tuple[int, ...]  # of q
    velocities: tuple[int, ...]  # of q̇
    lower: np.ndarray
    upper: np.ndarray
    turns: tuple[bool, ...]  # whether a whole turn leads to the same pose


def error(
    model: Mechanism, q: Vector, target: Pose, frame: str, task: str
) -> tuple[Vector, Matrix]:
    """(e, J): what moves the frame to the target, (linear, angular) along world axes; ė = −J q̇."""
    here = pose(model.tree, model.expand(q), frame)
    J = jacobian(model.tree, model.expand(q), frame, "world") @ contraction(model)
    straight = target[:3, 3] - here[:3, 3]
    if task == "position":
        return straight, J[:3]
    if task in ("axis", "position_axis"):
        turn, J_turn = _axis_error(here[:3, 2], target[:3, 2], J[3:])
    else:
        turn, J_turn = log_so3(target[:3, :3] @ here[:3, :3].T), J[3:]
    if task in ("orientation", "axis"):
        return turn, J_turn
    return np.concatenate([straight, turn]), np.concatenate([J[:3], J_turn])


def _axis_error(z: Vector3, wanted: Vector3, J: Matrix3) -> tuple[Vector, Matrix]:
    """The rotation vector normal to z that takes z to the wanted axis; turning about z is free."""
    across = np.cross(z, wanted)
    sine = np.sqrt(across @ across)
    angle = np.arctan2(sine, z @ wanted)
    scale = np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 1.0)
    return scale * across, -(hat(z) @ (hat(z) @ J))


def step(
    model: Mechanism,
    limits: Limits | None,
    frame: str,
    task: str,
    *,
    q: Vector,
    best: Vector,
    cost: Any,
    target: Pose,
    gain: Any,
    weights: Any = None,
    **rest: Any,
) -> tuple[Vector, Vector, Any]:
    """(next q, the best q so far, its ½ eᵀ e)."""
    e, J = error(model, q, target, frame, task)
    if weights is not None:
        e, J = weights * e, weights.reshape(-1, 1) * J
    E = 0.5 * (e @ e)
    better = cost > E
    free = J if limits is None else J * _inside(limits, q, e @ J)
    moved = model.integrate(q, _damped(free, e, gain * E + LEAST))
    kept = moved if limits is None else clamped(limits, moved)
    return kept, np.where(better, q, best), np.where(better, E, cost)


def relaxed(
    model: Mechanism,
    limits: Limits | None,
    frame: str,
    task: str,
    goal: str,
    *,
    q: Vector,
    target: Pose,
    posture: Vector,
    gain: Any,
    **rest: Any,
) -> tuple[Vector]:
    """(next q,): toward the goal with what the task leaves free, δ = z + J⁺ (e − J z).

    z leads to the `posture` for "near" and "center", and along ∂ log w / ∂q for "manipulability".
    """
    e, J = error(model, q, target, frame, task)
    if goal == "manipulability":
        w, slope = slope_of_manipulability(model, q, frame, MEASURED[task])
        z = CLIMB * slope / np.where(w > FLAT, w, FLAT)
    else:
        z = SHARE * model.difference(q, posture)
    free = J
    if limits is not None:
        open_ = _inside(limits, q, z + e @ J)
        free, z = J * open_, open_ * z
    moved = model.integrate(q, z + _damped(free, e - free @ z, gain * 0.5 * (e @ e) + LEAST))
    return (moved if limits is None else clamped(limits, moved),)


def _damped(J: Matrix, e: Vector, damping: Any) -> Vector:
    """δ of the smaller of the two equal systems: Jᵀ (J Jᵀ + λ)⁻¹ e = (Jᵀ J + λ)⁻¹ Jᵀ e."""
    rows, columns = J.shape
    if rows <= columns:
        return J.T @ cholesky_solve(J @ J.T + damping * np.eye(rows), e)
    return cholesky_solve(J.T @ J + damping * np.eye(columns), J.T @ e)


def _inside(limits: Limits, q: Vector, downhill: Vector) -> Vector:
    """(nv,) 0 for joints at a limit that the error pushes against, 1 for all others."""
    found: list[Any] = [1.0] * downhill.shape[0]
    for k, v, lower, upper in zip(limits.entries, limits.velocities, *limits[2:4], strict=True):
        up, down = (np.where(x, 0.0, 1.0) for x in (downhill[v] > 0.0, downhill[v] < 0.0))
        found[v] = np.where(q[k] >= upper, up, np.where(q[k] <= lower, down, 1.0))
    return np.stack(found)


def clamped(limits: Limits, q: Vector) -> Vector:
    """q (nq, …) within its limits: by a whole turn where that is possible, else at the limit."""
    found = [q[k] for k in range(q.shape[0])]
    for k, lower, upper, turns in zip(limits.entries, *limits[2:], strict=True):
        x = found[k]
        if turns and upper - lower >= 2.0 * np.pi:
            x = np.where(x > upper, x - 2.0 * np.pi, np.where(x < lower, x + 2.0 * np.pi, x))
        x = np.minimum(x, upper) if np.isfinite(upper) else x
        found[k] = np.maximum(x, lower) if np.isfinite(lower) else x
    return np.stack(found)
