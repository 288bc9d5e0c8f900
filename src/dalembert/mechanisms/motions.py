"""Prescribed motions s(t): what a driver follows, in plain NumPy, differentiated automatically.

A motion is a function of time that also runs on symbols; it returns a number, or an array for a
driver with several rows, such as a point led along a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from dalembert.control.trajectory import QUINTIC
from dalembert.errors import ModelError

Value = float | Sequence[float] | np.ndarray


def _between(start: Value, end: Value, share: Any) -> Any:
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    return first + (last - first) * share


def _passed(t: Any, duration: float) -> Any:
    """The share of the duration that is over, from 0 to 1."""
    return np.minimum(np.maximum(t / duration, 0.0), 1.0)


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
        return _between(self.start, self.end, t / self.duration)


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
class Trapezoid:
    """Speeding up, cruising and slowing down; `ramp` is the share of the duration of each ramp."""

    start: Value
    end: Value
    duration: float
    ramp: float = 0.25

    def __post_init__(self) -> None:
        if not 0.0 < self.ramp <= 0.5:
            raise ModelError(f"the ramp of a trapezoid is a share in (0, 0.5], not {self.ramp}")

    def __call__(self, t: Any) -> Any:
        r = self.ramp
        x = _passed(t, self.duration)
        top = 1.0 / (1.0 - r)  # speed in units of the mean speed
        up, left = np.minimum(x, r), np.maximum(x - (1.0 - r), 0.0)
        flat = x - up - left
        share = top * (0.5 * up * up / r + flat + left - 0.5 * left * left / r)
        return _between(self.start, self.end, share)


@dataclass(frozen=True)
class Quintic:
    """10x³ − 15x⁴ + 6x⁵: at rest and without acceleration at both ends."""

    start: Value
    end: Value
    duration: float

    def __call__(self, t: Any) -> Any:
        x = _passed(t, self.duration)
        share = reduce(lambda total, c: total * x + c, reversed(QUINTIC), 0.0 * x)
        return _between(self.start, self.end, share)


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
    "sine": Sine,
}
