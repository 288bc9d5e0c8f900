"""What a search compiles: the step of a task for a system, as a loop, kept with the system."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.formulations.kinematics import reach
from dalembert.kernels.call.rollout import Rollout
from dalembert.kernels.call.search import SearchLoop
from dalembert.kernels.cuda.device import DeviceKernel
from dalembert.kernels.cuda.search import DeviceSearch
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.trace import trace
from dalembert.systems.dynamics import Dynamics
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    from dalembert.systems.system import System


class Search(NamedTuple):
    """What decides the kernel of a search."""

    frame: str
    task: str
    limits: bool = True
    weighted: bool = False
    goal: str | None = None  # for what the task leaves free
    chord: bool = True
    hops: bool = True


def task_of(dynamics: Dynamics, how: Search) -> reach.Task:
    """The task with the limits of a system."""
    limits = limits_of(dynamics) if how.limits else None
    return reach.Task(how.frame, how.task, limits, how.chord, how.hops)


def search_loop(dynamics: Dynamics, how: Search) -> Iteration:
    """The loop: base (q, best q, its cost), held (target, weights)."""
    nq, task = dynamics.nq, task_of(dynamics, how)
    base = (Port("q", (nq,)), Port("best", (nq,)), Port("cost", ()))
    held = (Port("target", (4, 4)), *([Port("weights", (task.rows,))] if how.weighted else []))
    return loop(partial(reach.step, dynamics, task), base, held)


def following_loop(dynamics: Dynamics, how: Search) -> Iteration:
    """The loop: base q, held the target of each step, and parameters that are still open."""
    task, count = task_of(dynamics, how), len(dynamics.parameters)

    def function(parameters: Any = None, **given: Any) -> tuple[Any]:
        seen = dynamics if parameters is None else dynamics.bind(parameters)
        return reach.follow(seen, task, **given)

    held = (Port("target", (4, 4)), *([Port("parameters", (count,))] if count else []))
    return loop(function, (Port("q", (dynamics.nq,)),), held)


def relaxing_loop(dynamics: Dynamics, how: Search) -> Iteration:
    """The loop: base q, held (target, posture)."""
    function = partial(reach.relaxed, dynamics, task_of(dynamics, how), str(how.goal))
    q, target = Port("q", (dynamics.nq,)), Port("target", (4, 4))
    return loop(function, (q,), (target, Port("posture", (dynamics.nq,))))


def loop(
    function: Callable[..., tuple[Any, ...]], base: tuple[Port, ...], held: tuple[Port, ...]
) -> Iteration:
    """base = function(base, held, gain), again and again."""
    work = tuple(Port(f"next_{port.name}", port.shape) for port in base)
    inputs = {port.name: port.shape for port in (*base, *work, *held)} | {"gain": ()}

    def stage(**given: Any) -> dict[str, Any]:
        return dict(zip((port.name for port in work), function(**given), strict=True))

    def finish(**given: Any) -> dict[str, Any]:
        return {port.name: given[f"next_{port.name}"] for port in base}

    ends = {port.name: port.shape for port in (*base, *work)}
    return Iteration(
        base=base,
        work=tuple(zip(work, (port.name for port in base), strict=True)),
        held=held,
        table=((1.0,),),
        stage=trace(stage, inputs, name="inverse_kinematics"),
        finish=trace(finish, ends, name="kept"),
        plain=(function, lambda **given: tuple(finish(**given).values())),
    )


def limits_of(dynamics: Dynamics) -> reach.Limits | None:
    """The limits of coordinates whose rates are velocities: all but quaternions."""
    lower, upper, kinds = dynamics.lower, dynamics.upper, dynamics.kinds.v
    found = [
        (k, v, lower[v], upper[v], kinds[v] == "angle")
        for k, v in plain_entries(dynamics)
        if np.isfinite([lower[v], upper[v]]).any()
    ]
    if not found:
        return None
    entries, velocities, least, most, turns = zip(*found, strict=True)
    return reach.Limits(entries, velocities, np.array(least), np.array(most), turns)


def plain_entries(dynamics: Dynamics) -> list[tuple[int, int]]:
    """(entry of q, entry of q̇) of the coordinates whose rates are velocities."""
    found, kinds, k, v = [], dynamics.kinds.q, 0, 0
    while k < dynamics.nq:
        if kinds[k] == "quaternion":  # four numbers, three velocities
            k, v = k + 4, v + 3
            continue
        found.append((k, v))
        k, v = k + 1, v + 1
    return found


def kept(
    system: System,
    how: Search,
    values: np.ndarray,
    make: Callable[[Dynamics, Search], Iteration],
) -> Any:
    """The compiled loop, made once for a system, a kind of search and values of parameters."""
    found = system.__dict__.setdefault("_searches", {})
    how = how if make is relaxing_loop else how._replace(goal=None)
    key = (make, how, values.tobytes())
    if key not in found:
        wrapped = SearchLoop if make is search_loop else Rollout
        found[key] = wrapped(make(system.dynamics.bound(values), how))
    return found[key]


def on_gpu(system: System, how: Search, values: np.ndarray) -> tuple[Any, Any]:
    """(the search, what it misses) as kernels of a GPU, kept likewise."""
    found = system.__dict__.setdefault("_device_searches", {})
    key = (how, values.tobytes())
    if key not in found:
        dynamics = system.dynamics.bound(values)
        missed = DeviceKernel(missing(dynamics, how), "inverse_kinematics_missed")
        found[key] = DeviceSearch(search_loop(dynamics, how)), missed
    return found[key]


def missing(dynamics: Dynamics, how: Search) -> Program:
    """(q, target) → the larger of distance, angle and open constraints, m and rad."""
    task = task_of(dynamics, how._replace(chord=False))

    def missed(q: Any, target: Any) -> dict[str, Any]:
        return {"missed": reach.missed(dynamics, q, target, task)}

    return trace(missed, {"q": (dynamics.nq,), "target": (4, 4)}, name="missed")
