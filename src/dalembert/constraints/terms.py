"""What every route starts from: M, the forces that are not the constraints', A and its drift."""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.constraints.description import ConstrainedDynamics


class Terms(NamedTuple):
    """M q̈ + Aᵀλ = f and A q̈ = γ."""

    M: Any  # (nv, nv)
    f: Any  # τ + ψ − C q̇ − N (nv,)
    A: Any  # (rows, nv)
    drift: Any  # γ = ḃ − Ȧ q̇ (rows,)


def terms(system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None) -> Terms:
    """The terms at a state, traceable."""
    plant = system.dynamics.at_time(t)
    rows = system.at(q, qd, t)
    f = tau + plant.generalized_forces(q, qd, t) - plant.bias(q, qd)
    return Terms(plant.mass_matrix(q), f, rows.A, rows.drift)
