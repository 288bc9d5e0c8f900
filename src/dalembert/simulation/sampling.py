"""When a digital controller samples, when its commands act, and what its sensors read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, ShapeError

WHOLE = 1e-9  # of a length of time: how far from a whole number of steps it may be


def whole(length: float, step: float) -> int | None:
    """The number of steps in a length of time; None where it is not whole.

    >>> whole(0.3, 0.1), whole(0.25, 0.1)
    (3, None)
    """
    count = round(length / step)
    return count if abs(count * step - length) <= WHOLE * max(length, step) else None


class Moment(NamedTuple):
    """A time at which something happens to a digital controller."""

    time: float
    takes: int | None  # the sample that is taken then
    acts: int  # the sample whose command acts from then on; negative: none yet


@dataclass(frozen=True)
class Sampling:
    """Samples at k · `period`; the command of each acts from `delay` later until the next one does.

    >>> Sampling(0.01, delay=0.025).moment(5)
    Moment(time=0.025, takes=None, acts=0)
    """

    period: float  # s
    delay: float = 0.0  # s

    def __post_init__(self) -> None:
        if not (np.isfinite(self.period) and self.period > 0.0):
            raise SettingError(f"control_dt must be a positive time in s, not {self.period!r}")
        if not (np.isfinite(self.delay) and self.delay >= 0.0):
            raise SettingError(f"control_delay must be a time in s, not {self.delay!r}")

    @cached_property
    def _lag(self) -> tuple[int, float]:
        """The delay as whole periods and a rest."""
        count = whole(self.delay, self.period)
        if count is not None:
            return count, 0.0
        count = floor(self.delay / self.period)
        return count, self.delay - count * self.period

    @property
    def lag(self) -> int:
        """Whole periods of the delay."""
        return self._lag[0]

    def moment(self, number: int) -> Moment:
        """The moments in order: samples, and between them commands that act late."""
        lag, rest = self._lag
        if not rest:
            return Moment(number * self.period, number, number - lag)
        k, late = divmod(number, 2)
        if late:
            return Moment(k * self.period + rest, None, k - lag)
        return Moment(k * self.period, k, k - lag - 1)

    def latest(self, t: float) -> int:
        """The number of the last moment that is not after t."""
        k, rest = floor(t / self.period + WHOLE), self._lag[1]
        if not rest:
            return k
        return 2 * k + int(t - k * self.period >= rest - WHOLE * self.period)

    def jumps(self, t: float) -> bool:
        """Whether a command begins to act at t."""
        return abs(t - self.moment(self.latest(t)).time) <= WHOLE * self.period

    def acting(self, times: np.ndarray) -> np.ndarray:
        """(K,) the samples whose commands act from these times on; negative where none does yet."""
        return np.array([self.moment(self.latest(t)).acts for t in times.tolist()], dtype=int)

    def require_steps(self, dt: float) -> None:
        """A fixed step must not go across a moment."""
        for name, length in (("control_dt", self.period), ("control_delay", self.delay)):
            if whole(length, dt) is None:
                raise SettingError(
                    f"{name} {length:g} s is not a whole number of steps of dt = {dt:g} s; take "
                    "another dt, or an adaptive method, which stops where it must"
                )


@dataclass(eq=False)
class Sensors:
    """What is read of q and q̇ at a sample.

    Noise is normal, with these standard deviations. An encoder rounds positions to its resolution;
    velocities are then differences of its readings over a period, as a drive computes them.
    """

    period: float  # s
    encoder: np.ndarray | None = None  # (n,) resolution; 0 reads exactly
    noise: np.ndarray | None = None  # (n,) of positions
    velocity_noise: np.ndarray | None = None  # (n,)
    seed: int = 0
    _random: np.random.Generator = field(init=False)
    _last: np.ndarray | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def read(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, q̇) as they are measured."""
        truth = q
        if self.noise is not None:
            q = q + self.noise * self._random.standard_normal(q.shape)
        if self.encoder is not None:
            q = rounded(q, self.encoder)
            # before the first sample the motion was uniform, as far as anybody knows
            before = self._last
            before = rounded(truth - self.period * qd, self.encoder) if before is None else before
            self._last, qd = q, (q - before) / self.period
        if self.velocity_noise is not None:
            qd = qd + self.velocity_noise * self._random.standard_normal(qd.shape)
        return q, qd


def rounded(q: Any, resolution: np.ndarray) -> np.ndarray:
    """q to whole multiples of the resolution; as it is where that is zero.

    >>> rounded([0.14, 0.14], np.array([0.1, 0.0]))
    array([0.1 , 0.14])
    """
    step = np.where(resolution > 0.0, resolution, 1.0)
    return np.where(resolution > 0.0, np.round(np.asarray(q) / step) * step, q)


def each(value: Any, size: int, name: str) -> np.ndarray | None:
    """One number that is not negative for each of `size` joints; None where none is given."""
    if value is None:
        return None
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} must be a number or have the shape ({size},), not {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise SettingError(f"{name} must not be negative, and finite: {array}")
    return np.broadcast_to(array, (size,)).copy()
