"""The fastest motion along a path, stage by stage: reachability analysis (Pham and Pham 2018).

With x = ṡ² at the begin and y = ṡ² at the end of an interval of length Δ, s̈ = (y − x) / 2Δ, and each
limit at either end of the interval is one line

    A x + B y ≤ C.

Backward from the end, the set [low, high] of x from which the rest of the path can be done; forward
from the start, the largest y in the next set. Solved for x, the lines are an upper bound that is
concave in y and a lower bound that is convex in y, so that both sets follow from a minimum over the
lines and four numbers of each interval: where the polygon of its lines begins and ends in y, and
where x + y is largest and x is least.

Twice as fast as TOPP-RA 0.6 (1.8 ms, 3.6 ms; `benchmarks/paths.py`), which brings matplotlib along and
takes torques state by state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.kernels.call.envelope import backward, forward, padded

TINY = 1e-13  # beside the other coefficient of a line
FAR = 1e30  # no line
ROUNDING = 1e-12  # by which a set may be empty, beside its speeds


class Bounds(NamedTuple):
    """Lines solved for one variable: max (slope_l, at_l) ≤ variable ≤ min (slope_u, at_u), (N, m)."""

    upper_slope: np.ndarray
    upper: np.ndarray
    lower_slope: np.ndarray
    lower: np.ndarray


class Sets(NamedTuple):
    """[low, high] (N+1,) of x that reach the end; `empty` the first interval that none passes."""

    low: np.ndarray
    high: np.ndarray
    empty: int | None


def solved(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Bounds:
    """A x + B y ≤ C (N, m) as bounds of x by y; lines without x bound nothing."""
    has = np.abs(A) > TINY * np.abs(B)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope, at = -B / A, C / A
    up, down = has & (A > 0.0), has & (A < 0.0)
    return Bounds(
        *(np.where(up, slope, 0.0), np.where(up, at, FAR)),
        *(np.where(down, slope, 0.0), np.where(down, at, -FAR)),
    )


def passed(A: np.ndarray, B: np.ndarray, C: np.ndarray, end: float, whole: bool = False) -> Sets:
    """The sets of x at all grid points, from x = end at the last; lines (N, m).

    Next to points without inertia, where m changes its sign, the largest x may leave only a small y,
    even 0. Unless the `whole` sets are asked for, they end where x + y is largest: a speed that costs
    more than it gains is not in them.
    """
    bounds = solved(A, B, C)
    first, last, largest, least = extent(A, B, C, bounds, 0.0 if whole else 1.0)
    low, high = np.empty(len(A) + 1), np.empty(len(A) + 1)
    low[-1] = high[-1] = end
    lines = [padded(x, fill) for x, fill in zip(bounds, (0.0, FAR, 0.0, -FAR), strict=True)]
    backward((lines[0], lines[1], lines[2], lines[3]), (first, last, largest, least), low, high)
    begin, stop = np.maximum(low[1:], first), np.minimum(high[1:], last)
    empty = np.flatnonzero(begin > stop + ROUNDING * np.abs(stop))
    return Sets(low, high, int(empty[-1]) if empty.size else None)


def fastest(A: np.ndarray, B: np.ndarray, C: np.ndarray, sets: Sets, start: float) -> np.ndarray:
    """x (N+1,) of the fastest motion from x = start, which must be in the first set."""
    bounds = solved(B, A, C)  # of y by x
    x = np.full(len(A) + 1, start)
    lines = padded(bounds.upper_slope, 0.0), padded(bounds.upper, FAR)
    forward(*lines, sets.low, sets.high, x)
    return x


def extent(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, x: Bounds, weight: float
) -> tuple[np.ndarray, ...]:
    """(first y, last y, y of the largest x + weight y, y of the least x) of each polygon, (N,) each.

    `x` are the bounds of x by y; lines without x are bounds of y.
    """
    alone = (x.upper == FAR) & (x.lower == -FAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = C / B
    most = np.where(alone & (B > 0.0), y, FAR).min(axis=1)
    least = np.where(alone & (B < 0.0), y, -FAR).max(axis=1)
    last = _edge(x, most)
    first = -_edge(x._replace(upper_slope=-x.upper_slope, lower_slope=-x.lower_slope), -least)
    largest = _top(x.upper_slope + weight, x.upper, first, last)
    return first, last, largest, _top(-x.lower_slope, -x.lower, first, last)


def _edge(x: Bounds, start: np.ndarray) -> np.ndarray:
    """The largest y ≤ start with lower(y) ≤ upper(y), or −FAR: Newton on a concave function.

    From the right it steps to where the two lines that are active cross, and never too far: it ends
    after at most as many steps as there are lines.
    """
    y, at, lines = start.copy(), np.arange(len(start)), x
    for _ in range(x.upper.shape[1] + 1):
        if not len(at):
            break
        above, top = _lowest(lines.upper_slope, lines.upper, y[at])
        below, bottom = _lowest(-lines.lower_slope, -lines.lower, y[at])
        slope, gap = above + below, top + bottom  # upper − lower = slope y + gap
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(slope < 0.0, -gap / slope, -FAR)
        further = (slope * y[at] + gap < 0.0) & (crossing < y[at])
        at, lines = at[further], Bounds(*(side[further] for side in lines))
        y[at] = crossing[further]
    return y


def _top(slope: np.ndarray, at: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """y in [first, last] where the lowest of the lines (N, m) is highest.

    The highest point is below the crossing of a rising and a falling line; the line that is lowest
    there replaces one of them, until there is none.
    """
    rising, falling = _lowest(slope, at, first), _lowest(slope, at, last)
    y = np.where(rising[0] <= 0.0, first, last)
    going = np.flatnonzero((rising[0] > 0.0) & (falling[0] < 0.0) & (first < last))
    left, right = ([side[going] for side in line] for line in (rising, falling))
    for _ in range(slope.shape[1] + 1):
        if not len(going):
            break
        crossing = (right[1] - left[1]) / (left[0] - right[0])
        y[going] = crossing
        new, height = _lowest(slope[going], at[going], crossing)
        known, size = left[0] * crossing + left[1], np.abs(left[0] * crossing) + np.abs(left[1])
        lower = new * crossing + height < known - ROUNDING * size
        up = new > 0.0
        left = [np.where(up, a, b)[lower] for a, b in zip((new, height), left, strict=True)]
        right = [np.where(up, b, a)[lower] for a, b in zip((new, height), right, strict=True)]
        going = going[lower]
    return y


def _lowest(slope: np.ndarray, at: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(slope, at) (N,) of the line that is lowest at y (N,)."""
    rows, k = np.arange(len(y)), np.argmin(slope * y[:, None] + at, axis=1)
    return slope[rows, k], at[rows, k]
