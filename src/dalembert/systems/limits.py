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


def evenly(count: int, size: int) -> np.ndarray:
    """Points (count, size) that fill the unit cube evenly, the first its middle: ½ + k α modulo one.

    α_j = g⁻ʲ with g^(size + 1) = g + 1 (M. Roberts 2018): for one size the golden ratio.

    >>> evenly(3, 1).round(3).tolist()
    [[0.5], [0.118], [0.736]]
    """
    g = 2.0
    for _ in range(64):  # a contraction by at least one half
        g = (1.0 + g) ** (1.0 / (size + 1))
    alpha = g ** -np.arange(1.0, size + 1)
    return (0.5 + np.arange(count)[:, None] * alpha) % 1.0
