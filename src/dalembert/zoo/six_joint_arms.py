"""Arms with six joints: Stanford (Scheinman 1969), PUMA 560 with motors, RX-90, UR3, UR5, UR10."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, Three, chain, pose_at, register, symmetric

INCH = 0.0254  # m

# The Robotics Toolbox has 1.054, 6.447, 0.092, 0.566 and 1.554 m among the centres of mass, most of
# them far outside their links. Read as decimetres, as here, they lie inside. The rotor inertias are
# as seen at the joints, so the gear ratios are 1.
# d m (None: it slides, at θ = −π/2), twist α, mass kg, com m, moments kg m², rotor kg m², ± degrees
STANFORD = (
    (0.412, -pi / 2, 9.29, (0.0, 0.0175, -0.1105), (0.276, 0.255, 0.071), 0.953, 170),
    (0.154, pi / 2, 5.01, (0.0, -0.1054, 0.0), (0.108, 0.018, 0.100), 2.193, 170),
    (None, 0.0, 4.25, (0.0, 0.0, -0.6447), (2.51, 2.51, 0.006), 0.782, None),
    (0.0, -pi / 2, 1.08, (0.0, 0.0092, -0.054), (0.002, 0.001, 0.001), 0.106, 170),
    (0.0, pi / 2, 0.63, (0.0, 0.0, 0.0566), (0.003, 0.003, 0.0004), 0.097, 90),
    (0.263, 0.0, 0.51, (0.0, 0.0, 0.1554), (0.013, 0.013, 0.0003), 0.020, 170),
)


@register(
    "stanford",
    "Stanford arm, with reflected rotor inertias",
    "Paul, Robot Manipulators: Mathematics, Programming, and Control (1981), tables 6.5, "
    "6.6; kinematics from Stanford AIM-177, fig. 2.3; as collected in Corke's Robotics Toolbox",
)
def build_stanford() -> Robot:
    """Standard DH; the prismatic joint reaches from 12 to 50 inches."""
    rows = []
    for d, alpha, mass, com, moments, rotor, limit in STANFORD:
        if d is None or limit is None:
            joint = {"theta": -pi / 2, "joint": "prismatic", "limits": (12 * INCH, 50 * INCH)}
        else:
            bounds = (-limit * pi / 180, limit * pi / 180)
            joint = {"d": d, "joint": "revolute", "limits": bounds}
        body = {"mass": mass, "com": com, "inertia": symmetric(*moments), "rotor_inertia": rotor}
        rows.append({"a": 0.0, "alpha": alpha, **joint, **body})
    return Robot.from_dh(rows, convention="standard", name="stanford")


# The source has neither mass nor transverse moments for link 1, which only turns about a fixed axis
# through its centre, so that they never act. A real body has them; these are chosen.
PUMA_COLUMN = 13.0  # kg
PUMA_ACROSS = 0.35  # kg m²
# Second moment of mass along the axis of joint 3, moved from link 2 to link 3: see `puma_moments`.
PUMA_MOVED = 0.004  # kg m²

# Standard DH (Paul's signs of the twist): d, a in m, twist; mass kg, centre of mass m. The first offset
# is the pedestal. Last, the principal moments about the centres of mass as published, kg m².
PUMA_LINKS = (
    (26.45 * INCH, 0.0, pi / 2, PUMA_COLUMN, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0)),
    (0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.130, 0.524, 0.539)),
    (0.15005, 0.0203, -pi / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    (0.4318, 0.0, pi / 2, 0.82, (0.0, 0.019, 0.0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, 0.0, -pi / 2, 0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0.0, 0.0, 0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)
PUMA_MOMENTS = tuple(link[-1] for link in PUMA_LINKS)
# Motors: inertia kg m², gear ratio, viscous N m s/rad, Coulomb N m at (positive, negative)
# velocity, all measured at the motor; then the joint's range in degrees.
PUMA_MOTORS = (
    (200e-6, -62.6111, 1.48e-3, (0.395, -0.435), (-160, 160)),
    (200e-6, 107.815, 0.817e-3, (0.126, -0.071), (-45, 225)),
    (200e-6, -53.7063, 1.38e-3, (0.132, -0.105), (-225, 45)),
    (33e-6, 76.0364, 71.2e-6, (11.2e-3, -16.9e-3), (-110, 170)),
    (33e-6, 71.923, 82.6e-6, (9.26e-3, -14.5e-3), (-100, 100)),
    (33e-6, 76.686, 36.7e-6, (3.96e-3, -10.5e-3), (-266, 266)),
)


def puma_moments() -> tuple[tuple[float, float, float], ...]:
    """The moments with which every link is a possible body and every joint torque is unchanged.

    Published for link 3 is I_yy > I_xx + I_zz. Mass spread along the axis of joint 3 may be counted
    to either of the links it connects: its second moment s adds s (1 − z zᵀ) to a tensor, which a
    turn about z leaves alone. That axis is z of link 2 and y of link 3. The inner wrench of
    joint 3, which depends on where the joint is cut, does change.
    """
    _, (x2, y2, z2), (x3, y3, z3), *wrist = PUMA_MOMENTS
    column = (PUMA_ACROSS, PUMA_MOMENTS[0][1], PUMA_ACROSS)
    upper_arm = (x2 - PUMA_MOVED, y2 - PUMA_MOVED, z2)
    forearm = (x3 + PUMA_MOVED, y3, z3 + PUMA_MOVED)
    return (column, upper_arm, forearm, *wrist)


def puma_rows() -> list[Keywords]:
    """The table of `Robot.from_dh`.

    Published moments that no body can have are regrouped (see `puma_moments`).
    """
    table = []
    for link, moments, motor in zip(PUMA_LINKS, puma_moments(), PUMA_MOTORS, strict=True):
        keys = ("rotor_inertia", "gear_ratio", "viscous_motor", "coulomb_motor")
        drive = dict(zip(keys, motor, strict=False))
        body = dict(zip(("d", "a", "alpha", "mass", "com"), link, strict=False))
        limits = tuple(angle * pi / 180 for angle in motor[-1])
        table.append({**body, "inertia": symmetric(*moments), **drive, "limits": limits})
    return table


@register(
    "puma560",
    "Unimation PUMA 560, with motors and friction",
    "Corke and Armstrong-Hélouvry, A search for consensus among model parameters reported for "
    "the PUMA 560 robot, Proc. IEEE ICRA 1994, pp. 1608-1613; as in Corke's Robotics Toolbox",
)
def build_puma560() -> Robot:
    """The arm with its drives. Ready pose (0, π/2, −π/2, 0, 0, 0): straight up."""
    return Robot.from_dh(puma_rows(), convention="standard", name="puma560")


RX90_REACH = 0.45  # m, upper arm and forearm alike

# twist α, length a, offset d of each joint
RX90_GEOMETRY = (
    (0.0, 0.0, 0.0),
    (pi / 2, 0.0, 0.0),
    (0.0, RX90_REACH, 0.0),
    (-pi / 2, 0.0, RX90_REACH),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
)
# mass kg, centre of mass m, tensor kg m² (xx, yy, zz, xy, xz, yz): no entry is zero
RX90_BODIES = (
    (12.0, (-0.08, -0.059, 0.054), (0.108, 0.134, 0.143, 0.0021, -0.0141, -0.00965)),
    (15.0, (0.221, 0.009, 0.065), (0.0895, 0.335, 0.357, 0.0526, -0.0108, 0.0117)),
    (7.5, (0.016, -0.013, -0.073), (0.0619, 0.0561, 0.0602, 0.00418, 0.0029, -0.00557)),
    (4.0, (-0.011, -0.01, -0.178), (0.0513, 0.072, 0.0417, -0.0084, -0.0281, -0.00995)),
    (2.0, (-0.03, -0.032, -0.047), (0.00407, 0.00458, 0.00428, -5.2e-05, 3.4e-05, -0.000332)),
    (0.8, (0.006, -0.005, 0.062), (0.00109, 0.00109, 0.000859, -1.1e-05, -2.4e-05, -3.5e-05)),
)


@register(
    "rx90",
    "Stäubli RX-90 geometry with a general inertia on every link",
    "Khalil and Dombre, Modeling, Identification and Control of Robots (2002): geometry of the "
    "RX-90; inertias chosen",
)
def build_rx90() -> Robot:
    """The geometry is the arm's; the inertias are chosen, boxes of its size in general position."""
    rows = []
    for (alpha, a, d), (mass, com, tensor) in zip(RX90_GEOMETRY, RX90_BODIES, strict=True):
        body = {"mass": mass, "com": com, "inertia": symmetric(*tensor)}
        rows.append({"alpha": alpha, "a": a, "d": d, **body})
    return Robot.from_dh(rows, convention="modified", name="rx90")


NONE, UPRIGHT = (0.0, 0.0, 0.0), (0.0, pi / 2, 0.0)
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FULL, HALF = (-2 * pi, 2 * pi), (-pi, pi)
# link, joint, origin rpy, axis, limits
JOINTS = (
    ("shoulder_link", "shoulder_pan_joint", NONE, Z, FULL),
    ("upper_arm_link", "shoulder_lift_joint", UPRIGHT, Y, FULL),
    ("forearm_link", "elbow_joint", NONE, Y, HALF),
    ("wrist_1_link", "wrist_1_joint", UPRIGHT, Y, FULL),
    ("wrist_2_link", "wrist_2_joint", NONE, Z, FULL),
    ("wrist_3_link", "wrist_3_joint", NONE, Y, FULL),
)
# Of each link, round about z: origin xyz, velocity limit, effort limit, mass, z of the centre of mass,
# moments across and along z.
Row = tuple[Three, float, float, float, float, float, float]
UR3: tuple[Row, ...] = (
    ((0.0, 0.0, 0.1519), 2.16, 330.0, 2.0, 0.0, 0.0080931634294, 0.005625),
    ((0.0, 0.1198, 0.0), 2.16, 330.0, 3.42, 0.121825, 0.0217284832211, 0.00961875),
    ((0.0, -0.0925, 0.24365), 3.15, 150.0, 1.26, 0.106625, 0.00654680644378, 0.00354375),
    ((0.0, 0.0, 0.21325), 3.2, 54.0, 0.8, 0.0, 0.002084999166, 0.00225),
    ((0.0, 0.08505, 0.0), 3.2, 54.0, 0.8, 0.0, 0.002084999166, 0.00225),
    ((0.0, 0.0, 0.08535), 3.2, 54.0, 0.35, 0.0, 0.000912187135125, 0.000984375),
)
UR5: tuple[Row, ...] = (
    ((0.0, 0.0, 0.089159), 3.15, 150.0, 3.7, 0.0, 0.010267495893, 0.00666),
    ((0.0, 0.13585, 0.0), 3.15, 150.0, 8.393, 0.28, 0.22689067591, 0.0151074),
    ((0.0, -0.1197, 0.425), 3.15, 150.0, 2.275, 0.25, 0.049443313556, 0.004095),
    ((0.0, 0.0, 0.39225), 3.2, 28.0, 1.219, 0.0, 0.111172755531, 0.21942),
    ((0.0, 0.093, 0.0), 3.2, 28.0, 1.219, 0.0, 0.111172755531, 0.21942),
    ((0.0, 0.0, 0.09465), 3.2, 28.0, 0.1879, 0.0, 0.0171364731454, 0.033822),
)
UR10: tuple[Row, ...] = (
    ((0.0, 0.0, 0.1273), 2.16, 330.0, 7.778, 0.0, 0.0314743125769, 0.021875625),
    ((0.0, 0.220941, 0.0), 2.16, 330.0, 12.93, 0.306, 0.421753803798, 0.036365625),
    ((0.0, -0.1719, 0.612), 3.15, 150.0, 3.87, 0.28615, 0.111069694097, 0.010884375),
    ((0.0, 0.0, 0.5723), 3.2, 54.0, 1.96, 0.0, 0.0051082479567, 0.0055125),
    ((0.0, 0.1149, 0.0), 3.2, 54.0, 1.96, 0.0, 0.0051082479567, 0.0055125),
    ((0.0, 0.0, 0.1157), 3.2, 54.0, 0.202, 0.0, 0.000526462289415, 0.000568125),
)


def _register(name: str, rows: tuple[Row, ...], flange_y: float) -> None:
    source = f"ROS-Industrial, ur_description ({name}_robot.urdf), as in example-robot-data"

    @register(name, f"Universal Robots {name.upper()}", source)
    def build() -> Robot:
        """The tool is the flange frame `tool0`; `ee_link` is the other frame of its description."""
        names = [joint[:2] for joint in JOINTS]
        joints = [(row[0], *joint[2:]) for joint, row in zip(JOINTS, rows, strict=True)]
        drives = [row[1:3] for row in rows]
        bodies = [(m, (0.0, 0.0, z), (across, across, along)) for *_, m, z, across, along in rows]
        flange = (0.0, flange_y, 0.0)
        tool = pose_at(flange, (-pi / 2, 0.0, 0.0))
        frames = {"ee_link": ("wrist_3_link", pose_at(flange, (0.0, 0.0, pi / 2)))}
        return Robot.from_links(
            chain(names, joints, drives, bodies), tool=tool, frames=frames, name=name
        )


_register("ur3", UR3, 0.0819)
_register("ur5", UR5, 0.0823)
_register("ur10", UR10, 0.0922)
