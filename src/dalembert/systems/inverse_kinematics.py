"""Inverse kinematics of many targets: one compiled loop, restarts for those that are not reached.

All targets take a number of steps in one kernel (states of a register side by side), then those that
have arrived are put aside, and the others go on; after some rounds they begin again elsewhere. What
is said to be found has been verified by `pose`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import ShapeError
from dalembert.formulations.kinematics import reach
from dalembert.kernels.call.rollout import Rollout
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Port
from dalembert.kernels.program.trace import trace
from dalembert.model import CoupledModel, Model
from dalembert.systems.targets import misses, poses_of

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot

# measured on UR5, Panda and PUMA: more steps or damping find more per start, and cost more each
GAIN = 0.01  # k of the damping
# (steps, k): after each, those that have arrived are put aside
ROUNDS = ((10, GAIN), (10, GAIN), (10, GAIN))
# what is out of reach has no zero to jump to: stronger damping goes downhill to the nearest posture
NEAREST = ((40, 1.0), (40, 10.0), (40, 1.0))
RELAXED = 100  # steps toward a goal
SIDE_BY_SIDE = 64  # starts that cost little more than one


Rounds = tuple[tuple[int, float], ...]


class Reached(NamedTuple):
    """Postures and whether each puts the frame where it should be."""

    q: np.ndarray  # (..., nq); the nearest posture that was met, where not found
    found: np.ndarray  # (...) bool


class Search(NamedTuple):
    """What decides the kernel of a search."""

    frame: str
    task: str
    limits: bool
    weighted: bool
    goal: str | None = None  # for what the task leaves free


def search_loop(model: Model | CoupledModel, how: Search) -> Iteration:
    """The loop: base (q, best q, its cost), held (target, weights)."""
    limits = limits_of(model) if how.limits else None
    nq, rows = model.nq, 6 if how.task in ("pose", "position_axis") else 3
    base = (Port("q", (nq,)), Port("best", (nq,)), Port("cost", ()))
    held = (Port("target", (4, 4)), *([Port("weights", (rows,))] if how.weighted else []))
    return loop(partial(reach.step, model, limits, how.frame, how.task), base, held)


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


def limits_of(model: Model | CoupledModel) -> reach.Limits | None:
    """The limits of the joints whose coordinates are their own velocities' integrals."""
    found = []
    for joint in model.joints:
        if joint.q.stop - joint.q.start != joint.v.stop - joint.v.start:
            continue
        for n, (lower, upper) in enumerate(zip(joint.lower, joint.upper, strict=True)):
            k, v = joint.q.start + n, joint.v.start + n
            if np.isfinite([lower, upper]).any():
                found.append((k, v, lower, upper, model.kinds.v[v] == "angle"))
    if not found:
        return None
    entries, velocities, least, most, turns = zip(*found, strict=True)
    return reach.Limits(entries, velocities, np.array(least), np.array(most), turns)


def solve(
    robot: Robot,
    T: Any,
    how: Search,
    q0: Any,
    tolerance: float,
    restarts: int,
    rng: np.random.Generator,
    weights: Any,
    parameters: Any,
) -> Reached:
    """Postures of all targets (..., 4, 4)."""
    targets = poses_of(T, how.task)
    batch = targets.shape[:-2]
    flat = targets.reshape(-1, 4, 4)
    hunt = _Hunt(robot, how, flat, tolerance, weights, parameters)
    start = _start(robot, q0, batch, how.limits, rng)
    hunt.go(hunt.open, start)
    while restarts > 0 and len(hunt.open):
        # the last few targets begin at several postures at once
        copies = min(restarts, max(1, SIDE_BY_SIDE // len(hunt.open)))
        which = np.repeat(hunt.open, copies)
        hunt.go(which, robot.random_state(rng, len(which), within_limits=how.limits)[0])
        restarts -= copies
    hunt.go(hunt.open, hunt.q[hunt.open], NEAREST)
    if how.goal is not None:
        hunt.relax(start)
    return Reached(hunt.q.reshape(*batch, robot.nq), hunt.found.reshape(batch))


class _Hunt:
    """The state of a search: the nearest posture of every target, and those still to be found."""

    def __init__(
        self,
        robot: Robot,
        how: Search,
        targets: np.ndarray,
        tolerance: float,
        weights: Any,
        parameters: Any,
    ) -> None:
        self.robot, self.how, self.targets, self.tolerance = robot, how, targets, tolerance
        self.parameters = {} if parameters is None else {"parameters": parameters}
        self.given = robot.parameter_array(parameters)
        self.loop = _kept(robot, how, self.given, search_loop)
        self.held = [] if weights is None else [np.asarray(weights, dtype=float)]
        self.q = np.broadcast_to(robot.neutral(), (len(targets), robot.nq)).copy()
        self.left = np.full(len(targets), np.inf)  # cost of q
        self.found = np.zeros(len(targets), dtype=bool)

    @property
    def open(self) -> np.ndarray:
        """Targets not yet found."""
        return np.flatnonzero(~self.found)

    def go(self, which: np.ndarray, q: np.ndarray, rounds: Rounds = ROUNDS) -> None:
        """All rounds for these targets (k,) from postures (k, nq)."""
        for steps, gain in rounds:
            if not len(which):
                return
            q, best, cost = self.judged(which, q, steps, gain)
            self.keep(which, best, cost)
            going = ~self.found[which]
            which, q = which[going], q[going]

    def relax(self, start: np.ndarray) -> None:
        """Found postures moved toward the goal, where they arrive there and it is better there."""
        which, model = np.flatnonzero(self.found), self.robot.model
        posture = start[which] if self.how.goal == "near" else middle(model)
        made = _kept(self.robot, self.how, self.given, relaxing_loop)
        (ends,) = made((self.q[which],), [self.targets[which], posture], RELAXED, RELAXED, GAIN)
        q = self.judged(which, ends[-1], 10, GAIN)[1]
        before, after = (self.worth(x, posture) for x in (self.q[which], q))
        better = self.arrived(which, q) & (after > before)
        self.q[which[better]] = q[better]

    def worth(self, q: np.ndarray, posture: np.ndarray) -> np.ndarray:
        """What the goal makes as large as it can."""
        if self.how.goal == "manipulability":
            measured = reach.MEASURED[self.how.task]
            return self.robot.manipulability(q, self.how.frame, measured, **self.parameters)
        step = self.robot.difference(q, np.broadcast_to(posture, q.shape))
        return -np.sum(step * step, axis=-1)

    def judged(self, which: np.ndarray, q: np.ndarray, steps: int, gain: float) -> list[np.ndarray]:
        """(q after some steps, the best on the way, its cost)."""
        held = [self.targets[which], *self.held]
        ends = self.loop((q, q, np.full(len(which), np.inf)), held, steps, steps, gain)
        return [x[-1] for x in ends]

    def keep(self, which: np.ndarray, q: np.ndarray, cost: np.ndarray) -> None:
        """Remember postures that have arrived, and those nearer than what there was."""
        there = self.arrived(which, q)
        # of several postures of a target the nearest is written last, and so kept
        order = np.argsort(-cost, kind="stable")
        order = order[(there | (cost < self.left[which]))[order]]
        self.q[which[order]], self.left[which[order]] = q[order], cost[order]
        self.found[which[there]] = True

    def arrived(self, which: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Whether the frame is at its target, by `pose`."""
        here = self.robot.pose(q, self.how.frame, **self.parameters)
        return misses(here, self.targets[which], self.how.task) <= self.tolerance


def relaxing_loop(model: Model | CoupledModel, how: Search) -> Iteration:
    """The loop: base q, held (target, posture)."""
    limits = limits_of(model) if how.limits else None
    function = partial(reach.relaxed, model, limits, how.frame, how.task, str(how.goal))
    q, target = Port("q", (model.nq,)), Port("target", (4, 4))
    return loop(function, (q,), (target, Port("posture", (model.nq,))))


def middle(model: Model | CoupledModel) -> np.ndarray:
    """q (nq,) between the limits; where there are none, the reference posture."""
    q, limits = model.neutral(), limits_of(model)
    if limits is not None:
        both = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        entries = np.array(limits.entries)[both]
        q[entries] = 0.5 * (limits.lower[both] + limits.upper[both])
    return q


def _kept(
    robot: Robot,
    how: Search,
    values: np.ndarray,
    make: Callable[[Model | CoupledModel, Search], Iteration],
) -> Rollout:
    """The compiled loop, made once for a robot, a kind of search and values of parameters."""
    kept = robot.__dict__.setdefault("_searches", {})
    how = how if make is relaxing_loop else how._replace(goal=None)
    key = (make, how, values.tobytes())
    if key not in kept:
        kept[key] = Rollout(make(robot.dynamics.bound(values).description, how))
    return kept[key]


def _start(
    robot: Robot, q0: Any, batch: tuple[int, ...], limits: bool, rng: np.random.Generator
) -> np.ndarray:
    """(targets, nq): what is given, within the limits, or at random."""
    count = int(np.prod(batch))
    if q0 is not None:
        given = np.asarray(q0, dtype=float)
        if given.shape[-1:] != (robot.nq,) or not np.isfinite(given).all():
            raise ShapeError(f"q0 must be (..., {robot.nq}) finite numbers, not {given.shape}")
        start = np.broadcast_to(given, (*batch, robot.nq)).reshape(count, robot.nq)
        known = limits_of(robot.model) if limits else None
        return start if known is None else reach.clamped(known, start.T).T
    return robot.random_state(rng, count, within_limits=limits)[0]
