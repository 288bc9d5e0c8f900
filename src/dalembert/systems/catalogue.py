"""The catalogue of a Lagrangian system: quantities with their formulations, first the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.systems import euler_lagrange, particle_motion

STATE, SQUARE = ("q", "qd"), ("nv", "nv")
MOTION, FORCED = ("q", "qd", "qdd"), ("q", "qd", "tau")
CITATION = "000 p.8, p.22–24; 002"
POINTS: tuple[Size, ...] = ("particles", "dimension")
MORE_INPUTS = {**INPUTS, "forces": POINTS, "dq": ("nv",), "t": ()}

Way = tuple[str, Callable[..., Any], str]  # name, function, summary


def _quantity(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    outputs: dict[str, tuple[Size, ...]],
    *ways: Way,
    inverts_mass: bool = False,
    citation: str = CITATION,
) -> Quantity:
    made = tuple(Formulation(way, function, citation, how) for way, function, how in ways)
    return Quantity(name, summary, inputs, outputs, made, inverts_mass=inverts_mass)


def _integrate(energies: Any, q: Any, step: Any) -> Any:
    return energies.integrate(q, step)


def _difference(energies: Any, q: Any, to: Any) -> Any:
    return energies.difference(q, to)


_LAGRANGIAN = (
    _quantity(
        "inverse_dynamics",
        "forces of a motion",
        MOTION,
        {"tau": ("nv",)},
        ("euler_lagrange", euler_lagrange.inverse_dynamics, "d/dt ∂L/∂q̇ − ∂L/∂q − ψ"),
        ("christoffel", euler_lagrange.inverse_dynamics_by_christoffel, "M q̈ + C q̇ + N − ψ"),
    ),
    _quantity(
        "forward_dynamics",
        "accelerations under forces",
        FORCED,
        {"qdd": ("nv",)},
        ("ldl", euler_lagrange.forward_dynamics, "M = L D Lᵀ"),
        ("cholesky", euler_lagrange.forward_dynamics_by_cholesky, "M = L Lᵀ"),
        inverts_mass=True,
    ),
    _quantity(
        "mass_matrix",
        "M(q)",
        ("q",),
        {"M": SQUARE},
        ("hessian", euler_lagrange.mass_matrix, "∂²K/∂q̇²"),
    ),
    _quantity(
        "bias",
        "C q̇ + N",
        STATE,
        {"h": ("nv",)},
        ("euler_lagrange", euler_lagrange.bias, "d/dt ∂L/∂q̇ − ∂L/∂q at q̈ = 0"),
        ("christoffel", euler_lagrange.bias_by_christoffel, "Γ q̇ q̇ + N"),
    ),
    _quantity(
        "gravity_torque",
        "N(q) = ∂U/∂q",
        ("q",),
        {"N": ("nv",)},
        ("gradient", euler_lagrange.potential_slope, "∂U/∂q"),
    ),
    _quantity(
        "generalized_forces",
        "ψ(q, q̇), the forces without potential",
        STATE,
        {"psi": ("nv",)},
        ("given", euler_lagrange.generalized_forces, "as given, or Σ f·∂r/∂q"),
    ),
    _quantity(
        "christoffel",
        "Γ_ijk(q)",
        ("q",),
        {"Gamma": ("nv", "nv", "nv")},
        ("hessian", euler_lagrange.christoffel, "slopes of ∂²K/∂q̇²"),
    ),
    _quantity(
        "coriolis_matrix",
        "C(q, q̇), Ṁ − 2C skew",
        STATE,
        {"C": SQUARE},
        ("christoffel", euler_lagrange.coriolis_matrix, "Σ Γ_ijk q̇_k"),
    ),
    _quantity(
        "gyroscopic_matrix",
        "G(q), skew: the forces G q̇ of a part aᵀq̇ of L",
        ("q",),
        {"G": SQUARE},
        ("curl", euler_lagrange.gyroscopic_matrix, "∂a/∂q − (∂a/∂q)ᵀ"),
    ),
    _quantity(
        "chart_force",
        "what moving coordinates add to C q̇ + G q̇ + N",
        STATE,
        {"e": ("nv",)},
        ("slope", euler_lagrange.chart_force, "∂(M q̇ + a)/∂t"),
    ),
    _quantity(
        "kinetic_energy",
        "K",
        STATE,
        {"K": ()},
        ("given", euler_lagrange.kinetic_energy, "as given, ½ q̇ᵀM q̇"),
    ),
    _quantity(
        "potential_energy",
        "U",
        ("q",),
        {"U": ()},
        ("given", euler_lagrange.potential_energy, "as given"),
    ),
    _quantity(
        "generalized_momentum",
        "∂K/∂q̇",
        STATE,
        {"p": ("nv",)},
        ("gradient", euler_lagrange.generalized_momentum, "∂K/∂q̇"),
    ),
    _quantity(
        "integrate",
        "q + step",
        ("q", "step"),
        {"q": ("nq",)},
        ("sum", _integrate, "coordinates of a vector space"),
    ),
    _quantity(
        "difference",
        "to − q",
        ("q", "to"),
        {"step": ("nv",)},
        ("difference", _difference, "coordinates of a vector space"),
    ),
    _quantity(
        "inverse_dynamics_derivatives",
        "∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈",
        MOTION,
        {"dtau_dq": SQUARE, "dtau_dqd": SQUARE, "M": SQUARE},
        (
            "euler_lagrange",
            euler_lagrange.inverse_dynamics_derivatives,
            "of d/dt ∂L/∂q̇ − ∂L/∂q − ψ",
        ),
    ),
    _quantity(
        "forward_dynamics_derivatives",
        "∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ",
        FORCED,
        {"dqdd_dq": SQUARE, "dqdd_dqd": SQUARE, "M_inverse": SQUARE},
        ("ldl", euler_lagrange.forward_dynamics_derivatives, "−M⁻¹ times those of τ"),
        inverts_mass=True,
    ),
)
_PARTICLES = (
    _quantity(
        "positions",
        "r_i(q)",
        ("q",),
        {"r": POINTS},
        ("given", particle_motion.positions, "as given"),
    ),
    _quantity(
        "velocities",
        "ṙ_i = Σ ∂r_i/∂q_j q̇_j",
        STATE,
        {"v": POINTS},
        ("chain_rule", particle_motion.velocities, "∂r/∂q q̇"),
    ),
    _quantity(
        "accelerations",
        "r̈_i",
        MOTION,
        {"a": POINTS},
        ("chain_rule", particle_motion.accelerations, "∂r/∂q q̈ + d/dt(∂r/∂q) q̇"),
    ),
    _quantity(
        "applied_forces",
        "f_i(q, q̇), weight included",
        STATE,
        {"f": POINTS},
        ("given", particle_motion.applied_forces, "weight and the forces given"),
    ),
    _quantity(
        "virtual_displacements",
        "δr_i = Σ ∂r_i/∂q_j δq_j",
        ("q", "dq"),
        {"dr": POINTS},
        ("chain_rule", particle_motion.virtual_displacements, "∂r/∂q δq"),
    ),
    _quantity(
        "virtual_work",
        "Σ f_i·δr_i",
        ("q", "forces", "dq"),
        {"work": ()},
        ("definition", particle_motion.virtual_work, "Σ f_i·δr_i"),
    ),
    _quantity(
        "dalembert",
        "Σ (f_i − m_i r̈_i)·∂r_i/∂q_j",
        MOTION,
        {"residual": ("nv",)},
        ("definition", particle_motion.dalembert, "from forces and accelerations of the particles"),
    ),
)
LAGRANGIAN = {quantity.name: quantity for quantity in _LAGRANGIAN}
PARTICLES = {**LAGRANGIAN, **{quantity.name: quantity for quantity in _PARTICLES}}


def timed(quantities: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """The same of a system that depends on time, which is an input t of all but the manifold's."""
    return _TIMED[quantities is PARTICLES]


def _timed(found: Quantity) -> Quantity:
    def at_time(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def then(energies: Any, t: Any = None, **given: Any) -> Any:
            return function(energies if t is None else energies.at_time(t), **given)

        return then

    made = tuple(replace(way, made_by=at_time(way.function)) for way in found.formulations)
    return replace(found, formulations=made, optional=(*found.optional, "t"))


_MANIFOLD = ("integrate", "difference")
_TIMED = tuple(
    {name: found if name in _MANIFOLD else _timed(found) for name, found in own.items()}
    for own in (LAGRANGIAN, PARTICLES)
)
