"""M⁻¹ of a tree's mass matrix from M = Lᵀ D L, which has no fill-in (Featherstone 2008, §6.5).

Coordinates stand parents first, so eliminating from the tips leaves the zeros between branches alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def tree_inverse(M: Any) -> Any:
    """M⁻¹ (n, n) = L⁻¹ D⁻¹ L⁻ᵀ of a symmetric positive definite M, each entry computed once.

    >>> tree_inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    n = M.shape[0]
    A = {(i, j): M[i, j] for i in range(n) for j in range(i + 1)}
    pivots: list[Any] = [None] * n
    L: dict[tuple[int, int], Any] = {}
    for k in reversed(range(n)):
        pivots[k] = 1.0 / A[k, k]
        for i in range(k):
            L[k, i] = A[k, i] * pivots[k]
            for j in range(i + 1):
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
    K = _unit_lower_inverse(L, n)
    scaled = {(i, k): K[i, k] * pivots[k] for i, k in K}
    entry = {
        (i, j): sum(scaled[i, k] * K[j, k] for k in range(j + 1))
        for i in range(n)
        for j in range(i + 1)
    }
    return np.stack([np.stack([entry[max(i, j), min(i, j)] for j in range(n)]) for i in range(n)])


def _unit_lower_inverse(L: dict[tuple[int, int], Any], n: int) -> dict[tuple[int, int], Any]:
    """K with K L = 1: K_ij = −L_ij − Σ_{j<m<i} L_im K_mj below the diagonal of ones."""
    K: dict[tuple[int, int], Any] = {}
    for i in range(n):
        K[i, i] = 1.0
        for j in range(i):
            K[i, j] = -L[i, j] - sum(L[i, m] * K[m, j] for m in range(j + 1, i))
    return K
