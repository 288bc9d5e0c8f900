"""The part of the catalogue that differentiates: slopes of the dynamics, and the regressor."""

from __future__ import annotations

from dalembert.formulations.registry import Formulation, quantity_of

_BASE = ("base_twist", "base_acceleration")
_SQUARE = ("nv", "nv")

QUANTITIES = (
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
        optional=("tip_wrench", *_BASE),
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
            "−M⁻¹ times the slopes of inverse dynamics",
        ),
        Formulation(
            "automatic",
            "derivatives.automatic.forward_dynamics_derivatives",
            "Griewank and Walther 2008",
            "forward automatic differentiation of articulated bodies",
        ),
        optional=("tip_wrench", *_BASE),
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
        optional=_BASE,
    ),
)
