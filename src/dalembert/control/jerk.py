"""Trajectories with limited velocity, acceleration and jerk.

A profile of one joint is a change of velocity, a cruise, and another change.

A change of velocity by δ takes 2 T_j + T_a, jerk up, none and down (Biagiotti and Melchiorri 2008,
Trajectory planning for automatic machines and robots, section 3.4):

    T_j = √(δ/j), T_a = 0 where δ ≤ a²/j, else T_j = a/j, T_a = δ/a − a/j,

and by its symmetry its distance is (v + v′)/2 · (2 T_j + T_a). A motion is a change to the velocity
v_p, a cruise, and a change from it: from rest to rest in closed form, else by the roots of its
distance in v_p.

Durations are those of Ruckig 0.19 to rounding. Written here for arrays of motions: a duration takes
0.3 µs among 10⁴, where Ruckig, a compiled dependency of 4 MB, takes 7 µs; one whole trajectory, though,
takes 0.7 ms here (`benchmarks/paths.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.path import Path
from dalembert.control.trajectory import Array, Scalar, Trajectory, joint_limits, start_and_goal
from dalembert.errors import TrajectoryError

SCANNED = 4001  # velocities at which signs are compared
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


def rest_to_rest(distance: np.ndarray, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """(largest velocity, duration) of distances ≥ 0, in closed form."""
    v, a, j = (np.broadcast_to(np.asarray(x, dtype=float), distance.shape) for x in limits)
    ramp = a / j
    # the largest velocity without a cruise
    short = np.cbrt(0.25 * distance * distance * j)  # 2 v √(v/j) = distance
    long = 0.5 * a * (np.sqrt(ramp * ramp + 4.0 * distance / a) - ramp)  # v (v/a + a/j) = distance
    peak = np.minimum(v, np.where(distance <= 2.0 * a * ramp * ramp, short, long))
    change = change_time(peak, Limits(v, a, j))
    cruise = np.divide(distance, peak, out=np.zeros_like(distance), where=peak > 0.0) - change
    return peak, 2.0 * change + np.maximum(cruise, 0.0)


def change_time(delta: Scalar, limits: Limits) -> np.ndarray:
    """2 T_j + T_a of a change of velocity by ±delta."""
    size, (_, a, j) = np.abs(delta), limits
    return np.asarray(np.where(size <= a * a / j, 2.0 * np.sqrt(size / j), size / a + a / j))


def synchronised(
    profiles: list[Profile], motions: list[tuple[float, float, float, Limits]]
) -> tuple[float, list[Profile]]:
    """The least common duration of all joints, to a thousandth, and their profiles.

    A joint that has to turn back has no profile for some durations above its least.
    """

    def all_of_duration(duration: float) -> list[Profile] | None:
        timed = []
        for profile, motion in zip(profiles, motions, strict=True):
            own = profile if profile.duration == duration else of_duration(duration, *motion)
            if own is None:
                return None
            timed.append(own)
        return timed

    low = high = max(profile.duration for profile in profiles)
    step, best = GROWTH * low, all_of_duration(low)
    if best is not None:
        return low, best
    while best is None:
        low, high, step = high, high + step, 2.0 * step
        best = all_of_duration(high)
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        timed = all_of_duration(middle)
        if timed is None:
            low = middle
        else:
            high, best = middle, timed
    return high, best


def fastest(distance: float, v0: float, v1: float, limits: Limits) -> Profile:
    """The profile of least duration: at the largest velocity of either sign, or without a cruise."""
    candidates = []
    for v in (limits.v, -limits.v):
        changed, duration = _changes(v, v0, v1, limits)
        cruise = (distance - changed) / v
        if cruise >= 0.0:
            candidates.append(Profile(v, cruise, cruise + duration))
    for v in _roots(lambda v: _changes(v, v0, v1, limits)[0] - distance, v0, v1, limits):
        candidates.append(Profile(v, 0.0, _changes(v, v0, v1, limits)[1]))
    return min(candidates, key=lambda profile: profile.duration)


def of_duration(
    duration: float, distance: float, v0: float, v1: float, limits: Limits
) -> Profile | None:
    """A profile of this duration with the slowest cruise, or None."""

    def miss(v: Array) -> Any:
        changed, time = _changes(v, v0, v1, limits)
        return changed + v * (duration - time) - distance

    candidates = []
    for v in _roots(miss, v0, v1, limits):
        time = float(_changes(v, v0, v1, limits)[1])
        if time <= duration * (1.0 + 1e-12):
            candidates.append(Profile(v, duration - time, duration))
    return min(candidates, key=lambda profile: abs(profile.v), default=None)


def _changes(v: Scalar, v0: float, v1: float, limits: Limits) -> tuple[Any, Any]:
    """(distance, duration) of the changes from v0 to v and from v to v1."""
    first, last = change_time(v - v0, limits), change_time(v - v1, limits)
    return 0.5 * ((v0 + v) * first + (v + v1) * last), first + last


def _roots(function: Callable[[Array], Array], v0: float, v1: float, limits: Limits) -> list[float]:
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


def jerk_limited(
    start: ArrayLike,
    goal: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike,
    straight: bool = False,
    start_velocity: ArrayLike = 0.0,
    goal_velocity: ArrayLike = 0.0,
    begin: float = 0.0,
) -> Trajectory:
    """The fastest trajectory with limited jerk, all joints arriving together.

    The joint that needs longest moves at its limits, the others take as long as it does.

    Parameters
    ----------
    start, goal
        (n,) rad or m; accelerations are 0 at both.
    velocity, acceleration, jerk
        Limits, a number or (n,).
    straight
        Whether all joints move in proportion, along a straight line.
    start_velocity, goal_velocity
        A number or (n,). Where they are not 0 a joint may have to turn back; then the common
        duration may be some percent above the least.
    begin
        Time at which it leaves `start`, s.

    Returns
    -------
    Trajectory

    Raises
    ------
    TrajectoryError
        For limits that are not positive, or velocities above them.

    Examples
    --------
    >>> path = jerk_limited([0.0], [1.0], velocity=1.0, acceleration=2.0, jerk=8.0)
    >>> path.duration  # 1 of cruise, and 2 × (¼ + ¼ + ¼ + ¼) of which half counts
    1.75
    """
    q0, q1 = start_and_goal(start, goal)
    limits = limits_of(q0.size, velocity, acceleration, jerk)
    v0 = _speeds(start_velocity, limits, "start_velocity")
    v1 = _speeds(goal_velocity, limits, "goal_velocity")
    if not (v0.any() or v1.any()):
        return _rest_to_rest(q0, q1, limits, straight, begin)
    if straight:
        raise TrajectoryError("straight=True is for motions from rest to rest")
    own = [Limits(*(float(x[j]) for x in limits)) for j in range(len(q0))]
    motions = list(zip((q1 - q0).tolist(), v0.tolist(), v1.tolist(), own, strict=True))
    duration, profiles = synchronised([fastest(*motion) for motion in motions], motions)
    if duration == 0.0:
        raise TrajectoryError(
            "start and goal are the same, with the same velocities: the motion would take no time"
        )
    joints = []
    for q, profile, (_, first, last, limit) in zip(q0, profiles, motions, strict=True):
        breaks, c = _pieces(first, last, profile, limit)
        breaks[-1] = duration
        c[:, 0] += q
        joints.append((breaks, c))
    return _joined(joints, begin)


def jerk_limited_duration(
    start: ArrayLike, goal: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike
) -> np.ndarray:
    """The least time (...) of `jerk_limited` from rest to rest, for q (..., n) to q (..., n).

    Examples
    --------
    >>> jerk_limited_duration([[0.0], [0.0]], [[1.0], [2.0]], 1.0, 2.0, 8.0)
    array([1.75, 2.75])
    """
    try:
        distance = np.abs(np.asarray(goal, dtype=float) - np.asarray(start, dtype=float))
    except ValueError as error:
        raise TrajectoryError(f"start and goal do not fit together: {error}") from None
    if distance.ndim < 1 or not np.isfinite(distance).all():
        raise TrajectoryError("start and goal must be (..., n) finite numbers")
    limits = limits_of(distance.shape[-1], velocity, acceleration, jerk)
    return np.asarray(rest_to_rest(distance, limits)[1].max(axis=-1))


def limits_of(size: int, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike) -> Limits:
    """Limits (n,) each."""
    named = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    return Limits(*(joint_limits(x, size, name, finite=True) for name, x in named.items()))


def _speeds(value: ArrayLike, limits: Limits, name: str) -> np.ndarray:
    largest = np.asarray(limits.v)
    speeds = np.asarray(value, dtype=float)
    if speeds.shape not in ((), largest.shape) or not np.isfinite(speeds).all():
        raise TrajectoryError(f"{name} must be a number or {largest.size} of them")
    speeds = np.broadcast_to(speeds, largest.shape)
    over = np.flatnonzero(np.abs(speeds) > largest)
    if over.size:
        raise TrajectoryError(
            f"{name} {speeds[over[0]]:.4g} of joint {over[0] + 1} is above its limit "
            f"{largest[over[0]]:.4g}"
        )
    return speeds


def _rest_to_rest(
    q0: np.ndarray, q1: np.ndarray, limits: Limits, straight: bool, begin: float
) -> Trajectory:
    """Each joint's own profile, stretched to the longest; or one profile of all in proportion."""
    distance = np.abs(q1 - q0)
    if not distance.any():
        return Trajectory(np.array([begin, begin + 1.0]), q0[None, None, :])
    if straight:
        moving = distance > 0.0
        share = Limits(*((x[moving] / distance[moving]).min(keepdims=True) for x in limits))
        along = _rest_to_rest(np.zeros(1), np.ones(1), share, False, begin)
        coefficients = along.coefficients * (q1 - q0)
        coefficients[:, 0] += q0
        return Trajectory(along.breaks, coefficients)
    peaks, durations = rest_to_rest(distance, limits)
    longest, joints = float(durations.max()), []
    for j, (peak, duration) in enumerate(zip(peaks, durations, strict=True)):
        breaks, c = np.array([0.0, longest]), np.zeros((1, 4))
        if distance[j]:
            own = Limits(*(float(x[j]) for x in limits))
            cruise = duration - 2.0 * float(change_time(peak, own))
            breaks, c = _pieces(0.0, 0.0, Profile(peak, cruise, duration), own)
            slower = longest / breaks[-1]
            breaks = slower * breaks
            c *= np.sign(q1[j] - q0[j]) / slower ** np.arange(4.0)
        c[:, 0] += q0[j]
        joints.append((breaks, c))
    return _joined(joints, begin)


def _pieces(
    v0: float, v1: float, profile: Profile, limits: Limits
) -> tuple[np.ndarray, np.ndarray]:
    """(breaks (m+1,), coefficients (m, 4)) of a profile from 0; pieces without duration left out."""
    times, jerks = [], []
    for a, b in ((v0, profile.v), (profile.v, v1)):
        delta, sign = abs(b - a), float(np.sign(b - a))
        hold = max(delta / limits.a - limits.a / limits.j, 0.0)
        ramp = limits.a / limits.j if hold > 0.0 else np.sqrt(delta / limits.j)
        times += [ramp, hold, ramp]
        jerks += [sign * limits.j, 0.0, -sign * limits.j]
    times.insert(3, max(profile.cruise, 0.0))
    jerks.insert(3, 0.0)
    state, rows, breaks = np.array([0.0, v0, 0.0]), [], [0.0]
    for h, j in zip(times, jerks, strict=True):
        if h <= 1e-12 * profile.duration:
            continue
        q, v, a = state
        rows.append([q, v, 0.5 * a, j / 6.0])
        breaks.append(breaks[-1] + h)
        state = np.array(
            [q + h * (v + h * (0.5 * a + h * j / 6.0)), v + h * (a + 0.5 * h * j), a + h * j]
        )
    return np.array(breaks), np.array(rows).reshape(-1, 4)


def _joined(profiles: list[tuple[np.ndarray, np.ndarray]], begin: float) -> Trajectory:
    """One trajectory of joints with pieces of their own, with the breaks of all."""
    end = max(breaks[-1] for breaks, _ in profiles)
    times = np.sort(np.concatenate([breaks for breaks, _ in profiles]))
    times = times[np.concatenate([[True], np.diff(times) > 1e-12 * end])]
    times[-1] = end
    coefficients = np.zeros((len(times) - 1, 4, len(profiles)))
    for j, (breaks, c) in enumerate(profiles):
        # by midpoints, since a break may be off by rounding
        own = Path(breaks, c[:, :, None])
        piece = np.clip(np.searchsorted(breaks, 0.5 * (times[1:] + times[:-1])) - 1, 0, len(c) - 1)
        coefficients[:, : c.shape[1], j] = own.about(times[:-1], piece)[:, :, 0]
    return Trajectory(begin + times, coefficients)
