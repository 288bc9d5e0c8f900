"""Targets of inverse kinematics: what users give as poses, settings checked, and what is missed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.kinematics import reach
from dalembert.formulations.registry import suggest

ROUNDED = 1e-12  # R Rᵀ − 1 of rotations in double precision
AT_ONCE = 8192  # poses whose numbers a core's cache holds


def poses_of(T: Any, task: str) -> np.ndarray:
    """(..., 4, 4) poses; points (..., 3) and rotations (..., 3, 3) where the task needs no more."""
    require_task(task)
    given = np.asarray(T, dtype=float)
    if not np.isfinite(given).all():
        where = np.argwhere(~np.isfinite(given))[0]
        raise ShapeError(f"T has an entry that is not finite, at {tuple(map(int, where))}")
    full = None
    if given.shape[-2:] == (4, 4):
        full = given
    elif task == "position" and given.shape[-1:] == (3,):
        full = np.broadcast_to(np.eye(4), (*given.shape[:-1], 4, 4)).copy()
        full[..., :3, 3] = given
    elif task in ("orientation", "axis") and given.shape[-2:] == (3, 3):
        full = np.broadcast_to(np.eye(4), (*given.shape[:-2], 4, 4)).copy()
        full[..., :3, :3] = given
    if full is None:
        raise ShapeError(f"T must be poses (..., 4, 4) for the task {task!r}, not {given.shape}")
    apart = max(map(_unlike_rotations, columns_of(full)), default=0.0)
    if apart > 1e-6:
        raise ShapeError(
            "T has a rotation part that is no rotation: R Rᵀ is not the identity, or its determinant "
            "is −1"
        )
    if max(map(_unlike_poses, columns_of(full)), default=0.0) > 1e-6:
        raise ShapeError("the last row of T must be 0, 0, 0, 1: is it transposed?")
    return full if apart < ROUNDED else with_rotations(full)


def with_rotations(T: np.ndarray) -> np.ndarray:
    """Poses (..., 4, 4), such as of numbers in float32, with the nearest rotations in them.

    R ← R (3 − Rᵀ R) / 2 (Björck and Bowie 1971) squares the distance, which is small already.
    """
    R = T[..., :3, :3]
    for _ in range(2):
        R = 0.5 * R @ (3.0 * np.eye(3) - np.swapaxes(R, -1, -2) @ R)
    made = T.copy()
    made[..., :3, :3] = R
    return made


def columns_of(T: np.ndarray) -> Iterator[np.ndarray]:
    """Poses (..., 4, 4) as (16, n) numbers side by side, so many at a time as caches hold."""
    rows = T.reshape(-1, 16)
    for k in range(0, len(rows), AT_ONCE):
        yield np.ascontiguousarray(rows[k : k + AT_ONCE].T)


def _unlike_rotations(x: np.ndarray) -> float:
    """The largest entry of R Rᵀ − 1, and of det R − 1."""
    apart = max(
        float(np.abs(sum(x[4 * i + k] * x[4 * j + k] for k in range(3)) - (i == j)).max())
        for i in range(3)
        for j in range(i, 3)
    )
    cross = (x[5] * x[10] - x[6] * x[9], x[6] * x[8] - x[4] * x[10], x[4] * x[9] - x[5] * x[8])
    return max(apart, float(np.abs(sum(x[k] * cross[k] for k in range(3)) - 1.0).max()))


def _unlike_poses(x: np.ndarray) -> float:
    """How far the last rows are from 0, 0, 0, 1."""
    return float(np.abs(x[12:] - np.array([[0.0], [0.0], [0.0], [1.0]])).max())


def misses(here: np.ndarray, target: np.ndarray, task: str) -> np.ndarray:
    """The larger of the distance, m, and the angle, rad, between poses (..., 4, 4), of a task."""
    apart = np.asarray(here - target, dtype=float)
    with np.errstate(over="ignore"):  # as far as that is far enough
        found = [_missed(x * x, task) for x in columns_of(apart)]
    return np.concatenate(found or [np.zeros(0)]).reshape(apart.shape[:-2])


def _missed(x: np.ndarray, task: str) -> np.ndarray:
    """The same from the squares (16, n) of the differences of poses."""
    found = []
    if task in ("pose", "position", "position_axis"):
        found.append(np.sqrt(x[3] + x[7] + x[11]))
    if task in ("pose", "orientation"):  # |R − R'|² = 8 sin²(θ/2)
        turned = sum(x[4 * i + j] for i in range(3) for j in range(3))
        found.append(2.0 * np.arcsin(np.minimum(np.sqrt(turned / 8.0), 1.0)))
    if task in ("axis", "position_axis"):
        found.append(2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(x[2] + x[6] + x[10]), 1.0)))
    return np.max(found, axis=0)


def require(
    tolerance: float,
    restarts: int,
    seed: int,
    goal: str | None = None,
    q0: Any = None,
    continuous: bool = False,
) -> None:
    """Settings of a search that make sense."""
    if goal is not None and goal not in reach.GOALS:
        raise UnknownNameError(f"there is no goal {goal!r}{suggest(goal, list(reach.GOALS))}")
    if continuous and goal is not None:
        raise SettingError(
            "continuous=True follows a path by the smallest steps: leave out the goal"
        )
    if goal == "near" and q0 is None:
        raise SettingError("goal='near' needs q0, the posture to be near to")
    if not (np.isfinite(tolerance) and tolerance > 0.0):
        raise SettingError(f"tolerance must be a positive number, m and rad, not {tolerance!r}")
    for name, value in (("restarts", restarts), ("seed", seed)):
        if value < 0 or int(value) != value:
            raise SettingError(f"{name} must be a whole number, zero or more, not {value!r}")


def require_task(task: str) -> None:
    """A task by its name."""
    if task not in reach.TASKS:
        raise UnknownNameError(f"there is no task {task!r}{suggest(task, list(reach.TASKS))}")


def weights_of(weights: Any, task: str) -> np.ndarray | None:
    """(rows,) positive numbers, one for each coordinate of the task; None where none are given."""
    if weights is None:
        return None
    rows = reach.Task("", task).rows
    given = np.asarray(weights, dtype=float)
    if given.shape != (rows,) or not (np.isfinite(given) & (given > 0.0)).all():
        raise ShapeError(
            f"weights of the task {task!r} must be {rows} positive numbers, not {weights!r}"
        )
    return given


def common_batch(targets: tuple[int, ...], q0: Any, nq: int) -> tuple[int, ...]:
    """The shape of targets (...) and starts q0 (..., nq) together; an error where there is none."""
    starts = () if q0 is None else np.shape(q0)[:-1]
    try:
        return np.broadcast_shapes(targets, starts)
    except ValueError:
        raise ShapeError(
            f"q0 (..., {nq}) must broadcast with the targets {targets}, got {(*starts, nq)}"
        ) from None


def require_path(targets: np.ndarray, weights: Any) -> None:
    """What `continuous=True` needs."""
    if targets.ndim < 3:
        raise ShapeError("continuous=True needs a path, poses (..., n, 4, 4), not one target")
    if weights is not None:
        raise SettingError("continuous=True reaches every pose of a path: leave out the weights")


def require_manipulable(goal: str | None, rows: int, name: str) -> None:
    """A closed chain has no manipulability here."""
    if goal == "manipulability" and rows:
        raise SettingError(
            f"{name} is held by constraints, and goal='manipulability' is for open chains; take "
            "'near' or 'center'"
        )
