"""Postures of many targets: one compiled loop with restarts, then patience for what is left.

What is said to be found has been verified by `pose`. What is not, is the nearest posture that was met.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import ShapeError
from dalembert.formulations.kinematics import reach
from dalembert.kernels.call.search import Effort
from dalembert.systems.limits import between
from dalembert.systems.reaching.search import (
    Search,
    kept,
    limits_of,
    on_gpu,
    plain_entries,
    relaxing_loop,
    search_loop,
)
from dalembert.systems.reaching.targets import misses

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

# measured on seven arms: the fewest steps in all, those of starts that lead nowhere included
GAIN, STEPS = 0.05, 16
# singular postures are reached by a constant factor per step
PATIENT, PATIENT_STARTS = 48, 100
# what is out of reach has no zero to jump to: stronger damping goes downhill to the nearest posture
# (starts, steps, gain): from several starts, as there are several hollows
NEAREST = ((48, 60, 1.0), (1, 100, 10.0), (1, 100, 1.0))
RELAXED = 100  # steps toward a goal
LEAST_POOL, MOST_POOLS = 256, 8  # postures to begin at; sets of them that are kept
MOST_RESTARTS = (1 << 16) - 1  # beyond which starts would be the same again


class Reached(NamedTuple):
    """Postures and whether each puts the frame where it should be."""

    q: np.ndarray  # (..., nq); the nearest posture that was met, where not found
    found: np.ndarray  # (...) bool


class Round(NamedTuple):
    """Searches one after the other, each from where the last one ended."""

    how: Search
    pool: int  # number of the pool of postures to begin at
    efforts: tuple[Effort, ...]


@dataclass(frozen=True)
class Hunt:
    """A search for one kind of target of a system."""

    system: System
    how: Search
    tolerance: float
    restarts: int
    seed: int
    weights: Any = None
    parameters: Any = None
    device: bool = False  # whether arrays lie on a GPU

    def run(self, targets: Any, q0: Any) -> Reached:
        """Postures (n, nq) of targets (n, 4, 4), begun at q0 (n, nq) or anywhere."""
        first, *others = self.rounds
        q, found = self.attempt(first, targets, q0)
        for following in others:
            left = (~found).nonzero()[0]
            if not len(left):
                break
            q[left], found[left] = self.attempt(following, targets[left], q[left])
        left = (~found).nonzero()[0]
        if len(left) and self.system.dynamics.rows:
            q[left] = self.closed(targets[left], q[left])
        return Reached(q, found)

    def closed(self, targets: Any, q: Any) -> Any:
        """The postures, closed: the nearest ones to what the last digits of the loops left open."""
        how = self.how._replace(task="closed", weighted=False)
        effort = Effort(1, PATIENT, GAIN, 0.05 * self.tolerance**2)
        return self.loop(how)([targets], self.pool(), effort, q)[0]

    def attempt(self, turn: Round, targets: Any, q: Any) -> tuple[Any, Any]:
        """(q, found) after one of the rounds."""
        search, pool = self.loop(turn.how), self.pool(turn.pool)
        for effort in turn.efforts:
            q, _ = search(self.held(targets), pool, effort, q)
        return q, self.arrived(targets, q)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Many short starts, whose last step is the one after an error of √tolerance / 10; what is
        near and converges slowly; long starts elsewhere, and then downhill.
        """
        near, there = 0.005 * self.tolerance * self.least, 0.05 * self.tolerance**2 * self.least
        return (
            Round(self.how, 0, (Effort(self.restarts + 1, STEPS, GAIN, near),)),
            Round(self.how, 0, (Effort(1, 2 * STEPS, GAIN, there),)),
            Round(
                self.how._replace(chord=False),
                1,
                (
                    Effort(min(self.restarts, PATIENT_STARTS) + 1, PATIENT, GAIN, there),
                    *(
                        Effort(min(starts, self.restarts + 1), steps, gain, there)
                        for starts, steps, gain in NEAREST
                    ),
                ),
            ),
        )

    def arrived(self, targets: Any, q: Any) -> Any:
        """Whether the frame is at its target, by `pose`, and the mechanism closed."""
        if self.device:
            missed = on_gpu(self.system, self.how, self.values)[1]
            return missed((q, targets)) <= self.tolerance
        there = self.missed(targets, q) <= self.tolerance
        if self.system.dynamics.rows:
            open_ = self.system._evaluate("residual", (q,), None, self.parameters)
            there &= np.abs(open_).max(axis=-1, initial=0.0) <= self.tolerance
        return there

    def missed(self, targets: np.ndarray, q: np.ndarray) -> np.ndarray:
        """(n,) by how much the frame is off its target, rad or m."""
        return misses(self.pose(q), targets, self.how.task)

    def pose(self, q: np.ndarray) -> np.ndarray:
        """(..., 4, 4) of the frame."""
        return self.system._evaluate("pose", (q,), None, self.parameters, frame=self.how.frame)

    def loop(self, how: Search) -> Any:
        """The compiled search."""
        if self.device:
            return on_gpu(self.system, how, self.values)[0]
        return kept(self.system, how, self.values, search_loop)

    @cached_property
    def values(self) -> np.ndarray:
        """Numbers for the parameters."""
        return self.system.parameter_array(self.parameters)

    @cached_property
    def least(self) -> float:
        """The smallest weight, squared: a cost below it times ε² is an error below ε."""
        given = np.ones(1) if self.weights is None else np.asarray(self.weights, dtype=float)
        return float(np.min(given[given > 0.0], initial=1.0)) ** 2

    @cached_property
    def turning(self) -> np.ndarray:
        """(nv,) the angles that a whole turn leads back to the same posture."""
        known = self.system.__dict__.setdefault("_turning", {})
        key = self.values.tobytes()
        if key not in known:
            known.clear()
            known[key] = whole_turns(self.system.dynamics.bound(self.values), self.pool()[0])
        return known[key]

    def turned_back(self, q: np.ndarray) -> np.ndarray:
        """q (n, nq) with angles within ±π where that is the same posture and the limits allow it."""
        q, limits = q.copy(), limits_of(self.system.dynamics) if self.how.limits else None
        bounds = {}
        if limits is not None:
            pairs = zip(limits.lower, limits.upper, strict=True)
            bounds = dict(zip(limits.entries, pairs, strict=True))
        for k, v in plain_entries(self.system.dynamics):
            if self.turning[v]:
                lower, upper = bounds.get(k, (-np.inf, np.inf))
                back = np.mod(q[:, k] + np.pi, 2.0 * np.pi) - np.pi
                q[:, k] = np.where((back >= lower) & (back <= upper), back, q[:, k])
        return q

    @cached_property
    def idle(self) -> np.ndarray:
        """(k,) entries of q that do not move the frame; none where constraints couple them."""
        known = self.system.__dict__.setdefault("_idle", {})
        key = (self.how.frame, self.values.tobytes())
        if key not in known:
            dynamics = self.system.dynamics.bound(self.values)
            known[key] = idle_entries(dynamics, self.how.frame, self.pool()[:3])
        return known[key]

    def rested(self, q: Any, start: Any) -> Any:
        """q (n, nq) with the entries that do not move the frame as in `start`, else neutral."""
        if len(self.idle):
            rest = self.resting if start is None else start
            q[..., self.idle] = rest[..., self.idle]
        return q

    @cached_property
    def resting(self) -> np.ndarray:
        """(nq,) the neutral posture, within the limits."""
        neutral = np.asarray(self.system.dynamics.neutral(), dtype=float)
        limits = limits_of(self.system.dynamics) if self.how.limits else None
        return neutral if limits is None else reach.clamped(limits, neutral[:, None])[:, 0]

    def pool(self, number: int = 0) -> np.ndarray:
        """(a power of two, nq) random postures, other ones than a user's of the same seed."""
        size = max(LEAST_POOL, 1 << int(self.restarts).bit_length())
        known = self.system.__dict__.setdefault("_pools", {})
        key = (self.seed, size, self.how.limits, number)
        if key not in known:
            if len(known) >= MOST_POOLS:
                known.clear()
            rng = np.random.default_rng([self.seed, LEAST_POOL, number])
            known[key] = anywhere(self.system, rng, size, self.how.limits)
        return known[key]

    def held(self, targets: np.ndarray) -> list[np.ndarray]:
        """What the loop holds for every target."""
        if self.weights is None:
            return [targets]
        return [targets, np.asarray(self.weights, dtype=float)]

    def relaxed(self, targets: np.ndarray, q: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        """Postures moved toward the goal, where they arrive there and it is better there."""
        posture = start if self.how.goal == "near" else middle(self.system)
        assert posture is not None
        made = kept(self.system, self.how, self.values, relaxing_loop)
        (ends,) = made((q,), [targets, posture], RELAXED, RELAXED, GAIN)
        polish = Effort(1, 2 * STEPS, GAIN, 0.005 * self.tolerance)
        moved, _ = self.loop(self.how._replace(hops=False))(
            [targets], self.pool(), polish, ends[-1]
        )
        better = self.arrived(targets, moved) & (
            self.worth(moved, posture) > self.worth(q, posture)
        )
        return np.where(better[:, None], moved, q)

    def worth(self, q: np.ndarray, posture: np.ndarray) -> np.ndarray:
        """What the goal makes as large as it can."""
        if self.how.goal == "manipulability":
            view = {"frame": self.how.frame, "task": reach.MEASURED[self.how.task]}
            return self.system._evaluate("manipulability", (q,), None, self.parameters, **view)
        step = self.system.difference(q, np.broadcast_to(posture, q.shape))
        return -np.sum(step * step, axis=-1)


def idle_entries(dynamics: Dynamics, frame: str, postures: np.ndarray) -> np.ndarray:
    """(k,) entries of q whose velocities never move a frame, judged at some postures (m, nq)."""
    if dynamics.rows:
        return np.zeros(0, dtype=int)
    J = np.abs([dynamics.frame_jacobian(q, frame) for q in postures]).max(axis=(0, 1))
    least = 1e-12 * J.max(initial=0.0)
    still, k, v = least >= J, 0, 0
    found: list[int] = []
    while k < dynamics.nq:
        count, rates = (4, 3) if dynamics.kinds.q[k] == "quaternion" else (1, 1)
        if still[v : v + rates].all():
            found += range(k, k + count)
        k, v = k + count, v + rates
    return np.array(found, dtype=int)


def whole_turns(dynamics: Dynamics, q: np.ndarray) -> np.ndarray:
    """(nv,) whether a whole turn of an angle moves nothing.

    That of a screw does, and that of an angle which others follow at a rate of their own.
    """
    found, here = np.zeros(dynamics.nv, dtype=bool), stands(dynamics, q)
    for k, v in plain_entries(dynamics):
        if dynamics.kinds.v[v] == "angle":
            moved = q.copy()
            moved[k] += 2.0 * np.pi
            off = np.abs(stands(dynamics, moved) - here)
            found[v] = (off <= 1e-9 * (1.0 + np.abs(here))).all()
    return found


def stands(dynamics: Dynamics, q: np.ndarray) -> np.ndarray:
    """Where all frames are, and how far the constraints are from being met, as one row."""
    poses = dynamics.poses(q).values()
    return np.concatenate([*map(np.ravel, poses), np.ravel(dynamics.closing(q)[0])])


def anywhere(system: System, rng: np.random.Generator, size: int, limits: bool) -> np.ndarray:
    """(size, nq) random postures, not assembled where the system is a closed chain."""
    steps = rng.uniform(-np.pi, np.pi, (size, system.nv))
    if limits:
        steps = between(system.lower, system.upper, steps)
    return system.integrate(np.broadcast_to(system.dynamics.neutral(), (size, system.nq)), steps)


def assembled(system: System, rng: np.random.Generator, otherwise: np.ndarray) -> np.ndarray:
    """(..., nq) random closed postures within the limits; `otherwise`, where none is found."""
    flat, (tolerance, starts) = otherwise.reshape(-1, system.nq), (1e-10, 63)
    hunt = Hunt(system, Search("", "closed"), tolerance, starts, int(rng.integers(2**31)))
    nowhere = np.broadcast_to(np.eye(4), (len(flat), 4, 4))
    effort = Effort(starts + 1, PATIENT, GAIN, 0.05 * tolerance**2)
    q, _ = hunt.loop(hunt.how)([nowhere], hunt.pool(), effort)
    open_ = np.abs(system._evaluate("residual", (q,))).max(axis=-1, initial=0.0)
    limits = limits_of(system.dynamics)
    assert limits is not None
    inside = q == reach.clamped(limits, q.T, hops=False).T
    good = (open_ <= tolerance) & inside.all(axis=-1)
    return np.where(good[:, None], q, flat).reshape(otherwise.shape)


def middle(system: System) -> np.ndarray:
    """q (nq,) between the limits; where there are none, the reference posture."""
    q, limits = system.neutral(), limits_of(system.dynamics)
    if limits is not None:
        both = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        entries = np.array(limits.entries)[both]
        q[entries] = 0.5 * (limits.lower[both] + limits.upper[both])
    return q


def start_of(system: System, q0: Any, batch: tuple[int, ...], limits: bool) -> np.ndarray | None:
    """(targets, nq) of what is given, within the limits; None where nothing is."""
    if q0 is None:
        return None
    given = np.asarray(q0, dtype=float)
    if given.shape[-1:] != (system.nq,) or not np.isfinite(given).all():
        raise ShapeError(f"q0 must be (..., {system.nq}) finite numbers, not {given.shape}")
    count = int(np.prod(batch))
    start = np.broadcast_to(given, (*batch, system.nq)).reshape(count, system.nq)
    known = limits_of(system.dynamics) if limits else None
    return start if known is None else reach.clamped(known, start.T).T
