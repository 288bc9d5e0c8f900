"""Motions through given points with the least jerk ∫ |d³q/dt³|² dt, on numbers and on symbols.

Between points q is a polynomial of degree five of the values, velocities v and accelerations a at
both ends. With x = (v₀, a₀, v₁, a₁), Δ = q₁ − q₀ and a time h, half of a piece's integral has the
slope K x − Δ f by x: jumps of the fourth and third derivative, which the sum over pieces has none of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.linalg.cramer import adjugate

# K: entries times h to the power of −3, −2 or −1
_STIFF = np.array([[192.0, 36, 168, -24], [36, 9, 24, -3], [168, 24, 192, -36], [-24, -3, -36, 9]])
_LOAD = np.array([360.0, 60.0, 360.0, -60.0])
# coefficients of (t/h)³, (t/h)⁴, (t/h)⁵ by (Δ, h v₀, h² a₀, h v₁, h² a₁)
SHAPE = np.array(
    [
        [10.0, -6.0, -1.5, -4.0, 0.5],
        [-15.0, 8.0, 1.5, 7.0, -1.0],
        [6.0, -3.0, -0.5, -3.0, 0.5],
    ]
)


def least_jerk(times: Any, points: Any, passed: Any) -> Any:
    """Coefficients ((m−1)·6, n) of the pieces through points (m, n) at times (m,), one below another.

    At points with `passed` 0, the first and the last among them, it rests; with 1 it passes them.
    """
    count = points.shape[0]
    h = [times[k + 1] - times[k] for k in range(count - 1)]
    ways = [points[k + 1] - points[k] for k in range(count - 1)]
    rates = _rates(h, ways, passed)
    pieces = [_piece(points[k], ways[k], rates[k], rates[k + 1], h[k]) for k in range(count - 1)]
    return np.concatenate(pieces)


def _rates(h: list[Any], ways: list[Any], passed: Any) -> list[Any]:
    """(v, a) (2, n) at all points: zero at both ends and where the motion rests."""
    scales = [np.stack([1.0 / x, x / x, 1.0 / x, x / x]) for x in h]
    K = [_STIFF * np.outer(s, s) / x for s, x in zip(scales, h, strict=True)]
    loads = [np.outer(_LOAD * s / x**3, way) for s, x, way in zip(scales, h, ways, strict=True)]
    rest = np.zeros((2, ways[0].shape[0]))
    pivots: list[Any] = []
    sides: list[Any] = []
    # elimination from the first inner point to the last, 2 × 2 blocks
    for k in range(1, len(h)):
        block, b = K[k - 1][2:, 2:] + K[k][:2, :2], loads[k - 1][2:] + loads[k][:2]
        if pivots:
            link = passed[k] * passed[k - 1] * K[k - 1][2:, :2] @ pivots[-1]
            block, b = block - link @ K[k - 1][:2, 2:], b - link @ sides[-1]
        whole, det = adjugate(block)
        pivots.append(whole / det)
        sides.append(b)
    after, found = rest, []
    for k in range(len(h) - 1, 0, -1):
        after = passed[k] * (pivots[k - 1] @ (sides[k - 1] - K[k][:2, 2:] @ after))
        found.append(after)
    return [rest, *reversed(found), rest]


def _piece(start: Any, way: Any, x0: Any, x1: Any, h: Any) -> Any:
    """Coefficients (6, n) of a piece, the constant one first."""
    ends = np.stack([way, h * x0[0], h * h * x0[1], h * x1[0], h * h * x1[1]])
    high = SHAPE @ ends
    powers = [high[j] / h ** (j + 3) for j in range(3)]
    return np.stack([start, x0[0], 0.5 * x0[1], *powers])
