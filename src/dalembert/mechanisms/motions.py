"""Prescribed motions s(t) of drivers, in NumPy, differentiated automatically.

A motion is a function of time that also runs on symbols; it returns a number, or an array for a
driver with several rows, such as a point moved along a straight line. A driver also follows
trajectories and lines of `dalembert.control`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.control.cartesian import Line
from dalembert.control.trajectory import Trajectory, quintic, trapezoidal, via_points
from dalembert.errors import ModelError

Value = float | Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class PathMotion:
    """Position at t on a path of `dalembert.control`: q (n,) of a trajectory, p (3,) of a line."""

    path: Trajectory | Line

    def __call__(self, t: Any) -> Any:
        return self.path.at(t, self.path.constants)[0]


def motion(path: Any) -> Any:
    """A path as a function of time; everything else unchanged."""
    return PathMotion(path) if isinstance(path, Trajectory | Line) else path


class Polynomial:
    """A motion along a `path` of `dalembert.control`: (n,), or a number."""

    start: Value

    @property
    def path(self) -> Trajectory:
        """The path (1,) or (n,)."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        self.path  # noqa: B018  # raises errors about its numbers here

    @property
    def single(self) -> bool:
        """Whether it moves one number."""
        return np.ndim(self.start) == 0

    def __call__(self, t: Any) -> Any:
        s = PathMotion(self.path)(t)
        return s[0] if self.single else s


@dataclass(frozen=True)
class ConstantSpeed:
    """From `start` at t = 0 to `end` at `duration`, and on: joint-interpolated motion (004, p.5).

    >>> ConstantSpeed(0.0, 2.0, 4.0)(1.0)
    np.float64(0.5)
    """

    start: Value
    end: Value
    duration: float = 1.0

    def __call__(self, t: Any) -> Any:
        first, last = np.asarray(self.start, dtype=float), np.asarray(self.end, dtype=float)
        return first + (last - first) * (t / self.duration)


@dataclass(frozen=True)
class ConstantAcceleration:
    """s₀ + v₀ t + ½ a t²: the ½αt² beside the driver of 004, p.5."""

    start: Value
    speed: Value
    acceleration: Value

    def __call__(self, t: Any) -> Any:
        s, v, a = (np.asarray(x, dtype=float) for x in (self.start, self.speed, self.acceleration))
        return s + v * t + 0.5 * a * (t * t)


@dataclass(frozen=True)
class Trapezoid(Polynomial):
    """Speeding up, cruising and slowing down; `ramp` is the share of the duration of each ramp."""

    start: Value
    end: Value
    duration: float
    ramp: float = 0.25

    def __post_init__(self) -> None:
        if not 0.0 < self.ramp <= 0.5:
            raise ModelError(f"the ramp of a trapezoid is a share in (0, 0.5], not {self.ramp}")
        super().__post_init__()

    @cached_property
    def path(self) -> Trajectory:
        distance = np.abs(np.subtract(self.end, self.start))
        # v = distance / (T (1 − r)) after r T; any limit where the distance is zero
        speed = np.where(distance > 0.0, distance, 1.0) / (self.duration * (1.0 - self.ramp))
        return trapezoidal(self.start, self.end, speed, speed / (self.ramp * self.duration))


@dataclass(frozen=True)
class Quintic(Polynomial):
    """10x³ − 15x⁴ + 6x⁵: at rest and without acceleration at both ends (`control.quintic`)."""

    start: Value
    end: Value
    duration: float

    @cached_property
    def path(self) -> Trajectory:
        return quintic(self.start, self.end, self.duration)


@dataclass(frozen=True)
class Spline(Polynomial):
    """Through `points` (m,) or (m, n) at `times` (m,), at rest at both ends (`control.via_points`).

    >>> Spline([0.0, 1.0, 0.5], [0.0, 1.0, 2.0])(1.0)
    np.float64(1.0)
    """

    points: Value
    times: Value

    @cached_property
    def path(self) -> Trajectory:
        points = np.asarray(self.points, dtype=float)
        return via_points(
            points[:, None] if self.single else points, np.atleast_1d(self.times).tolist()
        )

    @property
    def single(self) -> bool:
        return np.ndim(self.points) == 1


@dataclass(frozen=True)
class Sine:
    """centre + amplitude sin(2π f t + phase): the driver of the proximal link (004, p.7)."""

    centre: float
    amplitude: float
    frequency: float
    phase: float = 0.0

    def __call__(self, t: Any) -> Any:
        return self.centre + self.amplitude * np.sin(2.0 * np.pi * self.frequency * t + self.phase)


MOTIONS = {
    "constant_speed": ConstantSpeed,
    "constant_acceleration": ConstantAcceleration,
    "trapezoid": Trapezoid,
    "quintic": Quintic,
    "spline": Spline,
    "sine": Sine,
}
