"""Catalogue of poses, Jacobians, energies and momenta."""

from __future__ import annotations

from dalembert.formulations.registry import Formulation, quantity_of

SUM = "sum over the bodies"
_STRINGS = "Todorov, Erez and Tassa 2012 (MuJoCo)"

QUANTITIES = (
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
