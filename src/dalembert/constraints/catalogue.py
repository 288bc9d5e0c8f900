"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.constraints import (
    elimination,
    gauge,
    inverse,
    multiplier,
    projection,
    quantities,
    reactions,
)
from dalembert.formulations.registry import Formulation, Quantity, Size

VECTOR, SQUARE = ("nv",), ("nv", "nv")
Shapes = dict[str, tuple[Size, ...]]


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


FORWARD = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    {"qdd": VECTOR, "lam": ("rows",)},
    (
        Formulation(
            "multiplier", multiplier.forward_dynamics, "000 p.56", "(A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ"
        ),
        Formulation(
            "elimination",
            elimination.forward_dynamics,
            "000 p.58–60",
            "Lagrange–d'Alembert in independent coordinates",
        ),
        Formulation(
            "projection",
            projection.forward_dynamics,
            "Liu and Li 2002; 000 p.65–74",
            "dynamics in T*Q and T*Q⊥ by P_ω",
        ),
        Formulation(
            "gauge",
            gauge.forward_dynamics,
            "Aghili 2009; 000 p.82–88",
            "M = W Wᵀ and an orthonormal V",
        ),
    ),
    optional=("t",),
    static=("pivots", "root", "basis"),
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
        optional=("lam", "weights", "t"),
        static=("actuators",),
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
    _plain("constraint_force", "−Aᵀλ", ("q", "lam"), {"f": VECTOR}, quantities.constraint_force),
    _plain(
        "wrench",
        "force and moment of one constraint on its second body",
        ("q", "lam"),
        {"F": (6,)},
        reactions.wrench,
        static=("constraint",),
    ),
    _plain("mass_matrix", "M(q)", ("q",), {"M": SQUARE}, quantities.mass_matrix, optional=()),
    _plain("bias", "C q̇ + N", ("q", "qd"), {"h": VECTOR}, quantities.bias, optional=()),
    _plain(
        "gravity_torque",
        "N(q) = ∂U/∂q",
        ("q",),
        {"N": VECTOR},
        quantities.gravity_torque,
        optional=(),
    ),
    _plain(
        "generalized_forces",
        "ψ, the forces without potential",
        ("q", "qd"),
        {"psi": VECTOR},
        quantities.generalized_forces,
        optional=(),
    ),
    _plain("kinetic_energy", "T", ("q", "qd"), {"T": ()}, quantities.kinetic_energy, optional=()),
    _plain("potential_energy", "V", ("q",), {"V": ()}, quantities.potential_energy, optional=()),
    _plain(
        "integrate",
        "configuration after unit time",
        ("q", "step"),
        {"q": ("nq",)},
        quantities.integrate,
        optional=(),
    ),
    _plain(
        "difference",
        "the step that leads from one configuration to another",
        ("q", "to"),
        {"step": VECTOR},
        quantities.difference,
        optional=(),
    ),
)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
