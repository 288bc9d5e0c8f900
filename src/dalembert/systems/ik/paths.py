"""Inverse kinematics along paths of poses: each configuration from its neighbour.

A path is followed by Newton steps from pose to pose. Where a pose is not solved that way, or a joint
moves far, the straight line between the poses is followed in small pieces. Where that fails too, no
continuous motion of the joints leads on: the configuration jumps to the branch that follows the rest
of the path farthest, and the jump is reported.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.kernels.call.iterations import SearchOptions
from dalembert.spatial.se3 import interpolate_poses
from dalembert.systems.dynamics import Array
from dalembert.systems.ik.solver import (
    GAIN,
    STEPS,
    IKResult,
    IKSolver,
    compiled_loop,
    initial_configurations,
    tracking_loop,
)
from dalembert.systems.ik.targets import common_batch

STEPS_PER_POSE = 3  # before all poses are polished side by side
MAX_JOINT_STEP = 0.1  # rad or m between poses without subdivision
PIECES = (16, 256)  # of the line between two poses
CHUNK = 512  # poses in one call
STARTS = 64  # random starts in the search for other branches
MAX_BRANCHES = 32  # that are tried


class Jump(NamedTuple):
    """A place where a path cannot be followed continuously."""

    at: tuple[int, ...]  # the index of the pose after the jump, among the targets
    joint: str  # that jumps most
    by: float  # rad or m

    def __str__(self) -> str:
        return f"pose {', '.join(map(str, self.at))}: {self.joint} jumps by {self.by:.3g}"


class PathWarning(UserWarning):
    """A path cannot be followed continuously: the joints jump, or a limit is passed."""


class IKPathResult(IKResult):
    """Configurations along paths (..., n, nq), found (..., n), and the `jumps` between them."""

    jumps: tuple[Jump, ...] = ()


def follow_paths(solver: IKSolver, targets: Array, q0: ArrayLike | None) -> IKPathResult:
    """Configurations along paths (..., n, 4, 4), started at q0 (..., nq)."""
    nq = solver.system.nq
    batch = common_batch(targets.shape[:-3], q0, nq)
    targets = np.broadcast_to(targets, (*batch, *targets.shape[-3:]))
    solver = replace(solver, problem=solver.problem._replace(hops=False))
    start = initial_configurations(solver.system, q0, batch, solver.problem.limits)
    q, solved = np.empty((*targets.shape[:-2], nq)), np.zeros(targets.shape[:-2], dtype=bool)
    jumps: list[Jump] = []
    for k, index in enumerate(np.ndindex(batch)):
        first = None if start is None else start[k]
        path = _Path(solver, targets[index])
        path.run(first)
        q[index] = solver.with_idle_joints_at(path.q, first)
        solved[index] = path.solved
        jumps += [jump._replace(at=(*index, *jump.at)) for jump in path.jumps]
    result = IKPathResult(q, solved)
    result.jumps = tuple(jumps)
    if jumps:
        more = f", and {len(jumps) - 1} more" if len(jumps) > 1 else ""
        message = f"{solver.system.name} cannot follow the path without a jump at {jumps[0]}{more}"
        warnings.warn(f"{message}; see the result's `jumps`", PathWarning, stacklevel=3)
    return result


class _Path:
    """One path (n, 4, 4) and the configurations along it."""

    def __init__(self, solver: IKSolver, targets: Array) -> None:
        self.solver, self.targets = solver, targets
        self.q = np.empty((len(targets), solver.system.nq))
        self.solved = np.zeros(len(targets), dtype=bool)
        self.jumps: list[Jump] = []

    def run(self, start: Array | None) -> None:
        """Follow the path, from a configuration or from the branch that goes farthest."""
        if not len(self.targets):
            return
        branches = self._branches(0) if start is None else np.zeros((0, self.solver.system.nq))
        if len(branches):
            self.q[0], self.solved[0] = self._farthest(branches, 0), True
        else:
            result = self.solver.solve(self.targets[:1], None if start is None else start[None])
            self.q[0], self.solved[0] = result.q[0], result.found[0]
        last, k = self.q[0], 1
        while k < len(self.targets):
            ahead = self.targets[k : k + CHUNK]
            paths, good = self._track(ahead, last[None])
            count = int(np.argmin(np.append(good[0], False)))
            self.q[k : k + count], self.solved[k : k + count] = paths[0, :count], True
            if count:
                k, last = k + count, paths[0, count - 1]
            if count < len(ahead):
                last = self._next(k, last)
                k += 1

    def _next(self, k: int, last: Array) -> Array:
        """Fill in pose k, which `last` does not lead to at once; return where to go on from."""
        # in small pieces along the straight line from pose to pose
        q, here = None, self.solver.pose(last)
        for pieces in PIECES:
            line = interpolate_poses(here, self.targets[k], np.linspace(1.0 / pieces, 1.0, pieces))
            paths, good = self._track(line, last[None])
            if good.all():
                q = paths[0, -1]
                break
        if q is None:
            branches = self._branches(k)
            if not len(branches):
                local = replace(self.solver, restarts=0)
                self.q[k] = local.solve(self.targets[k : k + 1], last[None]).q[0]
                return last
            q = self._farthest(branches, k, last)
            step = self.solver.system.difference(last, q)
            joint = int(np.argmax(np.abs(step)))
            name = self.solver.system.dynamics.velocities[joint]
            self.jumps.append(Jump((k,), name, float(step[joint])))
        self.q[k], self.solved[k] = q, True
        return q

    def _track(self, targets: Array, q: Array) -> tuple[Array, Array]:
        """From q (c, nq): configurations (c, m, nq), and whether each is solved and near the last."""
        solver, (c, nq), m = self.solver, q.shape, len(targets)
        loop = compiled_loop(solver.system, solver.problem, solver.values, tracking_loop)
        repeated_targets = np.repeat(targets, STEPS_PER_POSE, axis=0)[:, None]
        (ends,) = loop((q,), [repeated_targets], STEPS_PER_POSE * m, STEPS_PER_POSE, GAIN)
        rows = np.ascontiguousarray(np.swapaxes(ends, 0, 1)).reshape(-1, nq)
        repeated = np.broadcast_to(targets, (c, m, 4, 4)).reshape(-1, 4, 4)
        effort = SearchOptions(1, STEPS, GAIN, 0.005 * solver.tolerance)
        rows, _ = solver.loop(solver.problem)([repeated], solver.pool(), effort, rows)
        solved = solver.is_solved(repeated, rows).reshape(c, m)
        paths = rows.reshape(c, m, nq)
        before = np.concatenate([q[:, None], paths[:, :-1]], axis=1)
        step = np.abs(solver.system.difference(before, paths)).max(axis=-1)
        return paths, solved & (step <= MAX_JOINT_STEP)

    def _branches(self, k: int) -> Array:
        """Different configurations (m, nq) for pose k, some of them where there are infinitely many."""
        branches: list[np.ndarray] = []
        if self.solver.restarts:
            ends = self.solver.ends_of_starts(self.targets[k : k + 1], STARTS)[0][0]
            while len(ends) and len(branches) < MAX_BRANCHES:
                branches.append(ends[0])
                ends = ends[~self.solver.same_configuration(ends[0], ends)]
            if not branches:
                result = self.solver.solve(self.targets[k : k + 1], None)
                branches = [result.q[0]] if result.found[0] else []
        return np.array(branches).reshape(-1, self.solver.system.nq)

    def _farthest(self, q: Array, k: int, last: Array | None = None) -> Array:
        """The configuration (nq,) of pose k that follows the path farthest; of those the nearest."""
        ahead = self.targets[k + 1 : k + 1 + CHUNK]
        good = self._track(ahead, q)[1] if len(ahead) else np.zeros((len(q), 0), dtype=bool)
        count = np.argmin(np.concatenate([good, np.zeros((len(q), 1), bool)], axis=1), axis=1)
        near = self.solver.system.neutral() if last is None else last
        step = self.solver.system.difference(np.broadcast_to(near, q.shape), q)
        best: Array = q[np.lexsort((np.abs(step).max(axis=-1), -count))[0]]
        return best
