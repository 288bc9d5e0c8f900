"""Motions drawn at random, by which the structure of a system's columns is seen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from dalembert.identification.record import Record
from dalembert.linalg.geometry import CLOSED, close
from dalembert.systems.system import System

STEP, STEPS = 0.25, 10  # rad or m of one step of a closed chain's random walk; steps from a start
APART = 1e-2  # least sine of the angle between a motion and one that the driven joints do not see
REGULAR = 0.1  # of the smallest singular value at the start: less is near a singularity
SPEED, PUSH = 2.0, 5.0  # deviations of q̇ and q̈, so that no term of the equations is small
SLOWEST = -2.0  # power of ten: some states are so much slower, where Stribeck's friction shows


def random_record(
    system: System, rng: np.random.Generator, n: int, starts: np.ndarray | None = None
) -> Record:
    """n states that the system can be in, in no order of time; no torques and no noise.

    A closed chain walks at random from the configurations `starts` (k, nq), default the reference
    one, and stays in their assembly mode: another mode has other freedoms, and other parameters.

    >>> import dalembert as dl
    >>> found = random_record(dl.load("four_bar"), np.random.default_rng(0), 3)
    >>> found.q.shape
    (3, 3)
    """
    if system.dynamics.rows:
        closed: Any = system
        first = closed.neutral()[None] if starts is None or not len(starts) else starts
        q = np.stack(list(islice(_walk(closed, rng, first), n)))
        qd = closed.project_velocity(q, _paces(rng, n) * rng.normal(size=(n, closed.nv)))
        qdd, _ = closed.forward_dynamics(q, qd, PUSH * rng.normal(size=(n, closed.nv)))
    else:
        q, qd, qdd = system.random_state(rng, n, within_limits=False)
        qd, qdd = _paces(rng, n) * qd, PUSH * qdd
    none = np.zeros(system.nv)
    return Record(np.zeros(n), q, qd, qdd, np.zeros((n, system.nv)), none, none)


def directions(system: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N (..., nv, k) orthonormal with A N = 0, smallest singular value (...) of A's rank)."""
    rank = system.nv - len(system.independent)
    _, values, Vt = np.linalg.svd(system.jacobian(q, 0.0))
    return np.swapaxes(Vt[..., rank:, :], -1, -2), values[..., rank - 1]


def driven_velocities(
    system: System, starts: np.ndarray, driven: np.ndarray
) -> tuple[str, ...] | None:
    """Names of the driven velocities of a closed chain where they determine all others, else None.

    In these its equations are those of the measured torques, each with its own noise.
    """
    if not system.dynamics.rows or not len(starts):
        return None
    N, _ = directions(system, starts)
    if np.count_nonzero(driven) != N.shape[-1]:
        return None
    least = np.linalg.svd(N[..., driven, :], compute_uv=False)[..., -1].min()
    names = system.dynamics.velocities
    return tuple(n for n, own in zip(names, driven, strict=True) if own) if least > APART else None


def _walk(system: Any, rng: np.random.Generator, starts: np.ndarray) -> Iterator[np.ndarray]:
    """Closed configurations (nq,): a few steps from each start in turn, then from the next.

    A step that does not close, or comes near a singularity, where assembly modes meet, ends the walk.
    """
    held = list(system.dynamics.positions)

    def rows(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return system.residual(at, 0.0), system.jacobian(at, 0.0)[held]

    while True:
        for start in starts:
            q, _ = close(start, rows, system.integrate)
            N, regular = directions(system, q)
            yield q
            for _ in range(STEPS):
                step = N @ rng.normal(size=N.shape[1])
                step *= rng.uniform(0.2, 1.0) * STEP / np.abs(step).max()
                q, left = close(system.integrate(q, step), rows, system.integrate)
                N, smallest = directions(system, q)
                if left > CLOSED or smallest < REGULAR * regular:
                    break
                yield q


def _paces(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 1) factors of velocities: half of the states are fast, the others of all speeds."""
    return SPEED * 10.0 ** (SLOWEST * np.maximum(0.0, rng.uniform(-1.0, 1.0, (n, 1))))
