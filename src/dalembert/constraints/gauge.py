"""Aghili's gauge-invariant formulation (000 p.82–88).

M = W Wᵀ, v = Wᵀ q̇, Λ = A W⁻ᵀ and an orthogonal V = [V₁ V₂] with Λ V = [Λ_r 0]: motion and constraint
force decouple, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o. Neither q̈ nor λ depends on which root W
(`root`) or which V (`basis`) is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert import bridge
from dalembert.constraints.description import ConstrainedDynamics, Pivots
from dalembert.constraints.elimination import VANISHED_PIVOT, WEAK_PIVOT
from dalembert.constraints.multiplier import consistent
from dalembert.constraints.terms import terms
from dalembert.errors import FormulationError
from dalembert.linalg.cholesky import cholesky, upper_cholesky
from dalembert.linalg.entries import flagged
from dalembert.linalg.ldl import ldl
from dalembert.linalg.lu import LU, lu
from dalembert.linalg.orthonormal import gram_schmidt, householder
from dalembert.linalg.symmetric_root import symmetric_roots
from dalembert.linalg.triangular import lower_inverse
from dalembert.systems.system import Dynamics

ROOTS = ("cholesky", "articulated", "symmetric")
BASES = ("gram_schmidt", "householder")


def roots(plant: Dynamics, q: Any, M: Any, root: str = "cholesky") -> tuple[Any, Any]:
    """(W, W⁻¹), each (nv, nv), with M = W Wᵀ."""
    if root == "cholesky":
        W = cholesky(M)
        return W, lower_inverse(W)
    if root == "articulated":
        # for a robot, the root of the articulated inertias (000 p.50); it is upper triangular
        known = "square_root" in plant.catalogue
        W = plant.compute("square_root", q=q) if known else upper_cholesky(M)
        return W, lower_inverse(W.T).T
    if root == "symmetric":
        return symmetric_roots(M)
    raise FormulationError(f"there is no square root {root!r}; there are: {', '.join(ROOTS)}")


def complement(rows: Any, x: Any, basis: str) -> tuple[Any, Any]:
    """(V₁, V₂ V₂ᵀ x) for independent rows (r, n)."""
    if basis == "gram_schmidt":
        V1 = gram_schmidt(rows)
        once = x - V1 @ (V1.T @ x)
        return V1, once - V1 @ (V1.T @ once)
    if basis == "householder":
        V1, V2 = householder(rows)
        return V1, V2 @ (V2.T @ x)
    raise FormulationError(f"there is no basis {basis!r}; there are: {', '.join(BASES)}")


def forward_dynamics(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    tau: Any,
    t: Any = None,
    root: str = "cholesky",
    basis: str = "gram_schmidt",
    pivots: str | None = None,
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)): q̈ = W⁻ᵀ (V₁ y + V₂ u_r), Λ_r y = γ, Λ_rᵀ λ = u_o − y."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    chosen = system.require_pivots() if pivots is None else Pivots.parse(pivots)
    rows = list(chosen.rows)
    _, W_inverse = roots(system.dynamics, q, M, root)
    Lambda, u = A @ W_inverse.T, W_inverse @ f
    V1, along = complement(Lambda[rows], u, basis)
    Lambda_r = Lambda[rows] @ V1  # triangular, as it comes from independent rows in order
    factors = lu(Lambda_r)
    y = factors.solve(drift[rows])
    qdd = W_inverse.T @ (V1 @ y + along)
    basic = factors.transpose_solve(V1.T @ u - y)
    lam, left = _spread(Lambda, V1, drift, rows, factors, basic, qdd, A)
    ok = consistent(left, np.abs(A) @ np.abs(qdd), drift)
    squares = [Lambda_r[k] @ Lambda_r[k] for k in range(len(rows))]
    most = VANISHED_PIVOT**2 * sum(squares[1:], squares[0])
    for k, square in enumerate(squares):
        pivot = Lambda_r[k, k] ** 2
        ok = ok * (pivot >= WEAK_PIVOT**2 * square) * (pivot >= most)
    return flagged(ok, qdd, lam)


def _spread(
    Lambda: Any,
    V1: Any,
    drift: Any,
    rows: list[int],
    factors: LU,
    basic: Any,
    qdd: Any,
    A: Any,
) -> tuple[Any, Any]:
    """λ of least norm: the other rows are L times the independent ones, L = Λ_others V₁ Λ_r⁻¹."""
    others = [k for k in range(A.shape[0]) if k not in rows]
    if not others:
        return basic[np.argsort(rows)], np.zeros(1)
    L = factors.transpose_solve((Lambda[others] @ V1).T).T
    weights = ldl(np.eye(len(rows)) + L.T @ L).solve(basic)
    lam = np.concatenate([weights, L @ weights])[np.argsort([*rows, *others])]
    return lam, A[others] @ qdd - drift[others]


class Decoupled(NamedTuple):
    """The decoupled equations at a state; r independent constraints, m = nv − r freedoms."""

    W: Any  # (nv, nv)
    V1: Any  # (nv, r)
    V2: Any  # (nv, m)
    Lambda_r: Any  # (r, r) of the independent rows
    Gamma_o: Any  # (r, m)
    Gamma_r: Any  # (m, m)
    v_r: Any  # (m,)
    u_o: Any  # (r,)
    u_r: Any  # (m,)


def decoupled(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    tau: Any,
    t: Any = None,
    root: str = "cholesky",
) -> Decoupled:
    """W, V, Λ_r, Γ_o, Γ_r, v_r = V₂ᵀ Wᵀ q̇, u_o and u_r of `v̇_r + Γ_r v_r = u_r` (000 p.82–85).

    Γ = W⁻¹ C W⁻ᵀ − Ẇᵀ W⁻ᵀ, with C the Christoffel matrix, is skew and has the same Γ v as the Γ of
    p.82; Γ_ij = V_iᵀ (Γ V_j + V̇_j). u takes in the forces N and ψ with τ. W and V are
    differentiated along q̇ by automatic differentiation.
    """
    plant = system.dynamics
    rows = list(system.require_pivots().rows)

    def frame(at: Any) -> tuple[Any, ...]:
        W, W_inverse = roots(plant, at, plant.mass_matrix(at), root)
        Lambda = system.at(at, None, t).A[rows] @ W_inverse.T
        V1, V2 = householder(Lambda)
        return W, V1, V2, Lambda @ V1

    (W, V1, V2, Lambda_r), (W_dot, _, V2_dot, _) = bridge.along(frame, plant.rate, q, qd)
    W_inverse = np.linalg.inv(W)
    C = plant.compute("coriolis_matrix", q=q, qd=qd)
    Gamma = W_inverse @ C @ W_inverse.T - W_dot.T @ W_inverse.T
    still = np.zeros(system.nv)
    u = W_inverse @ (tau + plant.generalized_forces(q, qd) - plant.bias(q, still))
    turned = Gamma @ V2 + V2_dot
    return Decoupled(
        W, V1, V2, Lambda_r, V1.T @ turned, V2.T @ turned, V2.T @ (W.T @ qd), V1.T @ u, V2.T @ u
    )
