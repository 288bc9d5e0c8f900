"""The catalogue: every quantity with its formulations, the default formulation first.

Functions are named by their place below `dalembert.formulations` and imported at their first use.
Forward dynamics has no fixed default: `_fewest_operations` chooses by the length of the chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.recursion_table import TERMS
from dalembert.formulations.registry import Formulation, Quantity, Size, quantity_of, suggest
from dalembert.model import CoupledModel, Model

# torques, accelerations and wrenches

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


def _fewest_operations(model: Model) -> str:
    """The forward dynamics of the fewest operations.

    Factoring M takes less than articulated bodies for chains of up to seven coordinates: 11 % less
    for six general revolute joints, 1 % more for eight, 14 % for ten; for the UR5, 3 % less. In a
    tree the longest path from the base to a tip decides. Tendons with inertia make M dense.
    """
    if model.elements.tendons_with_inertia:
        return "tree_factor"
    lengths = [sum(model.bodies[j].chart.nv for j in path) for path in model.supports]
    return "tree_factor" if max(lengths, default=0) <= FACTOR_UP_TO else "articulated_body"


FORWARD = quantity_of(
    "forward_dynamics",
    "accelerations under torques",
    ("q", "qd", "tau"),
    {"qdd": ("nv",)},
    *(
        Formulation(name, f"forward.solve.{name}", source, summary)
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
    best=_fewest_operations,
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
    Formulation("jacobian", "kinematics.energy.gravity_torque", "003", "−Σ J_vᵀ m g"),
    Formulation("potential", "kinematics.energy.gravity_torque_by_potential", "000 p.29", "∂U/∂q"),
    Formulation("operator", "inverse.operator.gravity_torque", "000 p.47", "φ = ξᵀGᵀMGP₀V̇₀"),
)

FORCES = quantity_of(
    "generalized_forces",
    "ψ: forces without potential, on the side of τ",
    ("q", "qd"),
    {"psi": ("nv",)},
    Formulation(
        "drive",
        "parts.elements.generalized_forces",
        "Craig 1986, §6.9",
        "minus friction and dampers",
    ),
)

DYNAMICS = (INVERSE, FORWARD, WRENCHES, BIAS, GRAVITY, FORCES)


MASS = quantity_of(
    "mass_matrix",
    "M(q), rotor inertia included",
    ("q",),
    {"M": ("nv", "nv")},
    Formulation(
        "composite_body",
        "mass.composite_body.mass_matrix",
        "Walker and Orin 1982",
        "composite rigid bodies, inward",
    ),
    Formulation(
        "jacobian", "mass.jacobian_mass.mass_matrix", "000 p.22", "Σ Jᵀ M J of body Jacobians"
    ),
    Formulation(
        "centers",
        "mass.jacobian_mass.mass_matrix_by_centers",
        "003",
        "Σ m J_vᵀJ_v + J_ωᵀ R I Rᵀ J_ω, centres differentiated",
    ),
    Formulation(
        "screw_sum", "mass.screw_sum.mass_matrix", "000 p.31", "sums over screws, Property 2"
    ),
    Formulation("operator", "inverse.operator.mass_matrix", "000 p.47", "ξᵀGᵀMGξ"),
)

DERIVATIVE = quantity_of(
    "mass_matrix_derivative",
    "∂M_ij/∂q_k",
    ("q",),
    {"dM": ("nv", "nv", "nv")},
    Formulation(
        "screw_sum",
        "mass.screw_sum.mass_matrix_derivative",
        "000 p.31",
        "closed form of Property 2",
    ),
    Formulation(
        "automatic",
        "derivatives.automatic.mass_matrix_derivative",
        "automatic differentiation",
        "of the composite bodies",
    ),
)

CHRISTOFFEL = quantity_of(
    "christoffel",
    "Christoffel symbols Γ_ijk, i the row",
    ("q",),
    {"G": ("nv", "nv", "nv")},
    Formulation("screw_sum", "mass.christoffel.christoffel", "000 p.23", "from ∂M/∂q"),
    Formulation(
        "automatic", "derivatives.automatic.christoffel", "automatic differentiation", "from ∂M/∂q"
    ),
)

CORIOLIS = quantity_of(
    "coriolis_matrix",
    "C(q, q̇) with C q̇ + N the bias",
    ("q", "qd"),
    {"C": ("nv", "nv")},
    Formulation(
        "christoffel", "mass.christoffel.coriolis_matrix", "000 p.23", "Σ Γ_ijk q̇_k: Ṁ − 2C is skew"
    ),
    Formulation(
        "operator",
        "inverse.operator.coriolis_matrix",
        "000 p.46",
        "stacked operators with the term that makes Ṁ − 2C skew",
    ),
    Formulation(
        "operator_printed",
        "inverse.operator.coriolis_matrix_printed",
        "000 p.46",
        "as printed: the same C q̇, but Ṁ − 2C is not skew",
    ),
)

SPLIT = quantity_of(
    "coriolis_centrifugal",
    "Khatib's B(q)[q̇q̇] + C(q)[q̇²]",
    ("q",),
    {"B": ("nv", "pairs"), "C": ("nv", "nv")},
    Formulation("christoffel", "mass.christoffel.coriolis_centrifugal", "003", "2Γ_ijk and Γ_ijj"),
)

ROOT = quantity_of(
    "square_root",
    "W with W Wᵀ = M",
    ("q",),
    {"W": ("nv", "nv")},
    Formulation(
        "articulated_body",
        "mass.square_root.square_root",
        "000 p.48–50",
        "triangular, from articulated inertias",
    ),
    Formulation("symmetric", "mass.square_root.symmetric_root", "003", "the symmetric root M^½"),
    inverts_mass=True,
)

ROOT_INVERSE = quantity_of(
    "square_root_inverse",
    "W⁻¹, with M⁻¹ = W⁻ᵀ W⁻¹",
    ("q",),
    {"W_inverse": ("nv", "nv")},
    Formulation(
        "articulated_body",
        "mass.square_root.square_root_inverse",
        "000 p.48–50",
        "triangular, from articulated inertias",
    ),
    Formulation(
        "symmetric", "mass.square_root.symmetric_root_inverse", "003", "the symmetric M^−½"
    ),
    inverts_mass=True,
)

OPERATORS = quantity_of(
    "operators",
    "the stacked matrices ξ, Γ, G, M, P_0, P_t of all bodies",
    ("q",),
    # the fields of `operator.Operators`
    {
        "xi": ("stacked", "nv"),
        "Gamma": ("stacked", "stacked"),
        "G": ("stacked", "stacked"),
        "M": ("stacked", "stacked"),
        "P_0": ("stacked", 6),
        "P_t": (6, "stacked"),
    },
    Formulation("stacked", "inverse.operator.operators", "000 p.40–45", "block rows, outward"),
)

ARTICULATED = quantity_of(
    "articulated_inertia",
    "M̂, stacked: M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξ(ξᵀM̂ξ)⁻¹ξᵀM̂Γ",
    ("q",),
    {"M_hat": ("stacked", "stacked")},
    Formulation(
        "articulated_body",
        "mass.square_root.articulated_inertia",
        "000 p.48–50",
        "inward, by bodies",
    ),
    inverts_mass=True,
)

MATRICES = (
    *(MASS, DERIVATIVE, CHRISTOFFEL, CORIOLIS, SPLIT, ROOT, ROOT_INVERSE),
    *(OPERATORS, ARTICULATED),
)


_SQUARE = ("nv", "nv")

DERIVATIVES = (
    quantity_of(
        "inverse_dynamics_derivatives",
        "∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M",
        ("q", "qd", "qdd"),
        {"dtau_dq": _SQUARE, "dtau_dqd": _SQUARE, "M": _SQUARE},
        Formulation(
            "recursive",
            "derivatives.inverse.inverse_dynamics_derivatives",
            "Carpentier and Mansard 2018; Singh, Russell and Wensing 2022",
            "moments of what each joint carries, responses inward, in link frames",
        ),
        Formulation(
            "automatic",
            "derivatives.automatic.inverse_dynamics_derivatives",
            "Griewank and Walther 2008",
            "forward automatic differentiation of Newton–Euler",
        ),
        optional=("tip_wrench", *BASE),
    ),
    quantity_of(
        "forward_dynamics_derivatives",
        "∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ = M⁻¹",
        ("q", "qd", "tau"),
        {"dqdd_dq": _SQUARE, "dqdd_dqd": _SQUARE, "M_inverse": _SQUARE},
        Formulation(
            "recursive",
            "derivatives.forward.forward_dynamics_derivatives",
            "Carpentier and Mansard 2018",
            "−M⁻¹ times the derivatives of inverse dynamics",
        ),
        Formulation(
            "automatic",
            "derivatives.automatic.forward_dynamics_derivatives",
            "Griewank and Walther 2008",
            "forward automatic differentiation of articulated bodies",
        ),
        optional=("tip_wrench", *BASE),
        inverts_mass=True,
    ),
    quantity_of(
        "regressor",
        "Y with Y θ = τ, θ the inertial parameters",
        ("q", "qd", "qdd"),
        {"Y": ("nv", "inertial")},
        Formulation(
            "bodies",
            "derivatives.regressor.regressor",
            "Khalil and Dombre 2002, ch. 12",
            "each joint's twist at each body it carries",
        ),
        optional=BASE,
    ),
)


SUM = "sum over the bodies"
_STRINGS = "Todorov, Erez and Tassa 2012 (MuJoCo)"

KINEMATICS = (
    quantity_of(
        "pose",
        "pose of a frame in the world",
        ("q",),
        {"T": (4, 4)},
        Formulation("chain", "kinematics.frames.pose", "000 p.21", "product of the transforms"),
        static=("frame",),
    ),
    quantity_of(
        "jacobian",
        "Jacobian of a frame",
        ("q",),
        {"J": (6, "nv")},
        Formulation("columns", "kinematics.frames.jacobian", "000 p.21–22", "twist by twist"),
        static=("frame", "expressed_in"),
    ),
    quantity_of(
        "jacobian_rate",
        "time derivative of a frame's Jacobian",
        ("q", "qd"),
        {"Jd": (6, "nv")},
        Formulation("columns", "kinematics.frames.jacobian_rate", "000 p.35", "brackets of twists"),
        static=("frame", "expressed_in"),
    ),
    quantity_of(
        "integrate",
        "configuration after a unit time at constant velocity",
        ("q", "step"),
        {"q": ("nq",)},
        Formulation(
            "manifold", "kinematics.frames.integrate", "group exponentials", "joint by joint"
        ),
    ),
    quantity_of(
        "difference",
        "the step that leads from one configuration to another",
        ("q", "to"),
        {"step": ("nv",)},
        Formulation(
            "manifold", "kinematics.frames.difference", "group logarithms", "joint by joint"
        ),
    ),
    quantity_of(
        "tendon_length",
        "length of every tendon",
        ("q",),
        {"L": ("tendons",)},
        Formulation("segments", "kinematics.tendons.tendon_length", _STRINGS, "segment by segment"),
    ),
    quantity_of(
        "tendon_jacobian",
        "∂L/∂q of every tendon",
        ("q",),
        {"J": ("tendons", "nv")},
        Formulation(
            "segments", "kinematics.tendons.tendon_jacobian", _STRINGS, "pulls on the two ends"
        ),
    ),
    quantity_of(
        "kinetic_energy",
        "K, rotors included",
        ("q", "qd"),
        {"K": ()},
        Formulation("bodies", "kinematics.energy.kinetic_energy", "000 p.14", SUM),
    ),
    quantity_of(
        "potential_energy",
        "U of gravity and springs",
        ("q",),
        {"U": ()},
        Formulation("bodies", "kinematics.energy.potential_energy", "000 p.22", SUM),
    ),
    quantity_of(
        "center_of_mass",
        "centre of mass in the world",
        ("q",),
        {"c": (3,)},
        Formulation("bodies", "kinematics.energy.center_of_mass", "000 p.12", SUM),
    ),
    quantity_of(
        "momentum",
        "linear and angular momentum about the world's origin",
        ("q", "qd"),
        {"L": (6,)},
        Formulation("bodies", "kinematics.energy.momentum", "001 §1.3", SUM),
    ),
    quantity_of(
        "generalized_momentum",
        "∂K/∂q̇ = M q̇",
        ("q", "qd"),
        {"p": ("nv",)},
        Formulation("composite_body", "kinematics.energy.generalized_momentum", "000 p.22", "M q̇"),
    ),
)


_KHATIB = "Khatib 1987"
_YOSHIKAWA = "Yoshikawa 1985"
_VIEW = ("frame", "expressed_in")
_TASK = ("frame", "task")

OPERATIONAL = (
    quantity_of(
        "operational_space",
        "Λ, μ, p of a frame, the dynamically consistent inverse J̄ and 1 − Jᵀ J̄ᵀ",
        ("q", "qd"),
        {"Lambda": (6, 6), "mu": (6,), "p": (6,), "J_bar": ("nv", 6), "null": ("nv", "nv")},
        Formulation(
            "inverse", "kinematics.operational.operational_space", _KHATIB, "Λ⁻¹ = J M⁻¹ Jᵀ"
        ),
        static=_VIEW,
        inverts_mass=True,
        free_only=True,
    ),
    quantity_of(
        "operational_position",
        "the same of the position alone",
        ("q", "qd"),
        {"Lambda": (3, 3), "mu": (3,), "p": (3,), "J_bar": ("nv", 3), "null": ("nv", "nv")},
        Formulation(
            "inverse", "kinematics.operational.operational_position", _KHATIB, "Λ⁻¹ = J M⁻¹ Jᵀ"
        ),
        static=_VIEW,
        inverts_mass=True,
        free_only=True,
    ),
    quantity_of(
        "manipulability",
        "√det(J Jᵀ) of a frame",
        ("q",),
        {"w": ()},
        Formulation(
            "gram_schmidt", "kinematics.operational.manipulability", _YOSHIKAWA, "row by row"
        ),
        static=_TASK,
        free_only=True,
    ),
    quantity_of(
        "manipulability_gradient",
        "∂/∂q of the manipulability",
        ("q",),
        {"dw": ("nv",)},
        Formulation(
            "automatic",
            "kinematics.operational.manipulability_gradient",
            "Griewank and Walther 2008",
            "automatic differentiation",
        ),
        static=_TASK,
        free_only=True,
    ),
    quantity_of(
        "velocity_ellipsoid",
        "radii and axes of the velocities that unit joint velocities give a frame",
        ("q",),
        {"radii": (3,), "axes": (3, 3)},
        Formulation(
            "jacobi", "kinematics.operational.velocity_ellipsoid", _YOSHIKAWA, "J = U σ Vᵀ"
        ),
        static=_TASK,
        free_only=True,
    ),
    quantity_of(
        "force_ellipsoid",
        "radii and axes of the forces at a frame that unit torques balance",
        ("q",),
        {"radii": (3,), "axes": (3, 3)},
        Formulation("jacobi", "kinematics.operational.force_ellipsoid", _YOSHIKAWA, "Jᵀ = V σ Uᵀ"),
        static=_TASK,
        free_only=True,
    ),
)


# actuators: only for models that have some, activations for those with activation dynamics


def _actuator_quantity(
    name: str, summary: str, inputs: str, outputs: Mapping[str, tuple[Size, ...]], **options: Any
) -> Quantity:
    source = "MuJoCo documentation, Actuation model"
    direct = Formulation("direct", f"actuators.{name}", source, summary)
    return quantity_of(name, summary, tuple(inputs.split()), outputs, direct, **options)


ACTUATORS = (
    _actuator_quantity(
        "transmission", "moment arms B of the actuators, τ = Bᵀf", "q", {"B": ("nu", "nv")}
    ),
    _actuator_quantity("actuator_lengths", "lengths of the actuators", "q", {"l": ("nu",)}),
    _actuator_quantity(
        "required_efforts",
        "forces of the actuators that give a motion",
        "q qd qdd",
        {"f": ("nu",)},
        optional=("effort_weights", "tip_wrench"),
    ),
    _actuator_quantity(
        "actuator_drivers",
        "controls or activations at which the actuators exert given forces",
        "q qd efforts",
        {"w": ("nu",)},
    ),
    _actuator_quantity(
        "actuator_forces",
        "what the actuators exert on the joints",
        "q qd u",
        {"tau": ("nv",)},
        optional=("activation",),
    ),
    _actuator_quantity(
        "actuator_efforts",
        "force of each actuator along its length",
        "q qd u",
        {"f": ("nu",)},
        optional=("activation",),
    ),
    _actuator_quantity(
        "activation_rate", "rates of the activations", "u activation", {"rate": ("na",)}
    ),
)
_WITH_ACTIVATION = {quantity.name: quantity for quantity in ACTUATORS}
_WITHOUT_ACTIVATION = {
    quantity.name: replace(
        quantity, optional=tuple(name for name in quantity.optional if name != "activation")
    )
    for quantity in ACTUATORS[:-1]
}


def actuator_quantities(model: Model | CoupledModel) -> Mapping[str, Quantity]:
    """Quantities of the actuators of a model, by name; none for a model without actuators."""
    if not model.driven_by.actuators:
        return {}
    return _WITH_ACTIVATION if model.driven_by.active else _WITHOUT_ACTIVATION


QUANTITIES = {
    quantity.name: quantity
    for group in (DYNAMICS, MATRICES, KINEMATICS, OPERATIONAL, DERIVATIVES)
    for quantity in group
}


def quantity(name: str) -> Quantity:
    """The quantity of that name; `UnknownNameError` suggests the nearest names."""
    if name not in QUANTITIES:
        raise UnknownNameError(f"there is no quantity {name!r}{suggest(name, list(QUANTITIES))}")
    return QUANTITIES[name]


def names(name: str) -> dict[str, str]:
    """Names of the formulations of a quantity, each with its citation; the default first.

    >>> list(names("mass_matrix"))[0]
    'composite_body'
    """
    return {f.name: f.citation for f in quantity(name).formulations}
