"""Aghili's gauge-invariant formulation (000 p.82–88).

M = W Wᵀ, v = Wᵀ q̇, Λ = A W⁻ᵀ and an orthogonal V = [V₁ V₂] with Λ V = [Λ_r 0]: motion and constraint
force decouple, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o. Neither q̈ nor λ depends on which root W
(`root`) or which V (`basis`) is used. Of the source's V, Λ = U Σ Vᵀ, all rows take part, redundant
ones too; other bases are those of the independent rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints import multiplier
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.elimination import implied, met, spread, well_chosen
from dalembert.constraints.kkt import terms
from dalembert.constraints.multiplier import consistent
from dalembert.constraints.registry import solved
from dalembert.errors import FormulationError
from dalembert.linalg.factorisations import (
    cholesky,
    flagged,
    largest,
    lower_inverse,
    lu,
    upper_cholesky,
)
from dalembert.linalg.orthogonal import gram_schmidt, householder, singular, symmetric_roots
from dalembert.linalg.rank import Pivots
from dalembert.linalg.row_space import RESOLVED, VANISHED
from dalembert.spatial.arrays import Array
from dalembert.systems.system import Dynamics

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

ROOTS = ("cholesky", "articulated", "symmetric")
BASES = ("gram_schmidt", "householder", "svd")


def roots(plant: Dynamics, q: Array, M: Array, root: str = "cholesky") -> tuple[Array, Array]:
    """(W, W⁻¹), each (nv, nv), with M = W Wᵀ."""
    if root == "cholesky":
        W = cholesky(M)
        return W, lower_inverse(W)
    if root == "articulated":
        # for a robot, the root of the articulated inertias (000 p.50); it is upper triangular
        has_root = "square_root" in plant.catalogue
        W = plant.compute("square_root", q=q) if has_root else upper_cholesky(M)
        return W, lower_inverse(W.T).T
    if root == "symmetric":
        return symmetric_roots(M)
    raise FormulationError(f"there is no square root {root!r}; there are: {', '.join(ROOTS)}")


def forward_dynamics(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array,
    tau: Array,
    root: str = "cholesky",
    basis: str = "gram_schmidt",
    pivots: str | None = None,
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)): q̈ = W⁻ᵀ (V₁ y + V₂ u_r), Λ_r y = γ, Λ_rᵀ λ = u_o − y."""
    if not system.rank:  # no row holds anything: there is no gauge
        return multiplier.forward_dynamics(system, q, qd, tau)
    M, f, A, drift = terms(system, q, qd, tau)
    _, W_inverse = roots(system.dynamics, q, M, root)
    if basis == "svd":
        # Λ_r = U₁ S of all rows: y = S⁻¹ U₁ᵀ γ, and λ = U₁ S⁻¹ (u_o − y) of least norm
        U, S, V1 = singular(A @ W_inverse.T, system.rank)
        u = W_inverse @ f
        u_o, y = V1.T @ u, (U.T @ drift) / S
        qdd = W_inverse.T @ (u + V1 @ (y - u_o))
        ok = consistent(system, A @ qdd - drift, np.zeros(()), np.abs(A) @ np.abs(qdd), drift)
        return flagged(ok * (S[system.rank - 1] >= RESOLVED * S[0]), qdd, U @ ((u_o - y) / S))
    rows = list((system.require_pivots() if pivots is None else Pivots.parse(pivots)).rows)
    Lambda, u = A @ W_inverse.T, W_inverse @ f
    # V₁ of the independent rows, and V₂ V₂ᵀ u
    if basis == "gram_schmidt":
        V1 = gram_schmidt(Lambda[rows])
        once = u - V1 @ (V1.T @ u)
        along = once - V1 @ (V1.T @ once)
    elif basis == "householder":
        V1, V2 = householder(Lambda[rows])
        along = V2 @ (V2.T @ u)
    else:
        raise FormulationError(f"there is no basis {basis!r}; there are: {', '.join(BASES)}")
    Lambda_r = Lambda[rows] @ V1  # triangular, as it comes from independent rows in order
    factors = lu(Lambda_r)
    y = factors.solve(drift[rows])
    qdd = W_inverse.T @ (V1 @ y + along)
    basic = factors.transpose_solve(V1.T @ u - y)
    L = implied(Lambda @ V1, factors, rows)
    lam = spread(L, rows, basic)
    lengths = [np.sqrt(row @ row) for row in Lambda]
    usable = met(system, A, drift, rows, qdd) * well_chosen(L, rows, lengths)
    for k, row in enumerate(rows):
        least = RESOLVED * lengths[row] + VANISHED * largest(np.stack(lengths))
        usable = usable * (np.abs(Lambda_r[k, k]) >= least)
    return flagged(usable, qdd, lam)


class SingularValues(NamedTuple):
    """Λ = A W⁻ᵀ = U₁ S V₁ᵀ with M = W Wᵀ (000 p.84); m rows of rank r.

    v = Wᵀ q̇ is in √J and Λ in the unit of A q̇ over √J, so are the singular values.
    """

    W: Array  # (nv, nv)
    U1: Array  # (m, r), orthonormal columns: U₂ are the combinations of rows that say nothing
    S: Array  # (r,), falling
    V1: Array  # (nv, r), orthonormal columns: directions of v that the constraints hold
    V2: Array  # (nv, nv − r): those they leave


@solved(
    "W(nv, nv), U1(rows, rank), S(rank), V1(nv, rank), V2(nv, freedoms)",
    "Λ = A W⁻ᵀ = U Σ Vᵀ",
    "000 p.84",
)
def singular_values(
    system: ConstrainedDynamics, q: Array, root: str = "cholesky"
) -> SingularValues:
    """Λ = U Σ Vᵀ at a posture; V₂ completes V₁ by Householder's reflections."""
    plant = system.dynamics
    W, W_inverse = roots(plant, q, plant.mass_matrix(q), root)
    U, S, V1 = singular(system.at(q).A @ W_inverse.T, system.rank)
    return SingularValues(W, U, S, V1, householder(V1.T)[1])


gauge = partial(
    solved, "Gamma(nv, nv)", "Γ with v̇ + Γ v = u, without the constraints", depends_on_time=False
)


@gauge("Aghili 2009", formulation=("skew", "W⁻¹ C W⁻ᵀ − Ẇᵀ W⁻ᵀ"))
def gauge_matrix(system: ConstrainedDynamics, q: Array, qd: Array, root: str = "cholesky") -> Array:
    """Γ (nv, nv) = W⁻¹ C W⁻ᵀ − Ẇᵀ W⁻ᵀ with v̇ + Γ v = u: skew, since Ṁ = C + Cᵀ."""
    plant = _standing(system)
    (W,), (W_dot,) = tracing.along(
        lambda x: (roots(plant, x, plant.mass_matrix(x), root)[0],), plant.rate, q, qd
    )
    return _skew_gamma(plant, q, qd, W, W_dot)


def _standing(system: ConstrainedDynamics) -> Dynamics:
    """The plant, if its mass matrix does not change with time by itself."""
    if system.dynamics.moving:
        raise FormulationError(
            f"{system.name}: the mass matrix changes with time, and Γ(q, q̇) does not know the time; "
            "take Γ_o and Γ_r of decoupled(q, qd, tau, t=…)"
        )
    return system.dynamics


def _skew_gamma(plant: Dynamics, q: Array, qd: Array, W: Array, W_dot: Any) -> Array:
    W_inverse = np.linalg.inv(W)
    # where velocities are twists there is no ∂M/∂q to take; the operators' C has Ṁ = C + Cᵀ as well
    formulation = "operator" if plant.nq != plant.nv else None
    C = plant.compute("coriolis_matrix", formulation, q=q, qd=qd)
    Gamma: Array = W_inverse @ C @ W_inverse.T - W_dot.T @ W_inverse.T
    return Gamma


@gauge("000 p.82", name="gauge_matrix", formulation=("printed", "W⁻¹ (Ẇ − ∂vᵀ/∂q): the same Γ v"))
def gauge_matrix_printed(
    system: ConstrainedDynamics, q: Array, qd: Array, root: str = "cholesky"
) -> Array:
    """Γ (nv, nv) = W⁻¹ (Ẇ − ∂vᵀ/∂q) as printed, ∂vᵀ/∂q with entry [i, j] = ∂v_j/∂q_i (000 p.82).

    Γ v is right, but this Γ is not skew.
    """
    plant = _standing(system)
    if plant.nq != plant.nv:
        raise FormulationError(
            f"{system.name}: ∂v/∂q as printed needs coordinates whose rates are the velocities; "
            "take the formulation 'skew'"
        )
    x, w = tracing.symbol("x", plant.nq), tracing.symbol("w", plant.nv)
    W, W_inverse = roots(plant, x, plant.mass_matrix(x), root)
    gradient = tracing.jacobian(W.T @ w, x).T
    Gamma: Array = W_inverse @ (tracing.directional(W, x, w) - gradient)
    (Gamma,) = tracing.at([Gamma], [x, w], [q, qd])
    return Gamma


class Decoupled(NamedTuple):
    """The decoupled equations at a state; r independent constraints, m = nv − r freedoms."""

    W: Array  # (nv, nv)
    V1: Array  # (nv, r)
    V2: Array  # (nv, m)
    Lambda_r: Array  # Λ V₁ (rows, r) of all rows, in the order of λ
    Gamma_o: Array  # (r, m)
    Gamma_r: Array  # (m, m)
    v_r: Array  # (m,)
    u_o: Array  # (r,)
    u_r: Array  # (m,)
    lam: Array  # λ (rows,) of all rows, as `forward_dynamics` gives it


@solved(
    # the fields of `Decoupled`
    "W(nv, nv), V1(nv, rank), V2(nv, freedoms), Lambda_r(rows, rank), Gamma_o(rank, freedoms), "
    "Gamma_r(freedoms, freedoms), v_r(freedoms), u_o(rank), u_r(freedoms), lam(rows)",
    "motion and constraint force apart, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o",
    "Aghili 2009; 000 p.82–85",
)
def decoupled(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array,
    tau: Array,
    root: str = "cholesky",
    near: Array | Callable[[Array], Array] | None = None,
) -> Decoupled:
    """`v̇_r + Γ_r v_r = u_r` and `Γ_o v_r + Λ_rᵀλ = u_o` at a state, v_r = V₂ᵀ Wᵀ q̇ (000 p.82–85).

    Γ = W⁻¹ C W⁻ᵀ − Ẇᵀ W⁻ᵀ, with Ṁ = C + Cᵀ, is skew and has the same Γ v as the Γ of
    p.82; Γ_ij = V_iᵀ (Γ V_j + V̇_j). W and V are differentiated along the motion by automatic
    differentiation. u takes in the forces N and ψ with τ and, where A q̇ = b moves, what
    v_o = V₁ᵀ Wᵀ q̇ = Λ_r⁻¹ b demands: Γ_ro v_o of u_r, v̇_o + Γ_oo v_o of u_o. V is Householder's,
    which changes sign along a motion, or with velocities `near` (nv, m) the smooth V₂ = Wᵀ N of
    `kane.basis`, and Gram and Schmidt's V₁. A function `near` of q gives velocities that move with q.
    """
    require_smooth(system, "the decoupled form")
    plant, rows = system.dynamics, list(system.require_pivots().rows)
    nq = plant.nq
    near_entries = np.zeros(0) if near is None or callable(near) else near.ravel()

    def frame(x: Array) -> tuple[Array, ...]:
        """(W, V₁, V₂, Λ V₁ of all rows, b of the independent ones) at (q, t, near)."""
        at, now = x[:nq], x[nq]
        W, W_inverse = roots(plant, at, plant.at_time(now).mass_matrix(at), root)
        rows_at = system.at(at, None, now)
        Lambda = rows_at.A[rows] @ W_inverse.T
        if near is None:
            V1, V2 = householder(Lambda)
        else:
            V1 = gram_schmidt(Lambda)
            velocities = near(at) if callable(near) else x[nq + 1 :].reshape(*near.shape)
            scaled = W.T @ velocities
            V2 = gram_schmidt((scaled - V1 @ (V1.T @ scaled)).T)
        return W, V1, V2, rows_at.A @ (W_inverse.T @ V1), rows_at.b[rows]

    now, still = np.stack([np.asarray(system.now)]), np.zeros(near_entries.shape[0])
    values, rates = tracing.along(
        frame,
        lambda x, v: np.concatenate([plant.rate(x[:nq], v), np.ones(1), still]),
        np.concatenate([q, now, near_entries]),
        qd,
    )
    (W, V1, V2, K, _), (W_dot, V1_dot, V2_dot, K_dot, b_dot) = values, rates
    W_inverse, Gamma = np.linalg.inv(W), _skew_gamma(plant, q, qd, W, W_dot)
    v_o, v_r = V1.T @ (W.T @ qd), V2.T @ (W.T @ qd)
    factors = lu(K[rows])
    along, across = Gamma @ V2 + V2_dot, Gamma @ V1 + V1_dot
    forces = tau + system.generalized_forces(q, qd)
    # h − C q̇ (nv,): N, and G q̇ + e of a plant that is gyroscopic or moves by itself
    if plant.gyroscopic or plant.moving:
        C = plant.compute("coriolis_matrix", q=q, qd=qd)
        forces = forces - (plant.bias(q, qd) - C @ qd)
    else:
        forces = forces - plant.bias(q, np.zeros(plant.nv))
    u = W_inverse @ forces - across @ v_o
    u_o = V1.T @ u - factors.solve(b_dot - K_dot[rows] @ v_o)
    basic = factors.transpose_solve(u_o - V1.T @ (along @ v_r))
    lam = spread(implied(K, factors, rows), rows, basic)
    return Decoupled(W, V1, V2, K, V1.T @ along, V2.T @ along, v_r, u_o, V2.T @ u, lam)
