"""M = L D Lᵀ, written functionally so that it also traces; NumPy has no such factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np


def ldl(M: Any) -> tuple[list[list[Any]], list[Any]]:
    """Unit lower L (rows below the diagonal) and the pivots D of a symmetric M (n, n).

    >>> rows, pivots = ldl(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> float(rows[1][0]), [float(d) for d in pivots]
    (0.5, [4.0, 2.0])
    """
    rows: list[list[Any]] = []
    pivots: list[Any] = []
    for i in range(M.shape[0]):
        # u_j = L_ij D_j = M_ij − Σ_{k<j} u_k L_jk
        scaled: list[Any] = []
        for j in range(i):
            scaled.append(M[i, j] - _dot(scaled, rows[j]))
        row = [u / d for u, d in zip(scaled, pivots, strict=True)]
        pivots.append(M[i, i] - _dot(scaled, row))
        rows.append(row)
    return rows, pivots


def ldl_solve(M: Any, b: Any) -> Any:
    """x with M x = b, for b (n,) or the columns of b (n, m); M symmetric with regular minors.

    >>> ldl_solve(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([8.0, 8.0]))
    array([1., 2.])
    """
    rows, pivots = ldl(M)
    n = len(pivots)
    y: list[Any] = []
    for i in range(n):
        y.append(b[i] - _dot(rows[i], y))
    x = [value / d for value, d in zip(y, pivots, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - rows[k][i] * x[k]
    return np.stack(x)


def _dot(a: list[Any], b: list[Any]) -> Any:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
