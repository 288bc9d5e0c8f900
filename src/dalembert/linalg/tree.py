"""Solving with the mass matrix of a tree by M = Lᵀ D L, which has no fill-in (Featherstone 2008, §6.5).

Coordinates stand parents first, so eliminating from the tips leaves the zeros between branches alone:
L, and its inverse K too, have entries only where one coordinate carries the other. `paths` lists, for
every coordinate, those that carry it, in their order; by default all before it, as in a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.linalg.factorisations import symmetric

Paths = Sequence[Sequence[int]]


class TreeFactor:
    """M⁻¹ (n, n) = K D⁻¹ Kᵀ, K = L⁻¹ with ones on its diagonal.

    >>> factor = TreeFactor(np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> factor.K, factor.weights
    (array([[ 1.,  0.],
           [-1.,  1.]]), array([1., 1.]))
    """

    def __init__(self, M: np.ndarray, paths: Paths | None = None) -> None:
        n = M.shape[0]
        self.paths = [range(k) for k in range(n)] if paths is None else paths
        L, pivots = _factors(M, self.paths)
        # K L = 1: K_ij = −L_ij − Σ_{j<m<i} L_im K_mj below the diagonal of ones
        self._entries: dict[tuple[int, int], Any] = {}
        for i, path in enumerate(self.paths):
            self._entries[i, i] = 1.0
            for position, j in enumerate(path):
                between = (L[i, m] * self._entries[m, j] for m in path[position + 1 :])
                self._entries[i, j] = -L[i, j] - sum(between)
        self.weights = np.stack(pivots)
        self.K = np.stack(
            [np.stack([self._entries.get((i, j), 0.0) for j in range(n)]) for i in range(n)]
        )

    def inverse(self) -> np.ndarray:
        """M⁻¹ (n, n), each entry computed once."""
        K = self._entries
        scaled = {(i, k): x * self.weights[k] for (i, k), x in K.items()}
        above = [{*path, k} for k, path in enumerate(self.paths)]

        def entry(j: int, i: int) -> Any:
            return sum(scaled[i, k] * K[j, k] for k in sorted(above[i] & above[j]))

        return symmetric(entry, len(above))

    def solve(self, B: np.ndarray, sign: float = 1.0) -> np.ndarray:
        """±M⁻¹ B (n, m), in the order that leaves zeros between branches alone."""
        X: np.ndarray = self.K @ ((sign * self.weights).reshape(-1, 1) * (self.K.T @ B))
        return X


def tree_inverse(M: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, n) of a symmetric positive definite M, each entry computed once.

    >>> tree_inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    return TreeFactor(M).inverse()


def tree_solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n,) with M x = b.

    >>> tree_solve(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([3.0, 2.0]))
    array([1., 1.])
    """
    n = M.shape[0]
    L, pivots = _factors(M, [range(k) for k in range(n)])
    x = [b[i] for i in range(n)]
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    x = [x[i] * pivots[i] for i in range(n)]
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)


def _factors(
    M: np.ndarray, paths: Paths
) -> tuple[dict[tuple[int, int], np.ndarray], list[np.ndarray]]:
    """L below its diagonal of ones, and the reciprocals of D."""
    n = len(paths)
    A = {(k, i): M[k, i] for k in range(n) for i in (*paths[k], k)}
    L: dict[tuple[int, int], Any] = {}
    pivots: list[Any] = [None] * n
    for k in reversed(range(n)):
        pivots[k] = 1.0 / A[k, k]
        for i in paths[k]:
            L[k, i] = A[k, i] * pivots[k]
            for j in (*paths[i], i):
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
    return L, pivots
