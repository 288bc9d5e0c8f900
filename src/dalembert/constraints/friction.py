"""Coulomb friction at contacts: forces in proportion to a λ that is not known before they act.

    M q̈ + h + Aᵀλ + Eᵀλ_n = τ + ψ,    A q̈ = γ

λ_n are the normal forces and a row e of E is the friction at unit normal force, as generalised
force. q̈ and λ are affine in τ, so any route gives λ_n = λ_n⁰ + R λ_n from its answers to τ and to
τ − e for every contact, and (1 − R) λ_n = λ_n⁰ is all there is to solve. A contact that would pull
does not rub.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ConstraintError, FormulationError
from dalembert.linalg.entries import flagged
from dalembert.linalg.lu import lu

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

SWEEPS = 10  # of Gauss and Seidel over the contacts, where one has let go


def rubbed(route: Callable[..., Any]) -> Callable[..., Any]:
    """The route to (q̈, λ) with the friction of contacts; NaN where friction jams (Painlevé)."""

    @wraps(route)
    def forward(
        system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None, **choices: str
    ) -> tuple[Any, Any]:
        qdd, lam = route(system, q, qd, tau, t, **choices)
        if not system.rubbing:
            return qdd, lam
        E, rows = system.friction_rows(q, qd, t)[0], list(system.rubbing)
        answers = [route(system, q, qd, tau - e, t, **choices) for e in E]
        by_qdd, by_lam = (
            np.stack([answer[k] - smooth for answer in answers]).T
            for k, smooth in enumerate((qdd, lam))
        )
        own = np.eye(len(rows)) - by_lam[rows]
        pressed = _pressed(own, lam[rows])
        ok = own[0, 0] > 0.0
        for k in range(1, len(rows)):
            ok = ok * (own[k, k] > 0.0)
        return flagged(ok, qdd + by_qdd @ pressed, lam + by_lam @ pressed)

    return forward


def _pressed(K: Any, free: Any) -> Any:
    """p (m,) ≥ 0 with K p = free where p > 0: the normal forces, zero where a contact would pull.

    Where none pulls this is K⁻¹ free, which the sweeps leave as it is.
    """
    p = np.maximum(lu(K).solve(free), 0.0)
    m = K.shape[0]
    for _ in range(SWEEPS if m > 1 else 0):
        for k in range(m):
            now = np.maximum(p[k] + (free[k] - K[k] @ p) / K[k, k], 0.0)
            p = np.stack([now if j == k else p[j] for j in range(m)])
    return p


def require_smooth(system: ConstrainedDynamics, what: str) -> None:
    """Raise where a contact rubs: these equations have workless constraints only."""
    if system.rubbing:
        raise FormulationError(
            f"{system.name}: {what} is for constraints without friction; the dynamics, simulate "
            "and control.Hybrid take contacts that rub, Rolling and PointOnSurface do not"
        )


def wrench(
    system: ConstrainedDynamics, q: Any, qd: Any, lam: Any, t: Any = None, constraint: str = ""
) -> Any:
    """(6,) friction ON the finger at the contact point, force and moment along world axes."""
    row = system.slices[constraint].start
    if row not in system.rubbing:
        raise ConstraintError(
            f"constraint {constraint!r} has no friction; Sliding and SoftFinger have"
        )
    against = system.friction_rows(q, qd, t)[1][system.rubbing.index(row)]
    return -np.maximum(lam[row], 0.0) * against
