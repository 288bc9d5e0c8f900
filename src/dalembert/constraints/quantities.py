"""Plain quantities of the constraints themselves, for one state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


def jacobian(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """A (rows, nv)."""
    return system.at(q, None, t).A


def residual(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """h(q, t) (held,)."""
    return system.at(q, None, t).h


def velocity_residual(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """A q̇ − b (rows,)."""
    rows = system.at(q, qd, t)
    return rows.A @ qd - rows.b


def drift(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """γ (rows,) = ḃ − Ȧ q̇: what A q̈ must be."""
    return system.at(q, qd, t).drift


def constraint_force(system: ConstrainedDynamics, q: Any, lam: Any, t: Any = None) -> Any:
    """−Aᵀλ (nv,): the generalised force the constraints exert on the system."""
    return -(system.at(q, None, t).A.T @ lam)
