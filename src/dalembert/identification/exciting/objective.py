"""How well a motion shows the unknown, as one number with its slope.

A holds the base columns of all samples, rows divided by the noise of their joint; M = AᵀA is what the
samples know of the parameters. `condition` is cond(A), with columns of unit length where `scaled`; in
the search its squares √(λ_max/λ_min) are smoothed by Schatten norms,

    f_p = ½ log (‖C‖_p ‖C⁻¹‖_p) → log cond(A) as p → ∞,   C = S M S,

which has a slope where singular values meet. `information` is log det M per parameter (Swevers 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SINGULAR = 1e-13  # of the largest eigenvalue of M: what is left is rounding
OBJECTIVES = ("condition", "information")


class Quality(NamedTuple):
    """Of one motion; the condition number is infinite where a parameter is not seen."""

    condition: float
    information: float  # log det of M / samples, nats


@dataclass(frozen=True, eq=False)
class Objective:
    """What is made small: log cond(A), or −log det M / p."""

    kind: str
    scaled: bool
    noise: np.ndarray  # (n,) of the torques

    def weighted(self, W: np.ndarray) -> np.ndarray:
        """A (..., samples n, p) of columns W (..., samples, n, p)."""
        A = W / self.noise[:, None]
        return A.reshape(*A.shape[:-3], A.shape[-3] * A.shape[-2], A.shape[-1])

    def quality(self, A: np.ndarray) -> Quality:
        """Condition and information of A (samples n, p)."""
        M = A.T @ A
        s = self._scale(M)
        values = np.linalg.svd(A * s, compute_uv=False)
        seen = values[-1] > 1e-10 * values[0]
        count = A.shape[0] // len(self.noise)
        information = np.linalg.slogdet(M / count)[1] if seen else -np.inf
        return Quality(float(values[0] / values[-1]) if seen else np.inf, float(information))

    def goal(self, quality: Quality) -> float:
        """What is compared between motions: smaller is better."""
        return np.log(quality.condition) if self.kind == "condition" else -quality.information

    def rough(self, A: np.ndarray) -> np.ndarray:
        """f₁ (...) of many A (..., rows, p) at once; infinite where singular."""
        M = np.swapaxes(A, -1, -2) @ A
        s = self._scale(M)
        values = np.linalg.eigvalsh(s[..., :, None] * M * s[..., None, :])
        seen = values[..., 0] > SINGULAR * values[..., -1]
        values = np.where(seen[..., None], values, 1.0)
        if self.kind == "information":
            found = -np.log(values).mean(-1) + 2.0 * np.log(s).mean(-1)
        else:
            found = 0.5 * (np.log(values.sum(-1)) + np.log((1.0 / values).sum(-1)))
        return np.where(seen, found, np.inf)

    def slope(self, A: np.ndarray, p: float) -> tuple[float, np.ndarray | None]:
        """(f, ∂f/∂A) of A (rows, p); infinite, without a slope, where A is singular."""
        M = A.T @ A
        s = self._scale(M)
        C = s[:, None] * M * s
        values, U = np.linalg.eigh(C)
        if values[0] <= SINGULAR * values[-1]:
            return np.inf, None
        if self.kind == "information":
            f = -np.log(values).mean() + 2.0 * np.log(s).mean()
            inverse = s[:, None] * ((U / values) @ U.T) * s
            return float(f), -2.0 / len(M) * (A @ inverse)
        f, by_values = _smooth(values, p)
        F = (U * by_values) @ U.T
        by_M = s[:, None] * F * s
        if self.scaled:  # s_i = M_ii^(−1/2) changes with M too
            by_M[np.diag_indices(len(M))] -= s * s * np.einsum("ij,ji->i", F, C)
        return f, 2.0 * (A @ by_M)

    def _scale(self, M: np.ndarray) -> np.ndarray:
        """s (..., p): 1/√M_ii, or ones."""
        lengths = np.diagonal(M, axis1=-2, axis2=-1)
        if not self.scaled:
            return np.ones(lengths.shape)
        return 1.0 / np.sqrt(np.where(lengths > 0.0, lengths, 1.0))


def _smooth(values: np.ndarray, p: float) -> tuple[float, np.ndarray]:
    """f_p of the eigenvalues (p,) of C, rising, and its slope by them."""
    low, high = (values[0] / values) ** p, (values / values[-1]) ** p
    f = np.log(values[-1] / values[0]) + (np.log(low.sum()) + np.log(high.sum())) / p
    return 0.5 * float(f), 0.5 * (high / high.sum() - low / low.sum()) / values
