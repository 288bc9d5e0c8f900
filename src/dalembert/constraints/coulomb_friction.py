"""Coulomb friction at contacts: forces in proportion to a λ that is not known before they act.

    M q̈ + h + Aᵀλ + Eᵀλ_n = τ + ψ,    A q̈ = γ

λ_n are the normal forces and a row e of E is the friction at unit normal force, as generalised
force. q̈ and λ are affine in τ, so any route gives λ_n = λ_n⁰ + R λ_n from its answers to τ and to
τ − e for every contact, and (1 − R) λ_n = λ_n⁰ remains to be solved. A contact that would pull has no
friction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.registry import quantity
from dalembert.errors import ConstraintError, FormulationError
from dalembert.formulations.parts.elements import saturated
from dalembert.linalg.factorisations import flagged, lu
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.constraints.kinds import Constraint

SWEEPS = 10  # of Gauss and Seidel over the contacts, where one has let go


def with_friction(route: Callable[..., Any]) -> Callable[..., Any]:
    """The route to (q̈, λ) with the friction of contacts; NaN where friction jams (Painlevé)."""

    @wraps(route)
    def forward(
        system: ConstrainedDynamics, q: Array, qd: Array, tau: Array, **choices: str
    ) -> tuple[Array, Array]:
        qdd, lam = route(system, q, qd, tau, **choices)
        if not system.frictional_rows:
            return qdd, lam
        E, rows = system.friction_rows(q, qd)[0], list(system.frictional_rows)
        solutions = [route(system, q, qd, tau - e, **choices) for e in E]
        by_qdd, by_lam = (
            np.stack([answer[k] - smooth for answer in solutions]).T
            for k, smooth in enumerate((qdd, lam))
        )
        # p (m,) ≥ 0 with K p = λ_n⁰ where p > 0, zero where a contact would pull; where none pulls
        # this is K⁻¹ λ_n⁰, which the sweeps leave as it is
        m, K = len(rows), np.eye(len(rows)) - by_lam[rows]
        p = np.maximum(lu(K).solve(lam[rows]), 0.0)
        for _ in range(SWEEPS if m > 1 else 0):
            for k in range(m):
                normal_force = np.maximum(p[k] + (lam[rows][k] - K[k] @ p) / K[k, k], 0.0)
                p = np.stack([normal_force if j == k else p[j] for j in range(m)])
        ok = K[0, 0] > 0.0
        for k in range(1, m):
            ok = ok * (K[k, k] > 0.0)
        return flagged(ok, qdd + by_qdd @ p, lam + by_lam @ p)

    return forward


def require_smooth(system: ConstrainedDynamics, what: str) -> None:
    """Raise where a contact has friction: these equations have workless constraints only."""
    if system.frictional_rows:
        raise FormulationError(
            f"{system.name}: {what} is for constraints without friction; the dynamics, simulate "
            "and control.Hybrid take contacts with friction, Rolling and PointOnSurface do not"
        )


@quantity(
    "F(6)",
    "friction of a contact on its finger, force and moment at the contact point",
    "Coulomb's law; Howe and Cutkosky 1996",
    name="contact_friction",
)
def wrench(
    system: ConstrainedDynamics, q: Array, qd: Array, lam: Array, constraint: str = ""
) -> Array:
    """(6,) friction ON the finger at the contact point, force and moment along world axes."""
    row = system.slices[constraint].start
    if row not in system.frictional_rows:
        raise ConstraintError(
            f"constraint {constraint!r} has no friction; Sliding and SoftFinger have"
        )
    against = system.friction_rows(q, qd)[1][system.frictional_rows.index(row)]
    F: Array = -np.maximum(lam[row], 0.0) * against
    return F


def limit_wrench(J: Array, n: Array, qd: Array, limits: tuple[Any, Any], width: float) -> Array:
    """Friction (6,) at unit normal force, against the slip J q̇ (6,) at a contact of normal n (3,).

    Force and moment lie on the ellipsoid |f|²/μ² + m²/γ² = 1 that dissipates most: μ² v and γ² ω_n
    over √(μ² |v|² + γ² ω_n²), with `limits` = (μ, γ) (Howe and Cutkosky 1996).
    """
    v, spin = J[0:3] @ qd, n @ (J[3:6] @ qd)
    slip = v - (v @ n) * n
    mu, gamma = limits
    floor = mu * width
    speed = np.sqrt(np.maximum(mu * mu * (slip @ slip) + gamma * gamma * spin * spin, floor**2))
    return saturated(np.concatenate([mu * mu * slip, gamma * gamma * spin * n]), speed, floor)


def require_positive(kind: Constraint, **values: Any) -> None:
    """Raise for numbers that are missing or not positive."""
    for what, value in values.items():
        if value is None or (isinstance(value, int | float) and not value > 0.0):
            raise ConstraintError(
                f"{type(kind).__name__} {kind.label!r}: give {what} a positive value"
            )
