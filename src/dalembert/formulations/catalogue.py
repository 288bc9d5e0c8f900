"""The catalogue: every quantity with its formulations, first the default."""

from __future__ import annotations

from dalembert.errors import UnknownNameError
from dalembert.formulations import articulated_body, composite_body, energy, kinematics, newton_euler
from dalembert.formulations.registry import Formulation, Quantity, suggest

BASE = ("base_twist", "base_acceleration")

_QUANTITIES = (
    Quantity(
        "inverse_dynamics",
        "torques of a motion",
        ("q", "qd", "qdd"),
        {"tau": ("nv",)},
        (
            Formulation(
                "newton_euler",
                newton_euler.inverse_dynamics,
                "Luh, Walker and Paul 1980; Craig 1986",
                "outward motion, inward wrenches, in link frames",
            ),
        ),
        optional=("tip_wrench", *BASE),
    ),
    Quantity(
        "forward_dynamics",
        "accelerations under torques",
        ("q", "qd", "tau"),
        {"qdd": ("nv",)},
        (
            Formulation(
                "articulated_body",
                articulated_body.forward_dynamics,
                "Featherstone 1983",
                "articulated inertias inward, accelerations outward, O(n)",
            ),
        ),
        optional=("tip_wrench", *BASE),
        inverts_mass=True,
    ),
    Quantity(
        "mass_matrix",
        "M(q), rotor inertia included",
        ("q",),
        {"M": ("nv", "nv")},
        (
            Formulation(
                "composite_body",
                composite_body.mass_matrix,
                "Walker and Orin 1982",
                "composite rigid bodies, inward",
            ),
        ),
    ),
    Quantity(
        "joint_wrenches",
        "force and moment through every joint, on its link",
        ("q", "qd", "qdd"),
        {"F": ("joints", 6)},
        (
            Formulation(
                "newton_euler",
                newton_euler.joint_wrenches,
                "Luh, Walker and Paul 1980",
                "the wrenches of the inward pass",
            ),
        ),
        optional=("tip_wrench", *BASE),
    ),
    Quantity(
        "bias",
        "C q̇ + N, without friction",
        ("q", "qd"),
        {"h": ("nv",)},
        (
            Formulation(
                "newton_euler",
                newton_euler.bias,
                "Luh, Walker and Paul 1980",
                "torques of the motion with q̈ = 0",
            ),
        ),
        optional=BASE,
    ),
    Quantity(
        "gravity_torque",
        "N(q)",
        ("q",),
        {"N": ("nv",)},
        (
            Formulation(
                "newton_euler",
                newton_euler.gravity_torque,
                "Luh, Walker and Paul 1980",
                "torques at rest on an accelerated base",
            ),
        ),
    ),
    Quantity(
        "pose",
        "pose of a frame in the world",
        ("q",),
        {"T": (4, 4)},
        (Formulation("chain", kinematics.pose, "000 p.21", "product of the joints' transforms"),),
        static=("frame",),
    ),
    Quantity(
        "jacobian",
        "Jacobian of a frame",
        ("q",),
        {"J": (6, "nv")},
        (Formulation("columns", kinematics.jacobian, "000 p.21–22", "one twist per coordinate"),),
        static=("frame", "expressed_in"),
    ),
    Quantity(
        "jacobian_rate",
        "time derivative of a frame's Jacobian",
        ("q", "qd"),
        {"Jd": (6, "nv")},
        (Formulation("columns", kinematics.jacobian_rate, "000 p.35", "brackets of twists"),),
        static=("frame", "expressed_in"),
    ),
    Quantity(
        "integrate",
        "configuration after a unit time at constant velocity",
        ("q", "step"),
        {"q": ("nq",)},
        (Formulation("manifold", kinematics.integrate, "Lie-group exponential", "joint by joint"),),
    ),
    Quantity(
        "kinetic_energy",
        "K, rotors included",
        ("q", "qd"),
        {"K": ()},
        (Formulation("bodies", energy.kinetic_energy, "000 p.14", "sum over the bodies"),),
    ),
    Quantity(
        "potential_energy",
        "U of gravity",
        ("q",),
        {"U": ()},
        (Formulation("bodies", energy.potential_energy, "003", "sum over the bodies"),),
    ),
    Quantity(
        "center_of_mass",
        "centre of mass in the world",
        ("q",),
        {"c": (3,)},
        (Formulation("bodies", energy.center_of_mass, "000 p.12", "sum over the bodies"),),
    ),
    Quantity(
        "momentum",
        "linear and angular momentum about the world's origin",
        ("q", "qd"),
        {"L": (6,)},
        (Formulation("bodies", energy.momentum, "001 §1.3", "sum over the bodies"),),
    ),
    Quantity(
        "generalized_momentum",
        "∂K/∂q̇ = M q̇",
        ("q", "qd"),
        {"p": ("nv",)},
        (Formulation("composite_body", energy.generalized_momentum, "000 p.22", "M times q̇"),),
    ),
)
QUANTITIES = {quantity.name: quantity for quantity in _QUANTITIES}


def quantity(name: str) -> Quantity:
    """The quantity of that name, or an error that suggests the nearest."""
    try:
        return QUANTITIES[name]
    except KeyError:
        raise UnknownNameError(f"there is no quantity {name!r}{suggest(name, list(QUANTITIES))}") from None


def names(name: str) -> dict[str, str]:
    """Names of the formulations of a quantity, each with its citation; the default first.

    >>> list(names("mass_matrix"))[0]
    'composite_body'
    """
    return {f.name: f.citation for f in quantity(name).formulations}
