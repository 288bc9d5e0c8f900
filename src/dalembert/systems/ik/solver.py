"""Numerical inverse kinematics: damped least squares from many starts, as one compiled loop.

`IKSolver.solve` runs all targets side by side: many short searches first, then longer ones for the
targets that are left. Every configuration that is reported as found has been verified by `pose`;
targets that were not solved return the closest configuration found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ShapeError
from dalembert.formulations.kinematics import ik_step
from dalembert.kernels.call.iterations import RolloutLoop, SearchLoop, SearchOptions
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.trace import trace
from dalembert.systems.dynamics import Array, Dynamics, spread_over_limits
from dalembert.systems.evaluator import Parameters
from dalembert.systems.ik.targets import pose_errors
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    from dalembert.kernels.cuda.device import DeviceKernel, DeviceSearch
    from dalembert.systems.system import System

# measured on seven arms: the fewest steps in all, unsuccessful starts included
GAIN, STEPS = 0.05, 16
# near singular configurations convergence is linear, not quadratic
PATIENT, PATIENT_STARTS = 48, 100
# (starts, steps, gain) for targets out of reach: stronger damping goes downhill to the closest
# configuration, from several starts because there are several local minima
NEAREST = ((48, 60, 1.0), (1, 100, 10.0), (1, 100, 1.0))
GOAL_STEPS = 100  # along the null space of the task
MIN_POOL, MAX_POOL = 256, 8192  # random starts; more restarts repeat them
MAX_POOLS = 8  # pools that are cached per system
MAX_RESTARTS = (1 << 16) - 1
SAME = 1e-5  # rad or m between configurations that count as equal
NEAR_TARGET = 1e-2  # rad or m of pose error: the search may still have been converging
ALMOST = 1e-4  # rad or m of pose error: a solution that was not reached within the steps
INSPECTED_MISSES = 2  # unsolved ends per target that are checked for a singularity


class IKProblem(NamedTuple):
    """The choices that decide which kernel a search runs."""

    frame: str
    task: str
    limits: bool = True
    weighted: bool = False
    goal: str | None = None  # for the null space of the task
    chord: bool = True
    hops: bool = True

    def task_of(self, dynamics: Dynamics) -> ik_step.Task:
        """The task, with the limits of the system."""
        limits = coordinate_limits(dynamics) if self.limits else None
        return ik_step.Task(self.frame, self.task, limits, self.chord, self.hops)


class IKResult(NamedTuple):
    """Configurations, and whether each puts the frame at its target."""

    q: np.ndarray  # (..., nq); the closest configuration where the target was not solved
    found: np.ndarray  # (...) bool


# searches one after the other, each from where the last one ended: the problem, the number of the
# pool of random starts, and the options of each search
Round = tuple[IKProblem, int, tuple[SearchOptions, ...]]


# the loops that are compiled


def search_loop(dynamics: Dynamics, problem: IKProblem) -> Iteration:
    """One step of the search; state (q, best q, its cost), fixed inputs (target, weights)."""
    nq, task = dynamics.nq, problem.task_of(dynamics)
    base = (Port("q", (nq,)), Port("best", (nq,)), Port("cost", ()))
    fixed = [Port("target", (4, 4))]
    if problem.weighted:
        fixed.append(Port("weights", (task.rows,)))
    return _repeated(partial(ik_step.step, dynamics, task), base, *fixed)


def tracking_loop(dynamics: Dynamics, problem: IKProblem) -> Iteration:
    """One step toward a target that changes; state q, fixed the target and the open parameters."""
    task, count = problem.task_of(dynamics), len(dynamics.parameters)

    def function(parameters: Array | None = None, **inputs: Array) -> tuple[Array]:
        bound = dynamics if parameters is None else dynamics.bind(parameters)
        return ik_step.follow(bound, task, **inputs)

    fixed = [Port("target", (4, 4))]
    if count:
        fixed.append(Port("parameters", (count,)))
    return _repeated(function, (Port("q", (dynamics.nq,)),), *fixed)


def goal_loop(dynamics: Dynamics, problem: IKProblem) -> Iteration:
    """One step toward the secondary goal in the null space; state q, fixed (target, posture)."""
    function = partial(ik_step.relaxed, dynamics, problem.task_of(dynamics), str(problem.goal))
    q, target = Port("q", (dynamics.nq,)), Port("target", (4, 4))
    return _repeated(function, (q,), target, Port("posture", (dynamics.nq,)))


def _repeated(
    function: Callable[..., tuple[Array, ...]], base: tuple[Port, ...], *fixed: Port
) -> Iteration:
    """The iteration base = function(base, fixed inputs, gain)."""
    work = tuple(Port(f"next_{port.name}", port.shape) for port in base)
    inputs = {port.name: port.shape for port in (*base, *work, *fixed)} | {"gain": ()}

    def stage(**values: Array) -> dict[str, Array]:
        return dict(zip((port.name for port in work), function(**values), strict=True))

    def finish(**values: Array) -> dict[str, Array]:
        return {port.name: values[f"next_{port.name}"] for port in base}

    return Iteration(
        base=base,
        work=tuple(zip(work, (port.name for port in base), strict=True)),
        fixed=fixed,
        table=((1.0,),),
        stage=trace(stage, inputs, name="inverse_kinematics"),
        finish=trace(finish, {port.name: port.shape for port in (*base, *work)}, name="kept"),
        plain=(function, lambda **values: tuple(finish(**values).values())),
    )


def compiled_loop(
    system: System,
    problem: IKProblem,
    values: Array,
    make: Callable[[Dynamics, IKProblem], Iteration],
) -> Any:
    """The compiled loop, cached with the system by problem and parameter values."""
    loops = system.__dict__.setdefault("_searches", {})
    problem = problem if make is goal_loop else problem._replace(goal=None)
    key = (make, problem, values.tobytes())
    if key not in loops:
        kind = SearchLoop if make is search_loop else RolloutLoop
        loops[key] = kind(make(system.dynamics.bound(values), problem))
    return loops[key]


def _device_search(
    system: System, problem: IKProblem, values: Array
) -> tuple[DeviceSearch, DeviceKernel]:
    """The search and the pose error as CUDA kernels, cached with the system."""
    from dalembert.kernels.cuda.device import DeviceKernel, DeviceSearch

    kernels: dict[Any, tuple[DeviceSearch, DeviceKernel]]
    kernels = system.__dict__.setdefault("_device_searches", {})
    key = (problem, values.tobytes())
    if key not in kernels:
        dynamics = system.dynamics.bound(values)
        task = problem._replace(chord=False).task_of(dynamics)
        # the larger of distance, angle and open constraints, m and rad
        program = trace(
            lambda q, target: {"missed": ik_step.missed(dynamics, q, target, task)},
            {"q": (dynamics.nq,), "target": (4, 4)},
            name="missed",
        )
        error = DeviceKernel(program, "inverse_kinematics_missed")
        kernels[key] = DeviceSearch(search_loop(dynamics, problem)), error
    return kernels[key]


def coordinate_limits(dynamics: Dynamics) -> ik_step.Limits | None:
    """The limits of all coordinates but quaternions; None where there are none."""
    lower, upper, kinds = dynamics.lower, dynamics.upper, dynamics.kinds.v
    limited = [
        (k, v, lower[v], upper[v], kinds[v] == "angle")
        for k, v in scalar_coordinates(dynamics)
        if np.isfinite([lower[v], upper[v]]).any()
    ]
    if not limited:
        return None
    entries, velocities, least, most, turns = zip(*limited, strict=True)
    return ik_step.Limits(entries, velocities, np.array(least), np.array(most), turns)


def coordinate_blocks(dynamics: Dynamics) -> list[tuple[slice, slice]]:
    """(entries of q, entries of q̇) that belong together: four and three of a quaternion, else one."""
    blocks, kinds, k, v = [], dynamics.kinds.q, 0, 0
    while k < dynamics.nq:
        count, rates = (4, 3) if kinds[k] == "quaternion" else (1, 1)
        blocks.append((slice(k, k + count), slice(v, v + rates)))
        k, v = k + count, v + rates
    return blocks


def scalar_coordinates(dynamics: Dynamics) -> list[tuple[int, int]]:
    """(entry of q, entry of q̇) of the coordinates whose rates are velocities."""
    blocks = coordinate_blocks(dynamics)
    return [(q.start, v.start) for q, v in blocks if q.stop - q.start == 1]


@dataclass(frozen=True)
class IKSolver:
    """A solver for one task of a system. Arrays are NumPy's, or CuPy's where `device` is set."""

    system: System
    problem: IKProblem
    tolerance: float
    restarts: int
    seed: int
    weights: np.ndarray | None = None
    parameters: Parameters = None
    device: bool = False

    def solve(self, targets: Array, q0: Array | None) -> IKResult:
        """Configurations (n, nq) for targets (n, 4, 4), started at q0 (n, nq) or at random."""
        first, *others = self.rounds
        q, solved = self._attempt(first, targets, q0)
        for following in others:
            left = (~solved).nonzero()[0]
            if not len(left):
                break
            q[left], solved[left] = self._attempt(following, targets[left], q[left])
        left = (~solved).nonzero()[0]
        if len(left) and self.system.dynamics.rows:
            # close the loops of the best configurations to the last digits
            problem = self.problem._replace(task="closed", weighted=False)
            effort = SearchOptions(1, PATIENT, GAIN, 0.05 * self.tolerance**2)
            q[left] = self.loop(problem)([targets[left]], self.pool(), effort, q[left])[0]
        return IKResult(q, solved)

    def _attempt(self, turn: Round, targets: Array, q: Array | None) -> tuple[Array, Array]:
        problem, number, efforts = turn
        search, pool = self.loop(problem), self.pool(number)
        for effort in efforts:
            q, _ = search(self.loop_inputs(targets), pool, effort, q)
        assert q is not None
        return q, self.is_solved(targets, q)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Many short starts, whose last step follows an error of √tolerance / 10; then more steps
        for slow convergence; then long starts elsewhere, and downhill to the closest.
        """
        least = 1.0  # the smallest weight squared: a cost below it times ε² is an error below ε
        if self.weights is not None:
            least = float(np.min(self.weights[self.weights > 0.0], initial=1.0)) ** 2
        near, there = 0.005 * self.tolerance * least, 0.05 * self.tolerance**2 * least
        patient = SearchOptions(min(self.restarts, PATIENT_STARTS) + 1, PATIENT, GAIN, there)
        downhill = [
            SearchOptions(min(starts, self.restarts + 1), steps, gain, there)
            for starts, steps, gain in NEAREST
        ]
        return (
            (self.problem, 0, (SearchOptions(self.restarts + 1, STEPS, GAIN, near),)),
            (self.problem, 0, (SearchOptions(1, 2 * STEPS, GAIN, there),)),
            (self.problem._replace(chord=False), 1, (patient, *downhill)),
        )

    def is_solved(self, targets: Array, q: Array) -> Array:
        """(n,) whether the frame is at its target, by `pose`, and the mechanism closed."""
        if self.device:
            error = _device_search(self.system, self.problem, self.values)[1]
            solved: Array = error((q, targets)) <= self.tolerance
            return solved
        solved = self.pose_errors(targets, q) <= self.tolerance
        if self.system.dynamics.rows:
            residual = self.system._evaluate("residual", (q,), None, self.parameters)
            solved &= np.abs(residual).max(axis=-1, initial=0.0) <= self.tolerance
        return solved

    def pose_errors(self, targets: Array, q: Array) -> Array:
        """(n,) by how much the frame is off its target, rad or m."""
        return pose_errors(self.pose(q), targets, self.problem.task)

    def pose(self, q: Array) -> Array:
        """(..., 4, 4) of the frame."""
        return self.system._evaluate("pose", (q,), None, self.parameters, frame=self.problem.frame)

    def loop(self, problem: IKProblem) -> Any:
        """The compiled search, on the host or the GPU."""
        if self.device:
            return _device_search(self.system, problem, self.values)[0]
        return compiled_loop(self.system, problem, self.values, search_loop)

    def loop_inputs(self, targets: Array) -> list[Array]:
        """The values that the loop holds for every target."""
        return [targets] if self.weights is None else [targets, self.weights]

    @cached_property
    def values(self) -> Array:
        """Values of the named parameters."""
        return self.system.parameter_array(self.parameters)

    def pool(self, number: int = 0) -> Array:
        """(a power of two, nq) random starts, others than `random_state` gives for the same seed."""
        size = min(max(MIN_POOL, 1 << int(self.restarts).bit_length()), MAX_POOL)
        pools: dict[Any, Array] = self.system.__dict__.setdefault("_pools", {})
        key = (self.seed, size, self.problem.limits, number)
        if key not in pools:
            if len(pools) >= MAX_POOLS:
                pools.clear()
            rng = np.random.default_rng([self.seed, MIN_POOL, number])
            pools[key] = random_configurations(self.system, rng, size, self.problem.limits)
        return pools[key]

    # angles modulo whole turns

    @cached_property
    def periodic(self) -> Array:
        """(nv,) which angles come back to the same configuration after a whole turn.

        A screw does not, nor does an angle that others follow with a ratio of their own.
        """
        cache: dict[bytes, Array] = self.system.__dict__.setdefault("_turning", {})
        key = self.values.tobytes()
        if key in cache:
            return cache[key]
        dynamics, q = self.system.dynamics.bound(self.values), self.pool()[0]

        def signature(q: Array) -> Array:
            """Poses of all frames and the residual of the constraints, as one row."""
            poses = dynamics.poses(q).values()
            return np.concatenate([*map(np.ravel, poses), np.ravel(dynamics.closing(q)[0])])

        periodic, here = np.zeros(dynamics.nv, dtype=bool), signature(q)
        for k, v in scalar_coordinates(dynamics):
            if dynamics.kinds.v[v] == "angle":
                moved = q.copy()
                moved[k] += 2.0 * np.pi
                change = np.abs(signature(moved) - here)
                periodic[v] = (change <= 1e-9 * (1.0 + np.abs(here))).all()
        cache.clear()
        cache[key] = periodic
        return periodic

    def wrap_angles(self, q: Array) -> Array:
        """q (n, nq) with periodic angles within ±π where the limits allow it."""
        q, dynamics = q.copy(), self.system.dynamics
        for k, v in scalar_coordinates(dynamics):
            if self.periodic[v]:
                wrapped = np.mod(q[:, k] + np.pi, 2.0 * np.pi) - np.pi
                within = (wrapped >= dynamics.lower[v]) & (wrapped <= dynamics.upper[v])
                q[:, k] = np.where(within | (not self.problem.limits), wrapped, q[:, k])
        return q

    def same_configuration(self, q: Array, others: Array, tolerance: float = SAME) -> Array:
        """(m,) whether configurations (m, nq) equal q, up to whole turns."""
        step = self.system.difference(np.broadcast_to(q, others.shape), others)
        step = np.where(self.periodic, np.mod(step + np.pi, 2.0 * np.pi) - np.pi, step)
        same: Array = np.abs(step).max(axis=-1, initial=0.0) < tolerance
        return same

    # joints that do not move the frame

    @cached_property
    def idle(self) -> Array:
        """(k,) entries of q that do not move the frame; none where constraints couple them."""
        cache: dict[Any, Array] = self.system.__dict__.setdefault("_idle", {})
        frame = self.problem.frame
        key = (frame, self.values.tobytes())
        if key in cache:
            return cache[key]
        entries: list[int] = []
        dynamics = self.system.dynamics.bound(self.values)
        if not dynamics.rows:  # entries whose velocities never move the frame, at some postures
            jacobians = [dynamics.frame_jacobian(q, frame) for q in self.pool()[:3]]
            J = np.abs(jacobians).max(axis=(0, 1))
            still = 1e-12 * J.max(initial=0.0) >= J
            for own_q, own_v in coordinate_blocks(dynamics):
                if still[own_v].all():
                    entries += range(own_q.start, own_q.stop)
        cache[key] = np.array(entries, dtype=int)
        return cache[key]

    def with_idle_joints_at(self, q: Array, start: Array | None) -> Array:
        """q (n, nq) with the idle entries as in `start`, or at rest without one."""
        if len(self.idle):
            rest = self.rest_configuration if start is None else start
            q[..., self.idle] = rest[..., self.idle]
        return q

    @cached_property
    def rest_configuration(self) -> Array:
        """(nq,) the neutral configuration, within the limits."""
        neutral = np.asarray(self.system.dynamics.neutral(), dtype=float)
        limits = coordinate_limits(self.system.dynamics) if self.problem.limits else None
        return neutral if limits is None else ik_step.clamped(limits, neutral[:, None])[:, 0]

    # the secondary goal

    def improve(self, targets: Array, q: Array, start: Array | None) -> Array:
        """Configurations moved toward the goal, where that keeps the task and is an improvement."""
        posture, limits = start, coordinate_limits(self.system.dynamics)
        if self.problem.goal != "near" or posture is None:
            # the middle of the limits; the neutral value where a coordinate has none
            posture = self.system.neutral()
            if limits is not None:
                both = np.isfinite(limits.lower) & np.isfinite(limits.upper)
                middle = 0.5 * (limits.lower[both] + limits.upper[both])
                posture[np.array(limits.entries)[both]] = middle
        loop = compiled_loop(self.system, self.problem, self.values, goal_loop)
        (ends,) = loop((q,), [targets, posture], GOAL_STEPS, GOAL_STEPS, GAIN)
        polish = SearchOptions(1, 2 * STEPS, GAIN, 0.005 * self.tolerance)
        search = self.loop(self.problem._replace(hops=False))
        moved, _ = search([targets], self.pool(), polish, ends[-1])
        gained = self._goal_value(moved, posture) > self._goal_value(q, posture)
        better = self.is_solved(targets, moved) & gained
        return np.where(better[:, None], moved, q)

    def _goal_value(self, q: Array, posture: Array) -> Array:
        """(n,) the value that the goal maximises."""
        if self.problem.goal == "manipulability":
            frame, task = self.problem.frame, ik_step.MEASURED[self.problem.task]
            return self.system._evaluate(
                "manipulability", (q,), None, self.parameters, frame=frame, task=task
            )
        step = self.system.difference(q, np.broadcast_to(posture, q.shape))
        value: Array = -np.sum(step * step, axis=-1)
        return value

    # many starts for the same target

    def ends_of_starts(
        self, targets: Array, starts: int, seed: int = 0
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """For each target the solutions (m, nq) from so many random starts, a power of two.

        Second, per target the few ends that came close without solving it; third, all those that
        miss it by less than `ALMOST`.
        """
        rng = np.random.default_rng([self.seed, starts, seed])
        pool = random_configurations(self.system, rng, starts, self.problem.limits)
        effort = SearchOptions(1, 2 * STEPS, GAIN, 0.005 * self.tolerance)
        repeated = np.repeat(targets, starts, axis=0)
        q, _ = self.loop(self.problem)(self.loop_inputs(repeated), pool, effort)
        solved = self.is_solved(repeated, q).reshape(-1, starts)
        errors = self.pose_errors(repeated, q).reshape(-1, starts)
        missed = np.where(solved, np.inf, errors)
        ends = q.reshape(-1, starts, q.shape[-1])
        nearest = np.argsort(missed, axis=1)[:, :INSPECTED_MISSES]
        close = [own[miss[own] < NEAR_TARGET] for own, miss in zip(nearest, missed, strict=True)]
        solutions = [x[ok] for x, ok in zip(ends, solved, strict=True)]
        almost = [x[miss < ALMOST] for x, miss in zip(ends, missed, strict=True)]
        return solutions, [x[own] for x, own in zip(ends, close, strict=True)], almost


def random_configurations(
    system: System, rng: np.random.Generator, size: int, limits: bool
) -> Array:
    """(size, nq) random configurations; those of a closed chain are not assembled."""
    steps = rng.uniform(-np.pi, np.pi, (size, system.nv))
    if limits:
        steps = spread_over_limits(system.lower, system.upper, steps)
    return system.integrate(np.broadcast_to(system.dynamics.neutral(), (size, system.nq)), steps)


def random_closed_configurations(
    system: System, rng: np.random.Generator, fallback: Array
) -> Array:
    """(..., nq) random assembled configurations; `fallback` where there are none or no limits."""
    limits = coordinate_limits(system.dynamics)
    if limits is None:
        return fallback
    flat, (tolerance, starts) = fallback.reshape(-1, system.nq), (1e-10, 63)
    problem = IKProblem("", "closed")
    solver = IKSolver(system, problem, tolerance, starts, int(rng.integers(2**31)))
    targets = np.broadcast_to(np.eye(4), (len(flat), 4, 4))  # not used by the task
    effort = SearchOptions(starts + 1, PATIENT, GAIN, 0.05 * tolerance**2)
    q, _ = solver.loop(problem)([targets], solver.pool(), effort)
    residual = np.abs(system._evaluate("residual", (q,))).max(axis=-1, initial=0.0)
    inside = q == ik_step.clamped(limits, q.T, hops=False).T
    good = (residual <= tolerance) & inside.all(axis=-1)
    return np.where(good[:, None], q, flat).reshape(fallback.shape)


def initial_configurations(
    system: System, q0: ArrayLike | None, batch: tuple[int, ...], limits: bool
) -> Array | None:
    """(targets, nq) of the user's `q0`, clamped to the limits; None without one."""
    if q0 is None:
        return None
    start = np.asarray(q0, dtype=float)
    if start.shape[-1:] != (system.nq,) or not np.isfinite(start).all():
        raise ShapeError(f"q0 must be (..., {system.nq}) finite numbers, not {start.shape}")
    count = int(np.prod(batch))
    start = np.broadcast_to(start, (*batch, system.nq)).reshape(count, system.nq)
    bounds = coordinate_limits(system.dynamics) if limits else None
    return start if bounds is None else ik_step.clamped(bounds, start.T).T
