"""Paths of poses: each posture from its neighbour, and what to do where that leads nowhere.

A path is followed by steps of Newton's method from pose to pose. Where a pose is not reached that way,
or a joint moves far, the straight way between the poses is followed in small pieces. Where that fails
too, no motion of the joints leads on from here: the posture jumps to the one that follows the rest of
the path farthest, and the jump is named.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.kernels.call.search import Effort
from dalembert.spatial.ways import straight
from dalembert.systems.reaching.hunt import GAIN, STEPS, Hunt, Reached, start_of
from dalembert.systems.reaching.search import following_loop, kept
from dalembert.systems.reaching.several import alike, ends_of
from dalembert.systems.reaching.targets import common_batch

EACH = 3  # steps per pose, before all are polished side by side
FAR = 0.1  # rad or m: what a joint may move between poses without a closer look
PIECES = (16, 256)  # of the way between two poses
CHUNK = 512  # poses in one call
STARTS = 64  # from which other postures are looked for
OTHERS = 32  # of them are tried


class Jump(NamedTuple):
    """Where a path cannot be followed."""

    at: tuple[int, ...]  # the index of the pose after the jump, among the targets
    joint: str  # that jumps most
    by: float  # rad or m

    def __str__(self) -> str:
        return f"pose {', '.join(map(str, self.at))}: {self.joint} jumps by {self.by:.3g}"


class PathWarning(UserWarning):
    """A path cannot be followed as asked: the joints jump, or a limit is passed."""


class Followed(Reached):
    """Postures along paths (..., n, nq), found (..., n), and the `jumps` between them."""

    jumps: tuple[Jump, ...] = ()


def follow(hunt: Hunt, targets: np.ndarray, q0: Any) -> Followed:
    """Postures of paths (..., n, 4, 4), begun at q0 (..., nq)."""
    nq = hunt.system.nq
    batch = common_batch(targets.shape[:-3], q0, nq)
    targets = np.broadcast_to(targets, (*batch, *targets.shape[-3:]))
    hunt = replace(hunt, how=hunt.how._replace(hops=False))
    start = start_of(hunt.system, q0, batch, hunt.how.limits)
    q, found = np.empty((*targets.shape[:-2], nq)), np.zeros(targets.shape[:-2], dtype=bool)
    jumps: list[Jump] = []
    for k, where in enumerate(np.ndindex(batch)):
        path = _Path(hunt, targets[where])
        path.run(None if start is None else start[k])
        q[where] = hunt.rested(path.q, None if start is None else start[k])
        found[where] = path.found
        jumps += [jump._replace(at=(*where, *jump.at)) for jump in path.jumps]
    result = Followed(q, found)
    result.jumps = tuple(jumps)
    if jumps:
        more = f", and {len(jumps) - 1} more" if len(jumps) > 1 else ""
        words = f"{hunt.system.name} cannot follow the path without a jump at {jumps[0]}{more}"
        warnings.warn(f"{words}; see the result's `jumps`", PathWarning, stacklevel=3)
    return result


class _Path:
    """One path (n, 4, 4) on the way."""

    def __init__(self, hunt: Hunt, targets: np.ndarray) -> None:
        self.hunt, self.targets = hunt, targets
        self.q = np.empty((len(targets), hunt.system.nq))
        self.found = np.zeros(len(targets), dtype=bool)
        self.jumps: list[Jump] = []

    def run(self, start: np.ndarray | None) -> None:
        """All of it, from a posture or from the best there is."""
        if not len(self.targets):
            return
        k, last = self.begin(start)
        while k < len(self.targets):
            ahead = self.targets[k : k + CHUNK]
            paths, good = self.sweep(ahead, last[None])
            count = int(np.argmin(np.append(good[0], False)))
            self.q[k : k + count], self.found[k : k + count] = paths[0, :count], True
            if count:
                k, last = k + count, paths[0, count - 1]
            if count < len(ahead):
                last = self.onward(k, last)
                k += 1

    def begin(self, start: np.ndarray | None) -> tuple[int, np.ndarray]:
        """(1, the posture of the first pose): from the start, or one that goes far."""
        others = self.others(0) if start is None else np.zeros((0, self.hunt.system.nq))
        if len(others):
            q, found = self.farthest(others, 0), True
        else:
            given = None if start is None else start[None]
            reached = self.hunt.run(self.targets[:1], given)
            q, found = reached.q[0], bool(reached.found[0])
        self.q[0], self.found[0] = q, found
        return 1, q

    def onward(self, k: int, last: np.ndarray) -> np.ndarray:
        """The posture of a pose that the last one does not lead to at once; the one to go on from."""
        q = self.bridged(k, last)
        if q is None:
            others = self.others(k)
            if not len(others):
                downhill = replace(self.hunt, restarts=0)
                self.q[k] = downhill.run(self.targets[k : k + 1], last[None]).q[0]
                return last
            q = self.farthest(others, k, last)
            step = self.hunt.system.difference(last, q)
            joint = int(np.argmax(np.abs(step)))
            name = self.hunt.system.dynamics.velocities[joint]
            self.jumps.append(Jump((k,), name, float(step[joint])))
        self.q[k], self.found[k] = q, True
        return q

    def bridged(self, k: int, last: np.ndarray) -> np.ndarray | None:
        """The posture at the end of the straight way to a pose, in small pieces; None if it breaks."""
        here = self.hunt.pose(last)
        for pieces in PIECES:
            way = straight(here, self.targets[k], np.linspace(1.0 / pieces, 1.0, pieces))
            paths, good = self.sweep(way, last[None])
            if good.all():
                return paths[0, -1]
        return None

    def sweep(self, targets: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(postures (c, m, nq), whether each is reached and near to the one before) from q (c, nq)."""
        hunt, (c, nq), m = self.hunt, q.shape, len(targets)
        loop = kept(hunt.system, hunt.how, hunt.values, following_loop)
        held = np.repeat(targets, EACH, axis=0)[:, None]
        (ends,) = loop((q,), [held], EACH * m, EACH, GAIN)
        rows = np.ascontiguousarray(np.swapaxes(ends, 0, 1)).reshape(-1, nq)
        wanted = np.broadcast_to(targets, (c, m, 4, 4)).reshape(-1, 4, 4)
        effort = Effort(1, STEPS, GAIN, 0.005 * hunt.tolerance)
        rows, _ = hunt.loop(hunt.how)([wanted], hunt.pool(), effort, rows)
        there = hunt.arrived(wanted, rows).reshape(c, m)
        paths = rows.reshape(c, m, nq)
        before = np.concatenate([q[:, None], paths[:, :-1]], axis=1)
        return paths, there & (np.abs(hunt.system.difference(before, paths)).max(axis=-1) <= FAR)

    def others(self, k: int) -> np.ndarray:
        """Different postures (m, nq) of a pose, some of them where there are infinitely many."""
        found: list[np.ndarray] = []
        if self.hunt.restarts:
            ends = ends_of(self.hunt, self.targets[k : k + 1], STARTS)[0][0]
            while len(ends) and len(found) < OTHERS:
                found.append(ends[0])
                ends = ends[~alike(self.hunt, ends[0], ends)]
        if not found and self.hunt.restarts:
            reached = self.hunt.run(self.targets[k : k + 1], None)
            found = [reached.q[0]] if reached.found[0] else []
        return np.array(found).reshape(-1, self.hunt.system.nq)

    def farthest(self, q: np.ndarray, k: int, last: np.ndarray | None = None) -> np.ndarray:
        """The posture (nq,) of pose k that follows the path farthest; of those the nearest."""
        ahead = self.targets[k + 1 : k + 1 + CHUNK]
        good = self.sweep(ahead, q)[1] if len(ahead) else np.zeros((len(q), 0), dtype=bool)
        reached = np.argmin(np.concatenate([good, np.zeros((len(q), 1), bool)], axis=1), axis=1)
        near = self.hunt.system.neutral() if last is None else last
        away = np.abs(self.hunt.system.difference(np.broadcast_to(near, q.shape), q)).max(axis=-1)
        return q[np.lexsort((away, -reached))[0]]
