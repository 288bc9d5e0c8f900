"""Singular values by one-sided Jacobi rotations, in a fixed order so that they trace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# they converge quadratically: six bring 18 rows of any length to rounding
SWEEPS = 7


class Singular(NamedTuple):
    """Λ = U diag(σ) V₁ᵀ, the singular values falling."""

    U: Any  # (m, r)
    sigma: Any  # (r,)
    V1: Any  # (n, r)


def singular(rows: Any, rank: int) -> Singular:
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
                c, s = _turn(X[i], X[j])
                X[i], X[j] = c * X[i] + s * X[j], c * X[j] - s * X[i]
                U[i], U[j] = c * U[i] + s * U[j], c * U[j] - s * U[i]
    sigma = [np.sqrt(X[k] @ X[k]) for k in range(rank)]
    V1 = np.stack([X[k] / sigma[k] for k in range(rank)]).T
    return Singular(np.stack(U[:rank]).T, np.stack(sigma), V1)


def _turn(x: Any, y: Any) -> tuple[Any, Any]:
    """(cos, sin) of the turn after which x and y are orthogonal and x is the longer one."""
    angle = 0.5 * np.arctan2(2.0 * (x @ y), x @ x - y @ y)
    return np.cos(angle), np.sin(angle)
