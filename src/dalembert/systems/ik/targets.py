"""Targets and settings of inverse kinematics: poses from user input, checks, and pose errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError, ShapeError
from dalembert.formulations.kinematics import ik_step
from dalembert.text import require_known

Array = np.ndarray
ROUNDING = 1e-12  # of R Rᵀ − 1 for rotations in double precision
CHUNK = 8192  # poses that fit into a core's cache


def target_poses(T: ArrayLike, task: str) -> Array:
    """(..., 4, 4) poses; points (..., 3) and rotations (..., 3, 3) where the task needs no more."""
    require_known(task, ik_step.TASKS, "there is no task")
    values = np.asarray(T, dtype=float)
    if not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(values))[0]
        raise ShapeError(f"T has an entry that is not finite, at {tuple(map(int, where))}")
    if values.shape[-2:] == (4, 4):
        poses = values
    elif task == "position" and values.shape[-1:] == (3,):
        poses = np.broadcast_to(np.eye(4), (*values.shape[:-1], 4, 4)).copy()
        poses[..., :3, 3] = values
    elif task in ("orientation", "axis") and values.shape[-2:] == (3, 3):
        poses = np.broadcast_to(np.eye(4), (*values.shape[:-2], 4, 4)).copy()
        poses[..., :3, :3] = values
    else:
        raise ShapeError(f"T must be poses (..., 4, 4) for the task {task!r}, not {values.shape}")
    error = max(map(_rotation_error, _columns(poses)), default=0.0)
    if error > 1e-6:
        raise ShapeError(
            "T has a rotation part that is no rotation: R Rᵀ is not the identity, or its determinant "
            "is −1"
        )
    last_row = np.array([[0.0], [0.0], [0.0], [1.0]])
    if any(np.abs(x[12:] - last_row).max() > 1e-6 for x in _columns(poses)):
        raise ShapeError("the last row of T must be 0, 0, 0, 1: is it transposed?")
    return poses if error < ROUNDING else with_nearest_rotations(poses)


def with_nearest_rotations(T: Array) -> Array:
    """Poses (..., 4, 4), such as from float32, with their rotation parts made orthonormal.

    R ← R (3 − Rᵀ R) / 2 (Björck and Bowie 1971) squares the distance, which is small already.
    """
    R = T[..., :3, :3]
    for _ in range(2):
        R = 0.5 * R @ (3.0 * np.eye(3) - np.swapaxes(R, -1, -2) @ R)
    poses = T.copy()
    poses[..., :3, :3] = R
    return poses


def _columns(T: Array) -> Iterator[Array]:
    """Poses (..., 4, 4) as arrays (16, n), one cacheful at a time."""
    rows = T.reshape(-1, 16)
    for k in range(0, len(rows), CHUNK):
        yield np.ascontiguousarray(rows[k : k + CHUNK].T)


def _rotation_error(x: Array) -> float:
    """The largest entry of R Rᵀ − 1, and of det R − 1."""
    error = max(
        float(np.abs(sum(x[4 * i + k] * x[4 * j + k] for k in range(3)) - (i == j)).max())
        for i in range(3)
        for j in range(i, 3)
    )
    cross = (x[5] * x[10] - x[6] * x[9], x[6] * x[8] - x[4] * x[10], x[4] * x[9] - x[5] * x[8])
    return max(error, float(np.abs(sum(x[k] * cross[k] for k in range(3)) - 1.0).max()))


def pose_errors(poses: Array, targets: Array, task: str) -> Array:
    """(...) the larger of the distance, m, and the angle, rad, between poses (..., 4, 4)."""
    difference = np.asarray(poses - targets, dtype=float)
    largest = [np.zeros(0)]
    with np.errstate(over="ignore"):  # infinite is far enough
        for column in _columns(difference):
            x, errors = column * column, []
            if task in ("pose", "position", "position_axis"):
                errors.append(np.sqrt(x[3] + x[7] + x[11]))
            if task in ("pose", "orientation"):  # |R − R'|² = 8 sin²(θ/2)
                turned = sum(x[4 * i + j] for i in range(3) for j in range(3))
                errors.append(2.0 * np.arcsin(np.minimum(np.sqrt(turned / 8.0), 1.0)))
            if task in ("axis", "position_axis"):
                off = np.sqrt(x[2] + x[6] + x[10])
                errors.append(2.0 * np.arcsin(np.minimum(0.5 * off, 1.0)))
            largest.append(np.max(errors, axis=0))
    return np.concatenate(largest).reshape(difference.shape[:-2])


def require_settings(
    tol: object,
    max_restarts: object,
    rng: object,
    goal: str | None = None,
    q0: ArrayLike | None = None,
    continuous: bool = False,
) -> int:
    """Raise for settings of a search that make no sense; the seed of the random starts."""
    seed = int(rng.integers(2**31)) if isinstance(rng, np.random.Generator) else rng
    if goal is not None:
        require_known(goal, ik_step.GOALS, "there is no goal")
    if continuous and goal is not None:
        raise SettingError(
            "continuous=True follows a path by the smallest steps: leave out the goal"
        )
    if goal == "near" and q0 is None:
        raise SettingError("goal='near' needs q0, the posture to be near to")
    if not (isinstance(tol, float | int | np.number) and 0.0 < tol < np.inf):
        raise SettingError(f"tol must be a positive number, m and rad, not {tol!r}")
    for name, value in (("max_restarts", max_restarts), ("rng", seed)):
        if not (
            isinstance(value, float | int | np.number)
            and 0 <= value < np.inf
            and int(value) == value
        ):
            raise SettingError(f"{name} must be a whole number, zero or more, not {value!r}")
    return int(seed)  # type: ignore[call-overload,no-any-return]  # a whole number


def task_weights(weights: ArrayLike | None, task: str) -> Array | None:
    """(rows,) positive numbers, one for each coordinate of the task; None without weights."""
    if weights is None:
        return None
    rows = ik_step.Task("", task).rows
    values = np.asarray(weights, dtype=float)
    if values.shape != (rows,) or not (np.isfinite(values) & (values > 0.0)).all():
        raise ShapeError(
            f"weights of the task {task!r} must be {rows} positive numbers, not {weights!r}"
        )
    return values


def common_batch(targets: tuple[int, ...], q0: ArrayLike | None, nq: int) -> tuple[int, ...]:
    """The batch shape of targets (...) and starts q0 (..., nq) together."""
    starts = () if q0 is None else np.shape(q0)[:-1]
    try:
        return np.broadcast_shapes(targets, starts)
    except ValueError:
        raise ShapeError(
            f"q0 (..., {nq}) must broadcast with the targets {targets}, got {(*starts, nq)}"
        ) from None
