"""The catalogue of a Lagrangian system: quantities with their formulations, first the default.

A quantity has the name and the inputs of the function that computes it by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.systems import euler_lagrange as lagrange

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Time
    from dalembert.systems.energies import Energies

CITATION = "000 p.8, p.22–24; 002"
VECTOR, SQUARE, CUBE = ("nv",), ("nv", "nv"), ("nv", "nv", "nv")
POINTS: tuple[Size, ...] = ("particles", "dimension")
MORE_INPUTS = {**INPUTS, "forces": POINTS, "dq": ("nv",), "t": ()}


def _by(function: Callable[..., Any], name: str, summary: str) -> Formulation:
    return Formulation(name, function, CITATION, summary)


def _quantity(
    summary: str,
    *formulations: Formulation,
    inverts_mass: bool = False,
    **outputs: tuple[Size, ...],
) -> Quantity:
    """The quantity of the first formulation's function, with its results in order."""
    function = formulations[0].function
    _, *inputs = signature(function).parameters
    name = function.__name__
    return Quantity(name, summary, tuple(inputs), outputs, formulations, inverts_mass=inverts_mass)


def integrate(energies: Energies, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q (nq,) moved by `step` (nv,)."""
    return energies.integrate(q, step)


def difference(energies: Energies, q: np.ndarray, to: np.ndarray) -> np.ndarray:
    """The step (nv,) from q to another configuration."""
    return energies.difference(q, to)


_LAGRANGIAN = (
    _quantity(
        "forces of a motion",
        _by(lagrange.inverse_dynamics, "euler_lagrange", "d/dt ∂L/∂q̇ − ∂L/∂q − ψ"),
        _by(lagrange.inverse_dynamics_by_christoffel, "christoffel", "M q̈ + C q̇ + N − ψ"),
        tau=VECTOR,
    ),
    _quantity(
        "accelerations under forces",
        _by(lagrange.forward_dynamics, "ldl", "M = L D Lᵀ"),
        _by(lagrange.forward_dynamics_by_cholesky, "cholesky", "M = L Lᵀ"),
        inverts_mass=True,
        qdd=VECTOR,
    ),
    _quantity("M(q)", _by(lagrange.mass_matrix, "hessian", "∂²K/∂q̇²"), M=SQUARE),
    _quantity(
        "C q̇ + N",
        _by(lagrange.bias, "euler_lagrange", "d/dt ∂L/∂q̇ − ∂L/∂q at q̈ = 0"),
        _by(lagrange.bias_by_christoffel, "christoffel", "Γ q̇ q̇ + N"),
        h=VECTOR,
    ),
    _quantity("N(q) = ∂U/∂q", _by(lagrange.gravity_torque, "gradient", "∂U/∂q"), N=VECTOR),
    _quantity(
        "ψ(q, q̇), the forces without potential",
        _by(lagrange.generalized_forces, "given", "as given, or Σ f·∂r/∂q"),
        psi=VECTOR,
    ),
    _quantity(
        "Γ_ijk(q)", _by(lagrange.christoffel, "hessian", "derivatives of ∂²K/∂q̇²"), Gamma=CUBE
    ),
    _quantity(
        "C(q, q̇), Ṁ − 2C skew",
        _by(lagrange.coriolis_matrix, "christoffel", "Σ Γ_ijk q̇_k"),
        C=SQUARE,
    ),
    _quantity(
        "G(q), skew: the forces G q̇ of a part aᵀq̇ of L",
        _by(lagrange.gyroscopic_matrix, "curl", "∂a/∂q − (∂a/∂q)ᵀ"),
        G=SQUARE,
    ),
    _quantity(
        "the part of the bias due to moving coordinates",
        _by(lagrange.chart_force, "slope", "∂(M q̇ + a)/∂t"),
        e=VECTOR,
    ),
    _quantity("T", _by(lagrange.kinetic_energy, "given", "as given"), K=()),
    _quantity(
        "T₂, T₁ and T₀, of degree 2, 1 and 0 in q̇",
        _by(lagrange.kinetic_energy_parts, "degrees", "½ q̇ᵀM q̇, ∂T/∂q̇ and T at rest"),
        T2=(),
        T1=(),
        T0=(),
    ),
    _quantity("V", _by(lagrange.potential_energy, "given", "as given, at q̇ = 0"), U=()),
    _quantity("∂K/∂q̇", _by(lagrange.generalized_momentum, "gradient", "∂K/∂q̇"), p=VECTOR),
    _quantity("q + step", _by(integrate, "sum", "coordinates of a vector space"), q=("nq",)),
    _quantity(
        "to − q", _by(difference, "difference", "coordinates of a vector space"), step=VECTOR
    ),
    _quantity(
        "∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈",
        _by(lagrange.inverse_dynamics_derivatives, "euler_lagrange", "of d/dt ∂L/∂q̇ − ∂L/∂q − ψ"),
        dtau_dq=SQUARE,
        dtau_dqd=SQUARE,
        M=SQUARE,
    ),
    _quantity(
        "∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ",
        _by(lagrange.forward_dynamics_derivatives, "ldl", "−M⁻¹ times those of τ"),
        inverts_mass=True,
        dqdd_dq=SQUARE,
        dqdd_dqd=SQUARE,
        M_inverse=SQUARE,
    ),
)
_PARTICLES = (
    _quantity("r_i(q)", _by(lagrange.positions, "given", "as given"), r=POINTS),
    _quantity("ṙ_i = Σ ∂r_i/∂q_j q̇_j", _by(lagrange.velocities, "chain_rule", "∂r/∂q q̇"), v=POINTS),
    _quantity(
        "r̈_i", _by(lagrange.accelerations, "chain_rule", "∂r/∂q q̈ + d/dt(∂r/∂q) q̇"), a=POINTS
    ),
    _quantity(
        "f_i(q, q̇), weight included",
        _by(lagrange.applied_forces, "given", "weight and the forces given"),
        f=POINTS,
    ),
    _quantity(
        "δr_i = Σ ∂r_i/∂q_j δq_j",
        _by(lagrange.virtual_displacements, "chain_rule", "∂r/∂q δq"),
        dr=POINTS,
    ),
    _quantity("Σ f_i·δr_i", _by(lagrange.virtual_work, "definition", "Σ f_i·δr_i"), work=()),
    _quantity(
        "Σ (f_i − m_i r̈_i)·∂r_i/∂q_j",
        _by(lagrange.dalembert, "definition", "from forces and accelerations of the particles"),
        residual=VECTOR,
    ),
)
LAGRANGIAN = {quantity.name: quantity for quantity in _LAGRANGIAN}
PARTICLES = LAGRANGIAN | {quantity.name: quantity for quantity in _PARTICLES}


def timed(quantities: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """The quantities of a system that depends on time: all but the manifold's take t."""
    return _TIMED[quantities is PARTICLES]


def _timed(quantity: Quantity) -> Quantity:
    def at_time(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(energies: Energies, t: Time = None, **inputs: np.ndarray) -> Any:
            return function(energies if t is None else energies.at_time(t), **inputs)

        return timed

    formulations = tuple(
        replace(entry, implementation=at_time(entry.function)) for entry in quantity.formulations
    )
    return replace(quantity, formulations=formulations, optional=(*quantity.optional, "t"))


_MANIFOLD = ("integrate", "difference")
_TIMED = tuple(
    {name: x if name in _MANIFOLD else _timed(x) for name, x in own.items()}
    for own in (LAGRANGIAN, PARTICLES)
)
