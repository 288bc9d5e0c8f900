"""Square roots of M: W Wᵀ by articulated inertias (000 p.48–50), and the symmetric M^{1/2} (003).

With the articulated inertias M̂, stacked as in `operator`, and the pivots D = ξᵀ M̂ ξ,

    M = M̂ − Γᵀ M̂ Γ + Γᵀ M̂ ξ D⁻¹ ξᵀ M̂ Γ    so that    ξᵀ Gᵀ M G ξ = (ξᵀ Gᵀ M̂ ξ) D⁻¹ (ξᵀ M̂ G ξ)

Rotor inertias R add to the pivots, D = ξᵀ M̂ ξ + R; with G = I + Γ G, the first factor becomes
D + ξᵀ (Γ G)ᵀ M̂ ξ, the last one its transpose, and the product M(θ) with the rotors on its diagonal.
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.inverse.operator import Operators, diagonal, operators
from dalembert.formulations.inverse.screw import adjoints
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.linalg.factorisations import lower_inverse, upper_cholesky
from dalembert.linalg.orthogonal import symmetric_roots
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Vector

Articulated = tuple[Matrix, Matrix, Matrix]  # M̂ (6, 6), U (k, k) with D = ξᵀ M̂ ξ + R = U Uᵀ, U⁻¹


def articulated(model: Model, q: Vector) -> list[Articulated]:
    """M̂_i = M_i + Σ Ad_{g⁻¹}ᵀ (M̂ − M̂ ξ D⁻¹ ξᵀ M̂) Ad_{g⁻¹} over the bodies it carries (000 p.50)."""
    A = adjoints(model, q)

    def step(i: int, body: Body, children: list[tuple[int, Articulated]]) -> Articulated:
        M_hat = body.spatial_inertia
        for child, (beyond, _, U_inverse) in children:
            gain = beyond @ model.bodies[child].subspace @ U_inverse.T
            M_hat = M_hat + A[child].T @ (beyond - gain @ gain.T) @ A[child]
        xi = body.subspace
        U = upper_cholesky(xi.T @ M_hat @ xi + np.diag(model.drive.rotor[body.v]))
        return M_hat, U, lower_inverse(U.T).T

    return inward(model, step)


def factors(model: Model, q: Vector) -> tuple[Operators, Matrix, Matrix, Matrix]:
    """The factorisation of p.50, stacked: operators, M̂ (6n, 6n), U and U⁻¹ (nv, nv) with D = U Uᵀ."""
    bodies = articulated(model, q)
    M_hat, U, U_inverse = (diagonal(blocks) for blocks in zip(*bodies, strict=True))
    return operators(model, q), M_hat, U, U_inverse


def articulated_inertia(model: Model, q: Vector) -> Matrix:
    """M̂ (6n, 6n), block-diagonal: what a force on a body meets, the joints beyond it free."""
    return diagonal([M_hat for M_hat, _, _ in articulated(model, q)])


def square_root(model: Model, q: Vector) -> Matrix:
    """W (nv, nv), upper triangular, with W Wᵀ = M: W = (D + ξᵀ (Γ G)ᵀ M̂ ξ) D^{−1/2} (000 p.50).

    The pivots' root D^{1/2} is the triangular U with U Uᵀ = D, the plain square root where a joint
    has one degree; so W = U + ξᵀ (Γ G)ᵀ M̂ ξ U⁻ᵀ.
    """
    if model.elements.tendons_with_inertia:  # they couple bodies beyond the tree
        return upper_cholesky(mass_matrix(model, q))
    op, M_hat, U, U_inverse = factors(model, q)
    coupling = (op.Gamma @ (op.G @ op.xi)).T @ (M_hat @ op.xi)
    return U + coupling @ U_inverse.T


def square_root_inverse(model: Model, q: Vector) -> Matrix:
    """W⁻¹ (nv, nv) = U⁻¹ (1 − ξᵀ Ψᵀ Γᵀ M̂ ξ D⁻¹), so that M⁻¹ = W⁻ᵀ W⁻¹.

    Ψ = (I − (1 − ξ D⁻¹ ξᵀ M̂) Γ)⁻¹ carries twists outward through joints that are free.
    """
    if model.elements.tendons_with_inertia:
        return lower_inverse(square_root(model, q).T).T
    op, M_hat, _, U_inverse = factors(model, q)
    gain = M_hat @ (op.xi @ (U_inverse.T @ U_inverse))
    passed = op.Gamma - op.xi @ (gain.T @ op.Gamma)
    n = op.G.shape[0]

    def row(i: int, body: Body, parent: Matrix) -> Matrix:
        # Ψ = I + (1 − ξ D⁻¹ ξᵀ M̂) Γ Ψ, one block row after the other
        here = slice(6 * i, 6 * i + 6)
        if body.parent < 0:
            return np.eye(n)[here]
        before = slice(6 * body.parent, 6 * body.parent + 6)
        return np.eye(n)[here] + passed[here, before] @ parent

    Psi = np.concatenate(outward(model, np.zeros((6, n)), row))
    return U_inverse @ (np.eye(model.nv) - (op.Gamma @ (Psi @ op.xi)).T @ gain)


def symmetric_root(model: Model, q: Vector) -> Matrix:
    """M^{1/2} (nv, nv): v = M^{1/2} q̇ makes the kinetic energy ½ vᵀv (003)."""
    return symmetric_roots(mass_matrix(model, q))[0]


def symmetric_root_inverse(model: Model, q: Vector) -> Matrix:
    """M^{−1/2} (nv, nv), the inverse of `symmetric_root`."""
    return symmetric_roots(mass_matrix(model, q))[1]
