"""Catalogue of what the tool shows: operational space, manipulability, ellipsoids."""

from __future__ import annotations

from dalembert.formulations.registry import Formulation, quantity_of

_KHATIB = "Khatib 1987"
_YOSHIKAWA = "Yoshikawa 1985"
_VIEW = ("frame", "expressed_in")
_TASK = ("frame", "task")

QUANTITIES = (
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
        "radii and axes of the forces that unit torques hold at a frame",
        ("q",),
        {"radii": (3,), "axes": (3, 3)},
        Formulation("jacobi", "kinematics.operational.force_ellipsoid", _YOSHIKAWA, "Jᵀ = V σ Uᵀ"),
        static=_TASK,
        free_only=True,
    ),
)
