"""Franka Emika Panda: seven revolute joints, with its hand and closed fingers as load."""

from __future__ import annotations

from math import inf, pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, Segment, diagonal, links, pose_at, register

Z = (0.0, 0.0, 1.0)
ORIGIN, UP, DOWN = (0.0, 0.0, 0.0), (pi / 2, 0.0, 0.0), (-pi / 2, 0.0, 0.0)
NO_PRODUCTS = (0.0, 0.0, 0.0)  # of inertia
PANDA_WIDE = (-2.8973, 2.8973)

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
PANDA_SEGMENTS = (
    Segment("panda_link1", "panda_joint1", (0.0, 0.0, 0.333), ORIGIN, Z, PANDA_WIDE, 2.175, 87.0,
            4.970684, (0.003875, 0.002081, -0.04762),
            (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    Segment("panda_link2", "panda_joint2", ORIGIN, DOWN, Z, (-1.7628, 1.7628), 2.175, 87.0,
            0.646926, (-0.003141, -0.02872, 0.003495),
            (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    Segment("panda_link3", "panda_joint3", (0.0, -0.316, 0.0), UP, Z, PANDA_WIDE, 2.175, 87.0,
            3.228604, (0.027518, 0.039252, -0.066502),
            (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    Segment("panda_link4", "panda_joint4", (0.0825, 0.0, 0.0), UP, Z, (-3.0718, -0.0698), 2.175,
            87.0, 3.587895, (-0.05317, 0.104419, 0.027454),
            (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    Segment("panda_link5", "panda_joint5", (-0.0825, 0.384, 0.0), DOWN, Z, PANDA_WIDE, 2.61, 12.0,
            1.225946, (-0.011953, 0.041065, -0.038437),
            (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    Segment("panda_link6", "panda_joint6", ORIGIN, UP, Z, (-0.0175, 3.7525), 2.61, 12.0,
            1.666555, (0.060149, -0.014117, -0.010517),
            (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    Segment("panda_link7", "panda_joint7", (0.088, 0.0, 0.0), UP, Z, PANDA_WIDE, 2.61, 12.0,
            0.735522, (0.010517, -0.004252, 0.061597),
            (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)
# fmt: on
FLANGE = 0.107  # m, from link 7 along its z
FINGERS = 0.0584  # m, from the hand along its z
TOOL = 0.1034


@register(
    "panda",
    "Franka Emika Panda with its hand, fingers closed",
    "franka_ros, franka_description (panda.urdf), as in example-robot-data; inertias "
    "identified by Gaz et al., IEEE RA-L 4(4), 2019",
)
def build_panda() -> Robot:
    """The tool is `panda_hand_tcp`, between the finger tips. The description's damping of
    0.003 N m s/rad is a setting of its simulator, not a property of the arm, and left out.
    """
    hand: Keywords = {"name": "panda_hand", "parent": "panda_link7", "mass": 0.73}
    hand |= {"com": (-0.01, 0.0, 0.03), "inertia": diagonal(0.001, 0.0025, 0.0017)}
    mount = {"origin_xyz": (0.0, 0.0, FLANGE), "origin_rpy": (0.0, 0.0, -pi / 4)}
    hand["joint"] = {"type": "fixed", "name": "panda_hand_joint", **mount}
    # both fingers, 15 g each, closed
    fingers: Keywords = {"name": "panda_fingers", "parent": "panda_hand", "mass": 0.03}
    fingers["inertia"] = diagonal(4.75e-6, 4.75e-6, 1.5e-6)
    between = {"origin_xyz": (0.0, 0.0, FINGERS)}
    fingers["joint"] = {"type": "fixed", "name": "panda_finger_joint", **between}
    return Robot.from_links(
        [*links(PANDA_SEGMENTS), hand, fingers],
        tool=pose_at((0.0, 0.0, TOOL - FINGERS)),
        frames={"panda_link8": ("panda_link7", pose_at((0.0, 0.0, FLANGE)))},
        name="panda",
    )


FORWARD, BACK, TURN = (pi / 2, 0.0, 0.0), (pi / 2, 0.0, pi), (-pi / 2, pi, 0.0)
IIWA_WIDE, NARROW, LAST = ((-angle * pi / 180, angle * pi / 180) for angle in (170, 120, 175))
IIWA_SPEED, TORQUE = 10.0, 300.0  # rad/s and N m, for all joints


# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
IIWA_SEGMENTS = (
    Segment("iiwa_link_1", "iiwa_joint_1", (0.0, 0.0, 0.1575), ORIGIN, Z, IIWA_WIDE, IIWA_SPEED,
            TORQUE, 5.76, (0.0, -0.03, 0.12), (0.033, 0.0333, 0.0123, *NO_PRODUCTS)),
    Segment("iiwa_link_2", "iiwa_joint_2", (0.0, 0.0, 0.2025), BACK, Z, NARROW, IIWA_SPEED, TORQUE,
            6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011, *NO_PRODUCTS)),
    Segment("iiwa_link_3", "iiwa_joint_3", (0.0, 0.2045, 0.0), BACK, Z, IIWA_WIDE, IIWA_SPEED, TORQUE,
            3.5, (0.0, 0.03, 0.13), (0.025, 0.0238, 0.0076, *NO_PRODUCTS)),
    Segment("iiwa_link_4", "iiwa_joint_4", (0.0, 0.0, 0.2155), FORWARD, Z, NARROW, IIWA_SPEED, TORQUE,
            3.5, (0.0, 0.067, 0.034), (0.017, 0.0164, 0.006, *NO_PRODUCTS)),
    Segment("iiwa_link_5", "iiwa_joint_5", (0.0, 0.1845, 0.0), TURN, Z, IIWA_WIDE, IIWA_SPEED, TORQUE,
            3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449, *NO_PRODUCTS)),
    Segment("iiwa_link_6", "iiwa_joint_6", (0.0, 0.0, 0.2155), FORWARD, Z, NARROW, IIWA_SPEED, TORQUE,
            1.8, (0.0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036, *NO_PRODUCTS)),
    Segment("iiwa_link_7", "iiwa_joint_7", (0.0, 0.081, 0.0), TURN, Z, LAST, IIWA_SPEED, TORQUE,
            1.2, (0.0, 0.0, 0.02), (0.001, 0.001, 0.001, *NO_PRODUCTS)),
)
# fmt: on


@register(
    "iiwa14",
    "KUKA LBR iiwa 14 R820",
    "Drake, iiwa_description (iiwa14_no_collision.urdf), after IFL-CAMP iiwa_stack",
)
def build_iiwa14() -> Robot:
    """The tool is the flange, 45 mm above link 7. The description's damping of 0.5 N m s/rad is a
    setting of its simulator, not a property of the arm, and left out.
    """
    return Robot.from_links(links(IIWA_SEGMENTS), tool=pose_at((0.0, 0.0, 0.045)), name="iiwa14")


XARM_FULL, XARM_SPEED = (-2 * pi, 2 * pi), 3.14  # rad, rad/s

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
XARM_SEGMENTS = (
    Segment("link1", "joint1", (0.0, 0.0, 0.267), ORIGIN, Z, XARM_FULL, XARM_SPEED, 50.0,
            2.382, (-0.0002, 0.02905, -0.01233),
            (0.0056905, 0.0049566, 0.003316654, -1.579e-5, 5.125e-6, -0.000873378)),
    Segment("link2", "joint2", ORIGIN, DOWN, Z, (-2.059, 2.0944), XARM_SPEED, 50.0,
            1.869, (0.00022, -0.12856, 0.01735),
            (0.0095989, 0.00382472, 0.007565669, 1.541e-6, 5.56e-6, -0.00317156)),
    Segment("link3", "joint3", (0.0, -0.293, 0.0), UP, Z, XARM_FULL, XARM_SPEED, 30.0,
            1.6383, (0.0466, -0.02463, -0.00768),
            (0.00310955, 0.00264483, 0.0026624, 0.00030837, -0.00058453, 0.000338893)),
    Segment("link4", "joint4", (0.0525, 0.0, 0.0), UP, Z, (-0.19198, 3.927), XARM_SPEED, 30.0,
            1.7269, (0.07047, -0.11575, 0.012),
            (0.005889, 0.00359703, 0.00543244, 0.00137112, 0.00088143, -0.001762155)),
    Segment("link5", "joint5", (0.0775, -0.3425, 0.0), UP, Z, XARM_FULL, XARM_SPEED, 30.0,
            1.3203, (-0.00032, 0.01604, -0.026),
            (0.00534665, 0.0049779, 0.0013624, 1.5117e-5, -3.69e-7, -0.00022132)),
    Segment("link6", "joint6", ORIGIN, UP, Z, (-1.69297, pi), XARM_SPEED, 20.0,
            1.325, (0.06469, 0.03278, 0.02141),
            (0.0014745, 0.0019037, 0.0023652, -0.000488, 0.0002953, 0.00014749)),
    Segment("link7", "joint7", (0.076, 0.097, 0.0), DOWN, Z, XARM_FULL, XARM_SPEED, 20.0,
            0.17, (0.0, -0.00677, -0.01098),
            (9.3e-5, 5.87e-5, 0.000132, 0.0, 0.0, -3.6e-6)),
)
# fmt: on


@register(
    "xarm7",
    "UFACTORY xArm 7",
    "xArm-Developer, xarm_description (xarm7.urdf), as in example-robot-data",
)
def build_xarm7() -> Robot:
    """The tool is `link_eef`, the frame of link 7. The description prints its quarter turns with
    four digits; its damping and friction are settings of its simulator, and left out.
    """
    return Robot.from_links(links(XARM_SEGMENTS), tool=pose_at(ORIGIN), name="xarm7")


OVER = (pi, 0.0, 0.0)
ENDLESS, KINOVA_SPEED, LARGE, SMALL = (-inf, inf), 0.8727, 39.0, 9.0  # rad, rad/s, N m

# link, joint, origin xyz, origin rpy, axis, limits, velocity, effort, mass, com, inertia
# fmt: off
KINOVA_SEGMENTS = (
    Segment("Shoulder_Link", "Actuator1", (0.0, 0.0, 0.15643), OVER, Z, ENDLESS, KINOVA_SPEED, LARGE,
            1.3773, (-2.3e-5, -0.010364, -0.07336),
            (0.00457, 0.004831, 0.001409, 1e-6, 2e-6, 0.000448)),
    Segment("HalfArm1_Link", "Actuator2", (0.0, 0.005375, -0.12838), UP, Z, (-2.41, 2.41), KINOVA_SPEED,
            LARGE, 1.1636, (-4.4e-5, -0.09958, -0.013278),
            (0.011088, 0.001072, 0.011255, 5e-6, 0.0, -0.000691)),
    Segment("HalfArm2_Link", "Actuator3", (0.0, -0.21038, -0.006375), DOWN, Z, ENDLESS, KINOVA_SPEED,
            LARGE, 1.1636, (-4.4e-5, -0.006641, -0.117892),
            (0.010932, 0.011127, 0.001043, 0.0, -7e-6, 0.000606)),
    Segment("ForeArm_Link", "Actuator4", (0.0, 0.006375, -0.21038), UP, Z, (-2.66, 2.66), KINOVA_SPEED,
            LARGE, 0.9302, (-1.8e-5, -0.075478, -0.015006),
            (0.008147, 0.000631, 0.008316, -1e-6, 0.0, -0.0005)),
    Segment("SphericalWrist1_Link", "Actuator5", (0.0, -0.20843, -0.006375), DOWN, Z, ENDLESS,
            KINOVA_SPEED, SMALL, 0.6781, (1e-6, -0.009432, -0.063883),
            (0.001596, 0.001607, 0.000399, 0.0, 0.0, 0.000256)),
    Segment("SphericalWrist2_Link", "Actuator6", (0.0, 0.00017505, -0.10593), UP, Z,
            (-2.23, 2.23), KINOVA_SPEED, SMALL, 0.6781, (1e-6, -0.045483, -0.00965),
            (0.001641, 0.00041, 0.001641, 0.0, 0.0, -0.000278)),
    Segment("Bracelet_Link", "Actuator7", (0.0, -0.10593, -0.00017505), DOWN, Z, ENDLESS, KINOVA_SPEED,
            SMALL, 0.5006, (-0.000281, -0.011402, -0.029798),
            (0.000587, 0.000369, 0.000609, 3e-6, 3e-6, 0.000118)),
)
# fmt: on


@register(
    "kinova_gen3",
    "Kinova Gen3, seven joints, without vision module",
    "Kinova, ros_kortex, kortex_description (GEN3_URDF_V12.urdf)",
)
def build_kinova_gen3() -> Robot:
    """The tool is `EndEffector_Link`. The description prints its quarter turns with four digits."""
    return Robot.from_links(
        links(KINOVA_SEGMENTS), tool=pose_at((0.0, 0.0, -0.061525), OVER), name="kinova_gen3"
    )
