"""Prescribed motions s(t): what a driver follows, in plain NumPy, differentiated automatically.

A motion is a function of time that also runs on symbols; it returns a number, or an array for a
driver with several rows, such as a point led along a straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import CompileError, DalembertError, ModelError
from dalembert.kernels import Kernel, Port, build
from dalembert.kernels.program.trace import trace

Motion = Callable[[Any], Any]
Value = float | Sequence[float] | np.ndarray
NUMPY = (
    "its motion must be a function of t in NumPy that also runs on symbols (np.sin, not math.sin)"
)


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
        share = x * x * x * (10.0 + x * (6.0 * x - 15.0))
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


def rates(motions: Sequence[tuple[str, Motion, int]]) -> Kernel | None:
    """The kernel t → (s, ṡ, s̈) (rows,) each, of all named motions and their numbers of rows."""
    if not motions:
        return None

    def function(t: Any) -> dict[str, Any]:
        import casadi

        flat = [_rows(name, motion, rows, t) for name, motion, rows in motions]
        s = casadi.SX(casadi.vertcat(*flat))
        at = casadi.SX(t.to_casadi())
        speed = casadi.jacobian(s, at)
        both = (s, speed, casadi.jacobian(speed, at))
        names = ("s", "speed", "acceleration")
        arrays = [casadi.array(casadi.densify(x)).reshape(x.shape[0]) for x in both]
        return dict(zip(names, arrays, strict=True))

    program = trace(function, {"t": ()}, name="motions")
    return build(program.digest, lambda: program, [Port("t", ())], program.outputs, "motions")


def _rows(name: str, motion: Motion, rows: int, t: Any) -> Any:
    import casadi

    try:
        value = motion(t)
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise CompileError(f"driver {name!r}: {NUMPY}: {error}") from None
    if isinstance(value, casadi.ArrayInterface):
        column = casadi.SX(value.ravel().to_casadi())
    else:
        numbers = np.ravel(np.asarray(value, dtype=float))
        if not np.isfinite(numbers).all():  # what a function of floats makes of a symbol
            raise CompileError(f"driver {name!r}: {NUMPY}")
        column = casadi.SX(casadi.DM(numbers))
    if column.numel() != rows:
        raise DalembertError(f"driver {name!r} has {rows} rows, its motion {column.numel()}")
    return casadi.reshape(column, rows, 1)
