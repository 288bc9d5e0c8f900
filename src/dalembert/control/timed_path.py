"""A path with the time at which each of its points is passed: a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.control.path import Path
from dalembert.control.path_limits import Most
from dalembert.control.sampled import sampled
from dalembert.control.trajectory import Point, Trajectory, on_traced_pieces
from dalembert.errors import TrajectoryError
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

ACTIVE = 1e-3  # a limit used up to this share is active


class Active(NamedTuple):
    """A limit that is met for some share of the time."""

    kind: str  # velocity, acceleration or torque
    joint: str
    share: float  # of the duration
    first: float  # s where it is first met


@dataclass(frozen=True, eq=False)
class TimedPath(Trajectory):
    """q(s(t)) with s̈ constant on each interval of `grid` (N+1,), and what limits it.

    `speed` (N+1,) is ṡ at the grid points, 1/s. As polynomials of t (degree 2 d where the path has
    degree d) it is a `Trajectory`; traced, s(t) and q(s) are evaluated one after the other.
    """

    path: Path
    grid: np.ndarray
    speed: np.ndarray
    most: Most
    system: System | None = None

    @property
    def push(self) -> np.ndarray:
        """s̈ (N,) on each interval, 1/s²."""
        x = self.speed**2
        return 0.5 * np.diff(x) / np.diff(self.grid)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Its numbers, as inputs of a kernel."""
        stretches = np.stack([self.grid[:-1], self.speed[:-1], 0.5 * self.push], axis=1)
        rows = self.path.coefficients.reshape(-1, self.size)
        times = {"breaks": self.breaks, "stretches": stretches.reshape(-1, 1)}
        return {**times, "path_breaks": self.path.breaks, "path": rows}

    def at(self, t: Any, constants: Mapping[str, Any]) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        breaks, count = constants["breaks"], len(self.grid) - 1
        s, ds, dds = (x[0] for x in on_traced_pieces(breaks, constants["stretches"], t, (count, 3)))
        inside = (t >= breaks[0]) * (t < breaks[count])
        ds, dds = inside * ds, inside * dds
        shape = self.path.coefficients.shape[:2]
        q, dq, ddq = on_traced_pieces(constants["path_breaks"], constants["path"], s, shape)
        return Point(q, dq * ds, dq * dds + ddq * ds * ds)

    def s(self, t: Any) -> np.ndarray:
        """Share of the way (...) at times t (...)."""
        t = np.clip(np.asarray(t, dtype=float), self.breaks[0], self.breaks[-1])
        k = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.grid) - 2)
        since = t - self.breaks[k]
        return self.grid[k] + since * (self.speed[k] + 0.5 * since * self.push[k])

    def torque(self, t: Any) -> np.ndarray:
        """τ (..., n) of the system's drives at times t (...)."""
        if self.system is None:
            raise TrajectoryError("torques need the system that moves: time_optimal(path, system)")
        return self.system.inverse_dynamics(*self(t))

    def sampled(self, dt: float = 0.01) -> xarray.Dataset:
        """q, q̇, q̈, τ and power at times `dt` apart and at the end, labelled like a run.

        ``.dl.plot()`` and ``.dl.report("page.html")`` show it.
        """
        if self.system is None:
            raise TrajectoryError("samples need the system that moves: time_optimal(path, system)")
        return sampled(self, self.system, dt)

    def used(self, t: Any) -> dict[str, np.ndarray]:
        """|value| / limit (..., n) of velocity, acceleration and torque; 1 where a limit is met."""
        _, qd, qdd = self(t)
        found = {"velocity": qd / self.most.velocity, "acceleration": qdd / self.most.acceleration}
        if self.system is not None and np.isfinite(self.most.torque).any():
            found["torque"] = self.torque(t) / self.most.torque
        return {kind: np.abs(value) for kind, value in found.items()}

    def inner_times(self, count: int) -> np.ndarray:
        """Times (N, count) inside the intervals, at equal distances of s and away from their ends."""
        share = (np.arange(count) + 0.5) / count
        x, y = self.speed[:-1, None] ** 2, self.speed[1:, None] ** 2
        there = np.sqrt(x + share * (y - x))
        way = share * np.diff(self.grid)[:, None]
        return self.breaks[:-1, None] + 2.0 * way / (self.speed[:-1, None] + there)

    @property
    def active(self) -> list[Active]:
        """The limits that are met, those of the largest share of the time first."""
        lasting = np.diff(self.breaks)
        # next to both ends of each interval
        edges = self.breaks[:-1, None] + lasting[:, None] * np.array([1e-9, 1.0 - 1e-9])
        names = self.joints
        found = []
        for kind, used in self.used(edges).items():
            met = np.max(used, axis=1) > 1.0 - ACTIVE  # (N, n)
            for j in np.flatnonzero(met.any(axis=0)):
                share = float(lasting[met[:, j]].sum() / self.duration)
                found.append(Active(kind, names[j], share, float(self.grid[np.argmax(met[:, j])])))
        return sorted(found, key=lambda limit: -limit.share)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        if self.system is None:
            return tuple(f"joint {j + 1}" for j in range(self.size))
        return tuple(self.system.dynamics.velocities)


def timed(
    path: Path, grid: np.ndarray, x: np.ndarray, most: Most, system: System | None
) -> TimedPath:
    """The path run with ṡ² = x (N+1,) at the grid points, linear in s between them."""
    speed, step = np.sqrt(np.maximum(x, 0.0)), np.diff(grid)
    breaks = np.cumsum([0.0, *(2.0 * step / (speed[1:] + speed[:-1]))])
    push = 0.5 * (speed[1:] ** 2 - speed[:-1] ** 2) / step
    return TimedPath(
        breaks, _composed(path.taylor(grid[:-1]), speed[:-1], push), path, grid, speed, most, system
    )


def _composed(c: np.ndarray, rate: np.ndarray, push: np.ndarray) -> np.ndarray:
    """Coefficients (N, 2 d + 1, n) of Σ c_j σ^j with σ = rate t + push t²/2; c (N, d+1, n)."""
    count, terms, n = c.shape
    made = np.zeros((count, 2 * terms - 1, n))
    power = np.zeros((count, 2 * terms - 1))  # of σ^j
    power[:, 0] = 1.0
    for j in range(terms):
        made += power[:, :, None] * c[:, j, None, :]
        longer = np.zeros_like(power)
        longer[:, 1:] += rate[:, None] * power[:, :-1]
        longer[:, 2:] += 0.5 * push[:, None] * power[:, :-2]
        power = longer
    return made
