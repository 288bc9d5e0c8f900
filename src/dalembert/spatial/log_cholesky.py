"""Ten free numbers for the inertia of a body: whatever they are, the body is a real one.

P = ∫ (r, 1)(r, 1)ᵀ dm = U Uᵀ with U upper triangular,

    U = e^α [[e^d₁, s₁₂, s₁₃, t₁], [0, e^d₂, s₂₃, t₂], [0, 0, e^d₃, t₃], [0, 0, 0, 1]],

so that steps along a gradient by (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃) never lead to a negative
mass or to moments that violate the triangle inequality (Rucker and Wensing 2022). t is the centre of
mass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import InertiaError
from dalembert.spatial.inertia import from_silver_tensor, pseudo_inertia_of_moments


def log_cholesky(mass: float, moment: Any, inertia: Any, name: str = "body") -> np.ndarray:
    """The ten numbers of a body: mass, first moment and tensor about the origin of its frame.

    >>> log_cholesky(1.0, [0, 0, 0], np.diag([2.0, 2.0, 2.0])).round(3) + 0.0
    array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """
    P = pseudo_inertia_of_moments(mass, np.asarray(moment, float), np.asarray(inertia, float))
    try:
        # the factor of P read backwards is lower triangular
        U = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise InertiaError(
            f"inertia of {name!r}: a body without extent in some direction (a point, a rod, a plate, "
            "or nothing at all) is at the border of what is real, where logarithms end; give it some"
        ) from None
    u = U / U[3, 3]
    shears = [u[0, 1], u[1, 2], u[0, 2]]
    return np.array([np.log(U[3, 3]), *np.log(np.diag(u)[:3]), *shears, *u[:3, 3]])


def from_log_cholesky(x: Any) -> tuple[Any, Any, Any]:
    """(mass, first moment (3,), tensor about the origin (3, 3)) of ten numbers, traceable."""
    zero, one = np.zeros(()), np.ones(())
    alpha, d, (s12, s23, s13), t = x[0], np.exp(x[1:4]), (x[4], x[5], x[6]), x[7:10]
    rows = [[d[0], s12, s13, t[0]], [zero, d[1], s23, t[1]], [zero, zero, d[2], t[2]]]
    U = np.exp(alpha) * np.stack([np.stack(row) for row in [*rows, [zero, zero, zero, one]]])
    P = U @ U.T
    return P[3, 3], P[:3, 3], from_silver_tensor(P[:3, :3])
