"""Small linear systems in a fixed order of operations, so that they trace: L D Lᵀ, least norm, LU.

Pivots are never searched here: symmetric matrices are positive definite after regularisation, and
the order of the others is chosen beforehand, from numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.linalg.ldl import ldl

# beside the mean diagonal of S: far below what matters, far above rounding
PROXIMITY = 1e-8
PROXIMAL_STEPS = 5  # where S may be singular
REGULAR_STEPS = 3  # where it is so at single postures only


class Factor(NamedTuple):
    """A symmetric positive definite matrix as L D Lᵀ, L unit lower triangular."""

    rows: list[list[Any]]  # of L, below the diagonal
    pivots: list[Any]  # D


def factor(M: Any) -> Factor:
    """L D Lᵀ of M (n, n)."""
    return Factor(*ldl(M))


def half_solve(M: Factor, B: Any) -> list[Any]:
    """Rows of Y = L⁻¹ B, for B (n,) or (n, m)."""
    Y: list[Any] = []
    for i, row in enumerate(M.rows):
        Y.append(_less(B[i], row, Y))
    return Y


def full_solve(M: Factor, Y: list[Any]) -> Any:
    """L⁻ᵀ D⁻¹ Y from the rows of Y = L⁻¹ B: the solution of M X = B."""
    X = [y / d for y, d in zip(Y, M.pivots, strict=True)]
    for i in reversed(range(len(X))):
        for k in range(i + 1, len(X)):
            X[i] = X[i] - M.rows[k][i] * X[k]
    return np.stack(X)


def solve(M: Factor, B: Any) -> Any:
    """X with M X = B, for B (n,) or (n, m).

    >>> solve(factor(np.array([[4.0, 2.0], [2.0, 3.0]])), np.array([8.0, 8.0]))
    array([1., 2.])
    """
    return full_solve(M, half_solve(M, B))


def _less(b: Any, row: list[Any], Y: list[Any]) -> Any:
    for l, y in zip(row, Y, strict=True):
        b = b - l * y
    return b


def gram(M: Factor, Y: list[Any]) -> Any:
    """S = Yᵀ D⁻¹ Y (m, m), each entry computed once: A M⁻¹ Aᵀ for Y = L⁻¹ Aᵀ."""
    m = Y[0].shape[0]
    scaled = [y / d for y, d in zip(Y, M.pivots, strict=True)]

    def entry(i: int, j: int) -> Any:
        return sum(s[i] * y[j] for s, y in zip(scaled[1:], Y[1:], strict=True)) + (
            scaled[0][i] * Y[0][j]
        )

    upper = {(i, j): entry(i, j) for i in range(m) for j in range(i, m)}
    return np.stack([np.stack([upper[min(i, j), max(i, j)] for j in range(m)]) for i in range(m)])


class Proximal(NamedTuple):
    """S + μE, factorised, ready for the iteration of `least_norm`."""

    factor: Factor
    mu: Any  # the diagonal of μE (k,)
    balanced: bool

    def solve(self, r: Any) -> tuple[Any, Any]:
        """(S⁺ r, what is left of r) for r (k,) or (k, m)."""
        column = self.mu if len(r.shape) == 1 else self.mu.reshape(-1, 1)
        steps = REGULAR_STEPS if self.balanced else PROXIMAL_STEPS
        left, x = r, None
        for _ in range(steps):
            step = solve(self.factor, left)
            x = step if x is None else x + step
            left = column * step
        return (x if self.balanced else x - steps * (left / column)), left


def proximal(S: Any, balanced: bool = False) -> Proximal:
    """S + μE for a positive semidefinite S (k, k): μE a fraction of its diagonal, or of its mean."""
    k = S.shape[0]
    diagonal = [S[i, i] for i in range(k)]
    if not balanced:
        total = diagonal[0]
        for entry in diagonal[1:]:
            total = total + entry
        diagonal = [total / k] * k
    mu = PROXIMITY * np.stack(diagonal)
    return Proximal(factor(S + np.diag(mu)), mu, balanced)


def least_norm(S: Any, r: Any, balanced: bool = False) -> tuple[Any, Any]:
    """(S⁺ r, what is left of r) for a positive semidefinite S (k, k), r (k,) or (k, m).

    A proximal iteration, (S + μE) x_{j+1} = r + μE x_j from zero. What is left after j steps is
    e_j = (μE (S + μE)⁻¹)ʲ r: it vanishes like (μ/σ)ʲ where S has the eigenvalue σ and stays where S
    has none, where each step adds e/μ to x; so this is taken out again, and x is the solution of
    least norm (in the norm of E) of the least-squares problem, to 1e-7 where S is singular.
    E is the mean of the diagonal of S. `balanced` is for an S that is regular at most postures: E is
    then the diagonal itself, so that badly scaled rows are as exact as others, and at a singular
    posture x stays as the iteration finds it.

    >>> x, left = least_norm(np.array([[2.0, 2.0], [2.0, 2.0]]), np.array([4.0, 4.0]))
    >>> x.round(7), bool(abs(left).max() < 1e-12)
    (array([1., 1.]), True)
    """
    return proximal(S, balanced).solve(r)


class Lower(NamedTuple):
    """P A Q = L U with unit L, in the given order of rows and columns."""

    L: list[list[Any]]
    U: list[list[Any]]


def lu(A: Any) -> Lower:
    """Factors of a square A (n, n) without exchanges; its order must have been chosen before."""
    n = A.shape[0]
    rows = [[A[i, j] for j in range(n)] for i in range(n)]
    L: list[list[Any]] = [[] for _ in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            ratio = rows[i][k] / rows[k][k]
            L[i].append(ratio)
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - ratio * rows[k][j]
    return Lower(L, [[None] * k + rows[k][k:] for k in range(n)])


def lu_solve(A: Lower, B: Any) -> Any:
    """X with A X = B, for B (n,) or (n, m).

    >>> lu_solve(lu(np.array([[2.0, 1.0], [1.0, 3.0]])), np.array([4.0, 7.0]))
    array([1., 2.])
    """
    n = len(A.U)
    Y: list[Any] = []
    for i in range(n):
        Y.append(_less(B[i], A.L[i], Y))
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            Y[i] = Y[i] - A.U[i][k] * Y[k]
        Y[i] = Y[i] / A.U[i][i]
    return np.stack(Y)


def lu_transpose_solve(A: Lower, B: Any) -> Any:
    """X with Aᵀ X = B: Uᵀ first, then Lᵀ."""
    n = len(A.U)
    Y: list[Any] = []
    for i in range(n):
        y = B[i]
        for k in range(i):
            y = y - A.U[k][i] * Y[k]
        Y.append(y / A.U[i][i])
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            Y[i] = Y[i] - A.L[k][i] * Y[k]
    return np.stack(Y)


def largest(x: Any) -> Any:
    """max |x_i| over all entries."""
    flat = x.ravel()
    found = np.abs(flat[0])
    for i in range(1, flat.shape[0]):
        found = np.maximum(found, np.abs(flat[i]))
    return found


def flagged(ok: Any, *values: Any) -> tuple[Any, ...]:
    """The values where `ok` holds, NaN where it does not."""
    mark = np.where(ok, 1.0, np.nan)
    return tuple(mark * value for value in values)
