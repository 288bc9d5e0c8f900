"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
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
from dalembert.formulations.registry import Formulation, Quantity, Size

# inputs that may be left out
OPTIONAL = ("t", "near", "lam", "weights", "effort_weights", *LOADS)
Shape = tuple[Size, ...]
VECTOR, SQUARE, ROW, ROWS = ("nv",), ("nv", "nv"), ("rows",), ("rows", "nv")
FREE, FREE_SQUARE, BASIS = ("freedoms",), ("freedoms", "freedoms"), ("nv", "freedoms")
MONTANA, REDUCED, PROJECTION = "Montana 1988; 000 p.76", "000 p.58–62", "000 p.68"
AGHILI, ACTUATION = "Aghili 2009; 000 p.82–85", "000 p.80–81"

# the fields of `gauge.SingularValues` and `gauge.Decoupled`
FRAME: dict[str, Shape] = {"W": SQUARE, "V1": ("nv", "rank"), "V2": BASIS}
SINGULAR: dict[str, Shape] = {"W": SQUARE, "U1": ("rows", "rank"), "S": ("rank",), **FRAME}
DECOUPLED: dict[str, Shape] = {
    **{**FRAME, "Lambda_r": ("rows", "rank"), "Gamma_o": ("rank", "freedoms")},
    **{"Gamma_r": FREE_SQUARE, "v_r": FREE, "u_o": ("rank",), "u_r": FREE, "lam": ROW},
}


def _one(
    function: Callable[..., Any],
    summary: str,
    citation: str = "000 §4.5",
    inverts_mass: bool = False,
    label: str | None = None,
    shapes: Mapping[str, Shape] | None = None,
    **outputs: Shape,
) -> Quantity:
    """A quantity that one function computes, by its name; its arguments are those of the quantity.

    Those without a default are its inputs; of the others, arrays are optional inputs and words are
    static choices. `shapes` and `outputs` are the shapes of the results by name.
    """
    parameters = list(signature(function).parameters.values())[1:]  # all but the system
    inputs = tuple(x.name for x in parameters if x.default is x.empty)
    optional = tuple(x.name for x in parameters if x.name in OPTIONAL and x.name not in inputs)
    static = tuple(x.name for x in parameters if x.name not in (*inputs, *optional))
    formulations = (Formulation("direct", function, citation, summary),)
    results = {**(shapes or {}), **outputs}
    label = label or function.__name__
    return Quantity(label, summary, inputs, results, formulations, optional, static, inverts_mass)


_solved = partial(_one, inverts_mass=True)  # does not exist where M(q) is singular


def _route(name: str, function: Callable[..., Any], citation: str, summary: str) -> Formulation:
    """A route to (q̈, λ), with friction at contacts and wrenches at frames."""
    whole = loaded(coulomb_friction.with_friction(implicit(function)))
    return Formulation(name, whole, citation, summary)


def _derivatives(of: str, fields: tuple[str, ...]) -> dict[str, Shape]:
    """Shapes of the derivatives of q̈ or τ and of λ, by their names."""
    return {name: SQUARE if name.startswith(f"d{of}_") else ROWS for name in fields}


FORWARD_DYNAMICS = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    {"qdd": VECTOR, "lam": ROW},
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
FORWARD = _derivatives("qdd", derivatives.AccelerationDerivatives._fields)
INVERSE = _derivatives("tau", derivatives.TorqueDerivatives._fields)
QUANTITIES = (
    # motion and force
    FORWARD_DYNAMICS,
    _solved(
        inverse.inverse_dynamics,
        "torques at the actuators that give a motion",
        ACTUATION,
        tau=VECTOR,
        lam=ROW,
    ),
    _solved(derivatives.forward_dynamics_derivatives, "∂q̈ and ∂λ by q, q̇ and τ", shapes=FORWARD),
    _solved(derivatives.inverse_dynamics_derivatives, "∂τ and ∂λ by q, q̇ and q̈", shapes=INVERSE),
    _solved(
        reduced.reduced,
        "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
        REDUCED,
        shapes={"M_r": FREE_SQUARE, "h_r": FREE, "N": BASIS, "n": VECTOR},
    ),
    _solved(
        reduced.frame_jacobian,
        "velocity of a frame per independent velocity",
        REDUCED,
        J=(6, "freedoms"),
    ),
    _one(reduced.regressor, "Y with Y θ + Aᵀλ = τ + ψ", Y=("nv", "inertial")),
    _solved(
        reduced.reduced_regressor,
        "Nᵀ Y with Nᵀ Y θ = Nᵀ (τ + ψ)",
        REDUCED,
        Y_r=("freedoms", "inertial"),
    ),
    # geometry
    _one(quantities.jacobian, "A(q)", A=ROWS),
    _one(quantities.residual, "h(q, t)", h=("position_count",)),
    _one(quantities.velocity_residual, "A q̇ − b", w=ROW),
    _one(quantities.drift, "ḃ − Ȧ q̇", gamma=ROW),
    _solved(projection.projectors, "P_ω and P_T", PROJECTION, P_w=SQUARE, P_T=SQUARE),
    _solved(
        projection.second_fundamental_form,
        "S(q̇, q̇) and the centrifugal force M S",
        "000 p.72",
        S=VECTOR,
        force=VECTOR,
    ),
    _solved(
        projection.covariant_derivative, "∇̃_q̇ q̇ = P_T (q̈ + M⁻¹ C q̇)", "000 p.71–74", along=VECTOR
    ),
    _solved(
        projection.project,
        "the nearest state on the constraints, from one that is off by little",
        PROJECTION,
        q=("nq",),
        qd=VECTOR,
    ),
    _solved(
        projection.project_velocity,
        "the nearest velocity the constraints allow",
        PROJECTION,
        qd=VECTOR,
    ),
    _solved(
        gauge.decoupled,
        "motion and constraint force apart, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o",
        AGHILI,
        shapes=DECOUPLED,
    ),
    _solved(gauge.singular_values, "Λ = A W⁻ᵀ = U Σ Vᵀ", "000 p.84", shapes=SINGULAR),
    GAUGE_MATRIX,
    _solved(
        kane.basis, "N = W⁻ᵀV₂, permitted velocities that move smoothly with q", "000 p.85", N=BASIS
    ),
    _solved(
        kane.kane,
        "q̇ = N v_r + n and v̇_r = −Γ_r v_r + u_r",
        "Kane and Levinson 1985; 000 p.85",
        shapes={"qd": VECTOR, "v_r_dot": FREE, "N": BASIS},
    ),
    # forces
    _one(quantities.constraint_force, "−Aᵀλ", f=VECTOR),
    _one(quantities.wrench, "force and moment of one constraint on its second body", F=(6,)),
    _one(
        quantities.reaction_wrenches,
        "force and moment of every constraint between frames on its second body, and where",
        F=("acting", 6),
        p=("acting", 3),
    ),
    JOINT_WRENCHES,
    # contacts
    *(
        _one(function, summary, MONTANA, label=f"contact_{function.__name__}", shapes=shapes)
        for function, summary, shapes in (
            (contact.coordinates, "η = (α_o, α_f, ψ) of a contact", {"eta": (5,)}),
            (contact.jacobian, "the matrix of η̇ = J q̇", {"J": (5, "nv")}),
            (contact.rates, "η̇ of a contact", {"eta_dot": (5,)}),
            (
                contact.twist,
                "V_{l_o l_f}: slip, approach, rolling velocity and spin of a contact",
                {"V": (6,)},
            ),
        )
    ),
    _one(
        coulomb_friction.wrench,
        "friction of a contact on its finger, force and moment at the contact point",
        "Coulomb's law; Howe and Cutkosky 1996",
        label="contact_friction",
        F=(6,),
    ),
    _solved(
        inverse.required_efforts,
        "forces of the actuators that give a motion, and what the constraints then carry",
        ACTUATION,
        f=("nu",),
        lam=ROW,
    ),
)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
