"""Profiles of one joint with limited jerk: changes of velocity and a cruise between them.

A change of velocity by δ takes 2 T_j + T_a, jerk up, none and down (Biagiotti and Melchiorri 2008,
Trajectory planning for automatic machines and robots, section 3.4):

    T_j = √(δ/j), T_a = 0 where δ ≤ a²/j, else T_j = a/j, T_a = δ/a − a/j,

and by its symmetry it leads (v + v′)/2 · (2 T_j + T_a) far. A motion is a change to the velocity v_p, a
cruise, and a change from it: from rest to rest in closed form, else by the roots of its way in v_p.

Durations are those of Ruckig 0.19 to rounding. Written here for arrays of motions: a duration takes
0.3 µs among 10⁴, where Ruckig, a compiled dependency of 4 MB, takes 7 µs; one whole trajectory, though,
takes 0.7 ms here (`benchmarks/paths.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SCANNED = 4001  # velocities among which sign changes are looked for
GROWTH = 0.01  # of the common duration, where a joint cannot take exactly that long


class Limits(NamedTuple):
    """Largest velocity, acceleration and jerk; numbers or arrays."""

    v: Any
    a: Any
    j: Any


class Profile(NamedTuple):
    """To velocity `v`, a cruise of `cruise` seconds, and on to the last velocity."""

    v: float
    cruise: float
    duration: float


def rest_to_rest(way: np.ndarray, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """(largest velocity, duration) of ways ≥ 0, in closed form."""
    v, a, j = (np.broadcast_to(np.asarray(x, dtype=float), way.shape) for x in limits)
    ramp = a / j
    # a change by the way's own largest velocity, there and back
    short = np.cbrt(0.25 * way * way * j)  # 2 v √(v/j) = way
    longer = 0.5 * a * (np.sqrt(ramp * ramp + 4.0 * way / a) - ramp)  # v (v/a + a/j) = way
    peak = np.minimum(v, np.where(way <= 2.0 * a * ramp * ramp, short, longer))
    change = change_time(peak, Limits(v, a, j))
    cruise = np.divide(way, peak, out=np.zeros_like(way), where=peak > 0.0) - change
    return peak, 2.0 * change + np.maximum(cruise, 0.0)


def change_time(delta: Any, limits: Limits) -> np.ndarray:
    """2 T_j + T_a of a change of velocity by ±delta."""
    size, (_, a, j) = np.abs(delta), limits
    return np.where(size <= a * a / j, 2.0 * np.sqrt(size / j), size / a + a / j)


def common(
    found: list[Profile], given: list[tuple[float, float, float, Limits]]
) -> tuple[float, list[Profile]]:
    """The least duration, to a thousandth, that all joints can take, and their profiles.

    A joint that has to turn back has no profile for some durations above its least.
    """

    def all_lasting(duration: float) -> list[Profile] | None:
        timed = []
        for profile, row in zip(found, given, strict=True):
            own = profile if profile.duration == duration else lasting(duration, *row)
            if own is None:
                return None
            timed.append(own)
        return timed

    low = high = max(profile.duration for profile in found)
    step, best = GROWTH * low, all_lasting(low)
    if best is not None:
        return low, best
    while best is None:
        low, high, step = high, high + step, 2.0 * step
        best = all_lasting(high)
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        timed = all_lasting(middle)
        if timed is None:
            low = middle
        else:
            high, best = middle, timed
    return high, best


def fastest(way: float, v0: float, v1: float, limits: Limits) -> Profile:
    """The profile of least duration: at the largest velocity either way, or without a cruise."""
    found = []
    for v in (limits.v, -limits.v):
        cruise = (way - _led(v, v0, v1, limits)) / v
        if cruise >= 0.0:
            found.append(Profile(v, cruise, cruise + _taken(v, v0, v1, limits)))
    for v in _roots(lambda v: _led(v, v0, v1, limits) - way, v0, v1, limits):
        found.append(Profile(v, 0.0, _taken(v, v0, v1, limits)))
    return min(found, key=lambda profile: profile.duration)


def lasting(duration: float, way: float, v0: float, v1: float, limits: Limits) -> Profile | None:
    """A profile of this duration with the slowest cruise, or None."""

    def miss(v: Any) -> Any:
        return _led(v, v0, v1, limits) + v * (duration - _taken(v, v0, v1, limits)) - way

    fitting = [
        Profile(v, duration - float(_taken(v, v0, v1, limits)), duration)
        for v in _roots(miss, v0, v1, limits)
        if _taken(v, v0, v1, limits) <= duration * (1.0 + 1e-12)
    ]
    return min(fitting, key=lambda profile: abs(profile.v), default=None)


def _led(v: Any, v0: float, v1: float, limits: Limits) -> Any:
    """Way of the changes from v0 to v and from v to v1."""
    first, last = change_time(v - v0, limits), change_time(v - v1, limits)
    return 0.5 * ((v0 + v) * first + (v + v1) * last)


def _taken(v: Any, v0: float, v1: float, limits: Limits) -> Any:
    """Duration of the changes from v0 to v and from v to v1."""
    return change_time(v - v0, limits) + change_time(v - v1, limits)


def _roots(function: Callable[[Any], Any], v0: float, v1: float, limits: Limits) -> list[float]:
    """Velocities within the limits where a function changes its sign, bisected to rounding."""
    v = np.unique(np.concatenate([np.linspace(-limits.v, limits.v, SCANNED), [v0, v1]]))
    values = function(v)
    change = np.flatnonzero(np.sign(values[1:]) * np.sign(values[:-1]) < 0.0)
    low, high, below = v[change], v[change + 1], np.sign(values[change])
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(function(middle)) == below
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [*(0.5 * (low + high)).tolist(), *v[values == 0.0].tolist()]
