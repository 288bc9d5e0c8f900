"""Lagrange's equations of a system given by K, U and ψ (000 p.8, p.23; 002).

d/dt ∂L/∂q̇ − ∂L/∂q = τ + ψ with L = ½ q̇ᵀM(q, t) q̇ + a(q, t)ᵀq̇ − U(q, t) is

    M q̈ + C q̇ + G q̇ + N + e = τ + ψ,    G = ∂a/∂q − (∂a/∂q)ᵀ,    e = ∂(M q̇ + a)/∂t,

with G = 0 and e = 0 where L has no linear part and no time in it. Formulas (with a leading
underscore) are written on symbols and differentiated; functions take arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.formulations.forward.implicit import implicit
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.linalg.ldl import ldl

if TYPE_CHECKING:
    from dalembert.systems.energies import Energies, Symbols


def _kinetic(s: Symbols) -> Any:
    return s["kinetic"] + s["T1"] + s["T0"]


def _quadratic(s: Symbols) -> Any:
    return s["kinetic"]


def _linear(s: Symbols) -> Any:
    return s["T1"]


def _at_rest(s: Symbols) -> Any:
    return s["T0"]


def _potential(s: Symbols) -> Any:
    return s["potential"] + s["T0"]


def _forces(s: Symbols) -> Any:
    return s["forces"]


def _mass_matrix(s: Symbols) -> Any:
    M = tracing.hessian(s["kinetic"], s["qd"])
    # K is quadratic, so M is the same at every q̇ even where its expression mentions q̇
    return tracing.at([M], [s["qd"]], [np.ones(s["qd"].shape)])[0]


def _momentum(s: Symbols) -> Any:
    return tracing.gradient(s["kinetic"], s["qd"]) + s["linear"]


def _potential_slope(s: Symbols) -> Any:
    return tracing.gradient(s["potential"], s["q"])


def _bias(s: Symbols) -> Any:
    # d/dt ∂L/∂q̇ at q̈ = 0, less ∂L/∂q
    carried = tracing.directional(_momentum(s), s["q"], s["qd"]) + _chart_force(s)
    moving = s["kinetic"] + s["linear"] @ s["qd"]
    return carried - tracing.gradient(moving, s["q"]) + _potential_slope(s)


def _gyroscopic_matrix(s: Symbols) -> Any:
    slopes = tracing.jacobian(s["linear"], s["q"])
    return slopes - slopes.T


def _chart_force(s: Symbols) -> Any:
    return tracing.jacobian(_momentum(s), s["t"])


def _chart_power(s: Symbols) -> Any:
    return tracing.jacobian(s["potential"] - s["kinetic"] - s["linear"] @ s["qd"], s["t"])


def _mass_slopes(s: Symbols) -> Any:
    """∂M_ij/∂q_k (n, n, n)."""
    return tracing.jacobian(_mass_matrix(s), s["q"])


def _residual(s: Symbols) -> Any:
    return _mass_matrix(s) @ s["qdd"] + _bias(s) - s["forces"]


def _residual_by_position(s: Symbols) -> Any:
    return tracing.jacobian(_residual(s), s["q"])


def _residual_by_velocity(s: Symbols) -> Any:
    return tracing.jacobian(_residual(s), s["qd"])


def mass_matrix(energies: Energies, q: Any) -> Any:
    """M_ij (n, n) = ∂²K/∂q̇_i ∂q̇_j (000 p.22)."""
    return energies.evaluate(_mass_matrix, q=q)


def bias(energies: Energies, q: Any, qd: Any) -> Any:
    """h (n,) = d/dt ∂L/∂q̇ |_{q̈=0} − ∂L/∂q = C q̇ + G q̇ + N + e."""
    return energies.evaluate(_bias, q=q, qd=qd)


def christoffel(energies: Energies, q: Any) -> Any:
    """Γ_ijk (n, n, n) = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row (000 p.23)."""
    D = energies.evaluate(_mass_slopes, q=q)
    return 0.5 * (D + np.transpose(D, (0, 2, 1)) - np.transpose(D, (2, 1, 0)))


def coriolis_matrix(energies: Energies, q: Any, qd: Any) -> Any:
    """C_ij (n, n) = Σ_k Γ_ijk q̇_k, for which Ṁ − 2C is skew (000 p.23–24)."""
    return christoffel(energies, q) @ qd


def bias_by_christoffel(energies: Energies, q: Any, qd: Any) -> Any:
    """h (n,) = C(q, q̇) q̇ + N(q), and G q̇ + e of a gyroscopic or moving system."""
    h = coriolis_matrix(energies, q, qd) @ qd + gravity_torque(energies, q)
    if energies.gyroscopic or energies.moving:
        h = h + gyroscopic_matrix(energies, q) @ qd + chart_force(energies, q, qd)
    return h


def gyroscopic_matrix(energies: Energies, q: Any) -> Any:
    """G (n, n) = ∂a/∂q − (∂a/∂q)ᵀ, skew: gyroscopic and magnetic forces do no work."""
    return energies.evaluate(_gyroscopic_matrix, q=q)


def chart_force(energies: Energies, q: Any, qd: Any) -> Any:
    """e (n,) = ∂(M q̇ + a)/∂t: what coordinates that move by themselves add to the bias."""
    return energies.evaluate(_chart_force, q=q, qd=qd)


def chart_power(energies: Energies, q: Any, qd: Any) -> Any:
    """−∂L/∂t, watts: what whoever moves the coordinates puts in, d(K + U)/dt = (τ + ψ)·q̇ − ∂L/∂t."""
    return energies.evaluate(_chart_power, q=q, qd=qd)


def gravity_torque(energies: Energies, q: Any) -> Any:
    """N (n,) = ∂U/∂q."""
    return energies.evaluate(_potential_slope, q=q)


def generalized_forces(energies: Energies, q: Any, qd: Any) -> Any:
    """ψ (n,): the forces that come from no potential."""
    return energies.evaluate(_forces, q=q, qd=qd)


def inverse_dynamics(energies: Energies, q: Any, qd: Any, qdd: Any) -> Any:
    """τ (n,) = d/dt ∂L/∂q̇ − ∂L/∂q − ψ."""
    return energies.evaluate(_residual, q=q, qd=qd, qdd=qdd)


def inverse_dynamics_by_christoffel(energies: Energies, q: Any, qd: Any, qdd: Any) -> Any:
    """τ (n,) = M q̈ + C q̇ + N − ψ."""
    h = bias_by_christoffel(energies, q, qd) - generalized_forces(energies, q, qd)
    return mass_matrix(energies, q) @ qdd + h


def _excess(energies: Energies, q: Any, qd: Any, tau: Any) -> Any:
    return tau + generalized_forces(energies, q, qd) - bias(energies, q, qd)


def solve(energies: Energies, q: Any, tau: Any) -> Any:
    """M⁻¹ τ (n,), M = L D Lᵀ: no square roots."""
    return ldl(mass_matrix(energies, q)).solve(tau)


@implicit(inverse_dynamics, solve)
def forward_dynamics(energies: Energies, q: Any, qd: Any, tau: Any) -> Any:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L D Lᵀ."""
    return solve(energies, q, _excess(energies, q, qd, tau))


@implicit(inverse_dynamics, solve)
def forward_dynamics_by_cholesky(energies: Energies, q: Any, qd: Any, tau: Any) -> Any:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L Lᵀ."""
    return cholesky_solve(mass_matrix(energies, q), _excess(energies, q, qd, tau))


def inverse_dynamics_derivatives(energies: Energies, q: Any, qd: Any, qdd: Any) -> tuple[Any, ...]:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M, each (n, n)."""
    state = {"q": q, "qd": qd, "qdd": qdd}
    by_position = energies.evaluate(_residual_by_position, **state)
    by_velocity = energies.evaluate(_residual_by_velocity, **state)
    return by_position, by_velocity, mass_matrix(energies, q)


def forward_dynamics_derivatives(energies: Energies, q: Any, qd: Any, tau: Any) -> tuple[Any, ...]:
    """∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹, each (n, n)."""
    qdd = forward_dynamics(energies, q, qd, tau)
    by_position, by_velocity, M = inverse_dynamics_derivatives(energies, q, qd, qdd)
    inertia, unit = ldl(M), np.eye(energies.nv)
    return inertia.solve(-by_position), inertia.solve(-by_velocity), inertia.solve(unit)


def kinetic_energy(energies: Energies, q: Any, qd: Any) -> Any:
    """T = T₂ + T₁ + T₀, joules."""
    return energies.evaluate(_kinetic, q=q, qd=qd)


def kinetic_energy_parts(energies: Energies, q: Any, qd: Any) -> tuple[Any, Any, Any]:
    """(T₂, T₁, T₀): ½ q̇ᵀM q̇, linear in q̇, and without q̇, joules."""
    state = {"q": q, "qd": qd}
    parts = (_quadratic, _linear, _at_rest)
    T2, T1, T0 = (energies.evaluate(part, **state) for part in parts)
    return T2, T1, T0


def potential_energy(energies: Energies, q: Any) -> Any:
    """V at q̇ = 0, joules."""
    return energies.evaluate(_potential, q=q)


def generalized_momentum(energies: Energies, q: Any, qd: Any) -> Any:
    """p (n,) = ∂L/∂q̇ = M q̇ + a (000 p.7)."""
    return energies.evaluate(_momentum, q=q, qd=qd)
