"""Universal Robots UR3: six revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import Entry
from dalembert.zoo.ur5 import FULL, HALF, NONE, Y, Z, moments

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("shoulder_link", "shoulder_pan_joint", (0.0, 0.0, 0.1519), NONE, Z, FULL, 2.16, 330.0,
            2.0, NONE, moments(0.0080931634294, 0.005625)),
    Segment("upper_arm_link", "shoulder_lift_joint", (0.0, 0.1198, 0.0), (0.0, pi / 2, 0.0), Y,
            FULL, 2.16, 330.0, 3.42, (0.0, 0.0, 0.121825), moments(0.0217284832211, 0.00961875)),
    Segment("forearm_link", "elbow_joint", (0.0, -0.0925, 0.24365), NONE, Y, HALF, 3.15, 150.0,
            1.26, (0.0, 0.0, 0.106625), moments(0.00654680644378, 0.00354375)),
    Segment("wrist_1_link", "wrist_1_joint", (0.0, 0.0, 0.21325), (0.0, pi / 2, 0.0), Y, FULL,
            3.2, 54.0, 0.8, NONE, moments(0.002084999166, 0.00225)),
    Segment("wrist_2_link", "wrist_2_joint", (0.0, 0.08505, 0.0), NONE, Z, FULL, 3.2, 54.0,
            0.8, NONE, moments(0.002084999166, 0.00225)),
    Segment("wrist_3_link", "wrist_3_joint", (0.0, 0.0, 0.08535), NONE, Y, FULL, 3.2, 54.0,
            0.35, NONE, moments(0.000912187135125, 0.000984375)),
)
# fmt: on


def build() -> Robot:
    """The tool is the flange frame `tool0`; `ee_link` is the other frame of its description."""
    flange = (0.0, 0.0819, 0.0)
    return Robot.from_links(
        links(SEGMENTS),
        tool=place(flange, (-pi / 2, 0.0, 0.0)),
        frames={"ee_link": ("wrist_3_link", place(flange, (0.0, 0.0, pi / 2)))},
        name="ur3",
    )


ENTRY = Entry(
    name="ur3",
    title="Universal Robots UR3",
    citation="ROS-Industrial, ur_description (ur3_robot.urdf), as in example-robot-data",
    build=build,
)
