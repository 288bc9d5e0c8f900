"""M = L D Lᵀ of a symmetric M with regular minors, L unit lower triangular: no square roots.

Pivots are not searched for, so that the order of operations is fixed and it traces; positive
definite matrices need none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.linalg.dense import DenseCholesky, is_large
from dalembert.linalg.triangular import less


class LDL(NamedTuple):
    """The factors of M, and what is solved with them."""

    rows: list[list[Any]]  # of L, below the diagonal
    pivots: list[Any]  # D

    def half_solve(self, B: Any) -> list[Any]:
        """Rows of Y = L⁻¹ B, for B (n,) or (n, m)."""
        Y: list[Any] = []
        for i, row in enumerate(self.rows):
            Y.append(less(B[i], row, Y))
        return Y

    def full_solve(self, Y: list[Any]) -> Any:
        """L⁻ᵀ D⁻¹ Y from the rows of Y = L⁻¹ B: the solution of M X = B."""
        X = [y / d for y, d in zip(Y, self.pivots, strict=True)]
        for i in reversed(range(len(X))):
            for k in range(i + 1, len(X)):
                X[i] = X[i] - self.rows[k][i] * X[k]
        return np.stack(X)

    def solve(self, B: Any) -> Any:
        """X with M X = B, for B (n,) or (n, m).

        >>> ldl(np.array([[4.0, 2.0], [2.0, 3.0]])).solve(np.array([8.0, 8.0]))
        array([1., 2.])
        """
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> Any:
        """1/D (n,): with Y = L⁻¹ B, Bᵀ M⁻¹ B = Σ Y_kᵀ Y_k / D_k."""
        return np.stack([1.0 / d for d in self.pivots])


AnyLDL = LDL | DenseCholesky


def ldl(M: Any) -> AnyLDL:
    """The factors of M (n, n); by LAPACK where these are many numbers.

    >>> factors = ldl(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> float(factors.rows[1][0]), [float(d) for d in factors.pivots]
    (0.5, [4.0, 2.0])
    """
    dense = DenseCholesky.of(M) if is_large(M) else None
    if dense is not None:
        return dense
    rows: list[list[Any]] = []
    pivots: list[Any] = []
    for i in range(M.shape[0]):
        # u_j = L_ij D_j = M_ij − Σ_{k<j} u_k L_jk
        scaled: list[Any] = []
        for j in range(i):
            scaled.append(less(M[i, j], scaled, rows[j]))
        row = [u / d for u, d in zip(scaled, pivots, strict=True)]
        pivots.append(less(M[i, i], scaled, row))
        rows.append(row)
    return LDL(rows, pivots)


class LeavesFirst(NamedTuple):
    """M = Lᵀ D L: the factors of M with its coordinates in reverse, as coordinates stand parents first.

    The zeros between branches of a tree stay zeros then (Featherstone 2008, §6.5).
    """

    reverse: AnyLDL

    def half_solve(self, B: Any) -> Any:
        """Rows of Y = L⁻ᵀ B, the last coordinate first, for B (n,) or (n, m)."""
        return self.reverse.half_solve(B[::-1])

    def full_solve(self, Y: list[Any]) -> Any:
        """L⁻¹ D⁻¹ Y: the solution of M X = B."""
        return self.reverse.full_solve(Y)[::-1]

    def solve(self, B: Any) -> Any:
        """X with M X = B, for B (n,) or (n, m)."""
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> Any:
        """1/D (n,), the last coordinate first."""
        return self.reverse.weights


def leaves_first(M: Any) -> LeavesFirst:
    """The factors of M (n, n), coordinates standing parents first.

    >>> leaves_first(np.array([[4.0, 2.0], [2.0, 3.0]])).solve(np.array([8.0, 8.0]))
    array([1., 2.])
    """
    return LeavesFirst(ldl(M[::-1, ::-1]))
