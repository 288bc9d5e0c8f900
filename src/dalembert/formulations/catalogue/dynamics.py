"""Catalogue of torques, accelerations and wrenches; the first formulation is the default.

Forward dynamics alone has another default where that is less arithmetic: see `_fewest`.
"""

from __future__ import annotations

from dalembert.formulations.catalogue.terms import TERMS
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model import Model

BASE = ("base_twist", "base_acceleration")
LUH = "Luh, Walker and Paul 1980; Craig 1986"

INVERSE = Quantity(
    "inverse_dynamics",
    "torques of a motion",
    ("q", "qd", "qdd"),
    {"tau": ("nv",)},
    (
        Formulation(
            "newton_euler",
            "inverse.newton_euler.inverse_dynamics",
            LUH,
            "outward motion, inward wrenches, in link frames",
            terms=TERMS["newton_euler"],
        ),
        Formulation(
            "craig",
            "inverse.craig.inverse_dynamics",
            "003; 001 §1.3; Craig 1986",
            "Newton–Euler as printed: centres of mass, in link frames",
            terms=TERMS["craig"],
        ),
        Formulation(
            "silver",
            "inverse.silver.inverse_dynamics",
            "001 §3",
            "Lagrange with ω: force and moment sums inward, in link frames",
            terms=TERMS["silver"],
        ),
        Formulation(
            "screw",
            "inverse.screw.inverse_dynamics",
            "000 p.37–40",
            "recursion of body twists and wrenches",
            terms=TERMS["screw"],
        ),
        Formulation(
            "operator",
            "inverse.operator.inverse_dynamics",
            "000 p.40–47",
            "stacked operators G, Γ, P₀, P_t",
            terms=TERMS["operator"],
        ),
        Formulation(
            "lagrange",
            "inverse.lagrange.inverse_dynamics",
            "000 p.21–31",
            "M, Christoffel symbols and N from closed forms",
        ),
        Formulation(
            "hollerbach_3x3",
            "inverse.hollerbach_3x3.inverse_dynamics",
            "Hollerbach 1980",
            "recursive Lagrangian with rotations and displacements",
            terms=TERMS["hollerbach_3x3"],
        ),
        Formulation(
            "hollerbach_4x4",
            "inverse.hollerbach_4x4.inverse_dynamics",
            "Hollerbach 1980",
            "recursive Lagrangian with 4×4 matrices",
            terms=TERMS["hollerbach_4x4"],
        ),
        Formulation(
            "uicker_kahn",
            "inverse.uicker_kahn.inverse_dynamics",
            "Uicker 1965; Kahn 1969",
            "Lagrange with 4×4 matrices, evaluated as written, O(n⁴)",
            terms=TERMS["uicker_kahn"],
        ),
        Formulation(
            "newton_euler_base",
            "inverse.newton_euler_base.inverse_dynamics",
            "Stepanenko and Vukobratović 1976",
            "every vector in base coordinates",
            terms=TERMS["newton_euler_base"],
        ),
        Formulation(
            "newton_euler_mixed",
            "inverse.newton_euler_mixed.inverse_dynamics",
            "Orin, McGhee, Vukobratović and Hartoch 1979",
            "motion in base coordinates, forces in link frames",
            terms=TERMS["newton_euler_mixed"],
        ),
    ),
    optional=("tip_wrench", *BASE),
    static=("gravity", "tip"),
)

FACTOR_UP_TO = 7  # degrees of freedom between the base and a tip


def _fewest(model: Model) -> str:
    """The forward dynamics of the fewest operations.

    Factoring M takes less than articulated bodies for chains of up to seven coordinates: 11 % less
    for six general revolute joints, 1 % more for eight, 14 % for ten; for the UR5, 3 % less. In a
    tree it is the longest way from the base to a tip that decides.
    """
    ways = [sum(model.bodies[j].chart.nv for j in way) for way in model.supports]
    return "tree_factor" if max(ways, default=0) <= FACTOR_UP_TO else "articulated_body"


FORWARD = Quantity(
    "forward_dynamics",
    "accelerations under torques",
    ("q", "qd", "tau"),
    {"qdd": ("nv",)},
    (
        Formulation(
            "articulated_body",
            "forward.fulfilled.articulated_body",
            "Featherstone 1983",
            "articulated inertias inward, accelerations outward, O(n)",
        ),
        Formulation(
            "composite_body",
            "forward.fulfilled.composite_body",
            "Walker and Orin 1982",
            "M by composite bodies, solved by Cholesky",
        ),
        Formulation(
            "tree_factor",
            "forward.fulfilled.tree_factor",
            "Featherstone 2008, §6.5",
            "M by composite bodies, M = Lᵀ D L factored from the tips",
        ),
        Formulation(
            "square_root",
            "forward.fulfilled.square_root",
            "000 p.48–50",
            "M = W Wᵀ by articulated inertias, two triangular solves",
        ),
        Formulation(
            "symmetric_root",
            "forward.fulfilled.symmetric_root",
            "003",
            "v = M^½ q̇, through the symmetric root",
        ),
        Formulation(
            "operator",
            "forward.fulfilled.operator",
            "000 p.50",
            "the inverse of M as a product of operators",
        ),
    ),
    optional=("tip_wrench", *BASE),
    inverts_mass=True,
    best=_fewest,
)

WRENCHES = Quantity(
    "joint_wrenches",
    "force and moment through every joint, on its link",
    ("q", "qd", "qdd"),
    {"F": ("joints", 6)},
    (
        Formulation(
            "newton_euler",
            "inverse.newton_euler.joint_wrenches",
            LUH,
            "the wrenches of the inward pass",
        ),
        Formulation(
            "craig", "inverse.craig.joint_wrenches", "003; Craig 1986", "f_i and n_i as printed"
        ),
        Formulation("silver", "inverse.silver.joint_wrenches", "001 §3", "the inward sums"),
        Formulation("screw", "inverse.screw.joint_wrenches", "000 p.39", "F_i of the inward pass"),
        Formulation(
            "operator", "inverse.operator.joint_wrenches", "000 p.45", "F = Gᵀ(…), stacked"
        ),
        Formulation(
            "newton_euler_base",
            "inverse.newton_euler_base.joint_wrenches",
            "Stepanenko and Vukobratović 1976",
            "in base coordinates, turned at the end",
        ),
        Formulation(
            "newton_euler_mixed",
            "inverse.newton_euler_mixed.joint_wrenches",
            "Orin, McGhee, Vukobratović and Hartoch 1979",
            "motion in base coordinates",
        ),
    ),
    optional=("tip_wrench", *BASE),
)

BIAS = Quantity(
    "bias",
    "C q̇ + N, without friction",
    ("q", "qd"),
    {"h": ("nv",)},
    (
        Formulation(
            "newton_euler", "inverse.newton_euler.bias", LUH, "torques of the motion with q̈ = 0"
        ),
        Formulation(
            "christoffel",
            "mass.christoffel.bias",
            "003",
            "Ṁ q̇ − ½ [q̇ᵀ M_qᵢ q̇] + ∂U/∂q",
        ),
        Formulation("operator", "inverse.operator.bias", "000 p.46", "stacked operators"),
    ),
    optional=BASE,
)

GRAVITY = Quantity(
    "gravity_torque",
    "N(q)",
    ("q",),
    {"N": ("nv",)},
    (
        Formulation(
            "newton_euler",
            "inverse.newton_euler.gravity_torque",
            LUH,
            "at rest on an accelerated base",
        ),
        Formulation(
            "jacobian",
            "kinematics.gravity.gravity_torque",
            "003",
            "−Σ J_vᵀ m g",
        ),
        Formulation(
            "potential", "kinematics.gravity.gravity_torque_by_potential", "000 p.29", "∂U/∂q"
        ),
        Formulation("operator", "inverse.operator.gravity_torque", "000 p.47", "φ = ξᵀGᵀMGP₀V̇₀"),
    ),
)

FORCES = Quantity(
    "generalized_forces",
    "ψ: forces without potential, on the side of τ",
    ("q", "qd"),
    {"psi": ("nv",)},
    (
        Formulation(
            "drive",
            "parts.drive.generalized_forces",
            "Craig 1986, §6.9",
            "minus friction and dampers",
        ),
    ),
)

QUANTITIES = (INVERSE, FORWARD, WRENCHES, BIAS, GRAVITY, FORCES)
