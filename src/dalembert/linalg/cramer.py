"""Cramer's rule: determinants and adjugates by Laplace's expansion, without a division.

For letters, where a polynomial is to stay one; numbers are solved by `lu` and `ldl`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np


def adjugate(A: Any) -> tuple[Any, Any]:
    """(adj A (n, n), det A) with A adj A = det A · 1.

    >>> adjugate(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([[ 4., -2.],
           [-3.,  1.]]), np.float64(-2.0))
    """
    n = A.shape[0]
    if n == 1:
        return np.ones((1, 1)), A[0, 0]
    rows: list[Any] = []
    for i in range(n):
        others = [k for k in range(n) if k != i]
        minors = _minors(A, others)
        columns = range(n)
        cut = [minors[tuple(k for k in columns if k != j)] for j in columns]
        rows.append(np.stack([(-1.0) ** (i + j) * x for j, x in enumerate(cut)]))
    cofactors = np.stack(rows)
    return cofactors.T, A[0] @ cofactors[0]


def _minors(A: Any, rows: list[int]) -> dict[tuple[int, ...], Any]:
    """Determinants of these rows with every choice of as many columns, from the last row up."""
    found: dict[tuple[int, ...], Any] = {(): 1.0}
    for depth, row in enumerate(reversed(rows), 1):
        found = {
            chosen: sum(
                (-1.0) ** k * A[row, j] * found[chosen[:k] + chosen[k + 1 :]]
                for k, j in enumerate(chosen)
            )
            for chosen in combinations(range(A.shape[1]), depth)
        }
    return found
