"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56), by `Metric`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.metric import metric
from dalembert.constraints.terms import terms
from dalembert.linalg.entries import flagged, largest

# what a consistent set may leave of A q̈ = γ, beside the accelerations it is made of
INCONSISTENT = 1e-6
# and where rows have come to depend on others: they hold nothing more only if rounding is left
LOST = 1e-13


def forward_dynamics(
    system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    maps = metric(system, M, A)
    qdd, lam, left = maps.motion(f, drift)
    z = maps.half(f)
    most = bound(maps.space.squares, maps.weigh(z) @ z)
    return flagged(consistent(left, maps.space.lost, most, drift), qdd, lam)


def bound(squares: list[Any], square: Any) -> Any:
    """Largest |A M⁻¹ f| there can be (1,): √(S_kk fᵀM⁻¹f), however much of it cancels."""
    return np.sqrt(np.stack([largest(np.stack(squares)) * square]))


def consistent(left: Any, lost: Any, *parts: Any) -> Any:
    """Whether what is left is small beside the parts it was made of, before they cancel.

    Where rows are `lost`, another direction is free in name only: as near to the singular posture as
    rounding lets one see, what is left of its row still decides the motion.
    """
    scale = 1e-9
    for part in parts:
        scale = scale + largest(part)
    return largest(left) <= np.where(lost > 0.0, LOST, INCONSISTENT) * scale
