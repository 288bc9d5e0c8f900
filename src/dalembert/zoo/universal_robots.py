"""Universal Robots UR3, UR5 and UR10: six revolute joints."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Three, chain, pose_at, register

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
