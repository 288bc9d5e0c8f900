"""A = L U of a square A without exchanges: the order of its rows and columns is chosen before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.linalg.triangular import less


class LU(NamedTuple):
    """The factors of A, L with a diagonal of ones, and what is solved with them."""

    L: list[list[Any]]  # rows below the diagonal
    U: list[list[Any]]  # rows, None left of the diagonal

    def solve(self, B: Any) -> Any:
        """X with A X = B, for B (n,) or (n, m).

        >>> lu(np.array([[2.0, 1.0], [1.0, 3.0]])).solve(np.array([4.0, 7.0]))
        array([1., 2.])
        """
        n = len(self.U)
        Y: list[Any] = []
        for i in range(n):
            Y.append(less(B[i], self.L[i], Y))
        for i in reversed(range(n)):
            Y[i] = less(Y[i], self.U[i][i + 1 :], Y[i + 1 :]) / self.U[i][i]
        return np.stack(Y)

    def transpose_solve(self, B: Any) -> Any:
        """X with Aᵀ X = B, for B (n,) or (n, m): Uᵀ first, then Lᵀ.

        >>> lu(np.array([[2.0, 1.0], [4.0, 3.0]])).transpose_solve(np.array([10.0, 7.0]))
        array([1., 2.])
        """
        n = len(self.U)
        Y: list[Any] = []
        for i in range(n):
            Y.append(less(B[i], [self.U[k][i] for k in range(i)], Y) / self.U[i][i])
        for i in reversed(range(n)):
            Y[i] = less(Y[i], [self.L[k][i] for k in range(i + 1, n)], Y[i + 1 :])
        return np.stack(Y)


def lu(A: Any) -> LU:
    """The factors of A (n, n).

    >>> lu(np.array([[2.0, 1.0], [4.0, 3.0]])).L[1][0]
    np.float64(2.0)
    """
    n = A.shape[0]
    rows = [[A[i, j] for j in range(n)] for i in range(n)]
    L: list[list[Any]] = [[] for _ in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            ratio = rows[i][k] / rows[k][k]
            L[i].append(ratio)
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - ratio * rows[k][j]
    return LU(L, [[None] * k + rows[k][k:] for k in range(n)])
