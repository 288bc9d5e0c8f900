"""Quantities of the forces at constraints and joints, for the catalogue of a constrained system."""

from __future__ import annotations

from dalembert.constraints import reactions
from dalembert.formulations.registry import Formulation, Quantity

REACTIONS = (
    Quantity(
        "wrench",
        "force and moment of one constraint on its second body",
        ("q", "lam"),
        {"F": (6,)},
        (Formulation("direct", reactions.wrench, "000 §4.5", "its λ along its own axes"),),
        ("t",),
        ("constraint",),
    ),
    Quantity(
        "reaction_wrenches",
        "force and moment of every constraint between frames on its second body, and where",
        ("q", "qd", "lam"),
        {"F": ("acting", 6), "p": ("acting", 3)},
        (Formulation("direct", reactions.reaction_wrenches, "000 §4.5", "λ and friction"),),
        ("t",),
    ),
    Quantity(
        "joint_wrenches",
        "force and moment through every joint of a robot that is held",
        ("q", "qd", "qdd", "lam"),
        {"F": ("joints", 6)},
        (
            Formulation(
                "newton_euler",
                reactions.joint_wrenches,
                "Luh, Walker and Paul 1980; 000 §4.5",
                "those of the open tree, less what the constraints exert on it",
            ),
        ),
        ("t",),
    ),
)
