"""Catalogue of the mass matrix, its derivatives, its roots, and the Coriolis matrix."""

from __future__ import annotations

from dalembert.formulations.registry import Formulation, quantity_of

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
        "mass.automatic.mass_matrix_derivative",
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
        "automatic", "mass.automatic.christoffel", "automatic differentiation", "from ∂M/∂q"
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

QUANTITIES = (
    *(MASS, DERIVATIVE, CHRISTOFFEL, CORIOLIS, SPLIT, ROOT, ROOT_INVERSE),
    *(OPERATORS, ARTICULATED),
)
