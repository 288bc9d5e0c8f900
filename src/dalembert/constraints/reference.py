"""The reference posture, where the rank is found and pivots are chosen."""

from __future__ import annotations

import numpy as np

from dalembert.constraints import rank
from dalembert.constraints.assembly import STARTS, assemble
from dalembert.constraints.description import ConstrainedDynamics, Pivots
from dalembert.errors import ConstraintError, ParameterError, ShapeError

NEIGHBOURS = 4
SPREAD = 0.3  # rad or m


def reference(
    system: ConstrainedDynamics, guess: np.ndarray, independent: list[int]
) -> tuple[np.ndarray, Pivots]:
    """(An assembled posture (nq,), pivots of the best-conditioned posture around it)."""
    if guess.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {guess.shape}, expected ({system.nq},)")
    system = _with_numbers(system)
    q = assemble(system, guess, starts=STARTS)
    A = [system.at(x).A for x in (q, *_neighbours(system, q))]
    if not np.isfinite(A[0]).all():
        raise ConstraintError(f"{system.name}: the constraints are not finite at q = {q}")
    best = max(A, key=_quality)
    for name, rows in system.slices.items():
        empty = np.abs(best[rows]).max(axis=1) == 0.0
        if empty.all() or (empty.any() and system.constraints[name].every_row_counts):
            raise ConstraintError(
                f"constraint {name!r}, equation {int(empty.argmax())}: it does not depend on q at "
                "any posture tried, so it holds nothing"
            )
    return q, rank.pivots(best, independent)


def _with_numbers(system: ConstrainedDynamics) -> ConstrainedDynamics:
    if not system.parameters:
        return system
    try:
        return system.bind(system.parameter_values())
    except ParameterError as error:
        raise ParameterError(f"{error}; the rank of the constraints needs numbers") from None


def _neighbours(system: ConstrainedDynamics, q: np.ndarray) -> list[np.ndarray]:
    """Assembled postures around q, so that a singular one does not decide the rank."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(NEIGHBOURS):
        step = rng.uniform(-SPREAD, SPREAD, system.nv)
        near = np.asarray(system.dynamics.integrate(q, step), dtype=float)
        try:
            found.append(assemble(system, near))
        except ConstraintError:
            continue  # out of reach from there; the others decide
    return found


def _quality(A: np.ndarray) -> tuple[int, float]:
    """Rank first, then the smallest singular value that counts."""
    if not np.isfinite(A).all():
        return -1, 0.0
    found = rank.rank(A)
    sizes = np.linalg.svd(rank.scaled(A), compute_uv=False)
    return found, float(sizes[found - 1]) if found else 0.0
