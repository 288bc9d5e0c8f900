"""Catalogue of torques, accelerations and wrenches; the first formulation is the default.

Forward dynamics alone has another default where that is less arithmetic: see `_fewest`.
"""

from __future__ import annotations

from dalembert.formulations.catalogue.terms import TERMS
from dalembert.formulations.registry import Formulation, quantity_of
from dalembert.model import Model

BASE = ("base_twist", "base_acceleration")
LUH = "Luh, Walker and Paul 1980; Craig 1986"
HOLLERBACH = "Hollerbach 1980"
STEPANENKO = "Stepanenko and Vukobratović 1976"
ORIN = "Orin, McGhee, Vukobratović and Hartoch 1979"

INVERSE = quantity_of(
    "inverse_dynamics",
    "torques of a motion",
    ("q", "qd", "qdd"),
    {"tau": ("nv",)},
    *(
        Formulation(name, f"inverse.{name}.inverse_dynamics", source, summary, TERMS.get(name, ()))
        for name, source, summary in (
            ("newton_euler", LUH, "outward motion, inward wrenches, in link frames"),
            (
                "craig",
                "003; 001 §1.3; Craig 1986",
                "Newton–Euler as printed: centres of mass, in link frames",
            ),
            ("silver", "001 §3", "Lagrange with ω: force and moment sums inward, in link frames"),
            ("screw", "000 p.37–40", "recursion of body twists and wrenches"),
            ("operator", "000 p.40–47", "stacked operators G, Γ, P₀, P_t"),
            ("lagrange", "000 p.21–31", "M, Christoffel symbols and N from closed forms"),
            ("hollerbach_3x3", HOLLERBACH, "recursive Lagrangian with rotations and displacements"),
            ("hollerbach_4x4", HOLLERBACH, "recursive Lagrangian with 4×4 matrices"),
            (
                "uicker_kahn",
                "Uicker 1965; Kahn 1969",
                "Lagrange with 4×4 matrices, evaluated as written, O(n⁴)",
            ),
            ("newton_euler_base", STEPANENKO, "every vector in base coordinates"),
            ("newton_euler_mixed", ORIN, "motion in base coordinates, forces in link frames"),
        )
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


FORWARD = quantity_of(
    "forward_dynamics",
    "accelerations under torques",
    ("q", "qd", "tau"),
    {"qdd": ("nv",)},
    *(
        Formulation(name, f"forward.fulfilled.{name}", source, summary)
        for name, source, summary in (
            (
                "articulated_body",
                "Featherstone 1983",
                "articulated inertias inward, accelerations outward, O(n)",
            ),
            ("composite_body", "Walker and Orin 1982", "M by composite bodies, solved by Cholesky"),
            (
                "tree_factor",
                "Featherstone 2008, §6.5",
                "M by composite bodies, M = Lᵀ D L factored from the tips",
            ),
            (
                "square_root",
                "000 p.48–50",
                "M = W Wᵀ by articulated inertias, two triangular solves",
            ),
            ("symmetric_root", "003", "v = M^½ q̇, through the symmetric root"),
            ("operator", "000 p.50", "the inverse of M as a product of operators"),
        )
    ),
    optional=("tip_wrench", *BASE),
    inverts_mass=True,
    best=_fewest,
)

WRENCHES = quantity_of(
    "joint_wrenches",
    "force and moment through every joint, on its link",
    ("q", "qd", "qdd"),
    {"F": ("joints", 6)},
    *(
        Formulation(name, f"inverse.{name}.joint_wrenches", source, summary)
        for name, source, summary in (
            ("newton_euler", LUH, "the wrenches of the inward pass"),
            ("craig", "003; Craig 1986", "f_i and n_i as printed"),
            ("silver", "001 §3", "the inward sums"),
            ("screw", "000 p.39", "F_i of the inward pass"),
            ("operator", "000 p.45", "F = Gᵀ(…), stacked"),
            ("newton_euler_base", STEPANENKO, "in base coordinates, turned at the end"),
            ("newton_euler_mixed", ORIN, "motion in base coordinates"),
        )
    ),
    optional=("tip_wrench", *BASE),
)

BIAS = quantity_of(
    "bias",
    "C q̇ + N, without friction",
    ("q", "qd"),
    {"h": ("nv",)},
    Formulation(
        "newton_euler", "inverse.newton_euler.bias", LUH, "torques of the motion with q̈ = 0"
    ),
    Formulation("christoffel", "mass.christoffel.bias", "003", "Ṁ q̇ − ½ [q̇ᵀ M_qᵢ q̇] + ∂U/∂q"),
    Formulation("operator", "inverse.operator.bias", "000 p.46", "stacked operators"),
    optional=BASE,
)

GRAVITY = quantity_of(
    "gravity_torque",
    "N(q)",
    ("q",),
    {"N": ("nv",)},
    Formulation(
        "newton_euler", "inverse.newton_euler.gravity_torque", LUH, "at rest on an accelerated base"
    ),
    Formulation("jacobian", "kinematics.gravity.gravity_torque", "003", "−Σ J_vᵀ m g"),
    Formulation("potential", "kinematics.gravity.gravity_torque_by_potential", "000 p.29", "∂U/∂q"),
    Formulation("operator", "inverse.operator.gravity_torque", "000 p.47", "φ = ξᵀGᵀMGP₀V̇₀"),
)

FORCES = quantity_of(
    "generalized_forces",
    "ψ: forces without potential, on the side of τ",
    ("q", "qd"),
    {"psi": ("nv",)},
    Formulation(
        "drive", "parts.drive.generalized_forces", "Craig 1986, §6.9", "minus friction and dampers"
    ),
)

QUANTITIES = (INVERSE, FORWARD, WRENCHES, BIAS, GRAVITY, FORCES)
