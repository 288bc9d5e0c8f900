"""As fast along a path as velocities, accelerations and torques allow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dalembert.control.path import Path
from dalembert.control.path_limits import Most, Rows, most_of, rows
from dalembert.control.reachable import Sets, fastest, passed
from dalembert.control.timed_path import TimedPath, timed
from dalembert.errors import ShapeError, TrajectoryError
from dalembert.systems.reaching.follow import PathWarning
from dalembert.systems.system import System

INTERVALS = 100  # of a grid that is chosen here
BETWEEN = 5e-4  # share by which limits may be passed inside its intervals, before it is slowed
CLOSELY, SLOWED = 64, 8  # places of an interval looked at then, and how often
EXACT, MARGIN = 1e-9, 1e-6  # shares: what is rounding, and what may be between those places
INSIDE = 10  # points of each interval at which that is looked at
IDLE = 0.02  # share of all limits that an interval leaves unused: its motion can be faster
IDLE_ROUNDS = 6  # of halving such intervals
OUTSIDE = 1e-6  # rad or m beyond a joint's range that is told
ROUNDS = 16  # of halving intervals in which limits are passed
TURNS = 40  # of tangents for viscous friction
SLOWEST = 1e-6  # share of ṡ² at which they are tried
SETTLED = 1e-9  # change of ṡ² from one to the next


def time_optimal(
    path: Path,
    system: System | None = None,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    grid: Any = None,
    start: float = 0.0,
    end: float = 0.0,
) -> TimedPath:
    """The fastest motion along a path within limits: a trajectory that knows what limits it.

    Limits are numbers, or one for each joint: rad/s, rad/s², N m (or m and N). Where none are given,
    velocities and torques are those of the system's joints. `start` and `end` are ṡ at the ends,
    1/s. `grid` is a number of intervals or the grid points (with the path's breaks, which are
    added); by default intervals are halved, up to six times, until no limit is passed inside them by
    more than 0.05 %, and none is left unused. A motion from rest to rest is then slowed by that
    little, so that limits hold at all times.

    Limits hold at both ends of each interval, with s̈ constant in it. The torque is exact: inertia,
    velocity-product, gravity and friction terms along the path. A path that leaves the ranges of the
    joints, or a limit that no grid keeps, is told by a `PathWarning`.

    >>> from dalembert.control import through
    >>> fast = time_optimal(through([[0.0], [1.0]]), velocity=1.0, acceleration=4.0)
    >>> round(fast.duration, 3), [(limit.kind, round(limit.share, 1)) for limit in fast.active]
    (1.25, [('velocity', 0.6), ('acceleration', 0.4)])
    """
    _require(path, system)
    most = most_of(path.size, system, velocity, acceleration, torque)
    for name, value in (("start", start), ("end", end)):
        if not (np.isfinite(value) and value >= 0.0):
            raise TrajectoryError(f"{name} must be a speed ṡ of at least 0, not {value!r}")
    points = _grid(path, INTERVALS if grid is None else grid)
    made = _solved(path, points, most, system, start, end)
    for turn in range(ROUNDS if grid is None else 0):
        used = np.max([x.max(axis=(1, 2)) for x in _inside(made).values()], axis=0)
        wrong = (used > 1.0 + BETWEEN) | ((used < 1.0 - IDLE) & (turn < IDLE_ROUNDS))
        if not wrong.any():
            break
        points = np.sort(np.concatenate([points, 0.5 * (points[1:] + points[:-1])[wrong]]))
        made = _solved(path, points, most, system, start, end)
    if grid is None and start == end == 0.0:
        made = _within(made)
    if grid is None:
        _warn_beyond(made)
    _warn_outside(made)
    return made


def _within(made: TimedPath) -> TimedPath:
    """The motion slowed down as a whole by the little that limits are passed inside intervals.

    Velocities fall by the factor and accelerations by its square; torques come nearer to those at
    rest, which a feasible path does not pass.
    """
    for _ in range(SLOWED):
        most = max(float(x.max()) for x in _inside(made, CLOSELY).values())
        if not 1.0 + EXACT < most <= 1.0 + 2.0 * BETWEEN:
            break
        x = (made.speed / (most * (1.0 + MARGIN))) ** 2
        made = timed(made.path, made.grid, x, made.most, made.system)
    return made


def _inside(made: TimedPath, count: int = INSIDE) -> dict[str, np.ndarray]:
    """|value| / limit (N, count, n) inside the intervals, at equal distances of time.

    From rest viscous friction grows like √s: most of what it adds is next to the begin.
    """
    share = (np.arange(count) + 0.5) / count
    return made.used(made.breaks[:-1, None] + np.diff(made.breaks)[:, None] * share)


def _warn_beyond(made: TimedPath) -> None:
    """A limit that is passed however fine the grid is told, with its place."""
    used = _inside(made)
    kind = max(used, key=lambda name: float(used[name].max()))
    k, _, j = np.unravel_index(np.argmax(used[kind]), used[kind].shape)
    if (most := float(used[kind].max())) > 1.0 + 2.0 * BETWEEN:
        warnings.warn(
            f"the {kind} of {made.joints[j]!r} is {100.0 * (most - 1.0):.3g} % above its limit near "
            f"s = {made.grid[k]:.4g}, however fine the grid: dq/ds may vanish there; give the path "
            "by its length (through without s=), or in two parts",
            PathWarning,
            stacklevel=3,
        )


def _warn_outside(made: TimedPath) -> None:
    """A path that leaves the joints' ranges is told: no timing mends it."""
    if made.system is None:
        return
    lower, upper = made.system.lower, made.system.upper
    q = made.path(made.grid).q
    over = np.maximum(q - upper, lower - q)
    k, j = np.unravel_index(np.argmax(over), over.shape)
    if over[k, j] > OUTSIDE:
        warnings.warn(
            f"the path takes {made.joints[j]!r} to {q[k, j]:.4g} at s = {made.grid[k]:.4g}, outside "
            f"its limits {lower[j]:.4g} … {upper[j]:.4g}",
            PathWarning,
            stacklevel=3,
        )


def _require(path: Any, system: System | None) -> None:
    if not isinstance(path, Path):
        raise TrajectoryError(
            f"a {type(path).__name__} is no path of joints: make one with through(points), or from "
            "a Cartesian path with .joints(robot)"
        )
    if system is None:
        return
    if system.nq != system.nv or system.dynamics.rows:
        raise TrajectoryError(
            f"{system.name} has quaternions or closed loops: time_optimal is for joints of one degree"
        )
    if path.size != system.nv:
        raise ShapeError(f"the path has {path.size} joints, {system.name} has {system.nv}")


def _grid(path: Path, grid: Any) -> np.ndarray:
    """Grid points with the path's breaks among them, and at least three intervals in each piece."""
    first, last = path.breaks[0], path.breaks[-1]
    points = np.asarray(grid, dtype=float)
    if points.ndim == 0:
        if points < 2 or points != np.floor(points):
            raise TrajectoryError(f"grid must be a whole number of at least 2, not {grid!r}")
        points = np.linspace(first, last, int(points) + 1)
    if points.ndim != 1 or not ((np.diff(points) > 0).all() and np.isfinite(points).all()):
        raise TrajectoryError("grid points must increase")
    if points[0] < first or points[-1] > last:
        raise TrajectoryError(f"grid points must be between {first:g} and {last:g}")
    apart = 1e-9 * (last - first)
    near = np.abs(points[:, None] - path.breaks).min(axis=1) < apart
    points = np.sort(np.concatenate([points[~near], path.breaks]))
    stops = np.array([first, *path.corners, last])
    few = np.histogram(points, stops)[0] < 4
    more = [
        np.linspace(a, b, 9)[1:-1] for a, b in zip(stops[:-1][few], stops[1:][few], strict=True)
    ]
    return np.unique(np.concatenate([points, *more]))


def _solved(
    path: Path, grid: np.ndarray, most: Most, system: System | None, start: float, end: float
) -> TimedPath:
    """The fastest motion on a grid; viscous friction by tangents until they touch the motion."""
    limits = rows(path, grid, most, system)
    x = _speeds(limits, grid, start, end, system)
    for _ in range(TURNS if limits.f.any() else 0):
        before = x
        x, slower = _with_friction(limits, grid, x, start, end, system)
        if slower == 1.0 and np.abs(x - before).max() <= SETTLED * x.max():
            break
    return timed(path, grid, x, most, system)


def _with_friction(
    limits: Rows, grid: np.ndarray, x: np.ndarray, start: float, end: float, system: System | None
) -> tuple[np.ndarray, float]:
    """(ṡ² with tangents at a share of x, that share): 1, or what is small enough.

    A tangent of √x is above it, most of all at rest: with one at too large an x not even a slow
    motion is feasible. With one at a motion that is feasible, this motion stays so.
    """
    slower = 1.0
    while True:
        at = slower * x
        at[0], at[-1] = start**2, end**2
        try:
            tangent = limits.tangent(np.stack([at[:-1], at[1:]], axis=1))
            return _speeds(tangent, grid, start, end, system), slower
        except TrajectoryError:
            slower *= 0.25
            if slower < SLOWEST:
                raise


def _speeds(
    limits: Rows, grid: np.ndarray, start: float, end: float, system: System | None
) -> np.ndarray:
    """ṡ² (N+1,) of the fastest motion."""
    lines = limits.lines(np.diff(grid))
    x = None
    for whole in (False, True):
        sets = passed(*lines, end**2, whole)
        low, high = np.sqrt(np.maximum([sets.low[0], sets.high[0]], 0.0))
        if sets.empty is None and low * (1.0 - 1e-9) <= start <= high * (1.0 + 1e-9):
            x = fastest(*lines, sets, min(max(start**2, sets.low[0]), sets.high[0]))
            break
    if sets.empty is not None:
        raise TrajectoryError(_blamed(limits, lines, grid, sets, system))
    if x is None:
        raise TrajectoryError(
            f"with ṡ = {start:g} at its start the path cannot be followed: between {low:.4g} and "
            f"{high:.4g} it can"
        )
    stuck = np.flatnonzero(x[1:] + x[:-1] <= 0.0)
    if stuck.size:
        raise TrajectoryError(
            f"the motion comes to rest at s = {grid[stuck[0]]:.4g} and cannot go on with so few "
            "intervals: give a larger grid"
        )
    return x


def _blamed(
    limits: Rows,
    lines: tuple[np.ndarray, ...],
    grid: np.ndarray,
    sets: Sets,
    system: System | None,
) -> str:
    """Which limits cannot be met together, where no speed passes an interval."""
    from scipy.optimize import linprog

    i = int(sets.empty or 0)
    joint = _names(limits, system)
    where = f"at s = {grid[i]:.4g}"
    # the torque at rest alone
    over = np.maximum(-limits.upper[i], limits.lower[i])
    end, k = np.unravel_index(np.argmax(over), over.shape)
    if over[end, k] > 0.0:
        kind, j = limits.labels[k]
        return (
            f"joint {joint(j)!r} needs {over[end, k]:.4g} more {kind} than its limit only to hold "
            f"the arm {where}: no speed makes this path feasible"
        )
    # x, y and the least amount by which all lines must be moved
    A, B, C = (z[i] for z in lines)
    size = np.maximum(np.hypot(A, B), 1e-300)
    table = np.column_stack([A / size, B / size, -np.ones_like(A)])
    box = [(None, None), (sets.low[i + 1], sets.high[i + 1]), (0.0, None)]
    found = linprog([0.0, 0.0, 1.0], table, C / size, bounds=box, method="highs")
    tight = {limits.line_labels()[k] for k in np.flatnonzero(found.ineqlin.marginals < 0.0)}
    named = sorted(f"{kind} of {joint(j)!r}" if j >= 0 else kind for kind, j in tight)
    return (
        f"{where} no speed keeps the limits together ({', '.join(named)}): what comes after asks for "
        "another speed than can be had there; slow down at the end, or give the path less curvature"
    )


def _names(limits: Rows, system: System | None) -> Any:
    return lambda j: f"joint {j + 1}" if system is None else system.dynamics.velocities[j]
