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
NEAR = 3.0  # degrees: nearer than that it is the gravity the model has


def gravity_story(look: Look) -> tuple[str, Moments] | None:
    """A sentence and the moments with the gravity that the data fit, where it is another one."""
    robot = look.system.robot
    if look.system.dynamics.rows or robot is not look.system or not hasattr(robot.model, "gravity"):
        return None
    gravity = np.asarray(robot.dynamics.bound().description.gravity, dtype=float)
    size = float(np.linalg.norm(gravity)) or STANDARD
    best, made = _best(look, gravity, size)
    turned = np.degrees(np.arccos(np.clip(best @ gravity / size, -1.0, 1.0)))
    if turned < NEAR or not explains(look.moments.unexplained, made.unexplained):
        return None
    along = f"about along ({', '.join(f'{x:.2f}' for x in size * best)}) m/s² of its base"
    if not gravity.any():
        return f"gravity acts on the arm, {along}, and the model has none", made
    return f"gravity points elsewhere than in the model, {along}, {turned:.0f}° off", made


def _best(look: Look, gravity: np.ndarray, size: float) -> tuple[np.ndarray, Moments]:
    """(direction (3,), moments) of least misfit: 26 of them, then the best one's neighbours."""
    slopes = _slopes(look)
    now, noise = look.equations, look.of_rows(look.noise)

    def told(direction: np.ndarray) -> Moments:
        turned = now.W + np.tensordot(gravity - size * direction, slopes, 1)
        return moments(replace(now, W=turned), noise)

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
