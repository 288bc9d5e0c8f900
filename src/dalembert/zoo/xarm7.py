"""UFACTORY xArm 7: seven revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.chain import Segment, links, place
from dalembert.zoo.entry import register

Z = (0.0, 0.0, 1.0)
NONE, UP, DOWN = (0.0, 0.0, 0.0), (pi / 2, 0.0, 0.0), (-pi / 2, 0.0, 0.0)
FULL, SPEED = (-2 * pi, 2 * pi), 3.14  # rad, rad/s

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
SEGMENTS = (
    Segment("link1", "joint1", (0.0, 0.0, 0.267), NONE, Z, FULL, SPEED, 50.0,
            2.382, (-0.0002, 0.02905, -0.01233),
            (0.0056905, 0.0049566, 0.003316654, -1.579e-5, 5.125e-6, -0.000873378)),
    Segment("link2", "joint2", NONE, DOWN, Z, (-2.059, 2.0944), SPEED, 50.0,
            1.869, (0.00022, -0.12856, 0.01735),
            (0.0095989, 0.00382472, 0.007565669, 1.541e-6, 5.56e-6, -0.00317156)),
    Segment("link3", "joint3", (0.0, -0.293, 0.0), UP, Z, FULL, SPEED, 30.0,
            1.6383, (0.0466, -0.02463, -0.00768),
            (0.00310955, 0.00264483, 0.0026624, 0.00030837, -0.00058453, 0.000338893)),
    Segment("link4", "joint4", (0.0525, 0.0, 0.0), UP, Z, (-0.19198, 3.927), SPEED, 30.0,
            1.7269, (0.07047, -0.11575, 0.012),
            (0.005889, 0.00359703, 0.00543244, 0.00137112, 0.00088143, -0.001762155)),
    Segment("link5", "joint5", (0.0775, -0.3425, 0.0), UP, Z, FULL, SPEED, 30.0,
            1.3203, (-0.00032, 0.01604, -0.026),
            (0.00534665, 0.0049779, 0.0013624, 1.5117e-5, -3.69e-7, -0.00022132)),
    Segment("link6", "joint6", NONE, UP, Z, (-1.69297, pi), SPEED, 20.0,
            1.325, (0.06469, 0.03278, 0.02141),
            (0.0014745, 0.0019037, 0.0023652, -0.000488, 0.0002953, 0.00014749)),
    Segment("link7", "joint7", (0.076, 0.097, 0.0), DOWN, Z, FULL, SPEED, 20.0,
            0.17, (0.0, -0.00677, -0.01098),
            (9.3e-5, 5.87e-5, 0.000132, 0.0, 0.0, -3.6e-6)),
)
# fmt: on


@register(
    "xarm7",
    "UFACTORY xArm 7",
    "xArm-Developer, xarm_description (xarm7.urdf), as in example-robot-data",
)
def build() -> Robot:
    """The tool is `link_eef`, the frame of link 7. The description prints its quarter turns with
    four digits; its damping and friction are settings of its simulator, and left out.
    """
    return Robot.from_links(links(SEGMENTS), tool=place(NONE), name="xarm7")
