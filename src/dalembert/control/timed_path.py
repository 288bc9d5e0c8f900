"""Paths with a timing s(t), and limits of joints along a path as bounds of ṡ² and s̈.

Along q(s) the velocities are q̇ = q' ṡ, the accelerations q̈ = q' s̈ + q'' ṡ², and the torques

    τ = m s̈ + c ṡ² + f ṡ + g,   m = M q',  c = M q'' + h(q, q') − h(q, 0),  f = B q',

g the torque at rest with Coulomb friction in the direction of q' (Bobrow, Dubowsky and Gibson 1985).
All four come from inverse dynamics at the points of the path, in one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.path import Path, PathPoint
from dalembert.control.trajectory import (
    Constants,
    Point,
    Scalar,
    Trajectory,
    joint_limits,
    on_traced_pieces,
    sampled,
)
from dalembert.errors import TrajectoryError
from dalembert.formulations.parts.elements import coulomb
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

UNBOUNDED = 1e12  # ṡ², 1/s², where no limit bounds it


class Torques(NamedTuple):
    """The terms of τ (..., n) at points of a path; `dry` is Coulomb friction, beside `rest`."""

    m: np.ndarray
    c: np.ndarray
    f: np.ndarray
    rest: np.ndarray
    dry: np.ndarray


class MotionLimits(NamedTuple):
    """Largest velocities, accelerations and torques (n,); infinite where there is no limit."""

    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class Rows:
    """lower ≤ a s̈ + b ṡ² + f ṡ ≤ upper at both ends of the intervals, (N, 2, k); ṡ² ≤ top (N, 2)."""

    a: np.ndarray
    b: np.ndarray
    f: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    top: np.ndarray
    labels: tuple[tuple[str, str], ...]  # kind and joint of each row
    grid: np.ndarray  # (N+1,) ends of the intervals

    def tangent(self, x: np.ndarray) -> Rows:
        """The rows with f ṡ replaced by its tangent at ṡ² = x (N, 2); without f at rest.

        √x' ≈ √x/2 + x'/(2√x), exact at x' = x.
        """
        root = np.sqrt(x)[..., None]
        with np.errstate(divide="ignore"):
            derivative = np.where(root > 0.0, 0.5 / root, 0.0)
        value = 0.5 * self.f * root
        lower, upper = self.lower - value, self.upper - value
        return replace(self, b=self.b + self.f * derivative, lower=lower, upper=upper)

    @property
    def lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A x + B y ≤ C (N, m) for ṡ² = x and y at the ends of the intervals."""
        step = np.diff(self.grid)
        d = 2.0 * step[:, None]
        begin = d * self.b[:, 0] - self.a[:, 0], self.a[:, 0]
        end = -self.a[:, 1], self.a[:, 1] + d * self.b[:, 1]
        A, B = (np.concatenate(pair, axis=1) for pair in zip(begin, end, strict=True))
        upper, lower = (
            np.concatenate([d * c[:, 0], d * c[:, 1]], 1) for c in (self.upper, self.lower)
        )
        A, B, C = (np.concatenate(z, axis=1) for z in ((A, -A), (B, -B), (upper, -lower)))
        one, zero = np.ones(len(step)), np.zeros(len(step))
        # 0 ≤ x, y ≤ top
        A = np.column_stack([A, one, -one, zero, zero])
        B = np.column_stack([B, zero, zero, one, -one])
        C = np.column_stack([C, self.top[:, 0], zero, self.top[:, 1], zero])
        finite = np.isfinite(C)
        return np.where(finite, A, 0.0), np.where(finite, B, 0.0), np.where(finite, C, 1.0)


def rows(path: Path, grid: np.ndarray, limits: MotionLimits, system: System | None) -> Rows:
    """The limits of a path at the ends of the intervals of a grid (N+1,)."""
    point = path.at_ends(grid)
    limited = np.flatnonzero(np.isfinite(limits.acceleration))
    dq, ddq, bound = point.dq[..., limited], point.ddq[..., limited], limits.acceleration[limited]
    parts = [(dq, ddq, 0.0 * dq)]
    lower, upper = (np.broadcast_to(x, dq.shape) for x in (-bound, bound))
    names = joint_names(path.size, system)
    labels = [("acceleration", names[j]) for j in limited]
    if system is not None and np.isfinite(limits.torque).any():
        driven = np.flatnonzero(np.isfinite(limits.torque))
        terms = Torques(*(x[..., driven] for x in torque_terms(system, point)))
        # inside an interval Coulomb friction may reverse: both directions count in all of it
        least, largest = terms.dry.min(1, keepdims=True), terms.dry.max(1, keepdims=True)
        parts.append((terms.m, terms.c, terms.f))
        tau = limits.torque[driven]
        lower = np.concatenate([lower, -tau - terms.rest - least], axis=-1)
        upper = np.concatenate([upper, tau - terms.rest - largest], axis=-1)
        labels += [("torque", names[j]) for j in driven]
    a, b, f = (np.concatenate(x, axis=-1) for x in zip(*parts, strict=True))
    # the largest ṡ² (N, 2): by velocities, and none in corners
    with np.errstate(divide="ignore"):
        top = ((limits.velocity / np.abs(point.dq)) ** 2).min(axis=-1)
    top = np.minimum(top, UNBOUNDED)
    corner = np.isin(grid, path.corners)
    top[corner[:-1], 0] = 0.0
    top[corner[1:], 1] = 0.0
    return Rows(a, b, f, lower, upper, top, tuple(labels), grid)


def joint_names(size: int, system: System | None) -> tuple[str, ...]:
    """Names of the coordinates: those of the system, else by number."""
    if system is None:
        return tuple(f"joint {j + 1}" for j in range(size))
    return tuple(system.dynamics.velocities)


def torque_terms(system: System, point: PathPoint) -> Torques:
    """m, c, f, g of a system at points of a path (..., n)."""
    positive, negative = system.dynamics.bound().coulomb
    q, dq, ddq = point
    zero = np.zeros_like(q)
    dry, back = (coulomb(v, positive, negative) for v in (dq, -dq))
    states = np.broadcast_to(q, (5, *q.shape))
    velocities = np.stack([zero, zero, dq, -dq, 2.0 * dq])
    accelerations = np.stack([zero, dq, ddq, ddq, 4.0 * ddq])
    rest, m, ahead, behind, double = system.inverse_dynamics(states, velocities, accelerations)
    ahead, behind, double = ahead - rest - dry, behind - rest - back, double - rest - dry
    c, f = 0.5 * (ahead + behind), 0.5 * (ahead - behind)
    wrong = np.abs(double - 4.0 * c - 2.0 * f) > 1e-7 * np.abs(double).max(initial=1.0)
    if wrong.any():
        joint = system.dynamics.velocities[np.argwhere(wrong)[0][-1]]
        raise TrajectoryError(
            f"the torque of joint {joint!r} grows neither with q̇ nor with q̇² (drag, or friction of "
            "another kind): time_optimal knows viscous and Coulomb friction"
        )
    return Torques(m - rest, c, f, rest, dry)


def motion_limits(
    size: int,
    system: System | None,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
) -> MotionLimits:
    """Limits (size,) each; where one is None, that of the system's joints."""
    own = (None, None) if system is None else (system.velocity_limit, system.effort_limit)
    values = {
        "velocity": own[0] if velocity is None else velocity,
        "acceleration": acceleration,
        "torque": own[1] if torque is None else torque,
    }
    limits = [
        joint_limits(np.inf if value is None else value, size, name)
        for name, value in values.items()
    ]
    if system is None and np.isfinite(limits[2]).any():
        raise TrajectoryError("a torque limit needs the system that moves")
    if not np.isfinite(limits).any():
        raise TrajectoryError("give at least one of velocity, acceleration and torque")
    return MotionLimits(*limits)


ACTIVE = 1e-3  # a limit used up to this share is active


class Active(NamedTuple):
    """A limit that is met for some share of the time."""

    kind: str  # velocity, acceleration or torque
    joint: str
    share: float  # of the duration
    first: float  # s where it is first met


@dataclass(frozen=True, eq=False)
class TimedPath(Trajectory):
    """q(s(t)) with s̈ constant on each interval of `grid` (N+1,), and its limits.

    `speed` (N+1,) is ṡ at the grid points, 1/s. As polynomials of t (degree 2 d where the path has
    degree d) it is a `Trajectory`; traced, s(t) and q(s) are evaluated one after the other.
    """

    path: Path
    grid: np.ndarray
    speed: np.ndarray
    limits: MotionLimits
    system: System | None = None

    @property
    def acceleration(self) -> np.ndarray:
        """s̈ (N,) on each interval, 1/s²."""
        x = self.speed**2
        return np.asarray(0.5 * np.diff(x) / np.diff(self.grid))

    @cached_property
    def timing(self) -> Trajectory:
        """s(t), of one coordinate."""
        stretches = np.stack([self.grid[:-1], self.speed[:-1], 0.5 * self.acceleration], axis=1)
        return Trajectory(self.breaks, stretches[:, :, None])

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Inputs of a kernel."""
        rows = self.path.coefficients.reshape(-1, self.size)
        times = {"breaks": self.breaks, "stretches": self.timing.constants["coefficients"]}
        return {**times, "path_breaks": self.path.breaks, "path": rows}

    def at(self, t: Scalar, constants: Constants) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        own = {"breaks": constants["breaks"], "coefficients": constants["stretches"]}
        s, ds, dds = (x[0] for x in self.timing.at(t, own))
        shape = self.path.coefficients.shape[:2]
        q, dq, ddq = on_traced_pieces(constants["path_breaks"], constants["path"], s, shape)
        return Point(q, dq * ds, dq * dds + ddq * ds * ds)

    def s(self, t: ArrayLike) -> np.ndarray:
        """Path parameter s (...) at times t (...)."""
        return np.asarray(self.timing(t).q[..., 0])

    def torque(self, t: ArrayLike) -> np.ndarray:
        """τ (..., n) of the system's drives at times t (...)."""
        if self.system is None:
            raise TrajectoryError("torques need the system that moves: time_optimal(path, system)")
        return np.asarray(self.system.inverse_dynamics(*self(t)))

    def sampled(self, dt: float = 0.01) -> xarray.Dataset:
        """q, q̇, q̈, τ and power at times `dt` apart and at the end, labelled like a run.

        ``.dl.plot()`` and ``.dl.report("page.html")`` show it.
        """
        if self.system is None:
            raise TrajectoryError("samples need the system that moves: time_optimal(path, system)")
        return sampled(self, self.system, dt)

    def used(self, t: ArrayLike) -> dict[str, np.ndarray]:
        """|value| / limit (..., n) of velocity, acceleration and torque; 1 where a limit is met."""
        _, qd, qdd = self(t)
        limits = self.limits
        shares = {"velocity": qd / limits.velocity, "acceleration": qdd / limits.acceleration}
        if self.system is not None and np.isfinite(limits.torque).any():
            shares["torque"] = self.torque(t) / limits.torque
        return {kind: np.abs(value) for kind, value in shares.items()}

    def inner_times(self, count: int) -> np.ndarray:
        """Times (N, count) inside the intervals, at equal distances of s and away from their ends."""
        share = (np.arange(count) + 0.5) / count
        x, y = self.speed[:-1, None] ** 2, self.speed[1:, None] ** 2
        speed = np.sqrt(x + share * (y - x))
        distance = share * np.diff(self.grid)[:, None]
        inside = 2.0 * distance / (self.speed[:-1, None] + speed)
        return np.asarray(self.breaks[:-1, None] + inside)

    @property
    def active(self) -> list[Active]:
        """The limits that are met, those of the largest share of the time first."""
        durations = np.diff(self.breaks)
        # next to both ends of each interval
        edges = self.breaks[:-1, None] + durations[:, None] * np.array([1e-9, 1.0 - 1e-9])
        names = self.joints
        active = []
        for kind, used in self.used(edges).items():
            met = np.max(used, axis=1) > 1.0 - ACTIVE  # (N, n)
            for j in np.flatnonzero(met.any(axis=0)):
                share = float(durations[met[:, j]].sum() / self.duration)
                first = float(self.grid[np.argmax(met[:, j])])
                active.append(Active(kind, names[j], share, first))
        return sorted(active, key=lambda limit: -limit.share)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return joint_names(self.size, self.system)


def timed(
    path: Path, grid: np.ndarray, x: np.ndarray, limits: MotionLimits, system: System | None
) -> TimedPath:
    """The path run with ṡ² = x (N+1,) at the grid points, linear in s between them."""
    speed, step = np.sqrt(np.maximum(x, 0.0)), np.diff(grid)
    breaks = np.cumsum([0.0, *(2.0 * step / (speed[1:] + speed[:-1]))])
    acceleration = 0.5 * (speed[1:] ** 2 - speed[:-1] ** 2) / step
    # coefficients (N, 2 d + 1, n) of Σ c_j σ^j with σ = ṡ t + s̈ t²/2
    c = path.taylor(grid[:-1])  # (N, d+1, n)
    count, terms, n = c.shape
    coefficients = np.zeros((count, 2 * terms - 1, n))
    for own in np.moveaxis(c, 1, 0)[::-1]:  # Horner's rule, in powers of t
        times_sigma = np.zeros_like(coefficients)
        times_sigma[:, 1:] += speed[:-1, None, None] * coefficients[:, :-1]
        times_sigma[:, 2:] += 0.5 * acceleration[:, None, None] * coefficients[:, :-2]
        coefficients = times_sigma
        coefficients[:, 0] += own
    return TimedPath(breaks, coefficients, path, grid, speed, limits, system)
