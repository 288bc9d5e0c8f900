"""Lagrange–d'Alembert with the dependent coordinates eliminated (000 p.58–60).

A = [A₁ A₂] with A₂ regular: δq₂ = −A₂⁻¹ A₁ δq₁, so q̈ = T q̈₁ + c and Tᵀ (M q̈ − f) = 0 with
T = [1; −A₂⁻¹A₁].
Rows and columns of A₂ are chosen by complete pivoting at the reference posture; where A₂ comes near
a singular matrix the result is NaN, and `Constrained.forward_dynamics` answers by multipliers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints import multiplier
from dalembert.constraints.kkt import terms
from dalembert.constraints.multiplier import consistent
from dalembert.linalg.factorisations import LU, flagged, largest, ldl, lu
from dalembert.linalg.rank import Pivots
from dalembert.linalg.row_space import RESOLVED, SHORT, VANISHED
from dalembert.spatial.arrays import Array, Scalar

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

# of a pivot beside another that might be taken in its place: below it, that one is better
WEAK_PIVOT = 1e-4


def forward_dynamics(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array, pivots: str | None = None
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)); NaN where this choice of coordinates is a bad one."""
    if not system.rank:  # there is nothing to eliminate
        return multiplier.forward_dynamics(system, q, qd, tau)
    M, f, A, drift = terms(system, q, qd, tau)
    chosen = system.require_pivots() if pivots is None else Pivots.parse(pivots)
    rows, columns = list(chosen.rows), list(chosen.columns)
    free = [k for k in range(system.nv) if k not in columns]
    order = np.argsort([*free, *columns])
    A2 = lu(A[rows][:, columns])
    c2 = A2.solve(drift[rows])
    qdd = c = np.concatenate([np.zeros(len(free)), c2])[order]
    if free:
        B = A2.solve(A[rows][:, free])
        T = np.concatenate([np.eye(len(free)), -B])[order]
        # Tᵀ M T q̈₁ = Tᵀ (f − M c)
        reduced = ldl(T.T @ (M @ T))
        qdd = T @ reduced.solve(T.T @ (f - M @ c)) + c
    basic = A2.transpose_solve((f - M @ qdd)[columns])
    return completed(system, chosen, M, A, drift, qdd, basic)


def completed(
    system: ConstrainedDynamics,
    chosen: Pivots,
    M: Array,
    A: Array,
    drift: Array,
    qdd: Array,
    basic: Array,
    least: float = RESOLVED,
) -> tuple[Array, Array]:
    """(q̈, λ of all rows of least norm) of `basic`, λ of the chosen rows; NaN where these are poor.

    `least` is the smallest pivot beside the length of its row.
    """
    rows, columns = list(chosen.rows), list(chosen.columns)
    free = [k for k in range(system.nv) if k not in columns]
    A2 = lu(A[rows][:, columns])
    L = implied(A[:, columns], A2, rows)
    lam = spread(L, rows, basic)
    # columns over √M_jj have no units
    size = np.sqrt(np.stack([M[k, k] for k in range(system.nv)]))
    lengths = [largest(A[k] / size) for k in range(system.rows)]
    ok = met(system, A, drift, rows, qdd) * well_chosen(L, rows, lengths)
    if free:
        # another coordinate in place of a chosen one would have a pivot so many times as large
        B = A2.solve(A[rows][:, free])
        ok = ok * (WEAK_PIVOT * largest(B * size[columns].reshape(-1, 1) / size[free]) <= 1.0)
    for k, (row, column) in enumerate(zip(rows, columns, strict=True)):
        pivot = np.abs(A2.U[k][k]) / size[column]
        ok = ok * (pivot >= least * lengths[row] + VANISHED * largest(np.stack(lengths)))
    return flagged(ok, qdd, lam)


def implied(K: Array, A2: LU, rows: list[int]) -> Array | None:
    """L with K_others = L K_rows, the rows that others imply; None where there are none.

    `K` are all rows in coordinates in which the independent ones are A2.
    """
    others = _others(K.shape[0], rows)
    return A2.transpose_solve(K[others].T).T if others else None


def spread(L: Array | None, rows: list[int], basic: Array) -> Array:
    """λ (rows,) of least norm with the same force as `basic` at the independent `rows`.

    The others are L times these: λ = G (GᵀG)⁻¹ λ_basic with G = [1; L].
    """
    if L is None:
        lam: Array = basic[np.argsort(rows)]
        return lam
    weights = ldl(np.eye(len(rows)) + L.T @ L).solve(basic)
    others = _others(len(rows) + L.shape[0], rows)
    return np.concatenate([weights, L @ weights])[np.argsort([*rows, *others])]


def well_chosen(L: Array | None, rows: list[int], lengths: list[Scalar]) -> Scalar:
    """Whether no other row would have a pivot far larger than one of those chosen."""
    if L is None:
        return 1.0
    others = _others(len(lengths), rows)
    most = largest(np.stack(lengths))
    own = np.stack([lengths[k] for k in rows])
    return largest(WEAK_PIVOT * L * own) <= np.maximum(
        largest(np.stack([lengths[k] for k in others])), SHORT * most
    )


def met(system: ConstrainedDynamics, A: Array, drift: Array, rows: list[int], qdd: Array) -> Scalar:
    """Whether the rows that were not used are met too: A q̈ = γ."""
    others = _others(A.shape[0], rows)
    if not others:
        return 1.0
    lost = np.array(float(len(rows) < (system.known_rank or 0)))
    return consistent(system, A[others] @ qdd - drift[others], lost, np.abs(A) @ np.abs(qdd), drift)


def _others(count: int, rows: list[int]) -> list[int]:
    return [k for k in range(count) if k not in rows]
