"""All postures of a target: many starts at once, and what they lead to, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import SettingError
from dalembert.formulations.kinematics import reach
from dalembert.kernels.call.search import Effort
from dalembert.systems.reaching.hunt import GAIN, STEPS, Hunt, anywhere
from dalembert.systems.reaching.search import task_of

SAME = 1e-5  # rad or m between postures that are one
OFTEN = 4  # times that each posture was met before no other is looked for
FIRST, MOST = 256, 8192  # starts of a target, doubled until all were met often
MANY = 64  # postures of a target that are points of a continuum
NEAR = 1e-2  # rad or m by which an end missed its target and may have been on its way
NEAR_SINGULAR = 1e-3  # of the largest singular value of the task's Jacobian
LOOKED_AT, LOOKED_AT_MISSED = 32, 2  # postures, and ends that missed, looked at for singularity


class _Found(NamedTuple):
    q: np.ndarray  # (..., m, nq), m the largest number; NaN where a target has fewer
    number: np.ndarray  # (...) int, how many


class Postures(_Found):
    """The different postures of every target: the pair (q, number), and whether it may lack some.

    `incomplete` (...) is True where postures may be missing, or where they may be points of a
    continuum: some were met too rarely, or the search came upon singular postures, near which it
    converges slowly and postures lie close together. `number` is then what was found.
    """

    incomplete: np.ndarray  # (...) bool

    def __new__(cls, q: np.ndarray, number: np.ndarray, incomplete: np.ndarray) -> Postures:
        """The pair, with its flags beside it."""
        made = super().__new__(cls, q, number)
        made.incomplete = incomplete
        return made


def all_postures(hunt: Hunt, targets: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """For each of the targets (n, 4, 4) its postures (m, nq), and whether some may be missing."""
    if freedoms_left(hunt):
        raise SettingError(
            f"{hunt.system.name} can move while it keeps the task {hunt.how.task!r}: it has infinitely "
            "many postures; take inverse_kinematics, with a goal"
        )
    met = [(np.zeros((0, hunt.system.nq)), np.zeros(0, dtype=int)) for _ in targets]
    open_, starts, used = np.arange(len(targets)), FIRST, 0
    doubted = np.zeros(len(targets), dtype=bool)
    while len(open_) and used < MOST:
        ends_there, missed = ends_of(hunt, targets[open_], starts, used)
        doubted[open_] |= near_singular(hunt, missed)
        for i, ends in zip(open_, ends_there, strict=True):
            met[i] = merged(hunt, *met[i], ends)
        used, starts = used + starts, min(2 * starts, MOST)
        rare = [i for i in open_ if np.min(met[i][1], initial=OFTEN) < OFTEN]
        endless = [i for i in rare if len(met[i][0]) > MANY]
        doubted[endless] = True
        open_ = np.array([i for i in rare if i not in endless], dtype=int)
    doubted[open_] = True
    doubted |= near_singular(hunt, [q[:LOOKED_AT] for q, _ in met])
    return [q[np.lexsort(q.round(4).T[::-1])] for q, _ in met], doubted


def near_singular(hunt: Hunt, postures: list[np.ndarray]) -> np.ndarray:
    """Whether one of the postures (m, nq) of each target is at or near a singular one."""
    dynamics, how = hunt.system.dynamics.bound(hunt.values), hunt.how
    task = task_of(dynamics, how)

    def near(q: np.ndarray) -> bool:
        J = np.asarray(reach.closed_error(dynamics, q, np.eye(4), task)[1], dtype=float)
        sizes = np.linalg.svd(J, compute_uv=False)
        return bool(sizes[dynamics.nv - 1] <= NEAR_SINGULAR * sizes[0])

    return np.array([any(map(near, q)) for q in postures], dtype=bool)


def freedoms_left(hunt: Hunt) -> int:
    """Freedoms with which the system moves and keeps the task, at nearly every posture."""
    dynamics = hunt.system.dynamics.bound(hunt.values)
    task = task_of(dynamics, hunt.how)
    ranks = [
        np.linalg.matrix_rank(reach.closed_error(dynamics, q, np.eye(4), task)[1])
        for q in hunt.pool()[:4]
    ]
    return dynamics.nv - max(ranks)


def ends_of(
    hunt: Hunt, targets: np.ndarray, starts: int, seed: int = 0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each target the postures (m, nq) that so many starts (a power of two) lead to.

    Second, the few that came nearest without arriving, where they came near.
    """
    rng = np.random.default_rng([hunt.seed, starts, seed])
    pool = anywhere(hunt.system, rng, starts, hunt.how.limits)
    effort = Effort(1, 2 * STEPS, GAIN, 0.005 * hunt.tolerance * hunt.least)
    repeated = np.repeat(targets, starts, axis=0)
    q, _ = hunt.loop(hunt.how)(hunt.held(repeated), pool, effort)
    there = hunt.arrived(repeated, q).reshape(-1, starts)
    missed = np.where(there, np.inf, hunt.missed(repeated, q).reshape(-1, starts))
    ends = q.reshape(-1, starts, q.shape[-1])
    nearest = np.argsort(missed, axis=1)[:, :LOOKED_AT_MISSED]
    close = [own[miss[own] < NEAR] for own, miss in zip(nearest, missed, strict=True)]
    arrived = [x[ok] for x, ok in zip(ends, there, strict=True)]
    return arrived, [x[own] for x, own in zip(ends, close, strict=True)]


def merged(
    hunt: Hunt, q: np.ndarray, hits: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Postures and how often each was met, with further ends (m, nq)."""
    ends = hunt.turned_back(ends)
    for k in range(len(q)):
        same = alike(hunt, q[k], ends)
        hits[k] += same.sum()
        ends = ends[~same]
    while len(ends):
        same = alike(hunt, ends[0], ends)
        q, hits = np.concatenate([q, ends[:1]]), np.append(hits, same.sum())
        ends = ends[~same]
    return q, hits


def alike(hunt: Hunt, q: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether postures (m, nq) are the posture q, whole turns apart or not."""
    step = hunt.system.difference(np.broadcast_to(q, others.shape), others)
    step = np.where(hunt.turning, np.mod(step + np.pi, 2.0 * np.pi) - np.pi, step)
    return np.abs(step).max(axis=-1, initial=0.0) < SAME


def padded(found: list[np.ndarray], incomplete: np.ndarray, nq: int) -> Postures:
    """Lists of postures as one array."""
    count = np.array([len(x) for x in found], dtype=int)
    q = np.full((len(found), int(np.max(count, initial=0)), nq), np.nan)
    for k, x in enumerate(found):
        q[k, : len(x)] = x
    return Postures(q, count, incomplete)
