"""Lagrange–d'Alembert with the dependent coordinates eliminated (000 p.58–60).

A = [A₁ A₂] with A₂ regular: δq₂ = −A₂⁻¹ A₁ δq₁, so q̈ = T q̈₁ + c and Tᵀ (M q̈ − f) = 0 with
T = [1; −A₂⁻¹A₁].
Rows and columns of A₂ are chosen by complete pivoting at the reference posture; where A₂ comes near
a singular matrix the result is NaN, and `Constrained.forward_dynamics` chooses again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics, Pivots
from dalembert.constraints.multiplier import consistent
from dalembert.constraints.terms import terms
from dalembert.linalg.entries import flagged, largest
from dalembert.linalg.ldl import ldl
from dalembert.linalg.lu import LU, lu

# of a pivot beside the largest entry of its row: below it, other coordinates are better ones
WEAK_PIVOT = 1e-4
# of a pivot beside the largest entry of all: below it the whole row has become rounding
VANISHED_PIVOT = 1e-10


def forward_dynamics(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    tau: Any,
    t: Any = None,
    pivots: str | None = None,
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)); NaN where this choice of coordinates is a bad one."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    chosen = system.require_pivots() if pivots is None else Pivots.parse(pivots)
    rows, columns = list(chosen.rows), list(chosen.columns)
    free = [k for k in range(system.nv) if k not in columns]
    order = np.argsort([*free, *columns])
    A2 = lu(A[rows][:, columns])
    c2 = A2.solve(drift[rows])
    c = np.concatenate([np.zeros(len(free)), c2])[order] if free else c2[order]
    if free:
        B = A2.solve(A[rows][:, free])
        T = np.concatenate([np.eye(len(free)), -B])[order]
        # Tᵀ M T q̈₁ = Tᵀ (f − M c)
        reduced = ldl(T.T @ (M @ T))
        qdd = T @ reduced.solve(T.T @ (f - M @ c)) + c
    else:
        qdd = c
    basic = A2.transpose_solve((f - M @ qdd)[columns])
    lam = spread(A[:, columns], A2, rows, basic)
    ok = consistent(unmet(A, drift, rows, qdd), np.abs(A) @ np.abs(qdd), drift)
    # columns over √M_jj have no units
    size = np.sqrt(np.stack([M[k, k] for k in range(system.nv)]))
    most = largest(A[rows] / size)
    for k, (row, column) in enumerate(zip(rows, columns, strict=True)):
        pivot = np.abs(A2.U[k][k]) / size[column]
        ok = ok * (pivot >= WEAK_PIVOT * largest(A[row] / size)) * (pivot >= VANISHED_PIVOT * most)
    return flagged(ok, qdd, lam)


def spread(K: Any, A2: LU, rows: list[int], basic: Any) -> Any:
    """λ (rows,) of least norm with the same force as `basic` at the independent `rows`.

    `K` are all rows in coordinates in which the independent ones are A2, so that the others are
    L = K_others A2⁻¹ times these; λ = G (GᵀG)⁻¹ λ_basic with G = [1; L].
    """
    others = [k for k in range(K.shape[0]) if k not in rows]
    if not others:
        return basic[np.argsort(rows)]
    L = A2.transpose_solve(K[others].T).T
    weights = ldl(np.eye(len(rows)) + L.T @ L).solve(basic)
    return np.concatenate([weights, L @ weights])[np.argsort([*rows, *others])]


def unmet(A: Any, drift: Any, rows: list[int], qdd: Any) -> Any:
    """A q̈ − γ of the rows that were not used."""
    others = [k for k in range(A.shape[0]) if k not in rows]
    return A[others] @ qdd - drift[others] if others else np.zeros(1)
