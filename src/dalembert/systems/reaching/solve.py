"""Inverse kinematics of a system with frames: arguments checked, and the searches put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kernels.call.whose import on_device
from dalembert.systems.evaluator import Parameters
from dalembert.systems.reaching import several
from dalembert.systems.reaching.follow import follow
from dalembert.systems.reaching.hunt import MOST_RESTARTS, Hunt, Reached, start_of
from dalembert.systems.reaching.on_device import reach_on_device
from dalembert.systems.reaching.search import Search
from dalembert.systems.reaching.targets import (
    common_batch,
    poses_of,
    require,
    require_manipulable,
    require_path,
    require_task,
    weights_of,
)

if TYPE_CHECKING:
    from dalembert.systems.system import System


def inverse_kinematics(
    system: System,
    T: Any,
    frame: str,
    q0: Any,
    tolerance: float,
    limits: bool,
    restarts: int,
    seed: int,
    task: str,
    weights: Any,
    goal: str | None,
    parameters: Parameters,
    continuous: bool,
) -> Reached:
    """Postures that put a frame at the targets, see `System.inverse_kinematics`."""
    require(tolerance, restarts, seed, goal, q0, continuous)
    require_task(task)
    require_manipulable(goal, system.dynamics.rows, system.name)
    system.dynamics.require_frame(frame)
    how = Search(frame, task, limits, weights is not None, goal, hops=restarts > 0)
    heavy = weights_of(weights, task)
    tries = min(int(restarts), MOST_RESTARTS)
    hunt = Hunt(system, how, tolerance, tries, seed, heavy, parameters)
    if on_device([T]):
        return reach_on_device(hunt, T, q0, continuous)
    targets = poses_of(T, task)
    if continuous:
        require_path(targets, weights)
        return follow(hunt, targets, q0)
    batch = common_batch(targets.shape[:-2], q0, system.nq)
    flat = np.broadcast_to(targets, (*batch, 4, 4)).reshape(-1, 4, 4)
    start = start_of(system, q0, batch, limits)
    q, found = hunt.run(flat, start)
    q = hunt.rested(q, start)
    if goal is not None:
        which = found.nonzero()[0]
        near = None if start is None else start[which]
        q[which] = hunt.relaxed(flat[which], q[which], near)
    elif start is None:
        q = hunt.turned_back(q)
    return Reached(q.reshape(*batch, system.nq), found.reshape(batch))


def all_postures(
    system: System,
    T: Any,
    frame: str,
    tolerance: float,
    limits: bool,
    seed: int,
    task: str,
    parameters: Parameters,
) -> several.Postures:
    """All postures that put a frame at the targets, see `System.all_postures`."""
    require(tolerance, 0, seed)
    system.dynamics.require_frame(frame)
    how = Search(frame, task, limits)
    hunt = Hunt(system, how, tolerance, 0, seed, None, parameters)
    targets = poses_of(T, task)
    found = several.padded(*several.all_postures(hunt, targets.reshape(-1, 4, 4)), system.nq)
    batch = targets.shape[:-2]
    return several.Postures(
        found.q.reshape(*batch, -1, system.nq),
        found.number.reshape(batch),
        found.incomplete.reshape(batch),
    )
