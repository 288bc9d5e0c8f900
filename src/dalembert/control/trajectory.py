"""Motions as piecewise polynomials in time: evaluated on arrays, or traced with their numbers open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from dalembert.control.least_jerk import SHAPE, least_jerk
from dalembert.errors import TrajectoryError

# s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵ from 0 to 1: at rest and without acceleration at both ends
QUINTIC = (0.0, 0.0, 0.0, *SHAPE[:, 0].tolist())  # from rest to rest, 10 x³ − 15 x⁴ + 6 x⁵


class Point(NamedTuple):
    """Where to be, how fast, and how that changes: each (..., n)."""

    q: Any
    qd: Any
    qdd: Any


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials one behind the other: `breaks` (m+1,), `coefficients` (m, degree+1, n)."""

    breaks: np.ndarray
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        breaks, c = sound_pieces(self.breaks, self.coefficients)
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", c)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.coefficients.shape[2]


@dataclass(frozen=True, eq=False)
class Trajectory(Pieces):
    """q(t) = Σ c_j (t − t_k)^j on t_k ≤ t < t_{k+1}; at rest in its end points outside.

    `breaks` (m+1,) in s, `coefficients` (m, degree+1, n), the constant one first.
    """

    @property
    def duration(self) -> float:
        """Seconds from begin to end."""
        return float(self.breaks[-1] - self.breaks[0])

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Its numbers, as inputs of a kernel; the rows of all pieces one below the other."""
        return {"breaks": self.breaks, "coefficients": self.coefficients.reshape(-1, self.size)}

    def __call__(self, t: Any) -> Point:
        """The points at times t (...): arrays (..., n).

        >>> quintic([0.0], [1.0], 2.0)(1.0).q
        array([0.5])
        """
        t = np.asarray(t, dtype=float)
        inside = ((t >= self.breaks[0]) & (t < self.breaks[-1]))[..., None]
        q, qd, qdd = on_pieces(self.breaks, self.coefficients, t)
        return Point(q, np.where(inside, qd, 0.0), np.where(inside, qdd, 0.0))

    def at(self, t: Any, constants: Mapping[str, Any]) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        breaks, count = constants["breaks"], len(self.coefficients)
        rows = constants["coefficients"]
        q, qd, qdd = on_traced_pieces(breaks, rows, t, self.coefficients.shape[:2])
        inside = (t >= breaks[0]) * (t < breaks[count])
        return Point(q, inside * qd, inside * qdd)

    def slowed(self, factor: float) -> Trajectory:
        """The same path, taking `factor` times as long."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise TrajectoryError(f"a trajectory cannot be slowed by the factor {factor!r}")
        powers = factor ** -np.arange(self.coefficients.shape[1], dtype=float)
        first = self.breaks[0]
        return Trajectory(
            first + factor * (self.breaks - first), self.coefficients * powers[None, :, None]
        )


def sound_pieces(breaks: Any, coefficients: Any) -> tuple[np.ndarray, np.ndarray]:
    """Breaks (m+1,) and coefficients (m, degree+1, n) of polynomials, or an error."""
    breaks, c = np.asarray(breaks, dtype=float), np.asarray(coefficients, dtype=float)
    if c.ndim != 3 or breaks.shape != (c.shape[0] + 1,):
        raise TrajectoryError(
            f"breaks {breaks.shape} and coefficients {c.shape} do not fit: (m+1,) and (m, d+1, n)"
        )
    if not (np.isfinite(breaks).all() and np.isfinite(c).all() and (np.diff(breaks) > 0).all()):
        raise TrajectoryError("breaks must increase, and all numbers must be finite")
    return breaks, c


def spline_pieces(at: np.ndarray, points: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients (m−1, degree+1, n) between places (m,) of the spline through points (m, n).

    It has no knots next to its ends.
    """
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(at, points, k=degree)
    # its knots are among the places: Taylor's coefficients at the begin of each are the polynomial
    return np.stack([spline(at[:-1], nu=j) / factorial(j) for j in range(degree + 1)], axis=1)


def on_pieces(breaks: np.ndarray, c: np.ndarray, x: np.ndarray) -> tuple[Any, Any, Any]:
    """Value and two derivatives (..., n) at x (...), which is clipped to the pieces.

    `breaks` (m+1,), c (m, degree+1, n) about the begin of each piece.
    """
    piece = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, len(c) - 1)
    own = np.moveaxis(c[piece], -2, 0)  # (degree+1, ..., n)
    return horner(own, (np.clip(x, breaks[0], breaks[-1]) - breaks[piece])[..., None])


def on_traced_pieces(
    breaks: Any, rows: Any, x: Any, shape: tuple[int, int]
) -> tuple[Any, Any, Any]:
    """The same at one x, all of them possibly symbols; `shape` (m, degree+1) of the `rows`."""
    count, terms = shape
    own, start = [rows[j] for j in range(terms)], breaks[0]
    for k in range(1, count):
        later = x >= breaks[k]
        own = [np.where(later, rows[k * terms + j], own[j]) for j in range(terms)]
        start = np.where(later, breaks[k], start)
    return horner(own, np.minimum(np.maximum(x, breaks[0]), breaks[count]) - start)


def horner(c: Any, s: Any) -> tuple[Any, Any, Any]:
    """Value and two derivatives of Σ c_j s^j."""

    def value(terms: list[Any]) -> Any:
        return reduce(lambda total, term: total * s + term, reversed(terms[:-1]), terms[-1])

    terms = list(c) + [0.0 * c[0]] * max(0, 3 - len(c))
    first = [j * term for j, term in enumerate(terms)][1:]
    second = [j * term for j, term in enumerate(first)][1:]
    return value(terms), value(first), value(second)


def hold(q: Any) -> Trajectory:
    """Stay at q (n,)."""
    q = _vector(q, "q")
    return Trajectory(np.array([0.0, 1.0]), q[None, None, :])


def quintic(start: Any, goal: Any, duration: float, begin: float = 0.0) -> Trajectory:
    """From rest to rest with s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵: the smoothest start and end.

    >>> quintic([0.0, 0.0], [1.0, 2.0], 1.0)(0.5).qd
    array([1.875, 3.75 ])
    """
    q0, q1 = _pair(start, goal)
    if not (np.isfinite(duration) and duration > 0.0):
        raise TrajectoryError(f"duration must be a positive number, not {duration!r}")
    T = float(duration)
    shape = np.array(QUINTIC) / T ** np.arange(6.0)
    c = shape[:, None] * (q1 - q0)
    c[0] = q0
    return Trajectory(np.array([begin, begin + T]), c[None])


def trapezoidal(
    start: Any, goal: Any, velocity: Any, acceleration: Any, begin: float = 0.0
) -> Trajectory:
    """A straight line in joint space, as fast as these limits (a number, or one each) allow.

    All joints speed up, cruise and slow down together; short ways have no cruise.

    >>> trapezoidal([0.0], [3.0], velocity=1.0, acceleration=1.0).duration
    4.0
    """
    q0, q1 = _pair(start, goal)
    way = np.abs(q1 - q0)
    if not way.any():
        return Trajectory(np.array([begin, begin + 1.0]), q0[None, None, :])
    moving = way > 0.0
    v_max = np.broadcast_to(np.asarray(velocity, dtype=float), way.shape)
    a_max = np.broadcast_to(np.asarray(acceleration, dtype=float), way.shape)
    for name, limit in (("velocity", v_max), ("acceleration", a_max)):
        if not (np.isfinite(limit).all() and (limit > 0.0).all()):
            raise TrajectoryError(f"{name} limits must be positive numbers, not {limit}")
    v, a = (v_max[moving] / way[moving]).min(), (a_max[moving] / way[moving]).min()
    rise = min(v / a, np.sqrt(1.0 / a))  # of s from 0 to 1
    v = a * rise
    cruise = max(0.0, 1.0 / v - rise)
    half = 0.5 * a
    pieces = [(rise, [0.0, 0.0, half])]
    pieces += [(cruise, [half * rise**2, v, 0.0])] if cruise > 1e-12 * rise else []
    pieces += [(rise, [1.0 - half * rise**2, v, -half])]
    c = np.array([shape for _, shape in pieces])[:, :, None] * (q1 - q0)
    c[:, 0] += q0
    return Trajectory(begin + np.cumsum([0.0, *(T for T, _ in pieces)]), c)


def via_points(points: Any, times: Sequence[float]) -> Trajectory:
    """Through points (m, n) at these times, at rest at both ends, with the least ∫ (d³q/dt³)² dt.

    A spline of degree five: all derivatives up to the fourth are continuous.

    >>> via_points([[0.0], [1.0], [0.0]], [0.0, 1.0, 2.0])(1.0).q
    array([1.])
    """
    q, t = np.asarray(points, dtype=float), np.asarray(times, dtype=float)
    if q.ndim != 2 or t.shape != (len(q),) or len(q) < 2:
        raise TrajectoryError(
            f"points {q.shape} and times {t.shape} must be (m, n) and (m,), m ≥ 2"
        )
    if not (np.isfinite(q).all() and np.isfinite(t).all() and (np.diff(t) > 0).all()):
        raise TrajectoryError("times must increase, and all numbers must be finite")
    passed = np.array([0.0, *np.ones(len(q) - 2), 0.0])
    return Trajectory(t, least_jerk(t, q, passed).reshape(len(q) - 1, 6, -1))


def _vector(q: Any, name: str) -> np.ndarray:
    q = np.atleast_1d(np.asarray(q, dtype=float))
    if q.ndim != 1 or not np.isfinite(q).all():
        raise TrajectoryError(f"{name} must be a vector of finite numbers")
    return q


def _pair(start: Any, goal: Any) -> tuple[np.ndarray, np.ndarray]:
    q0, q1 = _vector(start, "start"), _vector(goal, "goal")
    if q0.shape != q1.shape:
        raise TrajectoryError(f"start {q0.shape} and goal {q1.shape} must have the same length")
    return q0, q1
