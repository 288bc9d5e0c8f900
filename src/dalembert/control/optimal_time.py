"""Time-optimal motion along a path by reachability analysis (TOPP-RA; Pham and Pham 2018).

With x = ṡ² at the begin and y = ṡ² at the end of an interval of length Δ, s̈ = (y − x) / 2Δ, and each
limit at either end of the interval is one line

    A x + B y ≤ C.

Backward from the end, the set [low, high] of x from which the rest of the path can be done; forward
from the start, the largest y in the next set. Solved for x, the lines are an upper bound that is
concave in y and a lower bound that is convex in y, so that both sets follow from a minimum over the
lines and four numbers of each interval: where the polygon of its lines begins and ends in y, and
where x + y is largest and x is least.

Twice as fast as TOPP-RA 0.6 (1.8 ms, 3.6 ms; `benchmarks/paths.py`), which brings matplotlib along and
takes torques state by state.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.path import Path
from dalembert.control.timed_path import MotionLimits, Rows, TimedPath, motion_limits, rows, timed
from dalembert.errors import ShapeError, TrajectoryError
from dalembert.kernels.llvm.envelope import backward, forward, pad_lines
from dalembert.systems.ik.paths import PathWarning
from dalembert.systems.system import System

Ends = tuple[float, float]  # ṡ at the begin and the end of a path, 1/s
TINY = 1e-13  # relative to the other coefficient of a line
FAR = 1e30  # no line
ROUNDING = 1e-12  # relative amount by which a set may be empty


class Bounds(NamedTuple):
    """Lines solved for one variable: lower ≤ variable ≤ upper, (N, m); (gradient, value at 0)."""

    upper_gradient: np.ndarray
    upper: np.ndarray
    lower_gradient: np.ndarray
    lower: np.ndarray


class Sets(NamedTuple):
    """[low, high] (N+1,) of x that reach the end; `empty` the first interval that none passes."""

    low: np.ndarray
    high: np.ndarray
    empty: int | None


def solved(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Bounds:
    """A x + B y ≤ C (N, m) as bounds of x by y; lines without x bound nothing."""
    has = np.abs(A) > TINY * np.abs(B)
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient, at = -B / A, C / A
    up, down = has & (A > 0.0), has & (A < 0.0)
    return Bounds(
        *(np.where(up, gradient, 0.0), np.where(up, at, FAR)),
        *(np.where(down, gradient, 0.0), np.where(down, at, -FAR)),
    )


def controllable_sets(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, end: float, whole: bool = False
) -> Sets:
    """The sets of x at all grid points from which x = end is reached at the last; lines (N, m).

    Next to zero-inertia points, where m changes its sign, the largest x may leave only a small y,
    even 0. Without `whole` the sets end where x + y is largest: a speed that costs more than it gains
    is not in them.
    """
    bounds = solved(A, B, C)
    # first y, last y, y of the largest x + weight y and y of the least x of each polygon (N,)
    weight = 0.0 if whole else 1.0
    alone = (bounds.upper == FAR) & (bounds.lower == -FAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = C / B
    last = _edge(bounds, np.where(alone & (B > 0.0), y, FAR).min(axis=1))
    mirrored = bounds._replace(
        upper_gradient=-bounds.upper_gradient, lower_gradient=-bounds.lower_gradient
    )
    first = -_edge(mirrored, -np.where(alone & (B < 0.0), y, -FAR).max(axis=1))
    largest = _top(bounds.upper_gradient + weight, bounds.upper, first, last)
    least = _top(-bounds.lower_gradient, -bounds.lower, first, last)
    low, high = np.empty(len(A) + 1), np.empty(len(A) + 1)
    low[-1] = high[-1] = end
    lines = [pad_lines(x, fill) for x, fill in zip(bounds, (0.0, FAR, 0.0, -FAR), strict=True)]
    backward((lines[0], lines[1], lines[2], lines[3]), (first, last, largest, least), low, high)
    begin, stop = np.maximum(low[1:], first), np.minimum(high[1:], last)
    empty = np.flatnonzero(begin > stop + ROUNDING * np.abs(stop))
    return Sets(low, high, int(empty[-1]) if empty.size else None)


def fastest(A: np.ndarray, B: np.ndarray, C: np.ndarray, sets: Sets, start: float) -> np.ndarray:
    """x (N+1,) of the fastest motion from x = start, which must be in the first set."""
    bounds = solved(B, A, C)  # of y by x
    x = np.full(len(A) + 1, start)
    lines = pad_lines(bounds.upper_gradient, 0.0), pad_lines(bounds.upper, FAR)
    forward(*lines, sets.low, sets.high, x)
    return x


def _edge(x: Bounds, start: np.ndarray) -> np.ndarray:
    """The largest y ≤ start with lower(y) ≤ upper(y), or −FAR: Newton on a concave function.

    From the right it steps to the crossing of the two active lines and never overshoots: it ends after
    at most as many steps as there are lines.
    """
    y, at, lines = start.copy(), np.arange(len(start)), x
    for _ in range(x.upper.shape[1] + 1):
        if not len(at):
            break
        above, top = _lowest(lines.upper_gradient, lines.upper, y[at])
        below, bottom = _lowest(-lines.lower_gradient, -lines.lower, y[at])
        gradient, gap = above + below, top + bottom  # upper − lower = gradient y + gap
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(gradient < 0.0, -gap / gradient, -FAR)
        further = (gradient * y[at] + gap < 0.0) & (crossing < y[at])
        at, lines = at[further], Bounds(*(side[further] for side in lines))
        y[at] = crossing[further]
    return y


def _top(gradient: np.ndarray, at: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """y in [first, last] where the lowest of the lines (N, m) is highest.

    The highest point is below the crossing of a rising and a falling line; a line that is lower there
    replaces one of them, until there is none.
    """
    rising, falling = _lowest(gradient, at, first), _lowest(gradient, at, last)
    y = np.where(rising[0] <= 0.0, first, last)
    open_rows = np.flatnonzero((rising[0] > 0.0) & (falling[0] < 0.0) & (first < last))
    left, right = ([side[open_rows] for side in line] for line in (rising, falling))
    for _ in range(gradient.shape[1] + 1):
        if not len(open_rows):
            break
        crossing = (right[1] - left[1]) / (left[0] - right[0])
        y[open_rows] = crossing
        new, height = _lowest(gradient[open_rows], at[open_rows], crossing)
        value, size = left[0] * crossing + left[1], np.abs(left[0] * crossing) + np.abs(left[1])
        lower = new * crossing + height < value - ROUNDING * size
        up = new > 0.0
        left = [np.where(up, a, b)[lower] for a, b in zip((new, height), left, strict=True)]
        right = [np.where(up, b, a)[lower] for a, b in zip((new, height), right, strict=True)]
        open_rows = open_rows[lower]
    return y


def _lowest(gradient: np.ndarray, at: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, at) (N,) of the line that is lowest at y (N,)."""
    rows, k = np.arange(len(y)), np.argmin(gradient * y[:, None] + at, axis=1)
    return gradient[rows, k], at[rows, k]


INTERVALS = 100  # of the first grid
EXCESS = 5e-4  # share by which limits may be passed inside intervals, before the motion is slowed
FINE_POINTS, SLOWINGS = 64, 8  # points of an interval then, and number of attempts
EXACT, MARGIN = 1e-9, 1e-6  # shares: rounding, and excess between those points
INNER_POINTS = 10  # of each interval at which limits are evaluated
IDLE = 0.02  # unused share of all limits in an interval whose motion can be faster
IDLE_ROUNDS = 6  # of halving such intervals
OUTSIDE = 1e-6  # rad or m beyond a joint's range, without a warning
ROUNDS = 16  # of halving intervals in which limits are passed
TANGENTS = 40  # iterations for viscous friction
SLOWEST = 1e-6  # share of ṡ² at which they are attempted
CONVERGED = 1e-9  # change of ṡ² from one to the next


def time_optimal(
    path: Path,
    system: System | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    grid: ArrayLike | None = None,
    start: float = 0.0,
    end: float = 0.0,
) -> TimedPath:
    """The fastest motion along a path within limits.

    Limits hold at both ends of each interval, with s̈ constant in it. The torque is exact: inertia,
    velocity-product, gravity and friction terms along the path.

    Parameters
    ----------
    path
        Path of the joints.
    system
        The system that moves, for torques and for the limits of its joints.
    velocity, acceleration, torque
        Limits, a number or (n,): rad/s, rad/s², N m (or m and N). By default velocities and torques
        are limited as in the system.
    grid
        Number of intervals, or grid points (the breaks of the path are added). By default intervals
        are halved until no limit is passed inside them by more than 0.05 %, and none is unused; a
        motion from rest to rest is then slowed, so that limits hold at all times.
    start, end
        ṡ at the ends, 1/s.

    Returns
    -------
    TimedPath
        A trajectory; `active` lists the limits that are met.

    Raises
    ------
    TrajectoryError
        Where no speed is feasible, with the joint and the limits.

    Warns
    -----
    PathWarning
        For a path that leaves the ranges of the joints, or a limit that no grid can meet.

    Examples
    --------
    >>> from dalembert.control import through
    >>> fast = time_optimal(through([[0.0], [1.0]]), velocity=1.0, acceleration=4.0)
    >>> round(fast.duration, 3), [(limit.kind, round(limit.share, 1)) for limit in fast.active]
    (1.25, [('velocity', 0.6), ('acceleration', 0.4)])
    """
    _require(path, system)
    limits = motion_limits(path.size, system, velocity, acceleration, torque)
    for name, value in (("start", start), ("end", end)):
        if not (np.isfinite(value) and value >= 0.0):
            raise TrajectoryError(f"{name} must be a speed ṡ of at least 0, not {value!r}")
    points, ends = _grid(path, INTERVALS if grid is None else grid), (start, end)
    motion = _solved(path, points, limits, system, ends)
    for iteration in range(ROUNDS if grid is None else 0):
        used = np.max([x.max(axis=(1, 2)) for x in _used_inside(motion).values()], axis=0)
        wrong = (used > 1.0 + EXCESS) | ((used < 1.0 - IDLE) & (iteration < IDLE_ROUNDS))
        if not wrong.any():
            break
        points = np.sort(np.concatenate([points, 0.5 * (points[1:] + points[:-1])[wrong]]))
        motion = _solved(path, points, limits, system, ends)
    if grid is None and start == end == 0.0:
        # slowed as a whole, velocities fall by the factor and accelerations by its square; torques
        # approach those at rest, which are feasible
        for _ in range(SLOWINGS):
            share = max(float(x.max()) for x in _used_inside(motion, FINE_POINTS).values())
            if not 1.0 + EXACT < share <= 1.0 + 2.0 * EXCESS:
                break
            x = (motion.speed / (share * (1.0 + MARGIN))) ** 2
            motion = timed(path, motion.grid, x, limits, system)
    if grid is None:
        _warn_beyond(motion)
    _warn_outside(motion)
    return motion


def _used_inside(motion: TimedPath, count: int = INNER_POINTS) -> dict[str, np.ndarray]:
    """|value| / limit (N, count, n) inside the intervals, at equal distances of time.

    From rest viscous friction grows like √s, most of it next to the begin.
    """
    share = (np.arange(count) + 0.5) / count
    return motion.used(motion.breaks[:-1, None] + np.diff(motion.breaks)[:, None] * share)


def _warn_beyond(motion: TimedPath) -> None:
    """Warn about a limit that is passed on any grid, with joint and s."""
    used = _used_inside(motion)
    kind = max(used, key=lambda name: float(used[name].max()))
    k, _, j = np.unravel_index(np.argmax(used[kind]), used[kind].shape)
    if (share := float(used[kind].max())) > 1.0 + 2.0 * EXCESS:
        warnings.warn(
            f"the {kind} of {motion.joints[j]!r} is {100.0 * (share - 1.0):.3g} % above its limit "
            f"near s = {motion.grid[k]:.4g}, however fine the grid: dq/ds may vanish there; give the "
            "path by its length (through without s=), or in two parts",
            PathWarning,
            stacklevel=3,
        )


def _warn_outside(motion: TimedPath) -> None:
    """Warn about a path that leaves the ranges of the joints, with any timing."""
    if motion.system is None:
        return
    lower, upper = motion.system.lower, motion.system.upper
    q = motion.path(motion.grid).q
    over = np.maximum(q - upper, lower - q)
    k, j = np.unravel_index(np.argmax(over), over.shape)
    if over[k, j] > OUTSIDE:
        warnings.warn(
            f"the path takes {motion.joints[j]!r} to {q[k, j]:.4g} at s = {motion.grid[k]:.4g}, "
            f"outside its limits {lower[j]:.4g} … {upper[j]:.4g}",
            PathWarning,
            stacklevel=3,
        )


def _require(path: object, system: System | None) -> None:
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


def _grid(path: Path, grid: ArrayLike) -> np.ndarray:
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
    path: Path, grid: np.ndarray, limits: MotionLimits, system: System | None, ends: Ends
) -> TimedPath:
    """The fastest motion on a grid; viscous friction by tangents at the motion before."""
    constraints = rows(path, grid, limits, system)
    x = _speeds(constraints, ends)
    for _ in range(TANGENTS if constraints.f.any() else 0):
        before = x
        x, share = _with_friction(constraints, x, ends)
        if share == 1.0 and np.abs(x - before).max() <= CONVERGED * x.max():
            break
    return timed(path, grid, x, limits, system)


def _with_friction(limits: Rows, x: np.ndarray, ends: Ends) -> tuple[np.ndarray, float]:
    """(ṡ² with tangents at a share of x, that share): 1, or small enough to be feasible.

    A tangent of √x is above it, most of all at rest: with one at too large an x not even a slow
    motion is feasible. With one at a feasible motion, this motion stays feasible.
    """
    share = 1.0
    while True:
        at = share * x
        at[0], at[-1] = ends[0] ** 2, ends[1] ** 2
        try:
            tangent = limits.tangent(np.stack([at[:-1], at[1:]], axis=1))
            return _speeds(tangent, ends), share
        except TrajectoryError:
            share *= 0.25
            if share < SLOWEST:
                raise


def _speeds(limits: Rows, ends: Ends) -> np.ndarray:
    """ṡ² (N+1,) of the fastest motion."""
    lines, (start, end) = limits.lines, ends
    x = None
    for whole in (False, True):
        sets = controllable_sets(*lines, end**2, whole)
        low, high = np.sqrt(np.maximum([sets.low[0], sets.high[0]], 0.0))
        if sets.empty is None and low * (1.0 - 1e-9) <= start <= high * (1.0 + 1e-9):
            x = fastest(*lines, sets, min(max(start**2, sets.low[0]), sets.high[0]))
            break
    if sets.empty is not None:
        raise TrajectoryError(_infeasible_limits(limits, lines, sets))
    if x is None:
        raise TrajectoryError(
            f"with ṡ = {start:g} at its start the path cannot be followed: between {low:.4g} and "
            f"{high:.4g} it can"
        )
    at_rest = np.flatnonzero(x[1:] + x[:-1] <= 0.0)
    if at_rest.size:
        raise TrajectoryError(
            f"the motion comes to rest at s = {limits.grid[at_rest[0]]:.4g} and cannot go on with so "
            "few intervals: give a larger grid"
        )
    return x


def _infeasible_limits(limits: Rows, lines: tuple[np.ndarray, ...], sets: Sets) -> str:
    """Message naming the limits that cannot be met together in the first infeasible interval."""
    from scipy.optimize import linprog

    i = int(sets.empty or 0)
    where = f"at s = {limits.grid[i]:.4g}"
    # the torque at rest alone
    over = np.maximum(-limits.upper[i], limits.lower[i])
    end, k = np.unravel_index(np.argmax(over), over.shape)
    if over[end, k] > 0.0:
        kind, joint = limits.labels[k]
        return (
            f"joint {joint!r} needs {over[end, k]:.4g} more {kind} than its limit only to hold "
            f"the arm {where}: no speed makes this path feasible"
        )
    # x, y and the least amount by which all lines must be moved
    A, B, C = (z[i] for z in lines)
    size = np.maximum(np.hypot(A, B), 1e-300)
    table = np.column_stack([A / size, B / size, -np.ones_like(A)])
    box = [(None, None), (sets.low[i + 1], sets.high[i + 1]), (0.0, None)]
    solution = linprog([0.0, 0.0, 1.0], table, C / size, bounds=box, method="highs")
    # kind and joint of each of the lines
    labels = (*limits.labels * 4, *(("velocity", ""),) * 4)
    tight = {labels[k] for k in np.flatnonzero(solution.ineqlin.marginals < 0.0)}
    named = sorted(f"{kind} of {joint!r}" if joint else kind for kind, joint in tight)
    return (
        f"{where} no speed meets the limits together ({', '.join(named)}): the path behind needs "
        "another speed than is possible there; slow down at the end, or give the path less curvature"
    )
