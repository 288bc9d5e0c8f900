"""Lagrange's equations of a system given by K, U and ψ (000 p.8, p.23; 002).

d/dt ∂L/∂q̇ − ∂L/∂q = τ + ψ with L = ½ q̇ᵀM(q, t) q̇ + a(q, t)ᵀq̇ − U(q, t) is

    M q̈ + C q̇ + G q̇ + N + e = τ + ψ,    G = ∂a/∂q − (∂a/∂q)ᵀ,    e = ∂(M q̇ + a)/∂t,

with G = 0 and e = 0 where L has no linear part and no time in it. Formulas (with a leading
underscore) are written on symbols and differentiated; functions take arrays. The motion of particles
r_i(q) under forces f_i follows term by term from d'Alembert's principle (002), without K: a second
derivation of the same motion.

A quantity of the catalogue has the name and the inputs of the function that computes it by default;
its summary, the name of this formulation and how it computes stand above the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dalembert import tracing
from dalembert.formulations.catalogue import results_of
from dalembert.formulations.forward.solve import implicit
from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.linalg.factorisations import cholesky_solve, inverse_form, ldl

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array, Time
    from dalembert.systems.energies import Energies, Symbols


CITATION = "000 p.8, p.22–24; 002"
POINTS: tuple[Size, ...] = ("particles", "dimension")
MORE_INPUTS = {**INPUTS, "forces": POINTS, "dq": ("nv",), "t": ()}
Function = TypeVar("Function", bound=Callable[..., Any])
LAGRANGIAN: dict[str, Quantity] = {}
_PARTICLES: dict[str, Quantity] = {}  # quantities of particles alone


def _quantity(
    results: str,
    summary: str,
    name: str,
    method: str,
    catalogue: dict[str, Quantity] = LAGRANGIAN,
    inverts_mass: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: a function is the quantity of its name, by the formulation `name`.

    `results` are names and shapes, "M(nv, nv)".
    """

    def declare(function: Function) -> Function:
        own, (_, *inputs) = function.__name__, tuple(signature(function).parameters)
        by = (Formulation(name, function, CITATION, method),)
        outputs = results_of(results)
        catalogue[own] = Quantity(
            own, summary, tuple(inputs), outputs, by, inverts_mass=inverts_mass
        )
        return function

    return declare


def _formulation(quantity: str, name: str, method: str) -> Callable[[Function], Function]:
    """Decorator: a function is another formulation of a quantity."""

    def declare(function: Function) -> Function:
        known = LAGRANGIAN[quantity]
        further = Formulation(name, function, CITATION, method)
        LAGRANGIAN[quantity] = replace(known, formulations=(*known.formulations, further))
        return function

    return declare


_of_particles = partial(_quantity, catalogue=_PARTICLES)
_solved = partial(_quantity, inverts_mass=True)  # does not exist where M(q) is singular


def _mass_matrix(s: Symbols) -> Array:
    hessian = tracing.hessian(s["kinetic"], s["qd"])
    # K is quadratic, so M is the same at every q̇ even where its expression mentions q̇
    return tracing.at([hessian], [s["qd"]], [np.ones(s["qd"].shape)])[0]


def _momentum(s: Symbols) -> Array:
    p: Array = tracing.gradient(s["kinetic"], s["qd"]) + s["linear"]
    return p


def _bias(s: Symbols) -> Array:
    # d/dt ∂L/∂q̇ at q̈ = 0, less ∂L/∂q
    by_position = tracing.directional(_momentum(s), s["q"], s["qd"])
    momentum_rate = by_position + tracing.jacobian(_momentum(s), s["t"])
    moving = s["kinetic"] + s["linear"] @ s["qd"]
    by_motion = tracing.gradient(moving, s["q"])
    h: Array = momentum_rate - by_motion + tracing.gradient(s["potential"], s["q"])
    return h


def _residual(s: Symbols) -> Array:
    tau: Array = _mass_matrix(s) @ s["qdd"] + _bias(s) - s["forces"]
    return tau


@_quantity("tau(nv)", "forces of a motion", "euler_lagrange", "d/dt ∂L/∂q̇ − ∂L/∂q − ψ")
def inverse_dynamics(energies: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """τ (n,) = d/dt ∂L/∂q̇ − ∂L/∂q − ψ."""
    return energies.evaluate(_residual, q=q, qd=qd, qdd=qdd)


@_formulation("inverse_dynamics", "christoffel", "M q̈ + C q̇ + N − ψ")
def inverse_dynamics_by_christoffel(energies: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """τ (n,) = M q̈ + C q̇ + N − ψ."""
    h = bias_by_christoffel(energies, q, qd) - generalized_forces(energies, q, qd)
    tau: Array = mass_matrix(energies, q) @ qdd + h
    return tau


def solve(energies: Energies, q: Array, tau: Array) -> Array:
    """M⁻¹ τ (n,), M = L D Lᵀ: no square roots."""
    return ldl(mass_matrix(energies, q)).solve(tau)


@_solved("qdd(nv)", "accelerations under forces", "ldl", "M = L D Lᵀ")
@implicit(inverse_dynamics, solve)
def forward_dynamics(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L D Lᵀ."""
    excess = tau + generalized_forces(energies, q, qd) - bias(energies, q, qd)
    return solve(energies, q, excess)


@_formulation("forward_dynamics", "cholesky", "M = L Lᵀ")
@implicit(inverse_dynamics, solve)
def forward_dynamics_by_cholesky(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (n,) with M q̈ = τ + ψ − h, M = L Lᵀ."""
    M = mass_matrix(energies, q)
    return cholesky_solve(M, tau + generalized_forces(energies, q, qd) - bias(energies, q, qd))


@_formulation("forward_dynamics", "hamilton", "d/dt of q̇ = ∂H/∂p along ṗ = −∂H/∂q + τ + ψ")
@implicit(inverse_dynamics, solve)
def forward_dynamics_by_hamilton(energies: Energies, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (n,) = ∂²H/∂p∂q q̇ + ∂²H/∂p² ṗ + ∂²H/∂p∂t: derivatives of H(q, p, t) alone (Hamilton 1835)."""
    force = tau + generalized_forces(energies, q, qd)
    p = generalized_momentum(energies, q, qd)
    return energies.evaluate(_canonical_acceleration, q=q, p=p, tau=force)


def _canonical_acceleration(s: Symbols) -> Array:
    momentum = s["p"] - s["linear"]
    H = 0.5 * (momentum @ ldl(_mass_matrix(s)).solve(momentum)) + s["potential"]
    velocity, rate = tracing.gradient(H, s["p"]), s["tau"] - tracing.gradient(H, s["q"])
    by_state = tracing.directional(velocity, s["q"], velocity)
    by_state = by_state + tracing.directional(velocity, s["p"], rate)
    qdd: Array = by_state + tracing.jacobian(velocity, s["t"])
    return qdd


@_quantity("M(nv, nv)", "M(q)", "hessian", "∂²K/∂q̇²")
def mass_matrix(energies: Energies, q: Array) -> Array:
    """M_ij (n, n) = ∂²K/∂q̇_i ∂q̇_j (000 p.22)."""
    return energies.evaluate(_mass_matrix, q=q)


@_quantity("h(nv)", "C q̇ + N", "euler_lagrange", "d/dt ∂L/∂q̇ − ∂L/∂q at q̈ = 0")
def bias(energies: Energies, q: Array, qd: Array) -> Array:
    """h (n,) = d/dt ∂L/∂q̇ |_{q̈=0} − ∂L/∂q = C q̇ + G q̇ + N + e."""
    return energies.evaluate(_bias, q=q, qd=qd)


@_formulation("bias", "christoffel", "Γ q̇ q̇ + N")
def bias_by_christoffel(energies: Energies, q: Array, qd: Array) -> Array:
    """h (n,) = C(q, q̇) q̇ + N(q), and G q̇ + e of a gyroscopic or moving system."""
    h: Array = coriolis_matrix(energies, q, qd) @ qd + gravity_torque(energies, q)
    if energies.gyroscopic or energies.moving:
        h = h + gyroscopic_matrix(energies, q) @ qd + chart_force(energies, q, qd)
    return h


@_quantity("N(nv)", "N(q) = ∂U/∂q", "gradient", "∂U/∂q")
def gravity_torque(energies: Energies, q: Array) -> Array:
    """N (n,) = ∂U/∂q."""
    return energies.evaluate(lambda s: tracing.gradient(s["potential"], s["q"]), q=q)


@_quantity("psi(nv)", "ψ(q, q̇), the forces without potential", "given", "as given, or Σ f·∂r/∂q")
def generalized_forces(energies: Energies, q: Array, qd: Array) -> Array:
    """ψ (n,): the forces that come from no potential."""
    return energies.evaluate("forces", q=q, qd=qd)


@_quantity("Gamma(nv, nv, nv)", "Γ_ijk(q)", "hessian", "derivatives of ∂²K/∂q̇²")
def christoffel(energies: Energies, q: Array) -> Array:
    """Γ_ijk (n, n, n) = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row (000 p.23)."""
    D = energies.evaluate(lambda s: tracing.jacobian(_mass_matrix(s), s["q"]), q=q)
    Gamma: Array = 0.5 * (D + np.transpose(D, (0, 2, 1)) - np.transpose(D, (2, 1, 0)))
    return Gamma


@_quantity("C(nv, nv)", "C(q, q̇), Ṁ − 2C skew", "christoffel", "Σ Γ_ijk q̇_k")
def coriolis_matrix(energies: Energies, q: Array, qd: Array) -> Array:
    """C_ij (n, n) = Σ_k Γ_ijk q̇_k, for which Ṁ − 2C is skew (000 p.23–24)."""
    C: Array = christoffel(energies, q) @ qd
    return C


@_quantity("G(nv, nv)", "G(q), skew: the forces G q̇ of a part aᵀq̇ of L", "curl", "∂a/∂q − (∂a/∂q)ᵀ")
def gyroscopic_matrix(energies: Energies, q: Array) -> Array:
    """G (n, n) = ∂a/∂q − (∂a/∂q)ᵀ, skew: gyroscopic and magnetic forces do no work."""

    def curl(s: Symbols) -> Array:
        derivative = tracing.jacobian(s["linear"], s["q"])
        G: Array = derivative - derivative.T
        return G

    return energies.evaluate(curl, q=q)


@_quantity("e(nv)", "the part of the bias due to moving coordinates", "slope", "∂(M q̇ + a)/∂t")
def chart_force(energies: Energies, q: Array, qd: Array) -> Array:
    """e (n,) = ∂(M q̇ + a)/∂t: the part of the bias due to moving coordinates."""
    return energies.evaluate(lambda s: tracing.jacobian(_momentum(s), s["t"]), q=q, qd=qd)


def chart_power(energies: Energies, q: Array, qd: Array) -> Array:
    """−∂L/∂t, W: the power put in by moving coordinates, d(K + U)/dt = (τ + ψ)·q̇ − ∂L/∂t."""
    return energies.evaluate(
        lambda s: tracing.jacobian(s["potential"] - s["kinetic"] - s["linear"] @ s["qd"], s["t"]),
        q=q,
        qd=qd,
    )


@_quantity("K()", "T", "given", "as given")
def kinetic_energy(energies: Energies, q: Array, qd: Array) -> Array:
    """T = T₂ + T₁ + T₀, joules."""
    return energies.evaluate(lambda s: s["kinetic"] + s["T1"] + s["T0"], q=q, qd=qd)


@_quantity(
    "T2(), T1(), T0()",
    "T₂, T₁ and T₀, of degree 2, 1 and 0 in q̇",
    "degrees",
    "½ q̇ᵀM q̇, ∂T/∂q̇ and T at rest",
)
def kinetic_energy_parts(energies: Energies, q: Array, qd: Array) -> tuple[Array, ...]:
    """(T₂, T₁, T₀): ½ q̇ᵀM q̇, linear in q̇, and without q̇, joules."""
    return tuple(energies.evaluate(part, q=q, qd=qd) for part in ("kinetic", "T1", "T0"))


@_quantity("U()", "V", "given", "as given, at q̇ = 0")
def potential_energy(energies: Energies, q: Array) -> Array:
    """V at q̇ = 0, joules."""
    return energies.evaluate(lambda s: s["potential"] + s["T0"], q=q)


@_quantity("p(nv)", "∂K/∂q̇", "gradient", "∂K/∂q̇")
def generalized_momentum(energies: Energies, q: Array, qd: Array) -> Array:
    """p (n,) = ∂L/∂q̇ = M q̇ + a (000 p.7)."""
    return energies.evaluate(_momentum, q=q, qd=qd)


@_solved(
    "H()",
    "H = T₂ − T₀ + V of coordinates and momenta",
    "ldl",
    "½ (p − a)ᵀM⁻¹(p − a) + U, M = L D Lᵀ",
)
def hamiltonian(energies: Energies, q: Array, p: Array) -> Array:
    """H = T₂ − T₀ + V = ½ (p − a)ᵀM⁻¹(p − a) + U, joules (Hamilton 1835)."""
    quadratic = p - energies.evaluate("linear", q=q)
    T2: Array = 0.5 * (quadratic @ solve(energies, q, quadratic))
    H: Array = T2 + energies.evaluate("potential", q=q)
    return H


@_solved(
    "qd(nv), pd(nv)",
    "q̇ = ∂H/∂p and ṗ = −∂H/∂q + τ + ψ",
    "ldl",
    "M⁻¹(p − a), and ∂L/∂q at these velocities",
)
def canonical_equations(energies: Energies, q: Array, p: Array, tau: Array) -> tuple[Array, Array]:
    """q̇ = ∂H/∂p = M⁻¹(p − a) and ṗ = −∂H/∂q + τ + ψ, each (n,).

    At the velocities that belong to p, −∂H/∂q is ∂L/∂q: M⁻¹ needs no derivative.
    """

    def by_position(s: Symbols) -> Array:
        return tracing.gradient(s["kinetic"] + s["linear"] @ s["qd"] - s["potential"], s["q"])

    qd = solve(energies, q, p - energies.evaluate("linear", q=q))
    derivative = energies.evaluate(by_position, q=q, qd=qd)
    return qd, derivative + tau + generalized_forces(energies, q, qd)


@_solved("Z()", "Z = ½ (q̈ − a)ᵀM (q̈ − a)", "euler_lagrange", "½ rᵀM⁻¹r, r = d/dt ∂L/∂q̇ − ∂L/∂q − Q")
def gauss_constraint(energies: Energies, q: Array, qd: Array, qdd: Array, tau: Array) -> Array:
    """Z = ½ rᵀM⁻¹r with r = M q̈ + h − ψ − τ = M (q̈ − a), kg m²/s⁴ (Gauss 1829)."""
    missing = inverse_dynamics(energies, q, qd, qdd) - tau
    Z: Array = 0.5 * inverse_form(mass_matrix(energies, q), missing)
    return Z


@_quantity(
    "S()",
    "S = ½ ∫ a·a dm but for terms without q̈",
    "kinetic_energy",
    "from ∂S/∂q̈ = d/dt ∂T/∂q̇ − ∂T/∂q",
)
def acceleration_energy(energies: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """½ q̈ᵀM q̈ + q̈·(d/dt ∂T/∂q̇ |_{q̈=0} − ∂T/∂q): S but for terms without q̈, which T leaves open."""
    return energies.evaluate(_acceleration_energy, q=q, qd=qd, qdd=qdd)


def _acceleration_energy(s: Symbols) -> Array:
    T = s["kinetic"] + s["T1"] + s["T0"]
    p = tracing.gradient(T, s["qd"])
    at_rest = tracing.directional(p, s["q"], s["qd"]) + tracing.jacobian(p, s["t"])
    inertia_force = 0.5 * (_mass_matrix(s) @ s["qdd"]) + at_rest - tracing.gradient(T, s["q"])
    S: Array = inertia_force @ s["qdd"]
    return S


@_quantity("q(nq)", "q + step", "sum", "coordinates of a vector space")
def integrate(energies: Energies, q: Array, step: Array) -> Array:
    """q (nq,) moved by `step` (nv,)."""
    return energies.integrate(q, step)


@_quantity("step(nv)", "to − q", "difference", "coordinates of a vector space")
def difference(energies: Energies, q: Array, to: Array) -> Array:
    """The step (nv,) from q to another configuration."""
    return energies.difference(q, to)


@_quantity(
    "dtau_dq(nv, nv), dtau_dqd(nv, nv), M(nv, nv)",
    "∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈",
    "euler_lagrange",
    "of d/dt ∂L/∂q̇ − ∂L/∂q − ψ",
)
def inverse_dynamics_derivatives(
    energies: Energies, q: Array, qd: Array, qdd: Array
) -> tuple[Array, ...]:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M, each (n, n)."""
    state = {"q": q, "qd": qd, "qdd": qdd}
    by_position = energies.evaluate(lambda s: tracing.jacobian(_residual(s), s["q"]), **state)
    by_velocity = energies.evaluate(lambda s: tracing.jacobian(_residual(s), s["qd"]), **state)
    return by_position, by_velocity, mass_matrix(energies, q)


@_solved(
    "dqdd_dq(nv, nv), dqdd_dqd(nv, nv), M_inverse(nv, nv)",
    "∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ",
    "ldl",
    "−M⁻¹ times those of τ",
)
def forward_dynamics_derivatives(
    energies: Energies, q: Array, qd: Array, tau: Array
) -> tuple[Array, ...]:
    """∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹, each (n, n)."""
    qdd = forward_dynamics(energies, q, qd, tau)
    by_position, by_velocity, M = inverse_dynamics_derivatives(energies, q, qd, qdd)
    inertia, unit = ldl(M), np.eye(energies.nv)
    return inertia.solve(-by_position), inertia.solve(-by_velocity), inertia.solve(unit)


def _velocities(s: Symbols) -> Array:
    r = s["positions"]
    v: Array = tracing.directional(r, s["q"], s["qd"]) + tracing.jacobian(r, s["t"])
    return v


def _accelerations(s: Symbols) -> Array:
    v = _velocities(s)
    at_rest = tracing.directional(v, s["q"], s["qd"]) + tracing.jacobian(v, s["t"])
    a: Array = at_rest + tracing.directional(v, s["qd"], s["qdd"])
    return a


def _dalembert(s: Symbols) -> Array:
    lost = s["applied"] - s["masses"] * _accelerations(s)
    work = tracing.transposed(s["positions"], s["q"], lost)
    # a potential besides gravity's (springs) acts on the coordinates themselves
    residual: Array = work - tracing.gradient(s["stored"], s["q"])
    return residual


@_of_particles("r(particles, dimension)", "r_i(q)", "given", "as given")
def positions(points: Energies, q: Array) -> Array:
    """r_i (k, d), metres."""
    return points.evaluate("positions", q=q)


@_of_particles("v(particles, dimension)", "ṙ_i = Σ ∂r_i/∂q_j q̇_j", "chain_rule", "∂r/∂q q̇")
def velocities(points: Energies, q: Array, qd: Array) -> Array:
    """ṙ_i (k, d) = Σ ∂r_i/∂q_j q̇_j + ∂r_i/∂t."""
    return points.evaluate(_velocities, q=q, qd=qd)


@_of_particles("a(particles, dimension)", "r̈_i", "chain_rule", "∂r/∂q q̈ + d/dt(∂r/∂q) q̇")
def accelerations(points: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """r̈_i (k, d)."""
    return points.evaluate(_accelerations, q=q, qd=qd, qdd=qdd)


def acceleration_energy_of_particles(points: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """S = ½ Σ m_i r̈_i·r̈_i (Appell 1899)."""
    a = accelerations(points, q, qd, qdd).ravel()
    S: Array = 0.5 * ((points.evaluate("masses", q=q).ravel() * a) @ a)
    return S


@_of_particles(
    "f(particles, dimension)", "f_i(q, q̇), weight included", "given", "weight and the forces given"
)
def applied_forces(points: Energies, q: Array, qd: Array) -> Array:
    """f_i (k, d): weight and the forces given, newtons."""
    return points.evaluate("applied", q=q, qd=qd)


@_of_particles("dr(particles, dimension)", "δr_i = Σ ∂r_i/∂q_j δq_j", "chain_rule", "∂r/∂q δq")
def virtual_displacements(points: Energies, q: Array, dq: Array) -> Array:
    """δr_i (k, d) = Σ ∂r_i/∂q_j δq_j."""
    return points.evaluate(
        lambda s: tracing.directional(s["positions"], s["q"], s["dq"]), q=q, dq=dq
    )


@_of_particles("work()", "Σ f_i·δr_i", "definition", "Σ f_i·δr_i")
def virtual_work(points: Energies, q: Array, forces: Array, dq: Array) -> Array:
    """Σ f_i·δr_i for forces (k, d), joules."""
    work: Array = forces.ravel() @ virtual_displacements(points, q, dq).ravel()
    return work


@_of_particles(
    "residual(nv)",
    "Σ (f_i − m_i r̈_i)·∂r_i/∂q_j",
    "definition",
    "from forces and accelerations of the particles",
)
def dalembert(points: Energies, q: Array, qd: Array, qdd: Array) -> Array:
    """Σ (f_i − m_i r̈_i)·∂r_i/∂q_j (n,): zero along a motion that nothing else drives."""
    return points.evaluate(_dalembert, q=q, qd=qd, qdd=qdd)


_APPELL = replace(
    LAGRANGIAN["acceleration_energy"],
    summary="S = ½ Σ m_i r̈_i·r̈_i",
    formulations=(
        Formulation("particles", acceleration_energy_of_particles, CITATION, "½ Σ m_i r̈_i·r̈_i"),
        *LAGRANGIAN["acceleration_energy"].formulations,
    ),
)
PARTICLES = LAGRANGIAN | _PARTICLES | {_APPELL.name: _APPELL}


_MANIFOLD = ("integrate", "difference")


def _timed(quantity: Quantity) -> Quantity:
    """The quantity of a system that depends on time: all but the manifold's take t."""
    if quantity.name in _MANIFOLD:
        return quantity

    def timed(entry: Formulation) -> Formulation:
        @wraps(entry.function)
        def call(energies: Energies, t: Time = None, **inputs: Array) -> Any:
            return entry.function(energies if t is None else energies.at_time(t), **inputs)

        return replace(entry, implementation=call)

    formulations = tuple(map(timed, quantity.formulations))
    return replace(quantity, formulations=formulations, optional=(*quantity.optional, "t"))


# by whether there are particles, and whether the system depends on time
CATALOGUES = {
    (has_particles, moving): {name: _timed(x) if moving else x for name, x in own.items()}
    for has_particles, own in ((False, LAGRANGIAN), (True, PARTICLES))
    for moving in (False, True)
}
