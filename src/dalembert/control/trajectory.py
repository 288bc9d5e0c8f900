"""Trajectories q(t): piecewise polynomials and Fourier series, on arrays or traced, and time scaling.

Minimum jerk: between points q is a polynomial of degree five in t, given by the velocities v and
accelerations a at both ends. With x = (v₀, a₀, v₁, a₁), Δ = q₁ − q₀ and a time h, half of
∫ |d³q/dt³|² dt over a piece has the gradient K x − Δ f: jumps of the fourth and third derivative, which
vanish in the sum over all pieces.

Fourier series (Swevers, Ganseman, Tükel, De Schutter and Van Brussel 1997, eq. 5, with the factors
1/(k ω) in the coefficients):

    q(t) = c + Σ_k a_k cos(k ω t) + b_k sin(k ω t),   ω = 2π / period,   k = 1 … N

Time scaling (Hollerbach 1984, Dynamic scaling of manipulator trajectories): c times slower, a motion
has the velocities q̇/c, the accelerations q̈/c² and the torques N + f/c + (τ − N − f)/c², f the viscous
friction. So the factor follows from one evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import TrajectoryError
from dalembert.formulations.parts.elements import coulomb
from dalembert.linalg.factorisations import adjugate
from dalembert.simulation.results import labelled, torques_along
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

Array = np.ndarray  # of floats or of symbols
Scalar = float | np.ndarray  # a float or a symbol
Constants = Mapping[str, Any]  # of a controller or target, floats or symbols

Output = tuple[Array, Any]  # τ, and ż of a controller's own state or a function of λ

# K: entries times h to the power of −3, −2 or −1
_STIFF = np.array([[192.0, 36, 168, -24], [36, 9, 24, -3], [168, 24, 192, -36], [-24, -3, -36, 9]])
_LOAD = np.array([360.0, 60.0, 360.0, -60.0])
# coefficients of (t/h)³, (t/h)⁴, (t/h)⁵ by (Δ, h v₀, h² a₀, h v₁, h² a₁)
SHAPE = np.array(
    [[10.0, -6.0, -1.5, -4.0, 0.5], [-15.0, 8.0, 1.5, 7.0, -1.0], [6.0, -3.0, -0.5, -3.0, 0.5]]
)


def least_jerk(times: Array, points: Array, passed: Array) -> Array:
    """Coefficients ((m−1)·6, n) of minimum jerk through points (m, n) at times (m,), piece by piece.

    At points with `passed` 0, the first and the last among them, the motion rests; at those with 1 it
    does not. All arguments may be symbols.
    """
    count = points.shape[0]
    h = [times[k + 1] - times[k] for k in range(count - 1)]
    steps = [points[k + 1] - points[k] for k in range(count - 1)]
    rates = _rates(h, steps, passed)
    pieces = []
    for k in range(count - 1):
        (v0, a0), (v1, a1) = rates[k], rates[k + 1]
        x = h[k]
        ends = np.stack([steps[k], x * v0, x * x * a0, x * v1, x * x * a1])
        high = SHAPE @ ends
        powers = [high[j] / x ** (j + 3) for j in range(3)]
        pieces.append(np.stack([points[k], v0, 0.5 * a0, *powers]))
    return np.concatenate(pieces)


def _rates(h: list[Array], steps: list[Array], passed: Array) -> list[Array]:
    """(v, a) (2, n) at all points: zero at both ends and where the motion rests."""
    scales = [np.stack([1.0 / x, x / x, 1.0 / x, x / x]) for x in h]
    K = [_STIFF * np.outer(s, s) / x for s, x in zip(scales, h, strict=True)]
    loads = [np.outer(_LOAD * s / x**3, d) for s, x, d in zip(scales, h, steps, strict=True)]
    rest = np.zeros((2, steps[0].shape[0]))
    pivots: list[Array] = []
    sides: list[Array] = []
    # elimination from the first inner point to the last, 2 × 2 blocks
    for k in range(1, len(h)):
        block, b = K[k - 1][2:, 2:] + K[k][:2, :2], loads[k - 1][2:] + loads[k][:2]
        if pivots:
            link = passed[k] * passed[k - 1] * K[k - 1][2:, :2] @ pivots[-1]
            block, b = block - link @ K[k - 1][:2, 2:], b - link @ sides[-1]
        adjoint, det = adjugate(block)
        pivots.append(adjoint / det)
        sides.append(b)
    after, rates = rest, []
    for k in range(len(h) - 1, 0, -1):
        after = passed[k] * (pivots[k - 1] @ (sides[k - 1] - K[k][:2, 2:] @ after))
        rates.append(after)
    return [rest, *reversed(rates), rest]


# s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵ from 0 to 1: at rest and without acceleration at both ends
QUINTIC = (0.0, 0.0, 0.0, *SHAPE[:, 0].tolist())  # from rest to rest, 10 x³ − 15 x⁴ + 6 x⁵


Derivatives = tuple[Array, Array, Array]  # a value and its first two derivatives


class Point(NamedTuple):
    """Position, velocity and acceleration, each (..., n)."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Pieces:
    """Piecewise polynomials: `breaks` (m+1,), `coefficients` (m, degree+1, n)."""

    breaks: np.ndarray
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        breaks = np.asarray(self.breaks, dtype=float)
        c = np.asarray(self.coefficients, dtype=float)
        if c.ndim != 3 or breaks.shape != (c.shape[0] + 1,):
            raise TrajectoryError(
                f"breaks {breaks.shape} and coefficients {c.shape} do not fit: (m+1,) and (m, d+1, n)"
            )
        if not (np.isfinite(breaks).all() and np.isfinite(c).all() and (np.diff(breaks) > 0).all()):
            raise TrajectoryError("breaks must increase, and all numbers must be finite")
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", c)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.coefficients.shape[2])


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
        """Inputs of a kernel: breaks (m+1,), and coefficients (m·(degree+1), n) piece by piece."""
        return {"breaks": self.breaks, "coefficients": self.coefficients.reshape(-1, self.size)}

    def __call__(self, t: ArrayLike) -> Point:
        """The points at times t (...): arrays (..., n).

        Examples
        --------
        >>> quintic([0.0], [1.0], 2.0)(1.0).q
        array([0.5])
        """
        t = np.asarray(t, dtype=float)
        inside = ((t >= self.breaks[0]) & (t < self.breaks[-1]))[..., None]
        q, qd, qdd = on_pieces(self.breaks, self.coefficients, t)
        return Point(q, np.where(inside, qd, 0.0), np.where(inside, qdd, 0.0))

    def at(self, t: Scalar, constants: Constants) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        breaks, count = constants["breaks"], len(self.coefficients)
        rows = constants["coefficients"]
        q, qd, qdd = on_traced_pieces(breaks, rows, t, self.coefficients.shape[:2])
        inside = (t >= breaks[0]) * (t < breaks[count])
        return Point(q, inside * qd, inside * qdd)

    def slowed(self, factor: float) -> Trajectory:
        """The trajectory on the same path, `factor` times as long."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise TrajectoryError(f"a trajectory cannot be slowed by the factor {factor!r}")
        powers = factor ** -np.arange(self.coefficients.shape[1], dtype=float)
        first = self.breaks[0]
        return Trajectory(
            first + factor * (self.breaks - first), self.coefficients * powers[None, :, None]
        )


def spline_pieces(at: np.ndarray, points: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients (m−1, degree+1, n) of the not-a-knot spline through points (m, n) at `at` (m,)."""
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(at, points, k=degree)
    # its knots are among `at`: Taylor coefficients at the begin of each piece are the polynomial
    return np.stack([spline(at[:-1], nu=j) / factorial(j) for j in range(degree + 1)], axis=1)


def on_pieces(breaks: np.ndarray, c: np.ndarray, x: np.ndarray) -> Derivatives:
    """Value and two derivatives (..., n) at x (...), which is clipped to the pieces.

    `breaks` (m+1,), c (m, degree+1, n) about the begin of each piece.
    """
    piece = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, len(c) - 1)
    own = np.moveaxis(c[piece], -2, 0)  # (degree+1, ..., n)
    return horner(own, (np.clip(x, breaks[0], breaks[-1]) - breaks[piece])[..., None])


def on_traced_pieces(breaks: Array, rows: Array, x: Scalar, shape: tuple[int, ...]) -> Derivatives:
    """`on_pieces` at one x, where all may be symbols; `shape` (m, degree+1) of the `rows`."""
    count, terms = shape
    own, start = [rows[j] for j in range(terms)], breaks[0]
    for k in range(1, count):
        later = x >= breaks[k]
        own = [np.where(later, rows[k * terms + j], own[j]) for j in range(terms)]
        start = np.where(later, breaks[k], start)
    return horner(own, np.minimum(np.maximum(x, breaks[0]), breaks[count]) - start)


def horner(c: Array | list[Array], s: Array) -> Derivatives:
    """Value and two derivatives of Σ c_j s^j."""

    def value(terms: list[Array]) -> Array:
        return reduce(lambda total, term: total * s + term, reversed(terms[:-1]), terms[-1])

    terms = list(c) + [0.0 * c[0]] * max(0, 3 - len(c))
    first = [j * term for j, term in enumerate(terms)][1:]
    second = [j * term for j, term in enumerate(first)][1:]
    return value(terms), value(first), value(second)


def hold(q: ArrayLike) -> Trajectory:
    """A trajectory that stays at q (n,)."""
    q = _vector(q, "q")
    return Trajectory(np.array([0.0, 1.0]), q[None, None, :])


def quintic(start: ArrayLike, goal: ArrayLike, duration: float, begin: float = 0.0) -> Trajectory:
    """From rest to rest along a straight line with s(τ) = 10 τ³ − 15 τ⁴ + 6 τ⁵.

    Parameters
    ----------
    start, goal
        (n,) rad or m.
    duration
        Positive, s.
    begin
        Time at which it leaves `start`, s.

    Returns
    -------
    Trajectory

    Raises
    ------
    TrajectoryError
        For vectors of different lengths, or a duration that is not positive.

    Examples
    --------
    >>> quintic([0.0, 0.0], [1.0, 2.0], 1.0)(0.5).qd
    array([1.875, 3.75 ])
    """
    q0, q1 = start_and_goal(start, goal)
    if not (np.isfinite(duration) and duration > 0.0):
        raise TrajectoryError(f"duration must be a positive number, not {duration!r}")
    T = float(duration)
    shape = np.array(QUINTIC) / T ** np.arange(6.0)
    c = shape[:, None] * (q1 - q0)
    c[0] = q0
    return Trajectory(np.array([begin, begin + T]), c[None])


def trapezoidal(
    start: ArrayLike,
    goal: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    begin: float = 0.0,
) -> Trajectory:
    """A straight line in joint space with a trapezoidal velocity profile, common to all joints.

    Parameters
    ----------
    start, goal
        (n,) rad or m.
    velocity, acceleration
        Limits, a number or (n,); at least one joint meets one of them at every time.
    begin
        Time at which it leaves `start`, s.

    Returns
    -------
    Trajectory

    Raises
    ------
    TrajectoryError
        For vectors of different lengths, or limits that are not positive.

    Examples
    --------
    >>> trapezoidal([0.0], [3.0], velocity=1.0, acceleration=1.0).duration
    4.0
    """
    q0, q1 = start_and_goal(start, goal)
    distance = np.abs(q1 - q0)
    moving = distance > 1e-200  # rad or m: limits over less overflow
    if not moving.any():
        return Trajectory(np.array([begin, begin + 1.0]), q1[None, None, :])
    v_max = joint_limits(velocity, len(q0), "velocity", finite=True)
    a_max = joint_limits(acceleration, len(q0), "acceleration", finite=True)
    v, a = ((limit[moving] / distance[moving]).min() for limit in (v_max, a_max))
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


def via_points(points: ArrayLike, times: Sequence[float]) -> Trajectory:
    """Minimum-jerk trajectory through points: the least ∫ (d³q/dt³)² dt, at rest at both ends.

    Parameters
    ----------
    points
        (m, n), m ≥ 2, rad or m.
    times
        (m,) increasing, s.

    Returns
    -------
    Trajectory
        A spline of degree five with four continuous derivatives.

    Raises
    ------
    TrajectoryError
        For shapes that do not fit, or times that do not increase.

    Examples
    --------
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


def _vector(q: ArrayLike, name: str) -> np.ndarray:
    q = np.atleast_1d(np.asarray(q, dtype=float))
    if q.ndim != 1 or not np.isfinite(q).all():
        raise TrajectoryError(f"{name} must be a vector of finite numbers")
    return q


def start_and_goal(start: ArrayLike, goal: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    q0, q1 = _vector(start, "start"), _vector(goal, "goal")
    if q0.shape != q1.shape:
        raise TrajectoryError(f"start {q0.shape} and goal {q1.shape} must have the same length")
    return q0, q1


# Taylor polynomials of 16 pieces per wave of the highest harmonic: (2π/16)¹²/12! = 3e-14 of q̈
_PIECES, _DEGREE = 16, 13


@dataclass(frozen=True, eq=False)
class Fourier(Trajectory):
    """A Fourier series over whole periods, created by `fourier`.

    On arrays it is evaluated by Taylor polynomials, exact to rounding; traced, by sines.
    """

    period: float  # s
    sums: np.ndarray  # (2 N + 1, n): c, a_1 … a_N, b_1 … b_N, rad or m

    @property
    def harmonics(self) -> int:
        """N."""
        return (len(self.sums) - 1) // 2

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Inputs of a kernel."""
        ends = self.breaks[[0, -1]]
        return {"ends": ends, "rate": np.array([2.0 * np.pi / self.period]), "sums": self.sums}

    def at(self, t: Scalar, constants: Constants) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        (begin, end), (rate,) = (constants[name] for name in ("ends", "rate"))
        inside = (t >= begin) * (t < end)
        phase = rate * (np.minimum(np.maximum(t, begin), end) - begin)
        q, qd, qdd = (f @ constants["sums"] for f in waves(phase, self.harmonics))
        return Point(q, inside * rate * qd, inside * rate * rate * qdd)

    def slowed(self, factor: float) -> Fourier:
        """The series on the same path, `factor` times as long."""
        slow = super().slowed(factor)
        return Fourier(slow.breaks, slow.coefficients, factor * self.period, self.sums)


def fourier(sums: ArrayLike, period: float, periods: int = 1, begin: float = 0.0) -> Fourier:
    """A periodic trajectory with these coefficients.

    Parameters
    ----------
    sums
        (2 N + 1, n) rad or m: c, then a_1 … a_N, then b_1 … b_N.
    period
        s.
    periods
        Number of repetitions.
    begin
        Time of its begin, s.

    Returns
    -------
    Fourier

    Raises
    ------
    TrajectoryError
        For an even number of rows, or a period that is not positive.

    Examples
    --------
    >>> swing = fourier([[0.0], [-1.0], [0.0]], period=2.0)
    >>> swing([0.0, 1.0]).q.round(12)
    array([[-1.],
           [ 1.]])
    """
    sums = np.asarray(sums, dtype=float)
    if sums.ndim != 2 or len(sums) % 2 == 0 or len(sums) < 3 or not np.isfinite(sums).all():
        raise TrajectoryError(f"sums must be (2 N + 1, n) finite numbers, not {sums.shape}")
    if not (np.isfinite(period) and period > 0.0 and periods == int(periods) and periods >= 1):
        raise TrajectoryError(
            f"period={period!r} must be a positive number of seconds, periods={periods!r} a count"
        )
    harmonics = (len(sums) - 1) // 2
    share = np.arange(_PIECES * harmonics * int(periods) + 1) / (_PIECES * harmonics)
    c = _taylor(2.0 * np.pi * (share[:-1] % 1.0), sums, 2.0 * np.pi / period)
    return Fourier(begin + period * share, c, float(period), sums)


def waves(phase: Array, harmonics: int) -> Derivatives:
    """cos kφ (k = 0 … N), sin kφ (k = 1 … N) at φ () or (m, 1), and two derivatives by φ.

    Each (2 N + 1,) or (m, 2 N + 1); traceable.
    """
    j, k = np.arange(harmonics + 1.0), np.arange(1.0, harmonics + 1.0)
    c, s = np.cos(phase * j), np.sin(phase * k)
    first = np.concatenate([-j * np.sin(phase * j), k * np.cos(phase * k)], axis=-1)
    second = np.concatenate([-j * j * c, -k * k * s], axis=-1)
    return np.concatenate([c, s], axis=-1), first, second


def _taylor(phase: np.ndarray, sums: np.ndarray, rate: float) -> np.ndarray:
    """Coefficients (m, degree + 1, n) of powers of t about these phases (m,)."""
    harmonics = (len(sums) - 1) // 2
    value, first, _ = waves(phase[:, None], harmonics)
    k = np.arange(1.0, harmonics + 1.0)
    number = np.concatenate([[0.0], k, k])  # the second derivative of a wave is −k² times itself
    coefficients = []
    for j in range(_DEGREE + 1):
        wave = value if j % 2 == 0 else first / np.where(number, number, 1.0)
        scale = (-1.0) ** (j // 2) * (number * rate) ** j / factorial(j)
        coefficients.append((wave * scale) @ sums)
    return np.stack(coefficients, axis=1)


SAMPLES = 1001


def within_limits(
    trajectory: Trajectory,
    system: System | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> Trajectory:
    """The trajectory, slowed down or sped up until the tightest limit is met.

    Parameters
    ----------
    trajectory
        Any trajectory of the joints.
    system
        Required for a torque limit.
    velocity, acceleration, torque
        Limits, a number or (n,), in SI units; at least one of them.

    Returns
    -------
    Trajectory

    Raises
    ------
    TrajectoryError
        Without any limit, or where a static torque passes its limit.

    Examples
    --------
    >>> from dalembert.control import quintic
    >>> slow = within_limits(quintic([0.0], [1.0], 1.0), velocity=1.0)
    >>> round(slow.duration, 3)
    1.875
    """
    t = np.linspace(trajectory.breaks[0], trajectory.breaks[-1], SAMPLES)[:-1]
    q, qd, qdd = trajectory(t)
    factors = []
    if velocity is not None:
        factors.append((np.abs(qd) / joint_limits(velocity, trajectory.size, "velocity")).max())
    if acceleration is not None:
        limit = joint_limits(acceleration, trajectory.size, "acceleration")
        factors.append(np.sqrt((np.abs(qdd) / limit).max()))
    if torque is not None:
        if system is None:
            raise TrajectoryError("a torque limit needs the system that moves")
        # the least c from which on N + f/c + a/c² stays within ±limit, sample by sample
        limit = np.broadcast_to(joint_limits(torque, trajectory.size, "torque"), qd.shape)
        positive, negative = system.dynamics.bound().coulomb
        N = system.gravity_torque(q) + coulomb(qd, positive, negative)
        beyond = np.abs(N) >= limit
        if beyond.any():
            sample, joint = np.argwhere(beyond)[0]
            raise TrajectoryError(
                f"joint {system.dynamics.velocities[joint]!r} needs {N[sample, joint]:.4g} only to "
                f"hold the arm at t = {t[sample]:.3g} s, its limit is {limit[sample, joint]:.4g}: "
                "no speed makes this path feasible"
            )
        a = (system.mass_matrix(q) @ qdd[..., None])[..., 0] + system.bias(q, qd)
        a = a - system.gravity_torque(q)
        f = system.inverse_dynamics(q, qd, qdd) - a - N
        w = np.minimum(_first_root(a, f, N - limit), _first_root(a, f, N + limit))
        factors.append(float(1.0 / w.min()))
    if not factors:
        raise TrajectoryError("give at least one of velocity, acceleration and torque")
    factor = max(factors)
    return trajectory if factor == 0.0 else trajectory.slowed(factor)


def joint_limits(value: ArrayLike, size: int, name: str, finite: bool = False) -> np.ndarray:
    """Positive limits (size,) from a number or a vector."""
    limit = np.asarray(value, dtype=float)
    positive = (limit > 0.0).all() and (np.isfinite(limit).all() or not finite)
    if limit.shape not in ((), (size,)) or not positive:
        raise TrajectoryError(
            f"{name} limits must be a positive number or {size} of them, not {value!r}"
        )
    return np.broadcast_to(limit, (size,))


def _first_root(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The smallest positive w with a w² + b w + c = 0, inf where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4.0 * a * c)
        # the form that does not cancel, for either sign of b
        k = -0.5 * (b + np.copysign(root, b))
        roots = np.stack([k / a, c / k, np.where(a == 0.0, -c / b, np.nan)])
    valid = np.where((roots > 0.0) & np.isfinite(roots), roots, np.inf)
    return np.asarray(valid.min(axis=0))


def sampled(trajectory: Trajectory, system: System, dt: float) -> xarray.Dataset:
    """q, q̇, q̈, τ and power at times `dt` apart, s, and at the end.

    ``.dl.plot()`` and ``.dl.report("page.html")`` show it.
    """
    if not (np.isfinite(dt) and dt > 0.0):
        raise TrajectoryError(f"dt must be a positive number of seconds, not {dt!r}")
    first, last = trajectory.breaks[0], trajectory.breaks[-1]
    t = np.append(np.arange(first, last - 1e-9 * dt, dt), last)
    state = dict(zip(("q", "qd", "qdd"), trajectory(t), strict=True))
    attributes = {"system": system.name, "derivatives": "of the path, exactly"}
    return torques_along(system, labelled(system.dynamics, t, state, attributes))
