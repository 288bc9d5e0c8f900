"""Arms of seven revolute joints: Franka Emika Panda with its hand, KUKA iiwa, xArm 7, Kinova Gen3."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, Three, chain, pose_at, register, symmetric

ORIGIN, UP, DOWN = (0.0, 0.0, 0.0), (pi / 2, 0.0, 0.0), (-pi / 2, 0.0, 0.0)
# of each link: origin xyz and rpy of its joint, limits, mass, com, inertia (see `chain`)
Row = tuple[Three, Three, tuple[float, float], float, Three, tuple[float, ...]]


def _links(
    links: Sequence[str],
    joint: str,
    rows: Sequence[Row],
    speeds: Sequence[float],
    efforts: Sequence[float],
) -> list[Keywords]:
    """Links on joints about z with these names, the joints numbered from 1."""
    names = [(link, f"{joint}{k}") for k, link in enumerate(links, 1)]
    joints = [(xyz, rpy, (0.0, 0.0, 1.0), limits) for xyz, rpy, limits, *_ in rows]
    bodies = [row[3:] for row in rows]
    return chain(names, joints, zip(speeds, efforts, strict=True), bodies)


PANDA_WIDE = (-2.8973, 2.8973)

# fmt: off
PANDA: tuple[Row, ...] = (
    ((0.0, 0.0, 0.333), ORIGIN, PANDA_WIDE, 4.970684, (0.003875, 0.002081, -0.04762),
     (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    (ORIGIN, DOWN, (-1.7628, 1.7628), 0.646926, (-0.003141, -0.02872, 0.003495),
     (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    ((0.0, -0.316, 0.0), UP, PANDA_WIDE, 3.228604, (0.027518, 0.039252, -0.066502),
     (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    ((0.0825, 0.0, 0.0), UP, (-3.0718, -0.0698), 3.587895, (-0.05317, 0.104419, 0.027454),
     (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    ((-0.0825, 0.384, 0.0), DOWN, PANDA_WIDE, 1.225946, (-0.011953, 0.041065, -0.038437),
     (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    (ORIGIN, UP, (-0.0175, 3.7525), 1.666555, (0.060149, -0.014117, -0.010517),
     (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    ((0.088, 0.0, 0.0), UP, PANDA_WIDE, 0.735522, (0.010517, -0.004252, 0.061597),
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
    hand |= {"com": (-0.01, 0.0, 0.03), "inertia": symmetric(0.001, 0.0025, 0.0017)}
    mount = {"origin_xyz": (0.0, 0.0, FLANGE), "origin_rpy": (0.0, 0.0, -pi / 4)}
    hand["joint"] = {"type": "fixed", "name": "panda_hand_joint", **mount}
    # both fingers, 15 g each, closed
    fingers: Keywords = {"name": "panda_fingers", "parent": "panda_hand", "mass": 0.03}
    fingers["inertia"] = symmetric(4.75e-6, 4.75e-6, 1.5e-6)
    between = {"origin_xyz": (0.0, 0.0, FINGERS)}
    fingers["joint"] = {"type": "fixed", "name": "panda_finger_joint", **between}
    names = [f"panda_link{k}" for k in range(1, 8)]
    arm = _links(names, "panda_joint", PANDA, [2.175] * 4 + [2.61] * 3, [87.0] * 4 + [12.0] * 3)
    return Robot.from_links(
        [*arm, hand, fingers],
        tool=pose_at((0.0, 0.0, TOOL - FINGERS)),
        frames={"panda_link8": ("panda_link7", pose_at((0.0, 0.0, FLANGE)))},
        name="panda",
    )


FORWARD, BACK, TURN = (pi / 2, 0.0, 0.0), (pi / 2, 0.0, pi), (-pi / 2, pi, 0.0)
IIWA_WIDE, NARROW, LAST = ((-angle * pi / 180, angle * pi / 180) for angle in (170, 120, 175))
IIWA: tuple[Row, ...] = (
    ((0.0, 0.0, 0.1575), ORIGIN, IIWA_WIDE, 5.76, (0.0, -0.03, 0.12), (0.033, 0.0333, 0.0123)),
    ((0.0, 0.0, 0.2025), BACK, NARROW, 6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011)),
    ((0.0, 0.2045, 0.0), BACK, IIWA_WIDE, 3.5, (0.0, 0.03, 0.13), (0.025, 0.0238, 0.0076)),
    ((0.0, 0.0, 0.2155), FORWARD, NARROW, 3.5, (0.0, 0.067, 0.034), (0.017, 0.0164, 0.006)),
    ((0.0, 0.1845, 0.0), TURN, IIWA_WIDE, 3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449)),
    ((0.0, 0.0, 0.2155), FORWARD, NARROW, 1.8, (0.0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036)),
    ((0.0, 0.081, 0.0), TURN, LAST, 1.2, (0.0, 0.0, 0.02), (0.001, 0.001, 0.001)),
)


@register(
    "iiwa14",
    "KUKA LBR iiwa 14 R820",
    "Drake, iiwa_description (iiwa14_no_collision.urdf), after IFL-CAMP iiwa_stack",
)
def build_iiwa14() -> Robot:
    """The tool is the flange, 45 mm above link 7. The description's damping of 0.5 N m s/rad is a
    setting of its simulator, not a property of the arm, and left out.
    """
    names = [f"iiwa_link_{k}" for k in range(1, 8)]
    arm = _links(names, "iiwa_joint_", IIWA, [10.0] * 7, [300.0] * 7)
    return Robot.from_links(arm, tool=pose_at((0.0, 0.0, 0.045)), name="iiwa14")


XARM_FULL = (-2 * pi, 2 * pi)

# fmt: off
XARM: tuple[Row, ...] = (
    ((0.0, 0.0, 0.267), ORIGIN, XARM_FULL, 2.382, (-0.0002, 0.02905, -0.01233),
     (0.0056905, 0.0049566, 0.003316654, -1.579e-5, 5.125e-6, -0.000873378)),
    (ORIGIN, DOWN, (-2.059, 2.0944), 1.869, (0.00022, -0.12856, 0.01735),
     (0.0095989, 0.00382472, 0.007565669, 1.541e-6, 5.56e-6, -0.00317156)),
    ((0.0, -0.293, 0.0), UP, XARM_FULL, 1.6383, (0.0466, -0.02463, -0.00768),
     (0.00310955, 0.00264483, 0.0026624, 0.00030837, -0.00058453, 0.000338893)),
    ((0.0525, 0.0, 0.0), UP, (-0.19198, 3.927), 1.7269, (0.07047, -0.11575, 0.012),
     (0.005889, 0.00359703, 0.00543244, 0.00137112, 0.00088143, -0.001762155)),
    ((0.0775, -0.3425, 0.0), UP, XARM_FULL, 1.3203, (-0.00032, 0.01604, -0.026),
     (0.00534665, 0.0049779, 0.0013624, 1.5117e-5, -3.69e-7, -0.00022132)),
    (ORIGIN, UP, (-1.69297, pi), 1.325, (0.06469, 0.03278, 0.02141),
     (0.0014745, 0.0019037, 0.0023652, -0.000488, 0.0002953, 0.00014749)),
    ((0.076, 0.097, 0.0), DOWN, XARM_FULL, 0.17, (0.0, -0.00677, -0.01098),
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
    efforts = [50.0, 50.0, 30.0, 30.0, 30.0, 20.0, 20.0]
    arm = _links([f"link{k}" for k in range(1, 8)], "joint", XARM, [3.14] * 7, efforts)
    return Robot.from_links(arm, tool=pose_at(ORIGIN), name="xarm7")


OVER, ENDLESS = (pi, 0.0, 0.0), (-inf, inf)

# fmt: off
KINOVA: tuple[Row, ...] = (
    ((0.0, 0.0, 0.15643), OVER, ENDLESS, 1.3773, (-2.3e-5, -0.010364, -0.07336),
     (0.00457, 0.004831, 0.001409, 1e-6, 2e-6, 0.000448)),
    ((0.0, 0.005375, -0.12838), UP, (-2.41, 2.41), 1.1636, (-4.4e-5, -0.09958, -0.013278),
     (0.011088, 0.001072, 0.011255, 5e-6, 0.0, -0.000691)),
    ((0.0, -0.21038, -0.006375), DOWN, ENDLESS, 1.1636, (-4.4e-5, -0.006641, -0.117892),
     (0.010932, 0.011127, 0.001043, 0.0, -7e-6, 0.000606)),
    ((0.0, 0.006375, -0.21038), UP, (-2.66, 2.66), 0.9302, (-1.8e-5, -0.075478, -0.015006),
     (0.008147, 0.000631, 0.008316, -1e-6, 0.0, -0.0005)),
    ((0.0, -0.20843, -0.006375), DOWN, ENDLESS, 0.6781, (1e-6, -0.009432, -0.063883),
     (0.001596, 0.001607, 0.000399, 0.0, 0.0, 0.000256)),
    ((0.0, 0.00017505, -0.10593), UP, (-2.23, 2.23), 0.6781, (1e-6, -0.045483, -0.00965),
     (0.001641, 0.00041, 0.001641, 0.0, 0.0, -0.000278)),
    ((0.0, -0.10593, -0.00017505), DOWN, ENDLESS, 0.5006, (-0.000281, -0.011402, -0.029798),
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
    parts = ["Shoulder", "HalfArm1", "HalfArm2", "ForeArm"]
    parts += ["SphericalWrist1", "SphericalWrist2", "Bracelet"]
    efforts = [39.0] * 4 + [9.0] * 3
    arm = _links([f"{x}_Link" for x in parts], "Actuator", KINOVA, [0.8727] * 7, efforts)
    return Robot.from_links(arm, tool=pose_at((0.0, 0.0, -0.061525), OVER), name="kinova_gen3")
