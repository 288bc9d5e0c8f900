"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from itertools import starmap
from types import ModuleType
from typing import Any

from dalembert.constraints import (
    contact,
    coulomb_friction,
    derivatives,
    elimination,
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
from dalembert.formulations.catalogue import results_of
from dalembert.formulations.registry import Formulation, Quantity

# inputs that may be left out
OPTIONAL = ("t", "near", "lam", "weights", "effort_weights", *LOADS)
MONTANA, REDUCED, PROJECTION = "Montana 1988; 000 p.76", "000 p.58–62", "000 p.68"
AGHILI, ACTUATION = "Aghili 2009; 000 p.82–85", "000 p.80–81"


def _one(
    function: Callable[..., Any],
    results: str,
    summary: str,
    citation: str = "000 §4.5",
    inverts_mass: bool = False,
    label: str | None = None,
) -> Quantity:
    """A quantity that one function computes, by its name; its arguments are those of the quantity.

    Those without a default are its inputs; of the others, arrays are optional inputs and words are
    static choices. `results` are names and shapes, "tau(nv), lam(rows)".
    """
    parameters = list(signature(function).parameters.values())[1:]  # all but the system
    inputs = tuple(x.name for x in parameters if x.default is x.empty)
    optional = tuple(x.name for x in parameters if x.name in OPTIONAL and x.name not in inputs)
    static = tuple(x.name for x in parameters if x.name not in (*inputs, *optional))
    formulations = (Formulation("direct", function, citation, summary),)
    outputs, name = results_of(results), label or function.__name__
    return Quantity(name, summary, inputs, outputs, formulations, optional, static, inverts_mass)


_solved = partial(_one, inverts_mass=True)  # does not exist where M(q) is singular


# module of a route to (q̈, λ), source and summary
ROUTES = (
    (multiplier, "000 p.56", "(A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ"),
    (elimination, "000 p.58–60", "Lagrange–d'Alembert in independent coordinates"),
    (projection, "Liu and Li 2002; 000 p.65–74", "dynamics in T*Q and T*Q⊥ by P_ω"),
    (gauge, "Aghili 2009; 000 p.82–88", "M = W Wᵀ and an orthonormal V"),
)


def _route(module: ModuleType, citation: str, summary: str) -> Formulation:
    """A route to (q̈, λ), with friction at contacts and wrenches at frames."""
    whole = loaded(coulomb_friction.with_friction(implicit(module.forward_dynamics)))
    return Formulation(module.__name__.rpartition(".")[2], whole, citation, summary)


def _derivatives(of: str, fields: tuple[str, ...]) -> str:
    """Shapes of the derivatives of q̈ or τ and of λ, by their names."""
    return ", ".join(f"{x}({'nv' if x.startswith(f'd{of}_') else 'rows'}, nv)" for x in fields)


FORWARD_DYNAMICS = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    results_of("qdd(nv), lam(rows)"),
    tuple(starmap(_route, ROUTES)),
    optional=("t", *LOADS),
    static=("pivots", "root", "basis"),
    inverts_mass=True,
)
GAUGE_MATRIX = Quantity(
    "gauge_matrix",
    "Γ with v̇ + Γ v = u, without the constraints",
    ("q", "qd"),
    results_of("Gamma(nv, nv)"),
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
    results_of("F(joints, 6)"),
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
# the fields of `gauge.SingularValues` and `gauge.Decoupled`
SINGULAR = "W(nv, nv), U1(rows, rank), S(rank), V1(nv, rank), V2(nv, freedoms)"
DECOUPLED = (
    "W(nv, nv), V1(nv, rank), V2(nv, freedoms), Lambda_r(rows, rank), Gamma_o(rank, freedoms), "
    "Gamma_r(freedoms, freedoms), v_r(freedoms), u_o(rank), u_r(freedoms), lam(rows)"
)
FORWARD = _derivatives("qdd", derivatives.AccelerationDerivatives._fields)
INVERSE = _derivatives("tau", derivatives.TorqueDerivatives._fields)
QUANTITIES = (
    # motion and force
    FORWARD_DYNAMICS,
    _solved(
        inverse.inverse_dynamics,
        "tau(nv), lam(rows)",
        "torques at the actuators that give a motion",
        ACTUATION,
    ),
    _solved(
        quantities.canonical_equations,
        "qd(nv), pd(nv), lam(rows)",
        "q̇ = ∂H/∂p and ṗ = −∂H/∂q + τ + ψ − Aᵀλ",
        "Greenwood 2003",
    ),
    _solved(derivatives.forward_dynamics_derivatives, FORWARD, "∂q̈ and ∂λ by q, q̇ and τ"),
    _solved(derivatives.inverse_dynamics_derivatives, INVERSE, "∂τ and ∂λ by q, q̇ and q̈"),
    _solved(
        reduced.reduced,
        "M_r(freedoms, freedoms), h_r(freedoms), N(nv, freedoms), n(nv)",
        "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
        REDUCED,
    ),
    _solved(
        reduced.frame_jacobian,
        "J(6, freedoms)",
        "velocity of a frame per independent velocity",
        REDUCED,
    ),
    _one(reduced.regressor, "Y(nv, inertial)", "Y with Y θ + Aᵀλ = τ + ψ"),
    _solved(
        reduced.reduced_regressor,
        "Y_r(freedoms, inertial)",
        "Nᵀ Y with Nᵀ Y θ = Nᵀ (τ + ψ)",
        REDUCED,
    ),
    # geometry
    _one(quantities.jacobian, "A(rows, nv)", "A(q)"),
    _one(quantities.residual, "h(position_count)", "h(q, t)"),
    _one(quantities.velocity_residual, "w(rows)", "A q̇ − b"),
    _one(quantities.drift, "gamma(rows)", "ḃ − Ȧ q̇"),
    _solved(projection.projectors, "P_w(nv, nv), P_T(nv, nv)", "P_ω and P_T", PROJECTION),
    _solved(
        projection.second_fundamental_form,
        "S(nv), force(nv)",
        "S(q̇, q̇) and the centrifugal force M S",
        "000 p.72",
    ),
    _solved(
        projection.covariant_derivative, "along(nv)", "∇̃_q̇ q̇ = P_T (q̈ + M⁻¹ C q̇)", "000 p.71–74"
    ),
    _solved(
        projection.project,
        "q(nq), qd(nv)",
        "the nearest state on the constraints, from one that is off by little",
        PROJECTION,
    ),
    _solved(
        projection.project_velocity,
        "qd(nv)",
        "the nearest velocity the constraints allow",
        PROJECTION,
    ),
    _solved(
        gauge.decoupled,
        DECOUPLED,
        "motion and constraint force apart, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o",
        AGHILI,
    ),
    _solved(gauge.singular_values, SINGULAR, "Λ = A W⁻ᵀ = U Σ Vᵀ", "000 p.84"),
    GAUGE_MATRIX,
    _solved(
        kane.basis,
        "N(nv, freedoms)",
        "N = W⁻ᵀV₂, permitted velocities that move smoothly with q",
        "000 p.85",
    ),
    _solved(
        kane.kane,
        "qd(nv), v_r_dot(freedoms), N(nv, freedoms)",
        "q̇ = N v_r + n and v̇_r = −Γ_r v_r + u_r",
        "Kane and Levinson 1985; 000 p.85",
    ),
    # forces
    _one(quantities.constraint_force, "f(nv)", "−Aᵀλ"),
    _one(quantities.wrench, "F(6)", "force and moment of one constraint on its second body"),
    _one(
        quantities.reaction_wrenches,
        "F(acting, 6), p(acting, 3)",
        "force and moment of every constraint between frames on its second body, and where",
    ),
    JOINT_WRENCHES,
    # contacts
    *(
        _one(function, results, summary, MONTANA, label=f"contact_{function.__name__}")
        for function, results, summary in (
            (contact.coordinates, "eta(5)", "η = (α_o, α_f, ψ) of a contact"),
            (contact.jacobian, "J(5, nv)", "the matrix of η̇ = J q̇"),
            (contact.rates, "eta_dot(5)", "η̇ of a contact"),
            (
                contact.twist,
                "V(6)",
                "V_{l_o l_f}: slip, approach, rolling velocity and spin of a contact",
            ),
        )
    ),
    _one(
        coulomb_friction.wrench,
        "F(6)",
        "friction of a contact on its finger, force and moment at the contact point",
        "Coulomb's law; Howe and Cutkosky 1996",
        label="contact_friction",
    ),
    _solved(
        inverse.required_efforts,
        "f(nu), lam(rows)",
        "forces of the actuators that give a motion, and what the constraints then carry",
        ACTUATION,
    ),
)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
