"""How far a pseudo-inertia P is from its prior P₀, by the eigenvalues λ of P₀^-½ P P₀^-½.

Both distances do not change with units or with the frame in which a body is described, both are
½ |δ|² for P = P₀^½ (1 + δ) P₀^½ near the prior, and both end at the border of what is real.

    entropic    D = tr(P P₀⁻¹) − log det(P P₀⁻¹) − 4     convex in P      (Lee, Wensing and Park 2019)
    geodesic    D = ½ |log(P₀^-½ P P₀^-½)|²              not convex in P  (Lee and Park 2018)

Steps are written X + G S Gᵀ in X = L⁻¹ P L⁻ᵀ, P₀ = L Lᵀ. γ D is then to second order γ D(X) + tr(B S) +
½ Σ w_ij S_ij². Beside X a dual Z is carried, γ X⁻¹ at the solution: where X is near the border, the
curvature of both together (Nesterov and Todd 1997) says how far one may go, that of X alone does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

Local = tuple[np.ndarray, np.ndarray, np.ndarray]  # G, B, w, each (n, 4, 4)

_LEAST = 0.01  # least curvature that a step of Newton's method is told of
_NEAR = 1e8  # X½ Z X½ is kept within γ over and γ times this
_ROUNDING = 1e-14  # of the largest: an eigenvalue of which nothing is known


class Distance(Protocol):
    """What the solver asks of a distance."""

    def value(self, X: np.ndarray) -> float:
        """D summed over bodies, X (n, 4, 4); infinite outside the cone."""
        ...

    def local(self, X: np.ndarray, Z: np.ndarray, gamma: float) -> Local:
        """G, B and w of γ D at X with the dual Z, each (n, 4, 4)."""
        ...


class Entropic:
    """D = tr X − log det X − 4."""

    def value(self, X: np.ndarray) -> float:
        """D summed over bodies."""
        eigenvalues = np.linalg.eigvalsh(X)
        if not inside(eigenvalues):
            return np.inf
        return float(np.sum(eigenvalues - np.log(eigenvalues) - 1.0))

    def local(self, X: np.ndarray, Z: np.ndarray, gamma: float) -> Local:
        """G with G⁻¹ X G⁻ᵀ = Gᵀ Z G = diag(v); B = γ (Gᵀ G − diag(1/v)), w = 1."""
        G, v = scaling(X, Z)
        B = gamma * (G.swapaxes(-1, -2) @ G - np.eye(4) / v[:, :, None])
        return G, B, np.ones_like(X)


class Geodesic:
    """D = ½ |log X|²."""

    def value(self, X: np.ndarray) -> float:
        """D summed over bodies."""
        eigenvalues = np.linalg.eigvalsh(X)
        if not inside(eigenvalues):
            return np.inf
        return 0.5 * float(np.sum(np.log(eigenvalues) ** 2))

    def local(self, X: np.ndarray, Z: np.ndarray, gamma: float) -> Local:
        """G = U √λ, B = γ diag(log λ), curvature below 0.01 γ counts as that; Z plays no part.

        With l = log λ and Δ = l_i − l_j:  w_ij/γ = (l_i λ_j − l_j λ_i)/(λ_i − λ_j)
        = ½ Δ coth(½ Δ) − ½ (l_i + l_j).
        """
        eigenvalues, U = np.linalg.eigh(X)
        logs = np.log(eigenvalues)
        half = 0.5 * (logs[:, :, None] - logs[:, None, :])
        mean = 0.5 * (logs[:, :, None] + logs[:, None, :])
        # x coth x = 1 + x²/3 − … near zero
        small = np.abs(half) < 1e-4
        safe = np.where(small, 1.0, half)
        stretch = np.where(small, 1.0 + half**2 / 3.0, safe / np.tanh(safe))
        G = U * np.sqrt(eigenvalues)[:, None, :]
        B = gamma * logs[:, :, None] * np.eye(4)
        return G, B, gamma * np.maximum(stretch - mean, _LEAST)


DISTANCES: Mapping[str, Distance] = {"entropic": Entropic(), "geodesic": Geodesic()}


def inside(eigenvalues: np.ndarray) -> bool:
    """Whether eigenvalues (n, 4), rising, are positive beyond rounding."""
    return bool((eigenvalues[:, 0] > _ROUNDING * eigenvalues[:, -1]).all())


def scaling(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G (n, 4, 4), v (n, 4) with G⁻¹ X G⁻ᵀ = Gᵀ Z G = diag(v)."""
    L = np.linalg.cholesky(X)
    squares, V = np.linalg.eigh(L.swapaxes(-1, -2) @ Z @ L)
    v = np.sqrt(np.maximum(squares, _ROUNDING * squares[:, -1:]))
    return L @ V / np.sqrt(v)[:, None, :], v


def next_dual(
    X: np.ndarray, Z: np.ndarray, S: np.ndarray, new: np.ndarray, gamma: float, alpha: float
) -> np.ndarray:
    """Z after α of the step S at X led to `new`: α of the way to Gᵀ Z G = diag(γ/v) − S, at most."""
    G, v = scaling(X, Z)
    root = np.sqrt(v)
    # in units of diag(v): 1 + E
    E = (gamma * np.eye(4) / v[:, :, None] - S) / (root[:, :, None] * root[:, None, :]) - np.eye(4)
    reach = -np.linalg.eigvalsh(E)[:, :1].clip(max=0.0)
    part = np.minimum(alpha, 0.9 / np.maximum(reach, 0.9))[:, :, None]
    M = (np.eye(4) + part * E) * (root[:, :, None] * root[:, None, :])
    back = np.linalg.inv(G)
    made = back.swapaxes(-1, -2) @ M @ back
    L = np.linalg.cholesky(new)
    eigenvalues, U = np.linalg.eigh(L.swapaxes(-1, -2) @ made @ L)
    kept = np.clip(eigenvalues, gamma / _NEAR, gamma * _NEAR)
    F = np.linalg.solve(L.swapaxes(-1, -2), U * np.sqrt(kept)[:, None, :])
    return np.asarray(F @ F.swapaxes(-1, -2))
