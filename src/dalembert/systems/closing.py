"""h(q) = 0 by Newton's method along the velocities: each step of least norm, halved until |h| falls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ITERATIONS = 60
SLOW, PATIENCE = 0.9, 6  # a residual that falls by less, so many times on end, will not vanish
LARGEST_STEP = 0.5  # rad or m
CLOSED = 1e-12  # of a residual, beside one metre or radian
RANK = 1e-9  # of a singular value beside the largest: rows that others imply

Rows = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]


def close(q: np.ndarray, rows: Rows, move: Move) -> tuple[np.ndarray, float]:
    """(q, largest |h|), closed where that is at most `CLOSED`.

    `rows` gives h (k,) and its slope (k, n) along the velocities, `move` takes q along one of them.

    >>> circle = lambda q: (np.array([q @ q - 1.0]), 2.0 * q[None])
    >>> q, left = close(np.array([3.0, 4.0]), circle, np.add)
    >>> q, left <= CLOSED
    (array([0.6, 0.8]), True)
    """
    h, slope = rows(q)
    left, tried = np.abs(h).max(initial=0.0), 0
    for _ in range(ITERATIONS):
        if not np.isfinite(left) or left <= 1e-15 or tried >= PATIENCE:
            break
        if not np.isfinite(slope).all():  # as of a root at zero: another start has a direction
            break
        step = -np.linalg.lstsq(slope, h, rcond=RANK)[0]
        step *= min(1.0, LARGEST_STEP / max(np.abs(step).max(), 1e-300))
        for _ in range(10):
            trial = move(q, step)
            after, turned = rows(trial)
            if np.linalg.norm(after) < np.linalg.norm(h):
                break
            step = 0.5 * step
        else:
            break
        tried = tried + 1 if np.linalg.norm(after) > SLOW * np.linalg.norm(h) else 0
        q, h, slope, left = trial, after, turned, np.abs(after).max()
    return q, float(left)
