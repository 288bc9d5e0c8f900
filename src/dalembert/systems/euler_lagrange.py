"""Lagrange's equations of a system given by K, U and ψ (000 p.8, p.23; 002).

d/dt ∂L/∂q̇ − ∂L/∂q = τ + ψ with L = ½ q̇ᵀM(q, t) q̇ + a(q, t)ᵀq̇ − U(q, t) is

    M q̈ + C q̇ + G q̇ + N + e = τ + ψ,    G = ∂a/∂q − (∂a/∂q)ᵀ,    e = ∂(M q̇ + a)/∂t,

with G = 0 and e = 0 where L has no linear part and no time in it. Formulas (with a leading
underscore) are written on symbols and differentiated; functions take arrays. The motion of particles
r_i(q) under forces f_i follows term by term from d'Alembert's principle (002), without K: a second
derivation of the same motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert import tracing
from dalembert.formulations.forward.solve import implicit
from dalembert.linalg.factorisations import cholesky_solve, ldl

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.energies import Energies, Symbols


def _mass_matrix(s: Symbols) -> Array:
    M = tracing.hessian(s["kinetic"], s["qd"])
    # K is quadratic, so M is the same at every q̇ even where its expression mentions q̇
    return tracing.at([M], [s["qd"]], [np.ones(s["qd"].shape)])[0]


def _momentum(s: Symbols) -> Array:
    return tracing.gradient(s["kinetic"], s["qd"]) + s["linear"]


def _potential_gradient(s: Symbols) -> Array:
    return tracing.gradient(s["potential"], s["q"])


def _bias(s: Symbols) -> Array:
    # d/dt ∂L/∂q̇ at q̈ = 0, less ∂L/∂q
    carried = tracing.directional(_momentum(s), s["q"], s["qd"]) + _chart_force(s)
    moving = s["kinetic"] + s["linear"] @ s["qd"]
    return carried - tracing.gradient(moving, s["q"]) + _potential_gradient(s)


def _gyroscopic_matrix(s: Symbols) -> Array:
    derivative = tracing.jacobian(s["linear"], s["q"])
    return derivative - derivative.T


def _chart_force(s: Symbols) -> Array:
    return tracing.jacobian(_momentum(s), s["t"])


def _chart_power(s: Symbols) -> Array:
    return tracing.jacobian(s["potential"] - s["kinetic"] - s["linear"] @ s["qd"], s["t"])


def _residual(s: Symbols) -> Array:
    return _mass_matrix(s) @ s["qdd"] + _bias(s) - s["forces"]


def mass_matrix(energies: Energies, q: Array) -> Array:
    """M_ij (n, n) = ∂²K/∂q̇_i ∂q̇_j (000 p.22)."""
    return energies.evaluate(_mass_matrix, q=q)


def bias(energies: Energies, q: Array, qd: Array) -> Array:
    """h (n,) = d/dt ∂L/∂q̇ |_{q̈=0} − ∂L/∂q = C q̇ + G q̇ + N + e."""
    return energies.evaluate(_bias, q=q, qd=qd)


def christoffel(energies: Energies, q: Array) -> Array:
    """Γ_ijk (n, n, n) = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row (000 p.23)."""
    D = energies.evaluate(lambda s: tracing.jacobian(_mass_matrix(s), s["q"]), q=q)
    return 0.5 * (D + np.transpose(D, (0, 2, 1)) - np.transpose(D, (2, 1, 0)))


def coriolis_matrix(energies: Energies, q: Array, qd: Array) -> Array:
    """C_ij (n, n) = Σ_k Γ_ijk q̇_k, for which Ṁ − 2C is skew (000 p.23–24)."""
    return christoffel(energies, q) @ qd


def bias_by_christoffel(energies: Energies, q: Array, qd: Array) -> Array:
    """h (n,) = C(q, q̇) q̇ + N(q), and G q̇ + e of a gyroscopic or moving system."""
    h = coriolis_matrix(energies, q, qd) @ qd + gravity_torque(energies, q)
    if energies.gyroscopic or energies.moving:
        h = h + gyroscopic_matrix(energies, q) @ qd + chart_force(energies, q, qd)
    return h


def gyroscopic_matrix(energies: Energies, q: Array) -> Array:
    """G (n, n) = ∂a/∂q − (∂a/∂q)ᵀ, skew: gyroscopic and magnetic forces do no work."""
    return energies.evaluate(_gyroscopic_matrix, q=q)


def chart_force(energies: Energies, q: Array, qd: Array) -> Array:
    """e (n,) = ∂(M q̇ + a)/∂t: the part of the bias due to moving coordinates."""
    return energies.evaluate(_chart_force, q=q, qd=qd)


def chart_power(energies: Energies, q: Array, qd: Array) -> Array:
    """−∂L/∂t, W: the power put in by moving coordinates, d(K + U)/dt = (τ + ψ)·q̇ − ∂L/∂t."""
    return energies.evaluate(_chart_power, q=q, qd=qd)


def gravity_torque(energies: Energies, q: Array) -> Array:
    """N (n,) = ∂U/∂q."""
    return energies.evaluate(_potential_gradient, q=q)


def generalized_forces(energies: Energies, q: Array, qd: Array) -> Array:
    """ψ (n,): the forces that come from no potential."""
    return energies.evaluate("forces", q=q, qd=qd)


def inverse_dynamics(energies: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """τ (n,) = d/dt ∂L/∂q̇ − ∂L/∂q − ψ."""
    return energies.evaluate(_residual, q=q, qd=qd, qdd=qdd)


def inverse_dynamics_by_christoffel(energies: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """τ (n,) = M q̈ + C q̇ + N − ψ."""
    h = bias_by_christoffel(energies, q, qd) - generalized_forces(energies, q, qd)
    return mass_matrix(energies, q) @ qdd + h


def _excess(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    return tau + generalized_forces(energies, q, qd) - bias(energies, q, qd)


def solve(energies: Energies, q: Array, tau: Array) -> Array:
    """M⁻¹ τ (n,), M = L D Lᵀ: no square roots."""
    return ldl(mass_matrix(energies, q)).solve(tau)


@implicit(inverse_dynamics, solve)
def forward_dynamics(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L D Lᵀ."""
    return solve(energies, q, _excess(energies, q, qd, tau))


@implicit(inverse_dynamics, solve)
def forward_dynamics_by_cholesky(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L Lᵀ."""
    return cholesky_solve(mass_matrix(energies, q), _excess(energies, q, qd, tau))


def inverse_dynamics_derivatives(
    energies: Energies, q: Array, qd: Array, qdd: Array
) -> tuple[Array, ...]:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M, each (n, n)."""
    state = {"q": q, "qd": qd, "qdd": qdd}
    by_position = energies.evaluate(lambda s: tracing.jacobian(_residual(s), s["q"]), **state)
    by_velocity = energies.evaluate(lambda s: tracing.jacobian(_residual(s), s["qd"]), **state)
    return by_position, by_velocity, mass_matrix(energies, q)


def forward_dynamics_derivatives(
    energies: Energies, q: Array, qd: Array, tau: Array
) -> tuple[Array, ...]:
    """∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹, each (n, n)."""
    qdd = forward_dynamics(energies, q, qd, tau)
    by_position, by_velocity, M = inverse_dynamics_derivatives(energies, q, qd, qdd)
    inertia, unit = ldl(M), np.eye(energies.nv)
    return inertia.solve(-by_position), inertia.solve(-by_velocity), inertia.solve(unit)


def kinetic_energy(energies: Energies, q: Array, qd: Array) -> Array:
    """T = T₂ + T₁ + T₀, joules."""
    return energies.evaluate(lambda s: s["kinetic"] + s["T1"] + s["T0"], q=q, qd=qd)


def kinetic_energy_parts(energies: Energies, q: Array, qd: Array) -> tuple[Array, ...]:
    """(T₂, T₁, T₀): ½ q̇ᵀM q̇, linear in q̇, and without q̇, joules."""
    state = {"q": q, "qd": qd}
    parts = ("kinetic", "T1", "T0")
    return tuple(energies.evaluate(part, **state) for part in parts)


def potential_energy(energies: Energies, q: Array) -> Array:
    """V at q̇ = 0, joules."""
    return energies.evaluate(lambda s: s["potential"] + s["T0"], q=q)


def generalized_momentum(energies: Energies, q: Array, qd: Array) -> Array:
    """p (n,) = ∂L/∂q̇ = M q̇ + a (000 p.7)."""
    return energies.evaluate(_momentum, q=q, qd=qd)


def _velocities(s: Symbols) -> Array:
    r = s["positions"]
    return tracing.directional(r, s["q"], s["qd"]) + tracing.jacobian(r, s["t"])


def _accelerations(s: Symbols) -> Array:
    v = _velocities(s)
    carried = tracing.directional(v, s["q"], s["qd"]) + tracing.jacobian(v, s["t"])
    return carried + tracing.directional(v, s["qd"], s["qdd"])


def _dalembert(s: Symbols) -> Array:
    lost = s["applied"] - s["masses"] * _accelerations(s)
    work = tracing.transposed(s["positions"], s["q"], lost)
    # a potential besides gravity's (springs) acts on the coordinates themselves
    return work - tracing.gradient(s["stored"], s["q"])


def positions(points: Energies, q: Array) -> Array:
    """r_i (k, d), metres."""
    return points.evaluate("positions", q=q)


def velocities(points: Energies, q: Array, qd: Array) -> Array:
    """ṙ_i (k, d) = Σ ∂r_i/∂q_j q̇_j + ∂r_i/∂t."""
    return points.evaluate(_velocities, q=q, qd=qd)


def accelerations(points: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """r̈_i (k, d)."""
    return points.evaluate(_accelerations, q=q, qd=qd, qdd=qdd)


def applied_forces(points: Energies, q: Array, qd: Array) -> Array:
    """f_i (k, d): weight and the forces given, newtons."""
    return points.evaluate("applied", q=q, qd=qd)


def virtual_displacements(points: Energies, q: Array, dq: Array) -> Array:
    """δr_i (k, d) = Σ ∂r_i/∂q_j δq_j."""
    return points.evaluate(
        lambda s: tracing.directional(s["positions"], s["q"], s["dq"]), q=q, dq=dq
    )


def virtual_work(points: Energies, q: Array, forces: Array, dq: Array) -> Array:
    """Σ f_i·δr_i for forces (k, d), joules."""
    displaced = virtual_displacements(points, q, dq).ravel()
    return forces.ravel() @ displaced


def dalembert(points: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """Σ (f_i − m_i r̈_i)·∂r_i/∂q_j (n,): zero along a motion that nothing else drives."""
    return points.evaluate(_dalembert, q=q, qd=qd, qdd=qdd)
