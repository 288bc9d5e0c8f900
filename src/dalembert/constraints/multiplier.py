"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.terms import terms
from dalembert.linalg.entries import flagged, largest
from dalembert.linalg.ldl import ldl
from dalembert.linalg.proximal import least_norm

# what a consistent set may leave of A q̈ = γ, beside the accelerations it is made of
INCONSISTENT = 1e-6


def forward_dynamics(
    system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    mass = ldl(M)
    Y, z = mass.half_solve(A.T), mass.half_solve(f)
    S = mass.gram(Y)
    free = _apply(Y, [x / d for x, d in zip(z, mass.pivots, strict=True)])
    lam, left = least_norm(S, free - drift, system.balanced)
    qdd = mass.full_solve([x - y @ lam for x, y in zip(z, Y, strict=True)])
    most = bound(S, sum(x * x / d for x, d in zip(z, mass.pivots, strict=True)))
    return flagged(consistent(left, most, drift), qdd, lam)


def _apply(Y: list[Any], x: list[Any]) -> Any:
    """Yᵀ x from the rows of Y."""
    total = Y[0] * x[0]
    for y, value in zip(Y[1:], x[1:], strict=True):
        total = total + y * value
    return total


def bound(S: Any, square: Any) -> Any:
    """Largest |A M⁻¹ f| there can be (1,): √(S_kk fᵀM⁻¹f), however much of it cancels."""
    size = largest(np.stack([S[k, k] for k in range(S.shape[0])]))
    return np.sqrt(np.stack([size * square]))


def consistent(left: Any, *parts: Any) -> Any:
    """Whether what is left is small beside the parts it was made of, before they cancel."""
    scale = 1e-9
    for part in parts:
        scale = scale + largest(part)
    return largest(left) <= INCONSISTENT * scale
