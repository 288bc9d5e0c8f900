"""Kinova Gen3: seven revolute joints, four of them without limits."""

from __future__ import annotations

from math import inf, pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import register

Z = (0.0, 0.0, 1.0)
OVER, UP, DOWN = (pi, 0.0, 0.0), (pi / 2, 0.0, 0.0), (-pi / 2, 0.0, 0.0)
ENDLESS, SPEED, LARGE, SMALL = (-inf, inf), 0.8727, 39.0, 9.0  # rad, rad/s, N m

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("Shoulder_Link", "Actuator1", (0.0, 0.0, 0.15643), OVER, Z, ENDLESS, SPEED, LARGE,
            1.3773, (-2.3e-5, -0.010364, -0.07336),
            (0.00457, 0.004831, 0.001409, 1e-6, 2e-6, 0.000448)),
    Segment("HalfArm1_Link", "Actuator2", (0.0, 0.005375, -0.12838), UP, Z, (-2.41, 2.41), SPEED,
            LARGE, 1.1636, (-4.4e-5, -0.09958, -0.013278),
            (0.011088, 0.001072, 0.011255, 5e-6, 0.0, -0.000691)),
    Segment("HalfArm2_Link", "Actuator3", (0.0, -0.21038, -0.006375), DOWN, Z, ENDLESS, SPEED,
            LARGE, 1.1636, (-4.4e-5, -0.006641, -0.117892),
            (0.010932, 0.011127, 0.001043, 0.0, -7e-6, 0.000606)),
    Segment("ForeArm_Link", "Actuator4", (0.0, 0.006375, -0.21038), UP, Z, (-2.66, 2.66), SPEED,
            LARGE, 0.9302, (-1.8e-5, -0.075478, -0.015006),
            (0.008147, 0.000631, 0.008316, -1e-6, 0.0, -0.0005)),
    Segment("SphericalWrist1_Link", "Actuator5", (0.0, -0.20843, -0.006375), DOWN, Z, ENDLESS,
            SPEED, SMALL, 0.6781, (1e-6, -0.009432, -0.063883),
            (0.001596, 0.001607, 0.000399, 0.0, 0.0, 0.000256)),
    Segment("SphericalWrist2_Link", "Actuator6", (0.0, 0.00017505, -0.10593), UP, Z,
            (-2.23, 2.23), SPEED, SMALL, 0.6781, (1e-6, -0.045483, -0.00965),
            (0.001641, 0.00041, 0.001641, 0.0, 0.0, -0.000278)),
    Segment("Bracelet_Link", "Actuator7", (0.0, -0.10593, -0.00017505), DOWN, Z, ENDLESS, SPEED,
            SMALL, 0.5006, (-0.000281, -0.011402, -0.029798),
            (0.000587, 0.000369, 0.000609, 3e-6, 3e-6, 0.000118)),
)
# fmt: on


@register(
    "kinova_gen3",
    "Kinova Gen3, seven joints, without vision module",
    "Kinova, ros_kortex, kortex_description (GEN3_URDF_V12.urdf)",
)
def build() -> Robot:
    """The tool is `EndEffector_Link`. The description prints its quarter turns with four digits."""
    return Robot.from_links(
        links(SEGMENTS), tool=place((0.0, 0.0, -0.061525), OVER), name="kinova_gen3"
    )
