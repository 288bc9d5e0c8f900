"""Kane's form: the motion in q and the speeds v_r along a basis N of the permitted velocities.

    q̇ = N v_r + n,   v̇_r = Nᵀ (f − M (Ṅ v_r + ṅ)),   A N = 0,   Nᵀ M N = 1,   A n = b,   Nᵀ M n = 0

N is W⁻ᵀ V₂ of 000 p.85, in the one choice of V₂ that moves smoothly with q: what the constraints
leave of given velocities `near`, made orthonormal in the metric M in the order of its columns. No
root W and no independent rows have to be chosen. Where `near` was permitted and orthonormal already,
N = near; so along a motion the present N may become the next `near`, and v_r has no jump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert import tracing
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.kkt import metric, terms
from dalembert.constraints.registry import solved
from dalembert.linalg.factorisations import cholesky, ldl, lower_inverse
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


def directions(
    system: ConstrainedDynamics, q: Array, near: Array | None
) -> tuple[Array, Array, Array, Array, Array]:
    """(N (nv, m), n (nv,), K (rows, m), k (rows,), near (nv, m)) at a posture.

    near − M⁻¹ Aᵀ K is permitted, with K = M₂♭ A near, and n = M⁻¹ Aᵀ k with k = M₂♭ b; by default
    `near` are unit velocities of the coordinates that elimination keeps.
    """
    rows, M = system.at(q), system.dynamics.mass_matrix(q)
    maps = metric(system, M, rows.A)
    near = np.eye(system.nv)[:, system.free_columns] if near is None else near
    K, k = maps.flat(rows.A @ near)[0], maps.flat(rows.b)[0]
    return orthonormal(M, near - maps.A_sharp.T @ K), maps.A_sharp.T @ k, K, k, near


def orthonormal(M: Array, X: Array) -> Array:
    """Combinations (nv, m) of the columns of X, each of itself and those before, with NᵀMN = 1."""
    if not X.shape[1]:
        return X
    N: Array = X @ lower_inverse(cholesky(X.T @ (M @ X))).T
    return N


@solved("N(nv, freedoms)", "N = W⁻ᵀV₂, permitted velocities that move smoothly with q", "000 p.85")
def basis(system: ConstrainedDynamics, q: Array, near: Array | None = None) -> Array:
    """N (nv, m), default near the independent coordinates: smooth as long as they are that."""
    return directions(system, q, near)[0]


@solved(
    "qd(nv), v_r_dot(freedoms), N(nv, freedoms)",
    "q̇ = N v_r + n and v̇_r = −Γ_r v_r + u_r",
    "Kane and Levinson 1985; 000 p.85",
)
def kane(
    system: ConstrainedDynamics, q: Array, v_r: Array, tau: Array, near: Array | None = None
) -> tuple[Array, Array, Array]:
    """(q̇ (nv,), v̇_r (m,), N (nv, m)): Kane's equations at a state; v̇_r changes with Nᵀτ."""
    require_smooth(system, "Kane's form")
    N, n, K, k, near = directions(system, q, near)
    qd = N @ v_r + n
    M, f, _, _ = terms(system, q, qd, tau)
    # Ṅ v_r + ṅ (nv,) but for a part normal to the constraints, which Nᵀ M does not see: K and k are
    # constant, as their rates only add M⁻¹ Aᵀ K̇
    plant = system.dynamics
    x = tracing.symbol("x", plant.nq + 1)
    at = x[: plant.nq]
    M_x = plant.at_time(x[plant.nq]).mass_matrix(at)
    A_x = system.at(at, None, x[plant.nq]).A
    factors = ldl(M_x)
    N_x = orthonormal(M_x, near - factors.solve(A_x.T @ K))
    moved = N_x @ v_r + factors.solve(A_x.T @ k)
    rate = tracing.directional(moved, x, np.concatenate([plant.rate(at, qd), np.ones(1)]))
    now = np.concatenate([q, np.stack([system.now])])
    return qd, N.T @ (f - M @ tracing.at([rate], [x], [now])[0]), N
