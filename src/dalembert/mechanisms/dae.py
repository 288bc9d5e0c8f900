"""The differential-algebraic equations of a mechanism at one state, in numbers (004, p.3).

    [ M    Φ_qᵀ ] { q̈ }   { Q }
    [ Φ_q  0    ] { λ } = { γ },    Φ_q q̇ = ν,    Φ = 0.

In space the columns of Φ_q belong to velocities (ṗ, ω in body axes), not to quaternion rates. λ is
minus the forces of joints and drivers ON their second bodies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.linalg.geometry import ROUNDING, least_squares


@dataclass(frozen=True, eq=False)
class Dae:
    """Φ, Φ_q, ν, γ, M and Q at a state, and the system they make."""

    phi: np.ndarray  # (rows,): m or rad
    phi_q: np.ndarray  # (rows, nv)
    nu: np.ndarray  # (rows,): what Φ_q q̇ is
    gamma: np.ndarray  # (rows,): what Φ_q q̈ is
    M: np.ndarray  # (nv, nv)
    Q: np.ndarray  # (nv,): weight, springs, loads, actuators and gyroscopic moments

    @property
    def matrix(self) -> np.ndarray:
        """[M Φ_qᵀ; Φ_q 0] (nv + rows, nv + rows)."""
        corner = np.zeros((len(self.phi), len(self.phi)))
        return np.block([[self.M, self.phi_q.T], [self.phi_q, corner]])

    @property
    def right(self) -> np.ndarray:
        """{Q; γ} (nv + rows,)."""
        return np.concatenate([self.Q, self.gamma])

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """(q̈ (nv,), λ (rows,)); λ is the shortest one where rows are redundant."""
        found, _ = least_squares(self.matrix, self.right, ROUNDING)
        return found[: len(self.Q)], found[len(self.Q) :]
