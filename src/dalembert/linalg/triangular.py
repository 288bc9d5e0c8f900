"""Triangular systems by substitution: NumPy has no solver for them, and these also trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def less(b: Any, row: Sequence[Any], x: Sequence[Any]) -> Any:
    """b − Σ row_k x_k, one term after the other: a step of every substitution."""
    for a, y in zip(row, x, strict=True):
        b = b - a * y
    return b


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
    """x (n,) with U x = b, U upper triangular.

    >>> back_substitution(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    return forward_substitution(U[::-1, ::-1], b[::-1])[::-1]


def lower_inverse(L: Any) -> Any:
    """L⁻¹ (n, n) of a lower triangular L.

    >>> lower_inverse(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    unit = np.eye(L.shape[0])
    return np.stack([forward_substitution(L, column) for column in unit]).T
