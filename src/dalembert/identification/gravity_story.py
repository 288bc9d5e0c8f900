"""Which way gravity points, by the data: the direction in which one set of numbers explains most.

Columns are linear in the acceleration a of the base, and gravity g is a base that accelerates by −g:
W(g') = W(g) + Σ_k (g − g')_k ∂W/∂a_k.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dalembert.identification.doubts import Look, badness, explains
from dalembert.identification.misfit import Moments, moments

STEPS = (25.0, 8.0)  # degrees by which the best of 26 directions is refined
STANDARD = 9.81  # m/s², where the model has none
WEIGHTLESS = (
    "the torques hold no gravity, as where a controller adds it; fit robot.with_gravity((0, 0, 0)), "
    "and give the fitted robot its gravity"
)
NEAR = 3.0  # degrees: nearer than that it is the gravity the model has


def gravity_story(look: Look) -> tuple[str, Moments] | None:
    """A sentence and the moments with the gravity that the data fit, where it is another one."""
    gravity = _gravity(look)
    if gravity is None:
        return None
    size = float(np.linalg.norm(gravity)) or STANDARD
    slopes = _slopes(look)
    if gravity.any():
        free = _told(look, slopes, gravity)
        if explains(look.moments.unexplained, free.unexplained):
            return WEIGHTLESS, free
    best, made = _best(look, gravity, size, slopes)
    turned = np.degrees(np.arccos(np.clip(best @ gravity / size, -1.0, 1.0)))
    if turned < NEAR or not explains(look.moments.unexplained, made.unexplained):
        return None
    along = f"about along ({', '.join(f'{x:.2f}' for x in size * best)}) m/s² of its base"
    if not gravity.any():
        return f"gravity acts on the arm, {along}, and the model has none", made
    return f"gravity points elsewhere than in the model, {along}, {turned:.0f}° off", made


def _gravity(look: Look) -> np.ndarray | None:
    """(3,) of the model, where the columns of its robot tell what another would do."""
    robot = look.system.robot
    if look.system.dynamics.rows or robot is not look.system or not hasattr(robot.model, "gravity"):
        return None
    return np.asarray(robot.dynamics.bound().description.gravity, dtype=float)


def _told(look: Look, slopes: np.ndarray, change: np.ndarray) -> Moments:
    """Moments with a gravity that is less by `change` (3,)."""
    now = look.equations
    turned = replace(now, W=now.W + np.tensordot(change, slopes, 1))
    return moments(turned, look.of_rows(look.noise))


def _best(
    look: Look, gravity: np.ndarray, size: float, slopes: np.ndarray
) -> tuple[np.ndarray, Moments]:
    """(direction (3,), moments) of least misfit: 26 of them, then the best one's neighbours."""

    def told(direction: np.ndarray) -> Moments:
        return _told(look, slopes, gravity - size * direction)

    tried = [np.array(d) / np.linalg.norm(d) for d in product((-1, 0, 1), repeat=3) if any(d)]
    found = [(badness(told(d).unexplained), d) for d in (*tried, gravity / size)]
    for step in np.radians(STEPS):
        _, at = min(found, key=lambda pair: pair[0])
        side = np.linalg.qr(np.column_stack([at, np.eye(3)]))[0][:, 1:]
        for angle in np.arange(6) * np.pi / 3.0:
            aside = side @ np.array([np.cos(angle), np.sin(angle)])
            direction = np.cos(step) * at + np.sin(step) * aside
            found.append((badness(told(direction).unexplained), direction))
    _, best = min(found, key=lambda pair: pair[0])
    return best, told(best)


def _slopes(look: Look) -> np.ndarray:
    """∂W/∂a (3, n, rows, free) by the linear acceleration of the base; friction has none."""
    record, columns = look.record, look.columns
    rest = np.zeros_like(record.qd)
    robot: Any = look.system
    still = np.zeros((len(rest), 6))
    level = robot.regressor(record.q, rest, rest, base_acceleration=still)
    found = np.zeros((3, *level.shape[:2], len(columns.names)))
    for k in range(3):
        pushed = still.copy()
        pushed[:, k] = 1.0
        found[k, :, :, : columns.inertial] = (
            robot.regressor(record.q, rest, rest, base_acceleration=pushed) - level
        )
    return np.asarray(found[..., columns.free])
