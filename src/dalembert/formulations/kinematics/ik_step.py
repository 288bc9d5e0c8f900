"""One step of inverse kinematics: the error of a frame's pose, and a damped least-squares step.

Damped least squares (Levenberg 1944, Marquardt 1963) with the damping in proportion to what is left
(Chan and Lawrence 1988; Sugihara 2011): with the error e and its Jacobian J,

    (Jᵀ J + λ 1) δ = Jᵀ e ,   λ = k ½ eᵀ e ,

which follows the gradient far away or near singularities, and converges like Newton's method.
Constraints on positions, h(q) = 0 with ḣ = A q̇, are rows −h of e and A of J.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.formulations.kinematics.operational import value_and_gradient
from dalembert.linalg.factorisations import ldl
from dalembert.spatial.arrays import Matrix, Matrix3, Pose, Scalar, Vector, Vector3
from dalembert.spatial.rotations import hat, log_so3, vee

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
CLIMB = (
    0.5  # rad² or m² along ∂ log w / ∂q in one step; measured on a Panda: all maxima in 100 steps
)
FLAT = 1e-6  # of w: below it the gradient of log w is not followed further
LEAST = 1e-14  # of λ: keeps the factor of a singular J Jᵀ finite
OPPOSITE = 1e-12  # of cos²(θ/2): nearer to half a turn the chord has no direction
# weights of the constraints' rows: during the search, and for the closest configuration of a target
# that is not solved, where they must not give way to the task
CLOSED, STRICT = 10.0, 1000.0


class Framed(Protocol):
    """What moves a frame."""

    def pose(self, q: Vector, frame: str) -> Pose: ...
    def frame_jacobian(self, q: Vector, frame: str, expressed_in: str = "world") -> Matrix: ...


class Mechanism(Framed, Protocol):
    """The interface of a mechanism to a step: a robot, with or without constraints."""

    @property
    def nv(self) -> int: ...
    @property
    def description(self) -> Any: ...
    def closing(self, q: Vector) -> tuple[Vector, Matrix]: ...
    def integrate(self, q: Vector, step: Vector) -> Vector: ...
    def difference(self, q: Vector, to: Vector) -> Vector: ...


class Limits(NamedTuple):
    """Coordinates of joints of one degree that have limits."""

    entries: tuple[int, ...]  # of q
    velocities: tuple[int, ...]  # of q̇
    lower: np.ndarray
    upper: np.ndarray
    turns: tuple[bool, ...]  # whether a whole turn leads to the same pose


@dataclass(frozen=True)
class Task:
    """The requested part of a frame's pose, and the options of a step."""

    frame: str
    of: str  # one of TASKS, or "closed": the constraints alone
    limits: Limits | None = None
    # by the chord 2 sin(θ/2) along the axis, or the angle θ: the chord costs a third, and has no
    # direction at half a turn
    chord: bool = True
    hops: bool = True  # whether a joint may pass its limits to the other end of its range

    @property
    def rows(self) -> int:
        """Number of its coordinates."""
        return 6 if self.of in ("pose", "position_axis") else 3


def error(mechanism: Framed, q: Vector, target: Pose, task: Task) -> tuple[Vector, Matrix]:
    """(e, J): the displacement to the target, (linear, angular) along world axes; ė = −J q̇."""
    pose = mechanism.pose(q, task.frame)
    J = mechanism.frame_jacobian(q, task.frame, "world")
    straight = target[:3, 3] - pose[:3, 3]
    if task.of == "position":
        return straight, J[:3]
    if task.of in ("axis", "position_axis"):
        # the rotation vector normal to z that takes z to the target axis; rotation about z is free
        z, axis = pose[:3, 2], target[:3, 2]
        across, J_turn = np.cross(z, axis), -(hat(z) @ (hat(z) @ J[3:]))
        if task.chord:
            turn = _chord(across, z @ axis)
        else:
            sine = np.sqrt(across @ across)
            angle = np.arctan2(sine, z @ axis)
            turn = np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 1.0) * across
    else:
        R = target[:3, :3] @ pose[:3, :3].T
        turn, J_turn = (chord(R) if task.chord else log_so3(R)), J[3:]
    if task.of in ("orientation", "axis"):
        return turn, J_turn
    return np.concatenate([straight, turn]), np.concatenate([J[:3], J_turn])


def chord(R: Matrix3) -> Vector3:
    """2 sin(θ/2) along the axis of a rotation R by θ; less, down to 0, next to half a turn.

    >>> quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> chord(quarter).round(6)
    array([0.      , 0.      , 1.414214])
    """
    return _chord(0.5 * vee(R - R.T), 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0))


def _chord(across: Vector3, cosine: Scalar) -> Vector3:
    """From sin θ along the axis, and cos θ: sin θ = 2 sin(θ/2) cos(θ/2)."""
    half = 0.5 * (1.0 + cosine)
    return across / np.sqrt(np.where(half > OPPOSITE, half, OPPOSITE))


def missed(mechanism: Mechanism, q: Vector, target: Pose, task: Task) -> Scalar:
    """The largest residual of a configuration: distance, angle, and every open constraint."""
    e, _ = error(mechanism, q, target, task)
    h, _ = mechanism.closing(q)
    parts = [e] if task.rows == 3 else [e[:3], e[3:]]
    worst = np.sqrt(parts[0] @ parts[0])
    for x in [np.sqrt(x @ x) for x in parts[1:]] + [np.abs(h[k]) for k in range(h.shape[0])]:
        worst = np.maximum(worst, x)
    return worst


def closed_error(
    mechanism: Mechanism, q: Vector, target: Pose, task: Task, weights: Vector | None = None
) -> tuple[Vector, Matrix]:
    """(e, J) with weights on the task's rows, and the constraints' rows below them."""
    h, A = mechanism.closing(q)
    if task.of == "closed":
        return -h, A
    e, J = error(mechanism, q, target, task)
    if weights is not None:
        e, J = weights * e, weights.reshape(-1, 1) * J
    if h.shape[0]:
        weight = CLOSED if task.chord else STRICT
        e, J = np.concatenate([e, -weight * h]), np.concatenate([J, weight * A])
    return e, J


def step(
    mechanism: Mechanism,
    task: Task,
    *,
    q: Vector,
    best: Vector,
    cost: Scalar,
    target: Pose,
    gain: Scalar,
    weights: Vector | None = None,
    **rest: Scalar,
) -> tuple[Vector, Vector, Scalar]:
    """(next q, the best q so far, its ½ eᵀ e)."""
    e, J = closed_error(mechanism, q, target, task, weights)
    E = 0.5 * (e @ e)
    better = cost > E
    return (
        _next_configuration(mechanism, task, q, e, J, gain * E),
        np.where(better, q, best),
        np.where(better, E, cost),
    )


def follow(
    mechanism: Mechanism, task: Task, *, q: Vector, target: Pose, gain: Scalar, **rest: Scalar
) -> tuple[Vector]:
    """(next q,) toward a target that moves on."""
    e, J = closed_error(mechanism, q, target, task)
    return (_next_configuration(mechanism, task, q, e, J, gain * 0.5 * (e @ e)),)


def _next_configuration(
    mechanism: Mechanism, task: Task, q: Vector, e: Vector, J: Matrix, damping: Scalar
) -> Vector:
    """q after one damped step, within its limits."""
    limits = task.limits
    free = J if limits is None else J * _inside(limits, q, e @ J)
    next_q = mechanism.integrate(q, _damped(free, e, damping + LEAST))
    return next_q if limits is None else clamped(limits, next_q, task.hops)


def relaxed(
    mechanism: Mechanism,
    task: Task,
    goal: str,
    *,
    q: Vector,
    target: Pose,
    posture: Vector,
    gain: Scalar,
    **rest: Scalar,
) -> tuple[Vector]:
    """(next q,): toward the goal in the null space of the task, δ = z + J⁺ (e − J z).

    z leads to the `posture` for "near" and "center", and along ∂ log w / ∂q for "manipulability".
    """
    e, J = closed_error(mechanism, q, target, task)
    if goal == "manipulability":
        model = mechanism.description
        w, gradient = value_and_gradient(model, q, task.frame, MEASURED[task.of])
        z = CLIMB * gradient / np.where(w > FLAT, w, FLAT)
    else:
        z = SHARE * mechanism.difference(q, posture)
    free, limits = J, task.limits
    if limits is not None:
        open_ = _inside(limits, q, z + e @ J)
        free, z = J * open_, open_ * z
    step = z + _damped(free, e - free @ z, gain * 0.5 * (e @ e) + LEAST)
    next_q = mechanism.integrate(q, step)
    return (next_q if limits is None else clamped(limits, next_q, hops=False),)


def _damped(J: Matrix, e: Vector, damping: Scalar) -> Vector:
    """δ of the smaller of the two equal systems: Jᵀ (J Jᵀ + λ)⁻¹ e = (Jᵀ J + λ)⁻¹ Jᵀ e."""
    rows, columns = J.shape
    if rows <= columns:
        result: Vector = J.T @ ldl(J @ J.T + damping * np.eye(rows)).solve(e)
        return result
    return ldl(J.T @ J + damping * np.eye(columns)).solve(J.T @ e)


def _inside(limits: Limits, q: Vector, downhill: Vector) -> Vector:
    """(nv,) 0 for joints at a limit in the direction of descent, 1 for all others."""
    free: list[Scalar] = [1.0] * downhill.shape[0]
    for k, v, lower, upper in zip(limits.entries, limits.velocities, *limits[2:4], strict=True):
        up, down = (np.where(x, 0.0, 1.0) for x in (downhill[v] > 0.0, downhill[v] < 0.0))
        free[v] = np.where(q[k] >= upper, up, np.where(q[k] <= lower, down, 1.0))
    return np.stack(free)


def clamped(limits: Limits, q: Vector, hops: bool = True) -> Vector:
    """q (nq, …) within its limits.

    A joint beyond a limit stops there, or, where it `hops` and a whole turn leads to the same pose,
    takes the end of its range that is nearer along the circle.
    """
    entries = [q[k] for k in range(q.shape[0])]
    for k, lower, upper, turns in zip(limits.entries, *limits[2:], strict=True):
        x = entries[k]
        if hops and turns and np.isfinite(upper - lower):
            beyond = 0.5 * max(2.0 * np.pi - (upper - lower), 0.0)
            back = np.where(x > upper + beyond, 2.0 * np.pi, 0.0)
            x = x - back + np.where(x < lower - beyond, 2.0 * np.pi, 0.0)
        x = np.minimum(x, upper) if np.isfinite(upper) else x
        entries[k] = np.maximum(x, lower) if np.isfinite(lower) else x
    return np.stack(entries)
