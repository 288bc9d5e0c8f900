"""The public entry points of inverse kinematics: one configuration, or all, for each target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError, ShapeError
from dalembert.formulations.kinematics import ik_step
from dalembert.kernels.call.arguments import on_device
from dalembert.kernels.cuda.device import common_device
from dalembert.systems.evaluator import Parameters
from dalembert.systems.ik.algebraic import (
    AlgebraicSolver,
    IKFlags,
    IKSolutions,
    algebraic_solver,
)
from dalembert.systems.ik.paths import follow_paths
from dalembert.systems.ik.solver import (
    MAX_RESTARTS,
    IKProblem,
    IKResult,
    IKSolver,
    initial_configurations,
)
from dalembert.systems.ik.targets import common_batch, require_settings, target_poses, task_weights
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.system import System

OFTEN = 4  # hits of each solution after which the search for others ends
FIRST_STARTS, MAX_STARTS = 256, 8192  # per target, doubled until all solutions were hit often
CONTINUUM = 64  # rarely hit solutions of one target: points of a continuum
NEAR_SINGULAR = 1e-3  # of the largest singular value of the task's Jacobian
INSPECTED = 32  # solutions per target that are checked for a singularity
SURE = 1e-12  # the largest residual of solutions by algebra
BESIDE = 1e-2  # rad or m: an end so near to a solution was on its way to it


def inverse_kinematics(
    system: System,
    T: ArrayLike,
    frame: str,
    q0: ArrayLike | None,
    tol: float,
    limits: bool,
    max_restarts: int,
    rng: int | np.random.Generator,
    task: str,
    weights: ArrayLike | None,
    goal: str | None,
    parameters: Parameters,
    continuous: bool,
) -> IKResult:
    """Configurations that put a frame at the targets, see `System.inverse_kinematics`."""
    seed = require_settings(tol, max_restarts, rng, goal, q0, continuous)
    require_known(task, ik_step.TASKS, "there is no task")
    if goal == "manipulability" and system.dynamics.rows:
        raise SettingError(
            f"{system.name} is held by constraints, and goal='manipulability' is for open chains; take "
            "'near' or 'center'"
        )
    system.dynamics.require_frame(frame)
    problem = IKProblem(frame, task, limits, weights is not None, goal, hops=max_restarts > 0)
    starts = min(int(max_restarts), MAX_RESTARTS)
    row_weights = task_weights(weights, task)
    solver = IKSolver(system, problem, tol, starts, seed, row_weights, parameters)
    if on_device([T]):
        return _solve_on_device(solver, T, q0, continuous)
    targets = target_poses(T, task)
    if continuous:
        if targets.ndim < 3:
            raise ShapeError("continuous=True needs a path, poses (..., n, 4, 4), not one target")
        if weights is not None:
            raise SettingError(
                "continuous=True reaches every pose of a path: leave out the weights"
            )
        return follow_paths(solver, targets, q0)
    batch = common_batch(targets.shape[:-2], q0, system.nq)
    flat = np.broadcast_to(targets, (*batch, 4, 4)).reshape(-1, 4, 4)
    start = initial_configurations(system, q0, batch, limits)
    algebra = None
    if task == "pose" and weights is None and goal is None and max_restarts > 0:
        algebra = algebraic_solver(system, frame, solver.values)
        if algebra is not None and tol < SURE * max(1.0, algebra.arm.chain.size):
            algebra = None
    full = solver.rest_configuration if start is None else start
    rest = np.broadcast_to(full, (len(flat), system.nq))
    if algebra is None or not algebra.is_quick:
        q, solved = solver.solve(flat, start)
        left = np.flatnonzero(~solved)
        if algebra is not None and len(left):
            ends, solved[left] = algebra.solve(flat[left], rest[left], limits)
            q[left] = np.where(solved[left, None], ends, q[left])
    else:
        q, solved = algebra.solve(flat, rest, limits)
        left = np.flatnonzero(~solved)
        if len(left):  # the closest configurations
            q[left], solved[left] = solver.solve(flat[left], None if start is None else start[left])
    q = solver.with_idle_joints_at(q, start)
    if goal is not None:
        rows = solved.nonzero()[0]
        near = None if start is None else start[rows]
        q[rows] = solver.improve(flat[rows], q[rows], near)
    elif start is None:
        q = solver.wrap_angles(q)
    return IKResult(q.reshape(*batch, system.nq), solved.reshape(batch))


def _solve_on_device(
    solver: IKSolver, T: ArrayLike, q0: ArrayLike | None, continuous: bool
) -> IKResult:
    """Configurations for targets (..., 4, 4) on a GPU; targets that are no poses are not found."""
    import cupy as cp

    if solver.problem.goal is not None or continuous or solver.weights is not None:
        raise SettingError(
            "a goal, weights and continuous=True are for arrays on the host: use T.get()"
        )
    arrays = {"T": T} | ({} if q0 is None else {"q0": q0})
    with common_device(list(arrays), list(arrays.values())):
        targets, nq, first = cp.asarray(T), solver.system.nq, None
        if tuple(targets.shape[-2:]) != (4, 4):
            raise ShapeError(f"T on a GPU must be poses (..., 4, 4), not {tuple(targets.shape)}")
        batch = common_batch(tuple(targets.shape[:-2]), q0, nq)
        rows = prod(batch)
        flat = cp.broadcast_to(targets, (*batch, 4, 4)).reshape(rows, 4, 4)
        if q0 is not None:
            starts = cp.broadcast_to(cp.asarray(q0), (*batch, nq))
            first = cp.ascontiguousarray(starts).reshape(rows, nq)
        result = replace(solver, device=True).solve(flat.astype("float64", copy=False), first)
        rest = cp.asarray(solver.rest_configuration) if first is None else first
        q = solver.with_idle_joints_at(result.q, rest)
        return IKResult(q.reshape(*batch, nq), result.found.reshape(batch))


class _Postures(NamedTuple):
    q: np.ndarray  # (..., m, nq), m the largest number; NaN where a target has fewer
    number: np.ndarray  # (...) int, how many


class IKPostures(_Postures):
    """The different configurations of every target: the pair (q, number), and their completeness.

    `incomplete` (...) is True where configurations may be missing, or where they may be points of a
    continuum: some were hit too rarely, or the search met singular configurations, near which it
    converges slowly and solutions lie close together. `number` counts the ones found.
    """

    incomplete: np.ndarray  # (...) bool


def all_inverse_kinematics(
    system: System,
    T: ArrayLike,
    frame: str,
    limits: bool,
    q0: ArrayLike | None,
    fixed: Mapping[str, ArrayLike] | None,
    swivel: ArrayLike | None,
    turns: bool,
    explain: bool,
    parameters: Parameters,
) -> IKSolutions | str:
    """Every configuration for the targets, see `System.all_inverse_kinematics`."""
    system.dynamics.require_frame(frame)
    fixed = {} if fixed is None else fixed
    for name in fixed:
        require_known(name, system.coordinates, f"{system.name} has no joint", SettingError)
    targets = target_poses(T, "pose")
    values = system.parameter_array(parameters)
    batch = common_batch(targets.shape[:-2], q0, system.nq)
    parts = [np.asarray(x, dtype=float) for x in fixed.values()]
    angle = None if swivel is None else np.asarray(swivel, dtype=float)
    for name, x in zip((*fixed, "swivel"), [*parts, angle], strict=True):
        if x is not None:
            if not np.isfinite(x).all():
                raise SettingError(f"{name} must be a finite number, rad or m, got {x}")
            try:
                batch = np.broadcast_shapes(batch, x.shape)
            except ValueError:
                raise ShapeError(
                    f"{name} {x.shape} must broadcast with the targets {batch}"
                ) from None
    flat = np.broadcast_to(targets, (*batch, 4, 4)).reshape(-1, 4, 4)
    search = IKSolver(system, IKProblem(frame, "pose", limits), 1e-9, 0, 0, None, parameters)
    start = initial_configurations(system, q0, batch, limits)
    rest = np.broadcast_to(
        search.rest_configuration if start is None else start, (len(flat), system.nq)
    )
    if fixed:
        rest = rest.copy()
    for name, x in zip(fixed, parts, strict=True):
        rest[:, system.coordinates.index(name)] = np.broadcast_to(x, batch).ravel()
    solver = algebraic_solver(system, frame, values, fixed, angle is not None)
    if explain:
        return explanation(system, frame, solver)
    if solver is not None:
        swivels = None if angle is None else np.broadcast_to(angle, batch).ravel()
        result = solver.all(solver.reduced(flat, rest), rest, limits, turns, swivels)
        return result.reshaped(batch)
    if fixed or angle is not None:
        raise SettingError(
            f"{system.name}: the pose of {frame!r} has no solution by algebra with these joints fixed; "
            "fix the last joints, as many as there are more than six, or give a swivel angle where "
            "three axes meet at the shoulder and three at the wrist"
        )
    postures = search_all(search, targets)
    q, count = postures
    result = IKSolutions(
        q, count, np.where(postures.incomplete, IKFlags.INCOMPLETE, 0).astype(np.int8)
    )
    result.multiplicity = (~np.isnan(q[..., 0])).astype(np.int8)
    result.family = np.full(q.shape, np.nan)
    result.periods = np.where(search.periodic, 2.0 * np.pi, 0.0)
    return result


def explanation(system: System, frame: str, solver: AlgebraicSolver | None) -> str:
    """How inverse kinematics of a frame is solved, in words."""
    if solver is not None:
        return solver.explanation()
    return f"{system.name}, frame {frame!r}: damped least squares from many starts"


def all_postures(
    system: System,
    T: ArrayLike,
    frame: str,
    tol: float,
    limits: bool,
    rng: int | np.random.Generator,
    task: str,
    parameters: Parameters,
) -> IKPostures:
    """All configurations that put a frame at the targets, see `System.all_postures`."""
    seed = require_settings(tol, 0, rng)
    system.dynamics.require_frame(frame)
    solver = IKSolver(system, IKProblem(frame, task, limits), tol, 0, seed, None, parameters)
    targets = target_poses(T, task)
    algebra = algebraic_solver(system, frame, solver.values) if task == "pose" else None
    if algebra is None:
        return search_all(solver, targets)
    rest = np.broadcast_to(solver.rest_configuration, (targets[..., 0, 0].size, system.nq))
    every = algebra.all(targets.reshape(-1, 4, 4), rest, limits, turns=False)
    every = every.reshaped(targets.shape[:-2])
    result = IKPostures(every.solutions, every.count)
    result.incomplete = every.flags != 0
    return result


def search_all(solver: IKSolver, targets: Array) -> IKPostures:
    """All configurations for targets (..., 4, 4), by a search from many random starts."""
    system, task = solver.system, solver.problem.task
    ranks = [np.linalg.matrix_rank(_task_jacobian(solver, q)) for q in solver.pool()[:4]]
    if system.nv > max(ranks):
        raise SettingError(
            f"{system.name} can move while it keeps the task {task!r}: it has infinitely many "
            "postures; fix joints of all_inverse_kinematics, fixed={name: value}, or take "
            "inverse_kinematics, with a goal"
        )
    batch, rows = targets.shape[:-2], targets.reshape(-1, 4, 4)
    solutions = [(np.zeros((0, system.nq)), np.zeros(0, dtype=int)) for _ in rows]  # and their hits
    pending, starts, used = np.arange(len(rows)), FIRST_STARTS, 0
    incomplete = np.zeros(len(rows), dtype=bool)
    while len(pending) and used < MAX_STARTS:
        ends, missed, almost = solver.ends_of_starts(rows[pending], starts, used)
        incomplete[pending] |= _near_singular(solver, missed)
        for i, new, unsolved in zip(pending, ends, almost, strict=True):
            solutions[i] = _merged(solver, *solutions[i], new)
            # an end that nearly solves the target, and is near none of its solutions
            for solution in solutions[i][0]:
                unsolved = unsolved[~solver.same_configuration(solution, unsolved, BESIDE)]
            incomplete[i] |= len(unsolved) > 0
        used, starts = used + starts, min(2 * starts, MAX_STARTS)
        rare = [i for i in pending if np.min(solutions[i][1], initial=OFTEN) < OFTEN]
        continua = [i for i in rare if len(solutions[i][0]) > CONTINUUM]
        incomplete[continua] = True
        pending = np.array([i for i in rare if i not in continua], dtype=int)
    incomplete[pending] = True
    incomplete |= _near_singular(solver, [x[:INSPECTED] for x, _ in solutions])
    count = np.array([len(x) for x, _ in solutions], dtype=int)
    q = np.full((len(rows), int(np.max(count, initial=0)), system.nq), np.nan)
    for k, (x, _) in enumerate(solutions):
        q[k, : len(x)] = x[np.lexsort(x.round(4).T[::-1])]
    result = IKPostures(q.reshape(*batch, -1, system.nq), count.reshape(batch))
    result.incomplete = incomplete.reshape(batch)
    return result


def _task_jacobian(solver: IKSolver, q: Array) -> Array:
    """J of the task and of the constraints on positions, at q (nq,)."""
    dynamics = solver.system.dynamics.bound(solver.values)
    task = solver.problem.task_of(dynamics)
    return np.asarray(ik_step.closed_error(dynamics, q, np.eye(4), task)[1], dtype=float)


def _near_singular(solver: IKSolver, configurations: list[Array]) -> Array:
    """Whether one of the configurations (m, nq) of each target is at or near a singular one."""

    def is_near(q: Array) -> bool:
        sizes = np.linalg.svd(_task_jacobian(solver, q), compute_uv=False)
        return bool(sizes[solver.system.nv - 1] <= NEAR_SINGULAR * sizes[0])

    return np.array([any(map(is_near, q)) for q in configurations], dtype=bool)


def _merged(solver: IKSolver, q: Array, hits: Array, ends: Array) -> tuple[Array, Array]:
    """Solutions and how often each was hit, with further ends (m, nq)."""
    ends = solver.wrap_angles(ends)
    for k in range(len(q)):
        same = solver.same_configuration(q[k], ends)
        hits[k] += same.sum()
        ends = ends[~same]
    while len(ends):
        same = solver.same_configuration(ends[0], ends)
        q, hits = np.concatenate([q, ends[:1]]), np.append(hits, same.sum())
        ends = ends[~same]
    return q, hits
