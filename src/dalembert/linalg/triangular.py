"""Triangular systems by substitution: NumPy has no solver for them, and these also trace."""

from __future__ import annotations

from typing import Any

import numpy as np


def forward_substitution(L: Any, b: Any) -> Any:
    """x (n,) with L x = b, L lower triangular.

    >>> forward_substitution(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    x: list[Any] = []
    for i in range(L.shape[0]):
        known = b[i] - L[i, :i] @ np.stack(x) if x else b[i]
        x.append(known / L[i, i])
    return np.stack(x)


def back_substitution(U: Any, b: Any) -> Any:
    """x (n,) with U x = b, U upper triangular."""
    return forward_substitution(U[::-1, ::-1], b[::-1])[::-1]


def lower_inverse(L: Any) -> Any:
    """L⁻¹ (n, n) of a lower triangular L."""
    unit = np.eye(L.shape[0])
    return np.stack([forward_substitution(L, column) for column in unit]).T


def cholesky_solve(M: Any, b: Any) -> Any:
    """x (n,) with M x = b, M = L Lᵀ symmetric and positive definite."""
    L = np.linalg.cholesky(M)
    return back_substitution(L.T, forward_substitution(L, b))


def upper_cholesky(M: Any) -> Any:
    """The upper triangular U (n, n) with M = U Uᵀ.

    >>> upper_cholesky(np.array([[5.0, 2.0], [2.0, 4.0]]))
    array([[2., 1.],
           [0., 2.]])
    """
    return np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]
