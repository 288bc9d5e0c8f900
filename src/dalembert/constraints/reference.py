"""The reference posture, where the rank is found and pivots are chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.constraints import rank
from dalembert.constraints.assembly import STARTS, assemble, settle
from dalembert.constraints.description import ConstrainedDynamics, Pivots
from dalembert.constraints.elimination import weakest
from dalembert.errors import ConstraintError, ParameterError, ShapeError

WALKS, STEPS = 4, 3
FAINT = 1e-6  # of the best pivots: others are taken to vanish
SPREAD = 0.1  # of a step, rad or m


def reference(
    system: ConstrainedDynamics, guess: np.ndarray, independent: list[int]
) -> tuple[np.ndarray, Pivots, np.ndarray, tuple[tuple[int, ...], ...]]:
    """(An assembled posture (nq,), pivots of the best-conditioned one around it, h left there, blocks).

    Pivots that vanish at the posture itself, though it is a regular one, give way to its own.
    Blocks are rows that share no velocity with others at any of these postures.
    """
    if guess.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {guess.shape}, expected ({system.nq},)")
    system = _with_numbers(system)
    q, remainder = settle(system, guess, STARTS)
    system = replace(system, remainder=remainder)
    by = rank.sizes_at(system, q, 0.0)
    postures = [q, *_branch(system, q, by)]
    rows = [rank.weighed(system, system.at(x).A, x, 0.0, by) for x in postures]
    if not np.isfinite(rows[0]).all():
        raise ConstraintError(f"{system.name}: the constraints are not finite at q = {q}")
    ranks = [rank.rank(B) for B in rows]
    generic = _usual(ranks[1:] or ranks)
    best = max((B for B, r in zip(rows, ranks, strict=True) if r == generic), key=_quality)
    for name, own in system.slices.items():
        empty = np.max([np.abs(B[own]).max(axis=1) for B in rows], axis=0) <= rank.RANK_TOLERANCE
        if empty.all() or (empty.any() and system.constraints[name].every_row_counts):
            raise ConstraintError(
                f"constraint {name!r}, equation {int(empty.argmax())}: it does not depend on q at "
                "any posture tried, so it holds nothing"
            )
    chosen = rank.pivots(best, independent)
    if ranks[0] == generic:
        here = rank.pivots(rows[0], independent)
        if weakest(rows[0], chosen) < FAINT * weakest(rows[0], here):
            chosen = here
    return q, chosen, remainder, rank.blocks(rows)


def _with_numbers(system: ConstrainedDynamics) -> ConstrainedDynamics:
    if not system.parameters:
        return system
    try:
        return system.bind(system.parameter_values())
    except ParameterError as error:
        raise ParameterError(f"{error}; the rank of the constraints needs numbers") from None


def _branch(system: ConstrainedDynamics, q: np.ndarray, by: rank.Sizes) -> list[np.ndarray]:
    """Postures reached from q by steps along velocities that the constraints permit.

    They stay on the branch of q, where the rank is the same but for single postures; postures put
    together from anywhere else may be of another branch with another rank.
    """
    rng = np.random.default_rng(0)
    found = []
    for _ in range(WALKS):
        at, wish = q, rng.normal(size=system.nv)
        for _ in range(STEPS):
            wish = _permitted(system, at, wish, by)
            if not np.abs(wish).max() > 0.0:
                break  # nothing moves here
            step = SPREAD * wish / np.abs(wish).max()
            try:
                at = assemble(system, np.asarray(system.dynamics.integrate(at, step), dtype=float))
            except ConstraintError:
                break  # out of reach from there; the others decide
            if not np.isfinite(system.at(at).A).all():
                break
            found.append(at)
    return found


def _permitted(
    system: ConstrainedDynamics, q: np.ndarray, v: np.ndarray, by: rank.Sizes
) -> np.ndarray:
    """What A leaves of the velocity v (nv,)."""
    N = rank.permitted(system, system.at(q).A, q, 0.0, by)
    return N @ (N.T @ (by.columns**2 * v))


def _usual(ranks: list[int]) -> int:
    """The rank met most often, the larger of two met equally often."""
    return max(set(ranks), key=lambda r: (ranks.count(r), r))


def _quality(B: np.ndarray) -> float:
    """The smallest singular value that counts."""
    sizes = np.linalg.svd(B, compute_uv=False)
    return float(sizes[sizes > rank.RANK_TOLERANCE].min(initial=np.inf))
