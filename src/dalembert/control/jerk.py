"""From posture to posture with limited velocity, acceleration and jerk, all joints together."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.control.jerk_profiles import (
    Limits,
    Profile,
    change_time,
    common,
    fastest,
    rest_to_rest,
)
from dalembert.control.path import Path
from dalembert.control.trajectory import Trajectory
from dalembert.errors import TrajectoryError


def jerk_limited(
    start: Any,
    goal: Any,
    velocity: Any,
    acceleration: Any,
    jerk: Any,
    straight: bool = False,
    start_velocity: Any = 0.0,
    goal_velocity: Any = 0.0,
    begin: float = 0.0,
) -> Trajectory:
    """From q to q (n,) in the least time, all joints arriving together; accelerations 0 at the ends.

    Limits are numbers, or one for each joint. The joint that needs longest runs at its limits, the
    others take as long as it does; with ``straight=True`` all move in proportion, along a straight
    line. From and to other velocities than 0 a joint may have to turn back; then the common duration
    may be some percent above the least.

    >>> path = jerk_limited([0.0], [1.0], velocity=1.0, acceleration=2.0, jerk=8.0)
    >>> path.duration  # 1 of cruise, and 2 × (¼ + ¼ + ¼ + ¼) of which half counts
    1.75
    """
    q0, q1 = (np.atleast_1d(np.asarray(q, dtype=float)) for q in (start, goal))
    if q0.shape != q1.shape or q0.ndim != 1 or not np.isfinite([q0, q1]).all():
        raise TrajectoryError("start and goal must be vectors of the same number of finite numbers")
    limits = limits_of(q0.size, velocity, acceleration, jerk)
    speeds = [
        _speeds(x, limits, name)
        for name, x in (("start_velocity", start_velocity), ("goal_velocity", goal_velocity))
    ]
    if np.any(speeds):
        if straight:
            raise TrajectoryError("straight=True is for motions from rest to rest")
        return _moving(q0, q1, speeds[0], speeds[1], limits, begin)
    return _resting(q0, q1, limits, straight, begin)


def jerk_limited_duration(
    start: Any, goal: Any, velocity: Any, acceleration: Any, jerk: Any
) -> np.ndarray:
    """The least time (...) from rest to rest, from q (..., n) to q (..., n): the slowest joint's.

    >>> jerk_limited_duration([[0.0], [0.0]], [[1.0], [2.0]], 1.0, 2.0, 8.0)
    array([1.75, 2.75])
    """
    try:
        way = np.abs(np.asarray(goal, dtype=float) - np.asarray(start, dtype=float))
    except ValueError as error:
        raise TrajectoryError(f"start and goal do not fit together: {error}") from None
    if way.ndim < 1 or not np.isfinite(way).all():
        raise TrajectoryError("start and goal must be (..., n) finite numbers")
    return rest_to_rest(way, limits_of(way.shape[-1], velocity, acceleration, jerk))[1].max(axis=-1)


def limits_of(size: int, velocity: Any, acceleration: Any, jerk: Any) -> Limits:
    """Limits (n,) each."""
    made = []
    for name, value in (("velocity", velocity), ("acceleration", acceleration), ("jerk", jerk)):
        limit = np.asarray(value, dtype=float)
        sound = limit.shape in ((), (size,)) and np.isfinite(limit).all() and (limit > 0.0).all()
        if not sound:
            raise TrajectoryError(
                f"{name} limits must be a positive number or {size} of them, not {value!r}"
            )
        made.append(np.broadcast_to(limit, (size,)))
    return Limits(*made)


def _speeds(value: Any, limits: Limits, name: str) -> np.ndarray:
    given = np.asarray(value, dtype=float)
    if given.shape not in ((), limits.v.shape) or not np.isfinite(given).all():
        raise TrajectoryError(f"{name} must be a number or {limits.v.size} of them")
    made = np.broadcast_to(given, limits.v.shape)
    over = np.flatnonzero(np.abs(made) > limits.v)
    if over.size:
        raise TrajectoryError(
            f"{name} {made[over[0]]:.4g} of joint {over[0] + 1} is above its limit "
            f"{limits.v[over[0]]:.4g}"
        )
    return made


def _resting(
    q0: np.ndarray, q1: np.ndarray, limits: Limits, straight: bool, begin: float
) -> Trajectory:
    """Each joint's own profile, stretched to the longest; or one profile of all in proportion."""
    way = np.abs(q1 - q0)
    if not way.any():
        return Trajectory(np.array([begin, begin + 1.0]), q0[None, None, :])
    if straight:
        moving = way > 0.0
        share = Limits(*(float((x[moving] / way[moving]).min()) for x in limits))
        breaks, c = _rest_pieces(1.0, share)
        made = c[:, :, None] * (q1 - q0)
        made[:, 0] += q0
        return Trajectory(begin + breaks, made)
    longest = float(rest_to_rest(way, limits)[1].max())
    joints = []
    for j in range(len(q0)):
        breaks, c = np.array([0.0, longest]), np.zeros((1, 4))
        if way[j]:
            breaks, c = _rest_pieces(way[j], Limits(*(float(x[j]) for x in limits)))
            slower = longest / breaks[-1]
            breaks = slower * breaks
            c *= np.sign(q1[j] - q0[j]) / slower ** np.arange(4.0)
        c[:, 0] += q0[j]
        joints.append((breaks, c))
    return _together(joints, begin)


def _rest_pieces(way: float, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Pieces from rest to rest, as long as they can last least."""
    peak, duration = (float(x) for x in rest_to_rest(np.asarray(way), limits))
    cruise = duration - 2.0 * float(change_time(peak, limits))
    return _pieces(0.0, 0.0, Profile(peak, cruise, duration), limits)


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


def _together(profiles: list[tuple[np.ndarray, np.ndarray]], begin: float) -> Trajectory:
    """Joints with pieces of their own as one trajectory, with the breaks of all."""
    end = max(breaks[-1] for breaks, _ in profiles)
    every = np.sort(np.concatenate([breaks for breaks, _ in profiles]))
    every = every[np.concatenate([[True], np.diff(every) > 1e-12 * end])]
    every[-1] = end
    made = np.zeros((len(every) - 1, 4, len(profiles)))
    for j, (breaks, c) in enumerate(profiles):
        # by its middle, since a break may be off by rounding
        own = Path(breaks, c[:, :, None])
        piece = np.clip(np.searchsorted(breaks, 0.5 * (every[1:] + every[:-1])) - 1, 0, len(c) - 1)
        made[:, : c.shape[1], j] = own.about(every[:-1], piece)[:, :, 0]
    return Trajectory(begin + every, made)


def _moving(
    q0: np.ndarray, q1: np.ndarray, v0: np.ndarray, v1: np.ndarray, limits: Limits, begin: float
) -> Trajectory:
    """From and to velocities: the least time at which every joint has a profile of that duration."""
    own = [Limits(*(float(x[j]) for x in limits)) for j in range(len(q0))]
    given = list(zip((q1 - q0).tolist(), v0.tolist(), v1.tolist(), own, strict=True))
    found = [fastest(*row) for row in given]
    duration, timed = common(found, given)
    if duration == 0.0:
        raise TrajectoryError(
            "start and goal are the same, with the same velocities: the motion would take no time"
        )
    made = []
    for q, profile, (_, first, last, limit) in zip(q0, timed, given, strict=True):
        breaks, c = _pieces(first, last, profile, limit)
        breaks[-1] = duration
        c[:, 0] += q
        made.append((breaks, c))
    return _together(made, begin)
