"""M = L Lᵀ of a symmetric positive definite M, on numbers and on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.linalg.symmetric import symmetric
from dalembert.linalg.triangular import (
    back_substitution,
    forward_substitution,
    less,
    lower_inverse,
)


def cholesky(M: Any) -> Any:
    """The lower triangular L (n, n) with M = L Lᵀ.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    if M.dtype != object:
        return np.linalg.cholesky(M)
    L = np.zeros_like(M)
    for j in range(len(M)):
        for i in range(j, len(M)):
            rest = less(M[i, j], L[i, :j], L[j, :j])
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
    return L


def upper_cholesky(M: Any) -> Any:
    """The upper triangular U (n, n) with M = U Uᵀ.

    >>> upper_cholesky(np.array([[5.0, 2.0], [2.0, 4.0]]))
    array([[2., 1.],
           [0., 2.]])
    """
    return cholesky(M[::-1, ::-1])[::-1, ::-1]


def cholesky_solve(M: Any, b: Any) -> Any:
    """x (n,) with M x = b.

    >>> cholesky_solve(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 12.0]))
    array([1., 2.])
    """
    L = cholesky(M)
    return back_substitution(L.T, forward_substitution(L, b))


def solve_with_held(M: Any, b: Any, held: Any) -> tuple[Any, Any]:
    """(x (n,), r (n,)) with M x + r = b, where x is 0 at entries `held` 1 and r at the others.

    >>> x, r = solve_with_held(np.eye(2) + 1.0, np.array([2.0, 5.0]), np.array([0.0, 1.0]))
    >>> x, r
    (array([1., 0.]), array([0., 4.]))
    """
    free = 1.0 - held
    # rows and columns of what is held leave M
    x = cholesky_solve(np.outer(free, free) * M + np.diag(held), free * b)
    return x, held * (b - M @ x)


def cholesky_inverse(M: Any) -> Any:
    """M⁻¹ (n, n) = L⁻ᵀ L⁻¹, each entry computed once.

    >>> cholesky_inverse(np.array([[4.0, 0.0], [0.0, 2.0]])).round(12)
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    K = lower_inverse(cholesky(M))
    return symmetric(lambda i, j: K[j:, i] @ K[j:, j], M.shape[0])
