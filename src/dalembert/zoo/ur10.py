"""Universal Robots UR10: six revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import Entry
from dalembert.zoo.ur5 import FULL, HALF, NONE, Y, Z, moments

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("shoulder_link", "shoulder_pan_joint", (0.0, 0.0, 0.1273), NONE, Z, FULL, 2.16, 330.0,
            7.778, NONE, moments(0.0314743125769, 0.021875625)),
    Segment("upper_arm_link", "shoulder_lift_joint", (0.0, 0.220941, 0.0), (0.0, pi / 2, 0.0), Y,
            FULL, 2.16, 330.0, 12.93, (0.0, 0.0, 0.306), moments(0.421753803798, 0.036365625)),
    Segment("forearm_link", "elbow_joint", (0.0, -0.1719, 0.612), NONE, Y, HALF, 3.15, 150.0,
            3.87, (0.0, 0.0, 0.28615), moments(0.111069694097, 0.010884375)),
    Segment("wrist_1_link", "wrist_1_joint", (0.0, 0.0, 0.5723), (0.0, pi / 2, 0.0), Y, FULL,
            3.2, 54.0, 1.96, NONE, moments(0.0051082479567, 0.0055125)),
    Segment("wrist_2_link", "wrist_2_joint", (0.0, 0.1149, 0.0), NONE, Z, FULL, 3.2, 54.0,
            1.96, NONE, moments(0.0051082479567, 0.0055125)),
    Segment("wrist_3_link", "wrist_3_joint", (0.0, 0.0, 0.1157), NONE, Y, FULL, 3.2, 54.0,
            0.202, NONE, moments(0.000526462289415, 0.000568125)),
)
# fmt: on


def build() -> Robot:
    """The tool is the flange frame `tool0`; `ee_link` is the other frame of its description."""
    flange = (0.0, 0.0922, 0.0)
    return Robot.from_links(
        links(SEGMENTS),
        tool=place(flange, (-pi / 2, 0.0, 0.0)),
        frames={"ee_link": ("wrist_3_link", place(flange, (0.0, 0.0, pi / 2)))},
        name="ur10",
    )


ENTRY = Entry(
    name="ur10",
    title="Universal Robots UR10",
    citation="ROS-Industrial, ur_description (ur10_robot.urdf), as in example-robot-data",
    build=build,
)
