"""Solving with the mass matrix of a tree by M = Lᵀ D L, which has no fill-in (Featherstone 2008, §6.5).

Coordinates stand parents first, so eliminating from the tips leaves the zeros between branches alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.linalg.symmetric import symmetric


def tree_inverse(M: Any) -> Any:
    """M⁻¹ (n, n) = L⁻¹ D⁻¹ L⁻ᵀ of a symmetric positive definite M, each entry computed once.

    >>> tree_inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    n = M.shape[0]
    L, pivots = _factors(M)
    K = _unit_lower_inverse(L, n)
    scaled = {(i, k): K[i, k] * pivots[k] for i, k in K}
    return symmetric(lambda j, i: sum(scaled[i, k] * K[j, k] for k in range(j + 1)), n)


def tree_solve(M: Any, b: Any) -> Any:
    """x (n,) with M x = b.

    >>> tree_solve(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([3.0, 2.0]))
    array([1., 1.])
    """
    n = M.shape[0]
    L, pivots = _factors(M)
    x = [b[i] for i in range(n)]
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    x = [x[i] * pivots[i] for i in range(n)]
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)


def _factors(M: Any) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """L below its diagonal of ones, and the reciprocals of D."""
    n = M.shape[0]
    A = {(i, j): M[i, j] for i in range(n) for j in range(i + 1)}
    L: dict[tuple[int, int], Any] = {}
    pivots: list[Any] = [None] * n
    for k in reversed(range(n)):
        pivots[k] = 1.0 / A[k, k]
        for i in range(k):
            L[k, i] = A[k, i] * pivots[k]
            for j in range(i + 1):
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
    return L, pivots


def _unit_lower_inverse(L: dict[tuple[int, int], Any], n: int) -> dict[tuple[int, int], Any]:
    """K with K L = 1: K_ij = −L_ij − Σ_{j<m<i} L_im K_mj below the diagonal of ones."""
    K: dict[tuple[int, int], Any] = {}
    for i in range(n):
        K[i, i] = 1.0
        for j in range(i):
            K[i, j] = -L[i, j] - sum(L[i, m] * K[m, j] for m in range(j + 1, i))
    return K
