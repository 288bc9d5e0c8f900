"""Robotiq's two-finger gripper 2F-85: two four-bar fingers, driven together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.constraints import Constrained, JointCoupling, Loop
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.se3 import pose
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, Three, register

Four = tuple[float, float, float, float]


class Part(NamedTuple):
    """A link of the left finger: joints turn about z of its frame; quaternions (x, y, z, w)."""

    name: str
    parent: str | None
    origin: Three  # m
    turn: Four
    kind: str
    limits: tuple[float, float] | None  # rad
    damping: float
    rotor: float
    mass: float
    com: Three
    axes: Four  # of the principal moments
    moments: Three  # kg m²


ACROSS = (-1.0, 0.0, 0.0, 1.0)
# fmt: off
FINGER = (
    Part("driver", None, (-0.0306011, 0.00475, 0.0657045), ACROSS, "revolute", (0.0, 0.9), 0.1,
         0.005, 0.00899563, (0.0, 0.0177547, 0.00107314), (0.732003, 0.0, 0.0, 0.681301),
         (1.72352e-06, 1.60906e-06, 3.22006e-07)),
    Part("coupler", "driver", (-0.0314249, 0.00453223, -0.0102), (0.0, 0.0, 1.0, 0.0), "fixed",
         None, 0.0, 0.0, 0.0140974, (0.0, 0.00301209, 0.0232175),
         (-0.0455904, 0.0455904, 0.705636, 0.705636), (4.16206e-06, 3.52216e-06, 8.88131e-07)),
    Part("spring_link", None, (-0.0127, -0.012, 0.07222), ACROSS, "revolute", (-0.2967, 0.9),
         0.00125, 0.001, 0.0221642, (0.0, 0.0181624, 0.0212658),
         (-0.244737, 0.244737, 0.663403, 0.663403), (8.96853e-06, 6.71733e-06, 2.63931e-06)),
    Part("follower", "spring_link", (-0.0382079, -0.0425003, 0.00295), (1.0, 0.0, 0.0, 0.0),
         "revolute", (-0.872664, 0.9), 0.0, 0.001, 0.0125222, (0.0, -0.011046, 0.0124786),
         (0.1664, 0.0, 0.0, 1.0), (2.67415e-06, 2.4559e-06, 6.02031e-07)),
)
# fmt: on
STIFFNESS, REST = 0.05, 2.62  # N m/rad, rad: of the spring links
PIN = (-0.0179014, -0.00651468, 0.0044)  # of the follower, held by the coupler


@register(
    "robotiq_2f85",
    "Robotiq 2F-85 gripper: two four-bar fingers driven together",
    "Robotiq, 2F-85 description (ROS-Industrial), and MuJoCo Menagerie: lengths, masses, inertias",
)
def build(springs: bool = False) -> Constrained:
    """The gripper on its base: six joints, two pins and a gear, one freedom (0 is open).

    Each pin is a ball in a planar finger, three rows of rank two. `springs` adds those that open
    ``…_spring_link``; the pads are left out.
    """
    links = [_link(side, part) for side in ("left", "right") for part in FINGER]
    for link in links if springs else ():
        if link["name"].endswith("spring_link"):
            link["joint"] |= {"stiffness": STIFFNESS, "rest": REST}
    robot = Robot.from_links(links, name="robotiq_2f85")
    constraints: list[Loop | JointCoupling] = []
    for side in ("left", "right"):
        ends = (f"{side}_follower", f"{side}_coupler")
        poses = [robot.reference("pose", np.zeros(6), frame=end) for end in ends]
        pin = pose(p=PIN)
        on_coupler = pose(p=(np.linalg.inv(poses[1]) @ poses[0] @ pin)[:3, 3])
        name = f"{side}_pin"
        constraints.append(Loop(*ends, "point", pin, on_coupler, along="world", name=name))
    constraints.append(JointCoupling("right_driver", "left_driver", name="gear"))
    return Constrained(robot, constraints, independent=("left_driver",))


def _link(side: str, part: Part) -> Keywords:
    """The part as a link; the right finger is the left one turned by half a turn about z."""
    turn, axes = (
        matrix_from_quaternion(np.array(x) / np.linalg.norm(x)) for x in (part.turn, part.axes)
    )
    origin = pose(turn, part.origin)
    if part.parent is None and side == "right":
        origin = pose(np.diag([-1.0, -1.0, 1.0])) @ origin
    joint: Keywords = {"name": f"{side}_{part.name}", "type": part.kind, "origin": origin}
    if part.kind == "revolute":
        joint |= {"limits": part.limits, "viscous": part.damping, "rotor_inertia": part.rotor}
    body = {"mass": part.mass, "com": part.com, "inertia": axes @ np.diag(part.moments) @ axes.T}
    parent = None if part.parent is None else f"{side}_{part.parent}"
    return {"name": f"{side}_{part.name}", "parent": parent, "joint": joint, **body}
