"""Limits between the samples too: the lowest and highest a motion can be, from a fine grid.

A trigonometric polynomial of degree N is at most 1/cos(π N/K) times as large as on K > 2 N even points
of its period (Ehlich and Zeller 1964): this bounds q, q̇ and q̈. Torques and distances are not of that
form; between neighbours on the grid they leave the chord by at most an eighth of the second
difference, which is taken twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.identification.exciting.problem import Problem

FINEST = 2000  # points of a period, at least
BETWEEN = 0.25  # of the largest second difference
PULLS = 0.002 * 2.0 ** np.arange(9)  # shares by which a motion is made smaller until it fits
KINDS = ("position", "velocity", "acceleration", "torque", "distance")


class Range(NamedTuple):
    """Between which numbers something stays, and between which it must."""

    kind: str
    joint: str  # or what a distance is of
    lowest: float
    highest: float
    lower: float
    upper: float

    @property
    def margin(self) -> float:
        """Share of half of the range that is left; of a distance, metres."""
        room = min(self.upper - self.highest, self.lowest - self.lower)
        span = self.upper - self.lower
        return room / (0.5 * span) if np.isfinite(span) else room


def ranges(problem: Problem, z: np.ndarray, fine: np.ndarray) -> list[Range]:
    """All that is limited, of z (size · n,) on a grid of `shapes` (3, K, size)."""
    motion = problem.motion(z, fine)
    names = [problem.robot.dynamics.velocities] * 4
    names += [] if problem.workspace is None else [problem.workspace.names]
    found = []
    for order, (r, bounds) in enumerate(zip(problem.rows(motion), problem.bounds, strict=True)):
        lowest, highest = _between(r, problem.basis.harmonics if order < 3 else None)
        found += [
            Range(
                KINDS[order], name, *map(float, (lowest[k], highest[k], bounds[0][k], bounds[1][k]))
            )
            for k, name in enumerate(names[order])
        ]
    return found


def _between(r: np.ndarray, harmonics: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(lowest, highest), each (rows,), of r (K, rows) over a whole period."""
    low, high = r.min(axis=0), r.max(axis=0)
    if harmonics is not None:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        half = half / np.cos(np.pi * harmonics / len(r))
        return middle - half, middle + half
    bend = np.abs(np.roll(r, 1, axis=0) - 2.0 * r + np.roll(r, -1, axis=0)).max(axis=0)
    return low - BETWEEN * bend, high + BETWEEN * bend


def certified(problem: Problem, z: np.ndarray) -> tuple[np.ndarray, float]:
    """z, pulled towards its mean posture by the share that it takes to fit, 0 where it does fit."""
    fine = problem.basis.shapes(fine_count(problem))
    own = z.reshape(-1, problem.basis.joints)
    still = problem.basis.standing(problem.basis.Z[0] @ own)
    for pull in (0.0, *PULLS):
        tried = (still + (1.0 - pull) * (own - still)).ravel()
        worst = min(ranges(problem, tried, fine), key=lambda r: r.margin)
        if worst.margin > 0.0:
            return tried, float(pull)
    raise TrajectoryError(
        f"{problem.robot.name}: between its samples the motion passes the {worst.kind} limit of "
        f"{worst.joint!r}; give a larger margin="
    )


def fine_count(problem: Problem) -> int:
    """Points of the fine grid."""
    return max(FINEST, 10 * problem.samples)
