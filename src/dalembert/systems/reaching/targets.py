"""Targets of inverse kinematics: what users give as poses, settings checked, and what is missed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.kinematics import reach
from dalembert.formulations.registry import suggest


def poses_of(T: Any, task: str) -> np.ndarray:
    """(..., 4, 4) poses; points (..., 3) and rotations (..., 3, 3) where the task needs no more."""
    if task not in reach.TASKS:
        raise UnknownNameError(f"there is no task {task!r}{suggest(task, list(reach.TASKS))}")
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
    R = full[..., :3, :3]
    if abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0) > 1e-6:
        raise ShapeError("T has a rotation part that is no rotation: R Rᵀ is not the identity")
    return full


def misses(here: np.ndarray, target: np.ndarray, task: str) -> np.ndarray:
    """The larger of the distance, m, and the angle, rad, between poses (..., 4, 4), of a task."""
    found = []
    if task in ("pose", "position", "position_axis"):
        found.append(np.linalg.norm(here[..., :3, 3] - target[..., :3, 3], axis=-1))
    if task in ("pose", "orientation"):  # |R − R'|² = 8 sin²(θ/2)
        apart = np.linalg.norm(here[..., :3, :3] - target[..., :3, :3], axis=(-2, -1))
        found.append(2.0 * np.arcsin(np.minimum(apart / np.sqrt(8.0), 1.0)))
    if task in ("axis", "position_axis"):
        apart = np.linalg.norm(here[..., :3, 2] - target[..., :3, 2], axis=-1)
        found.append(2.0 * np.arcsin(np.minimum(0.5 * apart, 1.0)))
    return np.max(found, axis=0)


def require(
    tolerance: float, restarts: int, goal: str | None, q0: Any, continuous: bool = False
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
    if restarts < 0 or int(restarts) != restarts:
        raise SettingError(f"restarts must be a whole number, not {restarts!r}")
