"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from dalembert.constraints import (
    contact,
    derivatives,
    elimination,
    friction,
    gauge,
    inverse,
    kane,
    multiplier,
    projection,
    quantities,
    reduced,
)
from dalembert.constraints.kkt import implicit
from dalembert.constraints.quantities import LOADS, loaded
from dalembert.formulations.registry import Formulation, Quantity, Size

# inputs that may be left out
OPTIONAL = ("t", "near", "lam", "weights", "effort_weights", *LOADS)
Shapes = dict[str, tuple[Size, ...]]
VECTOR, SQUARE, ROWS = ("nv",), ("nv", "nv"), ("rows", "nv")
FREE, BASIS = ("freedoms", "freedoms"), ("nv", "freedoms")
MONTANA, REDUCED = "Montana 1988; 000 p.76", "000 p.58–62"

# the fields of `gauge.SingularValues` and `gauge.Decoupled`
FRAME: Shapes = {"W": SQUARE, "V1": ("nv", "rank"), "V2": BASIS}
SINGULAR: Shapes = {"W": SQUARE, "U1": ("rows", "rank"), "S": ("rank",), **FRAME}
DECOUPLED: Shapes = {
    **FRAME,
    "Lambda_r": ("rows", "rank"),
    "Gamma_o": ("rank", "freedoms"),
    "Gamma_r": FREE,
    "v_r": ("freedoms",),
    "u_o": ("rank",),
    "u_r": ("freedoms",),
    "lam": ("rows",),
}


def _one(
    function: Callable[..., Any],
    summary: str,
    outputs: Shapes,
    citation: str = "000 §4.5",
    inverts_mass: bool = False,
    name: str | None = None,
) -> Quantity:
    """A quantity that one function computes, by its name; its arguments are those of the quantity.

    Those without a default are its inputs; of the others, arrays are optional inputs and words are
    static choices.
    """
    parameters = list(signature(function).parameters.values())[1:]  # all but the system
    inputs = tuple(x.name for x in parameters if x.default is x.empty)
    optional = tuple(x.name for x in parameters if x.name in OPTIONAL and x.name not in inputs)
    static = tuple(x.name for x in parameters if x.name not in (*inputs, *optional))
    formulations = (Formulation("direct", function, citation, summary),)
    label = name or function.__name__
    return Quantity(label, summary, inputs, outputs, formulations, optional, static, inverts_mass)


_solved = partial(_one, inverts_mass=True)  # does not exist where M(q) is singular


def _route(name: str, function: Callable[..., Any], citation: str, summary: str) -> Formulation:
    """A route to (q̈, λ), with friction at contacts and wrenches at frames."""
    whole = loaded(friction.with_friction(implicit(function)))
    return Formulation(name, whole, citation, summary)


def _sloped(what: str, fields: tuple[str, ...]) -> Shapes:
    """Shapes of the derivatives of `what` and of λ, by their names."""
    return {name: SQUARE if name.startswith(f"d{what}_") else ROWS for name in fields}


FORWARD = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    {"qdd": VECTOR, "lam": ("rows",)},
    (
        _route("multiplier", multiplier.forward_dynamics, "000 p.56", "(A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ"),
        _route(
            "elimination",
            elimination.forward_dynamics,
            "000 p.58–60",
            "Lagrange–d'Alembert in independent coordinates",
        ),
        _route(
            "projection",
            projection.forward_dynamics,
            "Liu and Li 2002; 000 p.65–74",
            "dynamics in T*Q and T*Q⊥ by P_ω",
        ),
        _route(
            "gauge",
            gauge.forward_dynamics,
            "Aghili 2009; 000 p.82–88",
            "M = W Wᵀ and an orthonormal V",
        ),
    ),
    optional=("t", *LOADS),
    static=("pivots", "root", "basis"),
    inverts_mass=True,
)
GAUGE_MATRIX = Quantity(
    "gauge_matrix",
    "Γ with v̇ + Γ v = u, without the constraints",
    ("q", "qd"),
    {"Gamma": SQUARE},
    (
        Formulation("skew", gauge.gauge_matrix, "Aghili 2009", "W⁻¹ C W⁻ᵀ − Ẇᵀ W⁻ᵀ"),
        Formulation(
            "printed", gauge.gauge_matrix_printed, "000 p.82", "W⁻¹ (Ẇ − ∂vᵀ/∂q): the same Γ v"
        ),
    ),
    static=("root",),
    inverts_mass=True,
)
JOINT_WRENCHES = Quantity(
    "joint_wrenches",
    "force and moment through every joint of a constrained robot",
    ("q", "qd", "qdd", "lam"),
    {"F": ("joints", 6)},
    (
        Formulation(
            "newton_euler",
            quantities.joint_wrenches,
            "Luh, Walker and Paul 1980; 000 §4.5",
            "those of the open tree, less what the constraints exert on it",
        ),
    ),
    ("t",),
)
MOTION_AND_FORCE = (
    FORWARD,
    _solved(
        inverse.inverse_dynamics,
        "torques at the actuators that give a motion",
        {"tau": VECTOR, "lam": ("rows",)},
        "000 p.80–81",
    ),
    _solved(
        derivatives.forward_dynamics_derivatives,
        "∂q̈ and ∂λ by q, q̇ and τ",
        _sloped("qdd", derivatives.AccelerationDerivatives._fields),
    ),
    _solved(
        derivatives.inverse_dynamics_derivatives,
        "∂τ and ∂λ by q, q̇ and q̈",
        _sloped("tau", derivatives.TorqueDerivatives._fields),
    ),
    _solved(
        reduced.reduced,
        "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
        {"M_r": FREE, "h_r": ("freedoms",), "N": BASIS, "n": VECTOR},
        REDUCED,
    ),
    _solved(
        reduced.frame_jacobian,
        "velocity of a frame per independent velocity",
        {"J": (6, "freedoms")},
        REDUCED,
    ),
    _one(reduced.regressor, "Y with Y θ + Aᵀλ = τ + ψ", {"Y": ("nv", "inertial")}),
    _solved(
        reduced.reduced_regressor,
        "Nᵀ Y with Nᵀ Y θ = Nᵀ (τ + ψ)",
        {"Y_r": ("freedoms", "inertial")},
        REDUCED,
    ),
)
GEOMETRY = (
    _one(quantities.jacobian, "A(q)", {"A": ROWS}),
    _one(quantities.residual, "h(q, t)", {"h": ("position_count",)}),
    _one(quantities.velocity_residual, "A q̇ − b", {"w": ("rows",)}),
    _one(quantities.drift, "ḃ − Ȧ q̇", {"gamma": ("rows",)}),
    _solved(projection.projectors, "P_ω and P_T", {"P_w": SQUARE, "P_T": SQUARE}, "000 p.68"),
    _solved(
        projection.second_fundamental_form,
        "S(q̇, q̇) and the centrifugal force M S",
        {"S": VECTOR, "force": VECTOR},
        "000 p.72",
    ),
    _solved(
        projection.covariant_derivative,
        "∇̃_q̇ q̇ = P_T (q̈ + M⁻¹ C q̇)",
        {"along": VECTOR},
        "000 p.71–74",
    ),
    _solved(
        projection.project,
        "the nearest state on the constraints, from one that is off by little",
        {"q": ("nq",), "qd": VECTOR},
        "000 p.68",
    ),
    _solved(
        projection.project_velocity,
        "the nearest velocity the constraints allow",
        {"qd": VECTOR},
        "000 p.68",
    ),
    _solved(
        gauge.decoupled,
        "motion and constraint force apart, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o",
        DECOUPLED,
        "Aghili 2009; 000 p.82–85",
    ),
    _solved(gauge.singular_values, "Λ = A W⁻ᵀ = U Σ Vᵀ", SINGULAR, "000 p.84"),
    GAUGE_MATRIX,
    _solved(
        kane.basis,
        "N = W⁻ᵀV₂, permitted velocities that move smoothly with q",
        {"N": BASIS},
        "000 p.85",
    ),
    _solved(
        kane.kane,
        "q̇ = N v_r + n and v̇_r = −Γ_r v_r + u_r",
        {"qd": VECTOR, "v_r_dot": ("freedoms",), "N": BASIS},
        "Kane and Levinson 1985; 000 p.85",
    ),
)
FORCES = (
    _one(quantities.constraint_force, "−Aᵀλ", {"f": VECTOR}),
    _one(quantities.wrench, "force and moment of one constraint on its second body", {"F": (6,)}),
    _one(
        quantities.reaction_wrenches,
        "force and moment of every constraint between frames on its second body, and where",
        {"F": ("acting", 6), "p": ("acting", 3)},
    ),
    JOINT_WRENCHES,
)
CONTACT = (
    _one(
        contact.coordinates,
        "η = (α_o, α_f, ψ) of a contact",
        {"eta": (5,)},
        MONTANA,
        name="contact_coordinates",
    ),
    _one(
        contact.jacobian,
        "the matrix of η̇ = J q̇",
        {"J": (5, "nv")},
        MONTANA,
        name="contact_jacobian",
    ),
    _one(contact.rates, "η̇ of a contact", {"eta_dot": (5,)}, MONTANA, name="contact_rates"),
    _one(
        contact.twist,
        "V_{l_o l_f}: slip, approach, rolling velocity and spin of a contact",
        {"V": (6,)},
        MONTANA,
        name="contact_twist",
    ),
    _one(
        friction.wrench,
        "friction of a contact on its finger, force and moment at the contact point",
        {"F": (6,)},
        "Coulomb's law; Howe and Cutkosky 1996",
        name="contact_friction",
    ),
)
REQUIRED = _solved(
    inverse.required_efforts,
    "forces of the actuators that give a motion, and what the constraints then carry",
    {"f": ("nu",), "lam": ("rows",)},
    "000 p.80–81",
)
QUANTITIES = (*MOTION_AND_FORCE, *GEOMETRY, *FORCES, *CONTACT, REQUIRED)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
