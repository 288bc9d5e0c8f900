"""Plain quantities of the constraints themselves, for one state."""

from __future__ import annotations

from typing import Any

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


def mass_matrix(system: ConstrainedDynamics, q: Any) -> Any:
    """M (nv, nv) of the system without constraints."""
    return system.dynamics.mass_matrix(q)


def bias(system: ConstrainedDynamics, q: Any, qd: Any) -> Any:
    """C q̇ + N (nv,) of the system without constraints."""
    return system.dynamics.bias(q, qd)


def gravity_torque(system: ConstrainedDynamics, q: Any) -> Any:
    """N (nv,) = ∂U/∂q of the system without constraints."""
    return system.dynamics.compute("gravity_torque", q=q)


def generalized_forces(system: ConstrainedDynamics, q: Any, qd: Any) -> Any:
    """ψ (nv,): the forces without potential that act on the system."""
    return system.dynamics.generalized_forces(q, qd)


def kinetic_energy(system: ConstrainedDynamics, q: Any, qd: Any) -> Any:
    """T, joules."""
    return system.dynamics.kinetic_energy(q, qd)


def potential_energy(system: ConstrainedDynamics, q: Any) -> Any:
    """V, joules."""
    return system.dynamics.potential_energy(q)


def integrate(system: ConstrainedDynamics, q: Any, step: Any) -> Any:
    """q (nq,) moved by the velocity `step` (nv,) for unit time."""
    return system.dynamics.integrate(q, step)


def difference(system: ConstrainedDynamics, q: Any, to: Any) -> Any:
    """The step (nv,) with integrate(q, step) = to."""
    return system.dynamics.difference(q, to)


def constraint_force(system: ConstrainedDynamics, q: Any, lam: Any, t: Any = None) -> Any:
    """−Aᵀλ (nv,): the generalised force the constraints exert on the system."""
    return -(system.at(q, None, t).A.T @ lam)
