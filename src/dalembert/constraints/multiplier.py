"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56)."""

from __future__ import annotations

from typing import Any

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.terms import terms
from dalembert.linalg import small as linear

# what a consistent set may leave of A q̈ = γ, beside the accelerations it is made of
INCONSISTENT = 1e-6


def forward_dynamics(
    system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    mass = linear.factor(M)
    Y, z = linear.half_solve(mass, A.T), linear.half_solve(mass, f)
    S = linear.gram(mass, Y)
    free = _apply(Y, [x / d for x, d in zip(z, mass.pivots, strict=True)])
    lam, left = linear.least_norm(S, free - drift, system.balanced)
    qdd = linear.full_solve(mass, [x - y @ lam for x, y in zip(z, Y, strict=True)])
    return linear.flagged(consistent(left, free, drift), qdd, lam)


def _apply(Y: list[Any], x: list[Any]) -> Any:
    """Yᵀ x from the rows of Y."""
    total = Y[0] * x[0]
    for y, value in zip(Y[1:], x[1:], strict=True):
        total = total + y * value
    return total


def consistent(left: Any, *parts: Any) -> Any:
    """Whether what is left is small beside the parts it was made of."""
    scale = 1e-9
    for part in parts:
        scale = scale + linear.largest(part)
    return linear.largest(left) <= INCONSISTENT * scale
