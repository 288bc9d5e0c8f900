"""Orthonormal bases, singular values and symmetric square roots, in an order that traces.

`gram_schmidt` and `householder` bases differ by an orthogonal factor, on which no acceleration and no
λ may depend (000 p.83).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.linalg.factorisations import cholesky_inverse, symmetric


def gram_schmidt(rows: np.ndarray) -> np.ndarray:
    """V₁ (n, r): orthonormal columns that span the independent rows (r, n), each made twice.

    >>> gram_schmidt(np.array([[3.0, 4.0]]))
    array([[0.6],
           [0.8]])
    """
    return qr(rows.T)[0]


NOTHING = 1e-300  # in place of a length that is zero


def qr(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Q (n, r), R (r, r)) with A = Q R, R upper triangular: by Gram and Schmidt, each column twice.

    A column that depends on those before it has R_kk = 0 but for rounding.

    >>> qr(np.array([[3.0, 0.0], [4.0, 5.0]]))[1]
    array([[5., 4.],
           [0., 3.]])
    """
    n = A.shape[1]
    columns: list[np.ndarray] = []
    R = [[np.zeros(())] * n for _ in range(n)]
    for i in range(n):
        x = A[:, i]
        for _ in range(2):  # once leaves errors of cond·ε, twice of ε
            for k, v in enumerate(columns):
                along = v @ x
                x, R[k][i] = x - along * v, R[k][i] + along
        R[i][i] = np.sqrt(x @ x)
        columns.append(x / np.maximum(R[i][i], NOTHING))
    return np.stack(columns).T, np.stack([np.stack(row) for row in R])


def householder(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(V₁, V₂), (n, r) and (n, n−r): V = [V₁ V₂] orthogonal with rows @ V = [Λ_r 0].

    >>> rows = np.array([[3.0, 4.0]])
    >>> [(rows @ V).round(12) + 0.0 for V in householder(rows)]
    [array([[-5.]]), array([[0.]])]
    """
    r, n = rows.shape
    V = reflected(np.concatenate([rows.T, np.eye(n)], axis=1), r)[:, r:].T
    return V[:, :r], V[:, r:]


def reflected(A: np.ndarray, count: int) -> np.ndarray:
    """H A (m, n) with zeros below the diagonal in the first `count` columns, H orthogonal.

    H is the product of as many reflections (Householder 1958), each with determinant −1; columns of
    zeros stay.

    >>> reflected(np.array([[3.0, 5.0], [4.0, 0.0]]), 1).round(12) + 0.0
    array([[-5., -3.],
           [ 0., -4.]])
    """
    m, X = A.shape[0], A
    for k in range(min(count, m - 1)):
        x, right = X[k:, k], X[k:, k + 1 :]
        norm = np.sqrt(x @ x)
        # away from x, so that nothing cancels
        shift = np.where(x[0] >= 0.0, norm, -norm)
        w = np.concatenate([np.stack([x[0] + shift]), x[1:]])
        half = norm * (norm + np.abs(x[0]))
        scale = 1.0 / np.where(half > 0.0, half, 1.0)
        right = right - np.outer(scale * w, w @ right)
        column = np.concatenate([np.stack([-shift]), np.zeros(m - k - 1)]).reshape(-1, 1)
        X = np.concatenate([X[:k], np.concatenate([X[k:, :k], column, right], axis=1)])
    return X


# they converge quadratically: six bring 18 rows of any length to rounding
SWEEPS = 7


class Singular(NamedTuple):
    """Λ = U diag(σ) V₁ᵀ, the singular values falling."""

    U: np.ndarray  # (m, r)
    sigma: np.ndarray  # (r,)
    V1: np.ndarray  # (n, r)


def singular(rows: np.ndarray, rank: int) -> Singular:
    """The decomposition of rows (m, n) of this rank; values beyond it must be rounding.

    Pairs of rows are turned until all are orthogonal to each other (Hestenes 1958); of two, the
    longer one comes first, so that they end in order.

    >>> singular(np.array([[0.0, 3.0], [4.0, 0.0]]), 2).sigma
    array([4., 3.])
    """
    m = rows.shape[0]
    X, U = [rows[i] for i in range(m)], list(np.eye(m))
    for _ in range(SWEEPS if m > 1 else 0):
        for i in range(m):
            for j in range(i + 1, m):
                # (cos, sin) of the turn after which x and y are orthogonal, x the longer one
                x, y = X[i], X[j]
                angle = 0.5 * np.arctan2(2.0 * (x @ y), x @ x - y @ y)
                c, s = np.cos(angle), np.sin(angle)
                X[i], X[j] = c * x + s * y, c * y - s * x
                U[i], U[j] = c * U[i] + s * U[j], c * U[j] - s * U[i]
    sigma = [np.sqrt(X[k] @ X[k]) for k in range(rank)]
    V1 = np.stack([X[k] / sigma[k] for k in range(rank)]).T
    return Singular(np.stack(U[:rank]).T, np.stack(sigma), V1)


# they reach rounding from any condition number below 1e13: see `symmetric_roots`
NEWTON_STEPS = 7


def symmetric_roots(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    inverse = cholesky_inverse(N)
    # bounds of the spectrum: λ_max ≤ tr M and λ_min ≥ 1 / tr M⁻¹
    ratio = np.sqrt(np.trace(M) * np.trace(inverse))
    scale = np.sqrt(np.trace(inverse) / np.trace(M))
    for step in range(NEWTON_STEPS):
        inverse = cholesky_inverse(N) if step else inverse
        half = 0.5 * np.sqrt(scale) * (unit + inverse / scale)
        X, Y = _symmetric_product(X, half), _symmetric_product(Y, half)
        N = 0.5 * (unit + 0.5 * (scale * N + inverse / scale))
        ratio = 0.5 * (np.sqrt(ratio) + 1.0 / np.sqrt(ratio))
        scale = 1.0 / ratio
    return X, Y


def _symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B of symmetric matrices that commute, which is symmetric too."""
    return symmetric(lambda i, j: A[i] @ B[:, j], A.shape[0])
