"""Paths of the joints: q(s), without time, as piecewise polynomials of a share s of the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.control.trajectory import Pieces, horner, on_pieces, spline_pieces
from dalembert.errors import TrajectoryError

CORNER = 1e-4  # share of its size by which q' jumps where a path has a corner


class PathPoint(NamedTuple):
    """q(s), dq/ds and d²q/ds², each (..., n)."""

    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray


@dataclass(frozen=True, eq=False)
class Path(Pieces):
    """q(s) = Σ c_j (s − s_k)^j on s_k ≤ s ≤ s_{k+1}.

    `breaks` (m+1,), `coefficients` (m, degree+1, n), the constant one first. `deviation` is how far,
    m and rad, the tool leaves the Cartesian path that it was made from; 0 for a path of the joints.
    """

    deviation: float = 0.0

    def __call__(self, s: Any) -> PathPoint:
        """The points at s (...); where pieces meet, of the later piece.

        >>> through([[0.0], [1.0], [4.0]], s=[0.0, 1.0, 2.0])(1.5).dq
        array([3.])
        """
        return PathPoint(*on_pieces(self.breaks, self.coefficients, np.asarray(s, dtype=float)))

    def at_ends(self, grid: np.ndarray) -> PathPoint:
        """At both ends of the intervals of a grid (N+1,) that has all breaks: (N, 2, n).

        Where pieces meet, the ends of two intervals have each its own side's derivatives.
        """
        piece = np.searchsorted(self.breaks, 0.5 * (grid[1:] + grid[:-1]), side="right") - 1
        own = np.moveaxis(self.coefficients[piece], 1, 0)[:, :, None].repeat(2, axis=2)
        ends = np.stack([grid[:-1], grid[1:]], axis=1) - self.breaks[piece, None]
        return PathPoint(*horner(own, ends[..., None]))

    def taylor(self, s: np.ndarray) -> np.ndarray:
        """Coefficients (N, d+1, n) of the same polynomials about s (N,), each of the later piece."""
        piece = np.clip(np.searchsorted(self.breaks, s, side="right") - 1, 0, len(self.breaks) - 2)
        return self.about(s, piece)

    def about(self, s: np.ndarray, piece: np.ndarray) -> np.ndarray:
        """Coefficients (N, d+1, n) about s (N,) of the polynomials of these pieces (N,)."""
        c, shift = self.coefficients[piece], (s - self.breaks[piece])[:, None]
        made = c.copy()
        # synthetic division by (x − shift), once for each derivative
        for first in range(c.shape[1] - 1):
            for j in range(c.shape[1] - 2, first - 1, -1):
                made[:, j] += shift * made[:, j + 1]
        return made

    @cached_property
    def corners(self) -> np.ndarray:
        """Where q' jumps, so that the path can only be followed by stopping there."""
        ends = self.at_ends(self.breaks).dq
        before, after = ends[:-1, 1], ends[1:, 0]
        # where q' is nothing but rounding there is no corner
        size = np.maximum(np.abs(before), np.abs(after)).max(axis=1)
        size = np.maximum(size, 1e-3 * np.abs(ends).max())
        return self.breaks[1:-1][np.abs(after - before).max(axis=1) > CORNER * size]


def through(points: Any, degree: int = 3, s: Any = None, blend: float = 0.0) -> Path:
    """A spline of degree 3 or 5 through points (m, n), from s = 0 to 1; degree 1: straight lines.

    `s` (m,) says where the points are; by default in proportion to their distances. Two derivatives
    are continuous with degree 3, four with degree 5; the third, or fifth, is also continuous next
    to the ends ("not a knot"). Straight lines meet in corners, where a motion has to stop, unless a
    parabola leaves each out from `blend` before it to `blend` behind it, rad or m along the lines
    (at most half of a line).

    >>> path = through([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    >>> path(0.5).q
    array([1., 1.])
    """
    q = _points(points)
    if not (np.isfinite(blend) and blend >= 0.0):
        raise TrajectoryError(f"blend must be a length of at least 0, not {blend!r}")
    if blend > 0.0:
        if degree != 1 or s is not None:
            raise TrajectoryError("blend is for straight lines: degree=1, without s")
        return _rounded(q, blend)
    at = _places(q) if s is None else np.asarray(s, dtype=float)
    if at.shape != (len(q),) or not (np.isfinite(at).all() and (np.diff(at) > 0).all()):
        raise TrajectoryError(f"s must be {len(q)} increasing numbers, one for each point")
    if degree not in (1, 3, 5):
        raise TrajectoryError(f"degree must be 1, 3 or 5, not {degree!r}")
    degree = min(degree, len(q) - 1)
    return Path(at, spline_pieces(at, q, degree))


def _rounded(q: np.ndarray, blend: float) -> Path:
    """Straight lines through points (m, n), their corners rounded by parabolas."""
    ways = np.diff(q, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    pieces: list[tuple[float, Sequence[np.ndarray]]] = []
    for a, b in blended(lengths, blend):
        k = int(a)
        if k == int(b) or b == k + 1.0:  # inside one line
            pieces.append(((b - a) * lengths[k], (q[k] + (a - k) * ways[k], ways[k] / lengths[k])))
            continue
        (one, two), r = (ways[j] / lengths[j] for j in (k, k + 1)), (b - k - 1.0) * lengths[k + 1]
        # from direction one to direction two over a length of 2 r
        pieces.append((2.0 * r, (q[k] + (a - k) * ways[k], one, (two - one) / (4.0 * r))))
    return _assembled(pieces)


def blended(lengths: np.ndarray, blend: float) -> list[tuple[float, float]]:
    """Places (from, to) of the pieces of lines with rounded corners; k + 0.5 is halfway on line k."""
    r = np.minimum(blend, 0.5 * np.minimum(lengths[1:], lengths[:-1]))
    last = len(lengths)
    edges = [0.0]
    for k, size in enumerate(r):
        edges += [k + 1.0 - size / lengths[k], k + 1.0 + size / lengths[k + 1]]
    return [(a, b) for a, b in pairwise([*edges, float(last)]) if b - a > 1e-12]


def _assembled(pieces: list[tuple[float, Sequence[np.ndarray]]]) -> Path:
    """A path from s = 0 to 1 of pieces (length, coefficients of the length)."""
    total = sum(length for length, _ in pieces)
    terms, n = max(len(c) for _, c in pieces), len(pieces[0][1][0])
    made = np.zeros((len(pieces), terms, n))
    for k, (_, c) in enumerate(pieces):
        for j, term in enumerate(c):
            made[k, j] = term * total**j
    breaks = np.cumsum([0.0, *(length for length, _ in pieces)]) / total
    return Path(breaks, made)


def _points(points: Any) -> np.ndarray:
    q = np.asarray(points, dtype=float)
    if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
        raise TrajectoryError(f"points must be (m, n) finite numbers, m ≥ 2, not {q.shape}")
    same = np.flatnonzero((np.diff(q, axis=0) == 0.0).all(axis=1))
    if same.size:
        raise TrajectoryError(
            f"points {same[0]} and {same[0] + 1} are the same: leave one of them out"
        )
    return q


def _places(q: np.ndarray) -> np.ndarray:
    along = np.cumsum([0.0, *np.linalg.norm(np.diff(q, axis=0), axis=1)])
    return along / along[-1]
