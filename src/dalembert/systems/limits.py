"""Limits of the joints as numbers to draw from and to compare with."""

from __future__ import annotations

import numpy as np


def between(lower: np.ndarray, upper: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Numbers `around` zero (..., nv) within ±π, spread evenly over the limits where there are any.

    With a limit on one side only they lie within 2π of it.

    >>> between(np.array([0.0, -np.inf]), np.array([1.0, np.inf]), np.array([0.0, 3.0]))
    array([0.5, 3. ])
    """
    low, high = np.isfinite(lower), np.isfinite(upper)
    span = np.where(low & high, upper - lower, 2.0 * np.pi)
    start = np.where(low, lower, np.where(high, upper - 2.0 * np.pi, -np.pi))
    return np.where(low | high, start + (around + np.pi) / (2.0 * np.pi) * span, around)
