"""Symmetric matrices of which each entry is computed once, so that traces stay short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def symmetric(entry: Callable[[int, int], Any], n: int = 3) -> Any:
    """The symmetric (n, n) matrix whose upper entries (i ≤ j) are entry(i, j).

    >>> symmetric(lambda i, j: 10 * i + j, 2)
    array([[ 0,  1],
           [ 1, 11]])
    """
    upper = {(i, j): entry(i, j) for i in range(n) for j in range(i, n)}
    # one array, not one for every row: most of the time of a trace is spent in putting arrays together
    every = np.stack([upper[min(i, j), max(i, j)] for i in range(n) for j in range(n)])
    return every.reshape(n, n)


def congruence(R: Any, A: Any) -> Any:
    """R A Rᵀ (3, 3) for a symmetric A."""
    RA = R @ A
    return symmetric(lambda i, j: RA[i] @ R[j])


def add_outer(A: Any, x: Any, y: Any) -> Any:
    """A + x yᵀ + y xᵀ (3, 3) for a symmetric A."""
    return symmetric(lambda i, j: A[i, j] + x[i] * y[j] + y[i] * x[j])
