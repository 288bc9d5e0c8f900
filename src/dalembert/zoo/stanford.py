"""The Stanford arm of Scheinman (1969): two revolute joints, a prismatic one, a spherical wrist."""

from __future__ import annotations

from math import pi
from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import diagonal, register

# The Robotics Toolbox has 1.054, 6.447, 0.092, 0.566 and 1.554 m among the centres of mass, most of
# them far outside their links. Read as decimetres, as here, they lie inside. The rotor inertias are
# as seen at the joints, so the gear ratios are 1.
ROWS: list[dict[str, Any]] = [
    {"d": 0.412, "a": 0.0, "alpha": -pi / 2, "mass": 9.29, "com": (0.0, 0.0175, -0.1105)},
    {"d": 0.154, "a": 0.0, "alpha": pi / 2, "mass": 5.01, "com": (0.0, -0.1054, 0.0)},
    {"theta": -pi / 2, "a": 0.0, "alpha": 0.0, "mass": 4.25, "com": (0.0, 0.0, -0.6447)},
    {"d": 0.0, "a": 0.0, "alpha": -pi / 2, "mass": 1.08, "com": (0.0, 0.0092, -0.054)},
    {"d": 0.0, "a": 0.0, "alpha": pi / 2, "mass": 0.63, "com": (0.0, 0.0, 0.0566)},
    {"d": 0.263, "a": 0.0, "alpha": 0.0, "mass": 0.51, "com": (0.0, 0.0, 0.1554)},
]
MOMENTS = (
    (0.276, 0.255, 0.071),
    (0.108, 0.018, 0.100),
    (2.51, 2.51, 0.006),
    (0.002, 0.001, 0.001),
    (0.003, 0.003, 0.0004),
    (0.013, 0.013, 0.0003),
)
ROTORS = (0.953, 2.193, 0.782, 0.106, 0.097, 0.020)
DEGREES = (170, 170, None, 170, 90, 170)
INCH = 0.0254


@register(
    "stanford",
    "Stanford arm, with reflected rotor inertias",
    "Paul, Robot Manipulators: Mathematics, Programming, and Control (1981), tables 6.5, "
    "6.6; kinematics from Stanford AIM-177, fig. 2.3; as collected in Corke's Robotics Toolbox",
)
def build() -> Robot:
    """Standard DH; the prismatic joint reaches from 12 to 50 inches."""
    rows = []
    for i, row in enumerate(ROWS):
        limit = DEGREES[i]
        slides = limit is None
        bound = (12 * INCH, 50 * INCH) if limit is None else (-limit * pi / 180, limit * pi / 180)
        rows.append(
            {
                **row,
                "joint": "prismatic" if slides else "revolute",
                "inertia": diagonal(*MOMENTS[i]),
                "rotor_inertia": ROTORS[i],
                "limits": bound,
            }
        )
    return Robot.from_dh(rows, convention="standard", name="stanford")
