"""The public entry points of inverse kinematics: one configuration, or all, for each target."""

from __future__ import annotations

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
    q, solved = solver.solve(flat, start)
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


class _Solutions(NamedTuple):
    q: np.ndarray  # (..., m, nq), m the largest number; NaN where a target has fewer
    number: np.ndarray  # (...) int, how many


class IKSolutions(_Solutions):
    """The different configurations of every target: the pair (q, number), and their completeness.

    `incomplete` (...) is True where configurations may be missing, or where they may be points of a
    continuum: some were hit too rarely, or the search met singular configurations, near which it
    converges slowly and solutions lie close together. `number` counts the ones found.
    """

    incomplete: np.ndarray  # (...) bool


def all_solutions(
    system: System,
    T: ArrayLike,
    frame: str,
    tol: float,
    limits: bool,
    rng: int | np.random.Generator,
    task: str,
    parameters: Parameters,
) -> IKSolutions:
    """All configurations that put a frame at the targets, see `System.all_postures`."""
    seed = require_settings(tol, 0, rng)
    system.dynamics.require_frame(frame)
    solver = IKSolver(system, IKProblem(frame, task, limits), tol, 0, seed, None, parameters)
    targets = target_poses(T, task)
    ranks = [np.linalg.matrix_rank(_task_jacobian(solver, q)) for q in solver.pool()[:4]]
    if system.nv > max(ranks):
        raise SettingError(
            f"{system.name} can move while it keeps the task {task!r}: it has infinitely many "
            "postures; take inverse_kinematics, with a goal"
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
    result = IKSolutions(q.reshape(*batch, -1, system.nq), count.reshape(batch))
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
