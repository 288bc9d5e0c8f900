"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56), by `Metric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.metric import metric, terms
from dalembert.constraints.status import missed
from dalembert.linalg.entries import flagged, largest
from dalembert.linalg.row_space import EXTRA

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

# what a consistent set may leave of A q̈ = γ, beside the accelerations it is made of
INCONSISTENT = 1e-6
# and where rows have come to depend on others: they hold nothing more only if rounding is left
LOST = 1e-13
# rows that are redundant on the constraints, beside them: how often their estimate is allowed for
APART = 10.0


def forward_dynamics(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    tau: Any,
    t: Any = None,
    underway: bool = False,
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict.

    A state `underway` is a stage of an integrator, beside the constraints by its error.
    """
    M, f, A, drift = terms(system, q, qd, tau, t)
    maps = metric(system, M, A)
    qdd, lam, left = maps.motion(f, drift)
    z = maps.half(f)
    most = bound(maps.space.squares, maps.weigh(z) @ z)
    apart = 0.0
    if underway and not system.balanced:
        apart = _apart(system, q, qd, t, largest(most) + largest(drift))
    return flagged(consistent(system, left, maps.space.lost, most, drift, apart=apart), qdd, lam)


def _apart(system: ConstrainedDynamics, q: Any, qd: Any, t: Any, scale: Any) -> Any:
    """What redundant rows may disagree by () at a state that misses the constraints.

    Rows that repeat others where h = 0 and A q̇ = b do so only there. Beside it A is another by about
    |h| of A, and γ, quadratic in q̇, by |A q̇ − b| beside |q̇|; a bad guess by a factor of ten is none.
    """
    by_h, by_w = missed(system, q, qd, t)
    return APART * (by_h + by_w / (1e-9 + np.sqrt(qd @ qd))) * scale


def bound(squares: list[Any], square: Any) -> Any:
    """Largest |A M⁻¹ f| there can be (1,): √(S_kk fᵀM⁻¹f), however much of it cancels."""
    return np.sqrt(np.stack([largest(np.stack(squares)) * square]))


def consistent(
    system: ConstrainedDynamics, left: Any, lost: Any, *parts: Any, apart: Any = 0.0
) -> Any:
    """Whether what is left is small beside the parts it was made of, before they cancel.

    `apart` is how much of it the state explains. Rows that depend on others by the digits of their
    data may ask for accelerations that are as far apart.

    Where rows are `lost`, another direction is free in name only: as near to the singular posture as
    rounding lets one see, what is left of its row still decides the motion.
    """
    scale = 1e-9
    for part in parts:
        scale = scale + largest(part)
    usual = EXTRA if system.dependent else INCONSISTENT
    return largest(left) <= np.where(lost > 0.0, LOST, usual) * scale + apart
