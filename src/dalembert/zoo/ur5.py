"""Universal Robots UR5: six revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import Entry

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NONE = (0.0, 0.0, 0.0)
FULL, HALF = (-2 * pi, 2 * pi), (-pi, pi)


def moments(across: float, along: float) -> tuple[float, float, float, float, float, float]:
    """The tensor of a body that is round about its z axis, kg m²."""
    return (across, across, along, 0.0, 0.0, 0.0)


# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("shoulder_link", "shoulder_pan_joint", (0.0, 0.0, 0.089159), NONE, Z, FULL, 3.15, 150.0,
            3.7, NONE, moments(0.010267495893, 0.00666)),
    Segment("upper_arm_link", "shoulder_lift_joint", (0.0, 0.13585, 0.0), (0.0, pi / 2, 0.0), Y,
            FULL, 3.15, 150.0, 8.393, (0.0, 0.0, 0.28), moments(0.22689067591, 0.0151074)),
    Segment("forearm_link", "elbow_joint", (0.0, -0.1197, 0.425), NONE, Y, HALF, 3.15, 150.0,
            2.275, (0.0, 0.0, 0.25), moments(0.049443313556, 0.004095)),
    Segment("wrist_1_link", "wrist_1_joint", (0.0, 0.0, 0.39225), (0.0, pi / 2, 0.0), Y, FULL,
            3.2, 28.0, 1.219, NONE, moments(0.111172755531, 0.21942)),
    Segment("wrist_2_link", "wrist_2_joint", (0.0, 0.093, 0.0), NONE, Z, FULL, 3.2, 28.0,
            1.219, NONE, moments(0.111172755531, 0.21942)),
    Segment("wrist_3_link", "wrist_3_joint", (0.0, 0.0, 0.09465), NONE, Y, FULL, 3.2, 28.0,
            0.1879, NONE, moments(0.0171364731454, 0.033822)),
)
# fmt: on


def build() -> Robot:
    """The tool is the flange frame `tool0`; `ee_link` is the other frame of its description."""
    flange = (0.0, 0.0823, 0.0)
    return Robot.from_links(
        links(SEGMENTS),
        tool=place(flange, (-pi / 2, 0.0, 0.0)),
        frames={"ee_link": ("wrist_3_link", place(flange, (0.0, 0.0, pi / 2)))},
        name="ur5",
    )


ENTRY = Entry(
    name="ur5",
    title="Universal Robots UR5",
    citation="ROS-Industrial, ur_description (ur5_robot.urdf), as in example-robot-data",
    build=build,
)
