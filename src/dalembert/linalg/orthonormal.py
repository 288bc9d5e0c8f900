"""Orthonormal bases of the row space of Λ and of its kernel, by two ways that trace.

They differ by an orthogonal factor, which no acceleration and no λ may depend on (000 p.83).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def gram_schmidt(rows: Any) -> Any:
    """V₁ (n, r): orthonormal columns that span the independent rows (r, n), each made twice.

    >>> gram_schmidt(np.array([[3.0, 4.0]]))
    array([[0.6],
           [0.8]])
    """
    columns: list[Any] = []
    for i in range(rows.shape[0]):
        x = rows[i]
        for _ in range(2):  # once leaves errors of cond·ε, twice of ε
            for v in columns:
                x = x - (v @ x) * v
        columns.append(x / np.sqrt(x @ x))
    return np.stack(columns).T


def householder(rows: Any) -> tuple[Any, Any]:
    """(V₁, V₂), (n, r) and (n, n−r): V = [V₁ V₂] orthogonal with rows @ V = [Λ_r 0].

    >>> rows = np.array([[3.0, 4.0]])
    >>> [(rows @ V).round(12) + 0.0 for V in householder(rows)]
    [array([[-5.]]), array([[0.]])]
    """
    r, n = rows.shape
    X = rows.T
    V = np.eye(n)
    for k in range(r):
        x = X[k:, k]
        norm = np.sqrt(x @ x)
        # away from x, so that nothing cancels
        shift = np.where(x[0] >= 0.0, norm, -norm)
        w = np.concatenate([np.zeros(k), np.stack([x[0] + shift]), x[1:]])
        scale = 2.0 / (w @ w)
        X = X - scale * np.outer(w, w @ X)
        V = V - scale * np.outer(V @ w, w)
    return V[:, :r], V[:, r:]
