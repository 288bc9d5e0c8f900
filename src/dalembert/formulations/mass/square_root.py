"""Square roots of M: W Wᵀ by articulated inertias (000 p.48–50), and the symmetric M^{1/2} (003).

With the articulated inertias M̂, stacked as in `operator`, and the pivots D = ξᵀ M̂ ξ,

    M = M̂ − Γᵀ M̂ Γ + Γᵀ M̂ ξ D⁻¹ ξᵀ M̂ Γ    so that    ξᵀ Gᵀ M G ξ = (ξᵀ Gᵀ M̂ ξ) D⁻¹ (ξᵀ M̂ G ξ)

Rotor inertias R add to the pivots, D = ξᵀ M̂ ξ + R; with G = I + Γ G, the first factor becomes
D + ξᵀ (Γ G)ᵀ M̂ ξ, the last one its transpose, and the product M(θ) with the rotors on its diagonal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.inverse.operator import Operators, diagonal, operators
from dalembert.formulations.inverse.screw import adjoints, inertia
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts.sweep import inward, outward
from dalembert.formulations.parts.symmetric import symmetric
from dalembert.linalg.triangular import lower_inverse, upper_cholesky
from dalembert.model import Body, Model

# they reach rounding from any condition number below 1e13: see `symmetric_roots`
NEWTON_STEPS = 7


class Articulated(NamedTuple):
    """A body with free joints beyond it, and its pivot."""

    M_hat: Any  # M̂ (6, 6)
    D: Any  # ξᵀ M̂ ξ + R (k, k)
    U: Any  # upper triangular, D = U Uᵀ
    U_inverse: Any


def articulated(model: Model, q: Any) -> list[Articulated]:
    """M̂_i = M_i + Σ Ad_{g⁻¹}ᵀ (M̂ − M̂ ξ D⁻¹ ξᵀ M̂) Ad_{g⁻¹} over the bodies it carries (000 p.50)."""
    A = adjoints(model, q)

    def step(i: int, body: Body, children: list[tuple[int, Articulated]]) -> Articulated:
        M_hat = inertia(body)
        for child, beyond in children:
            gain = beyond.M_hat @ model.bodies[child].subspace @ beyond.U_inverse.T
            M_hat = M_hat + A[child].T @ (beyond.M_hat - gain @ gain.T) @ A[child]
        xi = body.subspace
        D = xi.T @ M_hat @ xi + np.diag(model.drive.rotor[body.v])
        U = upper_cholesky(D)
        return Articulated(M_hat, D, U, lower_inverse(U.T).T)

    return inward(model, step)


class Factors(NamedTuple):
    """The factorisation of p.50, stacked."""

    op: Operators
    M_hat: Any  # M̂ (6n, 6n)
    D: Any  # ξᵀ M̂ ξ + R (nv, nv)
    U: Any  # upper triangular, D = U Uᵀ
    U_inverse: Any


def factors(model: Model, q: Any) -> Factors:
    """M̂, D, U and U⁻¹ as block-diagonal matrices, with the operators they work between."""
    seen = articulated(model, q)
    return Factors(
        operators(model, q),
        diagonal([body.M_hat for body in seen]),
        diagonal([body.D for body in seen]),
        diagonal([body.U for body in seen]),
        diagonal([body.U_inverse for body in seen]),
    )


def square_root(model: Model, q: Any) -> Any:
    """W (nv, nv), upper triangular, with W Wᵀ = M: W = (D + ξᵀ (Γ G)ᵀ M̂ ξ) D^{−1/2} (000 p.50).

    The pivots' root D^{1/2} is the triangular U with U Uᵀ = D, the plain square root where a joint
    has one degree; so W = U + ξᵀ (Γ G)ᵀ M̂ ξ U⁻ᵀ.
    """
    op, M_hat, _, U, U_inverse = factors(model, q)
    carried = (op.Gamma @ (op.G @ op.xi)).T @ (M_hat @ op.xi)
    return U + carried @ U_inverse.T


def square_root_inverse(model: Model, q: Any) -> Any:
    """W⁻¹ (nv, nv) = U⁻¹ (1 − ξᵀ Ψᵀ Γᵀ M̂ ξ D⁻¹), so that M⁻¹ = W⁻ᵀ W⁻¹.

    Ψ = (I − (1 − ξ D⁻¹ ξᵀ M̂) Γ)⁻¹ carries twists outward through joints that are free.
    """
    op, M_hat, _, _, U_inverse = factors(model, q)
    gain = M_hat @ (op.xi @ (U_inverse.T @ U_inverse))
    passed = op.Gamma - op.xi @ (gain.T @ op.Gamma)
    n = op.G.shape[0]

    def row(i: int, body: Body, parent: Any) -> Any:
        # Ψ = I + (1 − ξ D⁻¹ ξᵀ M̂) Γ Ψ, one block row after the other
        here = slice(6 * i, 6 * i + 6)
        if body.parent < 0:
            return np.eye(n)[here]
        before = slice(6 * body.parent, 6 * body.parent + 6)
        return np.eye(n)[here] + passed[here, before] @ parent

    Psi = np.concatenate(outward(model, np.zeros((6, n)), row))
    return U_inverse @ (np.eye(model.nv) - (op.Gamma @ (Psi @ op.xi)).T @ gain)


def symmetric_root(model: Model, q: Any) -> Any:
    """M^{1/2} (nv, nv): v = M^{1/2} q̇ makes the kinetic energy ½ vᵀv (003)."""
    return symmetric_roots(mass_matrix(model, q))[0]


def symmetric_roots(M: Any) -> tuple[Any, Any]:
    """(M^{1/2}, M^{−1/2}) of a symmetric positive definite matrix, by Newton's iteration.

    With X_0 = M, N_0 = M and μ a scale, X ← ½ μ X (1 + μ⁻²N⁻¹), N ← ½ (1 + ½ (μ²N + μ⁻²N⁻¹)): the
    product form of Denman and Beavers (Higham 2008, §6.3). The eigenvalues s² of N move as
    s ← ½ (μs + 1/(μs)); if they begin with s in [a, b], μ = 1/√(ab) brings them to [1, b'] with
    b' = ½ (√(b/a) + √(a/b)), and seven steps bring b/a = 10⁷ to 1 + 2·10⁻¹⁵. Without branches, it
    traces and has derivatives; the relative error is about cond(M)^{1/2} ε.

    >>> symmetric_roots(np.array([[5.0, 4.0], [4.0, 5.0]]))[0].round(12)
    array([[2., 1.],
           [1., 2.]])
    """
    n = M.shape[0]
    unit = np.eye(n)
    N, X, Y = M, M, unit
    inverse = _inverse(N)
    # bounds of the spectrum: λ_max ≤ tr M and λ_min ≥ 1 / tr M⁻¹
    ratio = np.sqrt(np.trace(M) * np.trace(inverse))
    scale = np.sqrt(np.trace(inverse) / np.trace(M))
    for step in range(NEWTON_STEPS):
        inverse = _inverse(N) if step else inverse
        half = 0.5 * np.sqrt(scale) * (unit + inverse / scale)
        X, Y = _symmetric_product(X, half), _symmetric_product(Y, half)
        N = 0.5 * (unit + 0.5 * (scale * N + inverse / scale))
        ratio = 0.5 * (np.sqrt(ratio) + 1.0 / np.sqrt(ratio))
        scale = 1.0 / ratio
    return X, Y


def _inverse(M: Any) -> Any:
    """M⁻¹ (n, n) of a symmetric positive definite matrix, L⁻ᵀ L⁻¹ with M = L Lᵀ."""
    L_inverse = lower_inverse(np.linalg.cholesky(M))
    n = M.shape[0]
    return symmetric(lambda i, j: L_inverse[j:, i] @ L_inverse[j:, j], n)


def _symmetric_product(A: Any, B: Any) -> Any:
    """A B of symmetric matrices that commute, which is symmetric too."""
    return symmetric(lambda i, j: A[i] @ B[:, j], A.shape[0])
