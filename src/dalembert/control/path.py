"""Paths q(s) of the joints, without time: piecewise polynomials of a path parameter s."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.trajectory import Pieces, horner, on_pieces, spline_pieces
from dalembert.errors import TrajectoryError

CORNER = 1e-4  # relative jump of q' in a corner


class PathPoint(NamedTuple):
    """q(s), dq/ds and d²q/ds², each (..., n)."""

    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray


@dataclass(frozen=True, eq=False)
class Path(Pieces):
    """q(s) = Σ c_j (s − s_k)^j on s_k ≤ s ≤ s_{k+1}.

    `breaks` (m+1,), `coefficients` (m, degree+1, n), the constant one first. `deviation` is the
    largest distance, m and rad, of the frame from its Cartesian path; 0 for a path of the joints.
    """

    deviation: float = 0.0

    def __call__(self, s: ArrayLike) -> PathPoint:
        """The points at s (...); at breaks, of the later piece.

        Examples
        --------
        >>> through([[0.0], [1.0], [4.0]], s=[0.0, 1.0, 2.0])(1.5).dq
        array([3.])
        """
        return PathPoint(*on_pieces(self.breaks, self.coefficients, np.asarray(s, dtype=float)))

    def at_ends(self, grid: np.ndarray) -> PathPoint:
        """Points (N, 2, n) at both ends of the intervals of a grid (N+1,) that has all breaks.

        Derivatives at breaks are one-sided, those inside the interval.
        """
        piece = np.searchsorted(self.breaks, 0.5 * (grid[1:] + grid[:-1]), side="right") - 1
        own = np.moveaxis(self.coefficients[piece], 1, 0)[:, :, None].repeat(2, axis=2)
        ends = np.stack([grid[:-1], grid[1:]], axis=1) - self.breaks[piece, None]
        return PathPoint(*horner(own, ends[..., None]))

    def taylor(self, s: np.ndarray) -> np.ndarray:
        """Taylor coefficients (N, d+1, n) about s (N,); at breaks, of the later piece."""
        piece = np.clip(np.searchsorted(self.breaks, s, side="right") - 1, 0, len(self.breaks) - 2)
        return self.about(s, piece)

    def about(self, s: np.ndarray, piece: np.ndarray) -> np.ndarray:
        """Coefficients (N, d+1, n) about s (N,) of the polynomials of these pieces (N,)."""
        c, shift = self.coefficients[piece], (s - self.breaks[piece])[:, None]
        shifted: np.ndarray = c.copy()
        # synthetic division by (x − shift), once for each derivative
        for first in range(c.shape[1] - 1):
            for j in range(c.shape[1] - 2, first - 1, -1):
                shifted[:, j] += shift * shifted[:, j + 1]
        return shifted

    @cached_property
    def corners(self) -> np.ndarray:
        """s at which q' jumps, so that a motion has to stop there."""
        ends = self.at_ends(self.breaks).dq
        before, after = ends[:-1, 1], ends[1:, 0]
        # no corners where q' is nothing but rounding
        size = np.maximum(np.abs(before), np.abs(after)).max(axis=1)
        size = np.maximum(size, 1e-3 * np.abs(ends).max())
        jumps = np.abs(after - before).max(axis=1) > CORNER * size
        return np.asarray(self.breaks[1:-1][jumps])


def through(
    points: ArrayLike, degree: int = 3, s: ArrayLike | None = None, blend: float = 0.0
) -> Path:
    """A path through points, from s = 0 to 1.

    Parameters
    ----------
    points
        (m, n), m ≥ 2, rad or m; neighbours must differ.
    degree
        3 or 5 for a not-a-knot spline with two or four continuous derivatives, 1 for straight lines.
    s
        (m,) increasing values of s at the points; by default in proportion to their distances.
    blend
        Straight lines meet in corners, where a motion has to stop. Parabolas round them from
        `blend` before to `blend` behind each corner, rad or m, at most half of a line.

    Returns
    -------
    Path

    Raises
    ------
    TrajectoryError
        For equal neighbours, another degree, values of s that do not increase, or a blend of splines.

    Examples
    --------
    >>> path = through([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    >>> path(0.5).q
    array([1., 1.])
    """
    q = np.asarray(points, dtype=float)
    if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
        raise TrajectoryError(f"points must be (m, n) finite numbers, m ≥ 2, not {q.shape}")
    same = np.flatnonzero((np.diff(q, axis=0) == 0.0).all(axis=1))
    if same.size:
        raise TrajectoryError(
            f"points {same[0]} and {same[0] + 1} are the same: leave one of them out"
        )
    if not (np.isfinite(blend) and blend >= 0.0):
        raise TrajectoryError(f"blend must be a length of at least 0, not {blend!r}")
    if blend > 0.0:
        if degree != 1 or s is not None:
            raise TrajectoryError("blend is for straight lines: degree=1, without s")
        return _blended_lines(q, blend)
    if s is None:
        distances = np.cumsum([0.0, *np.linalg.norm(np.diff(q, axis=0), axis=1)])
        at = distances / distances[-1]
    else:
        at = np.asarray(s, dtype=float)
    if at.shape != (len(q),) or not (np.isfinite(at).all() and (np.diff(at) > 0).all()):
        raise TrajectoryError(f"s must be {len(q)} increasing numbers, one for each point")
    if degree not in (1, 3, 5):
        raise TrajectoryError(f"degree must be 1, 3 or 5, not {degree!r}")
    degree = min(degree, len(q) - 1)
    return Path(at, spline_pieces(at, q, degree))


def _blended_lines(q: np.ndarray, blend: float) -> Path:
    """Straight lines through points (m, n), their corners rounded by parabolas."""
    steps = np.diff(q, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    pieces = []  # length and coefficients
    for a, b in blended(lengths, blend):
        k = int(a)
        start, direction = q[k] + (a - k) * steps[k], steps[k] / lengths[k]
        length, curvature = (b - a) * lengths[k], np.zeros_like(start)
        if b > k + 1.0:  # around a corner
            length = 2.0 * (b - k - 1.0) * lengths[k + 1]
            curvature = (steps[k + 1] / lengths[k + 1] - direction) / (2.0 * length)
        pieces.append((length, start, direction, curvature))
    along, *terms = (np.array(x) for x in zip(*pieces, strict=True))
    breaks, powers = np.cumsum([0.0, *along]), np.arange(3.0)[:, None]
    return Path(breaks / breaks[-1], np.stack(terms, axis=1) * breaks[-1] ** powers)


def blended(lengths: np.ndarray, blend: float) -> list[tuple[float, float]]:
    """Ends (from, to) of the pieces of lines with rounded corners; k + 0.5 is halfway on line k."""
    r = np.minimum(blend, 0.5 * np.minimum(lengths[1:], lengths[:-1]))
    last = len(lengths)
    edges = [0.0]
    for k, size in enumerate(r):
        edges += [k + 1.0 - size / lengths[k], k + 1.0 + size / lengths[k + 1]]
    return [(a, b) for a, b in pairwise([*edges, float(last)]) if b - a > 1e-12]
