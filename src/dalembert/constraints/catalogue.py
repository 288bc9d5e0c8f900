"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.constraints import (
    elimination,
    gauge,
    inverse,
    kane,
    multiplier,
    projection,
    quantities,
    reduced,
    slopes,
)
from dalembert.constraints.contact_catalogue import CONTACT
from dalembert.constraints.friction import rubbed
from dalembert.constraints.implicit import implicit
from dalembert.constraints.loads import LOADS, loaded
from dalembert.constraints.reaction_catalogue import REACTIONS
from dalembert.formulations.registry import Formulation, Quantity, Size

VECTOR, SQUARE, ROWS = ("nv",), ("nv", "nv"), ("rows", "nv")
FREE = ("freedoms", "freedoms")
Shapes = dict[str, tuple[Size, ...]]

# the fields of `gauge.Decoupled`
DECOUPLED: Shapes = {
    "W": SQUARE,
    "V1": ("nv", "rank"),
    "V2": ("nv", "freedoms"),
    "Lambda_r": ("rank", "rank"),
    "Gamma_o": ("rank", "freedoms"),
    "Gamma_r": ("freedoms", "freedoms"),
    "v_r": ("freedoms",),
    "u_o": ("rank",),
    "u_r": ("freedoms",),
    "lam": ("rows",),
}


# the fields of `gauge.SingularValues`
SINGULAR: Shapes = {
    "W": SQUARE,
    "U1": ("rows", "rank"),
    "S": ("rank",),
    "V1": ("nv", "rank"),
    "V2": ("nv", "freedoms"),
}


def _plain(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    outputs: Shapes,
    function: Callable[..., Any],
    citation: str = "000 §4.5",
    optional: tuple[str, ...] = ("t",),
    static: tuple[str, ...] = (),
    inverts_mass: bool = False,
) -> Quantity:
    way = (Formulation("direct", function, citation, summary),)
    return Quantity(name, summary, inputs, outputs, way, optional, static, inverts_mass)


def _sloped(what: str, fields: tuple[str, ...]) -> Shapes:
    """Shapes of the derivatives of `what` and of λ, by their names."""
    return {name: SQUARE if name.startswith(f"d{what}_") else ROWS for name in fields}


FORWARD = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    {"qdd": VECTOR, "lam": ("rows",)},
    (
        Formulation(
            "multiplier",
            loaded(rubbed(implicit(multiplier.forward_dynamics))),
            "000 p.56",
            "(A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ",
        ),
        Formulation(
            "elimination",
            loaded(rubbed(implicit(elimination.forward_dynamics))),
            "000 p.58–60",
            "Lagrange–d'Alembert in independent coordinates",
        ),
        Formulation(
            "projection",
            loaded(rubbed(implicit(projection.forward_dynamics))),
            "Liu and Li 2002; 000 p.65–74",
            "dynamics in T*Q and T*Q⊥ by P_ω",
        ),
        Formulation(
            "gauge",
            loaded(rubbed(implicit(gauge.forward_dynamics))),
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

QUANTITIES = (
    FORWARD,
    _plain(
        "inverse_dynamics",
        "torques at the actuators that give a motion",
        ("q", "qd", "qdd"),
        {"tau": VECTOR, "lam": ("rows",)},
        inverse.inverse_dynamics,
        "000 p.80–81",
        optional=("lam", "weights", "t", *LOADS),
        static=("actuators",),
        inverts_mass=True,
    ),
    _plain(
        "forward_dynamics_derivatives",
        "∂q̈ and ∂λ by q, q̇ and τ",
        ("q", "qd", "tau"),
        _sloped("qdd", slopes.MotionSlopes._fields),
        slopes.forward_dynamics_derivatives,
        inverts_mass=True,
    ),
    _plain(
        "inverse_dynamics_derivatives",
        "∂τ and ∂λ by q, q̇ and q̈",
        ("q", "qd", "qdd"),
        _sloped("tau", slopes.TorqueSlopes._fields),
        slopes.inverse_dynamics_derivatives,
        static=("actuators",),
        inverts_mass=True,
    ),
    _plain(
        "reduced",
        "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
        ("q", "qd"),
        {"M_r": FREE, "h_r": ("freedoms",), "N": ("nv", "freedoms"), "n": VECTOR},
        reduced.reduced,
        "000 p.58–62",
        static=("independent",),
        inverts_mass=True,
    ),
    _plain(
        "frame_jacobian",
        "velocity of a frame per independent velocity",
        ("q",),
        {"J": (6, "freedoms")},
        reduced.frame_jacobian,
        "000 p.58–62",
        static=("frame", "expressed_in", "independent"),
        inverts_mass=True,
    ),
    _plain(
        "regressor",
        "Y with Y θ + Aᵀλ = τ + ψ",
        ("q", "qd", "qdd"),
        {"Y": ("nv", "inertial")},
        reduced.regressor,
        optional=(),
    ),
    _plain(
        "reduced_regressor",
        "Nᵀ Y with Nᵀ Y θ = Nᵀ (τ + ψ)",
        ("q", "qd", "qdd"),
        {"Y_r": ("freedoms", "inertial")},
        reduced.reduced_regressor,
        "000 p.58–62",
        static=("independent",),
        inverts_mass=True,
    ),
    _plain("jacobian", "A(q)", ("q",), {"A": ("rows", "nv")}, quantities.jacobian),
    _plain("residual", "h(q, t)", ("q",), {"h": ("held",)}, quantities.residual),
    _plain(
        "velocity_residual",
        "A q̇ − b",
        ("q", "qd"),
        {"w": ("rows",)},
        quantities.velocity_residual,
    ),
    _plain("drift", "ḃ − Ȧ q̇", ("q", "qd"), {"gamma": ("rows",)}, quantities.drift),
    _plain(
        "projectors",
        "P_ω and P_T",
        ("q",),
        {"P_w": SQUARE, "P_T": SQUARE},
        projection.projectors,
        "000 p.68",
        inverts_mass=True,
    ),
    _plain(
        "second_fundamental_form",
        "S(q̇, q̇) and the centrifugal force M S",
        ("q", "qd"),
        {"S": VECTOR, "force": VECTOR},
        projection.second_fundamental_form,
        "000 p.72",
        inverts_mass=True,
    ),
    _plain(
        "project",
        "the nearest state on the constraints, from one that is off by little",
        ("q", "qd"),
        {"q": ("nq",), "qd": VECTOR},
        projection.project,
        "000 p.68",
        inverts_mass=True,
    ),
    _plain(
        "project_velocity",
        "the nearest velocity the constraints allow",
        ("q", "qd"),
        {"qd": VECTOR},
        projection.project_velocity,
        "000 p.68",
        inverts_mass=True,
    ),
    _plain(
        "decoupled",
        "motion and constraint force apart, v̇_r + Γ_r v_r = u_r and Γ_o v_r + Λ_rᵀλ = u_o",
        ("q", "qd", "tau"),
        DECOUPLED,
        gauge.decoupled,
        "Aghili 2009; 000 p.82–85",
        optional=("t", "near"),
        static=("root",),
        inverts_mass=True,
    ),
    _plain(
        "singular_values",
        "Λ = A W⁻ᵀ = U Σ Vᵀ",
        ("q",),
        SINGULAR,
        gauge.singular_values,
        "000 p.84",
        static=("root",),
        inverts_mass=True,
    ),
    GAUGE_MATRIX,
    _plain(
        "basis",
        "N = W⁻ᵀV₂, permitted velocities that move smoothly with q",
        ("q",),
        {"N": ("nv", "freedoms")},
        kane.basis,
        "000 p.85",
        optional=("t", "near"),
        inverts_mass=True,
    ),
    _plain(
        "kane",
        "q̇ = N v_r + n and v̇_r = −Γ_r v_r + u_r",
        ("q", "v_r", "tau"),
        {"qd": VECTOR, "v_r_dot": ("freedoms",), "N": ("nv", "freedoms")},
        kane.kane,
        "Kane and Levinson 1985; 000 p.85",
        optional=("t", "near"),
        inverts_mass=True,
    ),
    _plain("constraint_force", "−Aᵀλ", ("q", "lam"), {"f": VECTOR}, quantities.constraint_force),
    *REACTIONS,
    *CONTACT,
)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
# what a system has only where the one inside has it
WITH_REGRESSOR = ("regressor", "reduced_regressor")
WITH_FRAMES = ("frame_jacobian",)
WITH_JOINTS = ("joint_wrenches",)
WITH_POINTS = ("reaction_wrenches",)  # where constraints act between frames
