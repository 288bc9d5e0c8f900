"""Motions drawn at random, by which the structure of a system's columns is seen."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.identification.record import Record
from dalembert.systems.system import System

SPREAD = 1.0  # rad or m around the reference posture, for closed chains
SPEED, PUSH = 2.0, 5.0  # deviations of q̇ and q̈, so that no term of the equations is small
SLOWEST = -2.0  # power of ten: some states are so much slower, where Stribeck's friction shows


def random_record(system: System, rng: np.random.Generator, n: int) -> Record:
    """n states that the system can be in, in no order of time; no torques and no noise.

    A closed chain is assembled near its reference posture moved at random.

    >>> import dalembert as dl
    >>> found = random_record(dl.load("four_bar"), np.random.default_rng(0), 3)
    >>> found.q.shape
    (3, 3)
    """
    if system.dynamics.rows:
        q, qd, qdd = _closed(system, rng, n)
    else:
        q, qd, qdd = system.random_state(rng, n, within_limits=False)
        qd, qdd = _paces(rng, n) * qd, PUSH * qdd
    none = np.zeros(system.nv)
    return Record(np.zeros(n), q, qd, qdd, np.zeros((n, system.nv)), none, none)


def _closed(system: System, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    steps = rng.uniform(-SPREAD, SPREAD, (n, system.nv))
    near = system.integrate(np.broadcast_to(system.neutral(), (n, system.nq)), steps)
    q = np.stack([_assembled(system, x) for x in near])
    qd = system.project_velocity(q, _paces(rng, n) * rng.normal(size=(n, system.nv)))  # type: ignore[attr-defined]  # of closed chains
    qdd, _ = system.forward_dynamics(q, qd, PUSH * rng.normal(size=(n, system.nv)))
    return q, qd, qdd


def _paces(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 1) factors of velocities: half of the states are fast, the others of all speeds."""
    return SPEED * 10.0 ** (SLOWEST * np.maximum(0.0, rng.uniform(-1.0, 1.0, (n, 1))))


def _assembled(system: System, guess: np.ndarray) -> np.ndarray:
    """A posture near the guess, or the reference one where there is none."""
    try:
        return np.asarray(system.assemble(guess))  # type: ignore[attr-defined]  # of closed chains
    except DalembertError:
        return system.neutral()
