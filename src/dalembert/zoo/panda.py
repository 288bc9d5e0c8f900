"""Franka Emika Panda: seven revolute joints, with its hand and closed fingers as load."""

from __future__ import annotations

from math import pi
from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import diagonal, register

Z = (0.0, 0.0, 1.0)
NONE, UP, DOWN = (0.0, 0.0, 0.0), (pi / 2, 0.0, 0.0), (-pi / 2, 0.0, 0.0)
WIDE = (-2.8973, 2.8973)

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("panda_link1", "panda_joint1", (0.0, 0.0, 0.333), NONE, Z, WIDE, 2.175, 87.0,
            4.970684, (0.003875, 0.002081, -0.04762),
            (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    Segment("panda_link2", "panda_joint2", NONE, DOWN, Z, (-1.7628, 1.7628), 2.175, 87.0,
            0.646926, (-0.003141, -0.02872, 0.003495),
            (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    Segment("panda_link3", "panda_joint3", (0.0, -0.316, 0.0), UP, Z, WIDE, 2.175, 87.0,
            3.228604, (0.027518, 0.039252, -0.066502),
            (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    Segment("panda_link4", "panda_joint4", (0.0825, 0.0, 0.0), UP, Z, (-3.0718, -0.0698), 2.175,
            87.0, 3.587895, (-0.05317, 0.104419, 0.027454),
            (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    Segment("panda_link5", "panda_joint5", (-0.0825, 0.384, 0.0), DOWN, Z, WIDE, 2.61, 12.0,
            1.225946, (-0.011953, 0.041065, -0.038437),
            (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    Segment("panda_link6", "panda_joint6", NONE, UP, Z, (-0.0175, 3.7525), 2.61, 12.0,
            1.666555, (0.060149, -0.014117, -0.010517),
            (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    Segment("panda_link7", "panda_joint7", (0.088, 0.0, 0.0), UP, Z, WIDE, 2.61, 12.0,
            0.735522, (0.010517, -0.004252, 0.061597),
            (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)
# fmt: on
FLANGE = 0.107  # m, from link 7 along its z
FINGERS = 0.0584  # m, from the hand along its z
TOOL = 0.1034


def gripper() -> list[dict[str, Any]]:
    """The hand, and both fingers (15 g each) closed, fixed to link 7."""
    hand = {"type": "fixed", "name": "panda_hand_joint", "origin_xyz": (0.0, 0.0, FLANGE)}
    fingers = {"type": "fixed", "name": "panda_finger_joint", "origin_xyz": (0.0, 0.0, FINGERS)}
    return [
        {
            "name": "panda_hand",
            "parent": "panda_link7",
            "joint": {**hand, "origin_rpy": (0.0, 0.0, -pi / 4)},
            "mass": 0.73,
            "com": (-0.01, 0.0, 0.03),
            "inertia": diagonal(0.001, 0.0025, 0.0017),
        },
        {
            "name": "panda_fingers",
            "parent": "panda_hand",
            "joint": fingers,
            "mass": 0.03,
            "inertia": diagonal(4.75e-6, 4.75e-6, 1.5e-6),
        },
    ]


@register(
    "panda",
    "Franka Emika Panda with its hand, fingers closed",
    "franka_ros, franka_description (panda.urdf), as in example-robot-data; inertias "
    "identified by Gaz et al., IEEE RA-L 4(4), 2019",
)
def build() -> Robot:
    """The tool is `panda_hand_tcp`, between the finger tips. The description's damping of
    0.003 N m s/rad is a setting of its simulator, not a property of the arm, and left out.
    """
    return Robot.from_links(
        links(SEGMENTS) + gripper(),
        tool=place((0.0, 0.0, TOOL - FINGERS)),
        frames={"panda_link8": ("panda_link7", place((0.0, 0.0, FLANGE)))},
        name="panda",
    )
