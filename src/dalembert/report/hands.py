"""Which coordinates a hand moves, and which then follow: as a live page has its sliders."""

from __future__ import annotations

import numpy as np

from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System

SEED = 1
APART = 1e-3  # of singular values: what holds, beside what does not
STIFF = 1e12  # of a coordinate that is led, beside the largest inertia


def moved_by_hand(seen: Dynamics) -> list[tuple[int, int]]:
    """(entry of q, entry of q̇) of coordinates whose rate is a velocity; not of balls, free bodies."""
    made, nudge = seen.bound(), np.random.default_rng(SEED).normal(size=seen.nv)
    q = made.integrate(np.asarray(seen.neutral(), dtype=float), nudge)
    rates = np.stack([np.asarray(made.rate(q, one), dtype=float) for one in np.eye(seen.nv)]).T
    found = []
    for k, row in enumerate(rates):
        v = int(row.argmax())
        if np.abs(row - np.eye(seen.nv)[v]).max() < 1e-12:
            found.append((k, v))
    return found


def leading(system: System) -> list[int]:
    """Velocities by whose coordinates a posture is given; of a closed chain the others follow.

    Asked first are the independent ones that the system names, then slides of joints, which are
    drives as a rule, and angles of bodies in absolute coordinates.
    """
    seen = system.dynamics
    hands = [v for _, v in moved_by_hand(seen)]
    A = _slopes(system)
    if not len(A):
        return hands
    chosen: list[int] = []
    whole = _independent(A)
    for v in sorted(hands, key=lambda v: _order(system, v)):
        rest = [k for k in range(seen.nv) if k not in (*chosen, v)]
        if _independent(A[:, rest]) == whole:
            chosen.append(v)
    return chosen


def _slopes(system: System) -> np.ndarray:
    """A (held, nv) of the constraints on positions, at the reference posture, without units."""
    made, q = system.dynamics.bound(), system.neutral()
    _, A = made.closing(q)
    sizes = np.sqrt(np.diag(made.mass_matrix(q)))
    scaled = np.asarray(A, dtype=float) / np.maximum(sizes, 1e-9 * sizes.max())
    return scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300)


def _independent(A: np.ndarray) -> int:
    """The number of rows that hold, clearly so."""
    return int((np.linalg.svd(A, compute_uv=False) > APART).sum())


def _order(system: System, v: int) -> tuple[bool, bool, int]:
    wished, seen = getattr(system, "wished", ()), system.dynamics
    slides, absolute = seen.kinds.v[v] == "length", system.robot is None
    return seen.velocities[v] not in wished, slides == absolute, v


def stiffness(system: System) -> float:
    """What holds a velocity that is led, beside inertias, on the diagonal of M."""
    return STIFF * float(np.diag(system.dynamics.bound().mass_matrix(system.neutral())).max())
