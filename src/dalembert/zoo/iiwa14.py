"""KUKA LBR iiwa 14 R820: seven revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import register

Z = (0.0, 0.0, 1.0)
FORWARD, BACK, TURN = (pi / 2, 0.0, 0.0), (pi / 2, 0.0, pi), (-pi / 2, pi, 0.0)
WIDE, NARROW, LAST = ((-angle * pi / 180, angle * pi / 180) for angle in (170, 120, 175))
SPEED, TORQUE = 10.0, 300.0  # rad/s and N m, for all joints


def moments(xx: float, yy: float, zz: float) -> tuple[float, float, float, float, float, float]:
    """A tensor without products of inertia, kg m²."""
    return (xx, yy, zz, 0.0, 0.0, 0.0)


# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("iiwa_link_1", "iiwa_joint_1", (0.0, 0.0, 0.1575), (0.0, 0.0, 0.0), Z, WIDE, SPEED,
            TORQUE, 5.76, (0.0, -0.03, 0.12), moments(0.033, 0.0333, 0.0123)),
    Segment("iiwa_link_2", "iiwa_joint_2", (0.0, 0.0, 0.2025), BACK, Z, NARROW, SPEED, TORQUE,
            6.35, (0.0003, 0.059, 0.042), moments(0.0305, 0.0304, 0.011)),
    Segment("iiwa_link_3", "iiwa_joint_3", (0.0, 0.2045, 0.0), BACK, Z, WIDE, SPEED, TORQUE,
            3.5, (0.0, 0.03, 0.13), moments(0.025, 0.0238, 0.0076)),
    Segment("iiwa_link_4", "iiwa_joint_4", (0.0, 0.0, 0.2155), FORWARD, Z, NARROW, SPEED, TORQUE,
            3.5, (0.0, 0.067, 0.034), moments(0.017, 0.0164, 0.006)),
    Segment("iiwa_link_5", "iiwa_joint_5", (0.0, 0.1845, 0.0), TURN, Z, WIDE, SPEED, TORQUE,
            3.5, (0.0001, 0.021, 0.076), moments(0.01, 0.0087, 0.00449)),
    Segment("iiwa_link_6", "iiwa_joint_6", (0.0, 0.0, 0.2155), FORWARD, Z, NARROW, SPEED, TORQUE,
            1.8, (0.0, 0.0006, 0.0004), moments(0.0049, 0.0047, 0.0036)),
    Segment("iiwa_link_7", "iiwa_joint_7", (0.0, 0.081, 0.0), TURN, Z, LAST, SPEED, TORQUE,
            1.2, (0.0, 0.0, 0.02), moments(0.001, 0.001, 0.001)),
)
# fmt: on


@register(
    "iiwa14",
    "KUKA LBR iiwa 14 R820",
    "Drake, iiwa_description (iiwa14_no_collision.urdf), after IFL-CAMP iiwa_stack",
)
def build() -> Robot:
    """The tool is the flange, 45 mm above link 7. The description's damping of 0.5 N m s/rad is a
    setting of its simulator, not a property of the arm, and left out.
    """
    return Robot.from_links(links(SEGMENTS), tool=place((0.0, 0.0, 0.045)), name="iiwa14")
