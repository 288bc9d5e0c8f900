"""Agility's Cassie: a biped whose legs are closed by two rods each, Achilles and plantar."""

from __future__ import annotations

from itertools import product
from math import radians
from typing import NamedTuple

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.spatial.se3 import pose
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, Six, Three, register, symmetric

HEIGHT = 1.1  # of the pelvis in the reference posture, m
PELVIS = {
    "mass": 10.33,
    "com": (0.05066, 0.000346, 0.02841),
    "inertia": symmetric(0.085821, 0.049222, 0.08626, 1.276e-05, -0.00016022, -0.000414),
}


class Part(NamedTuple):
    """A link of the left leg: where it hangs, its axes x and y there, its joint about z, its body."""

    name: str
    parent: str
    origin: Three  # m
    x: Three
    y: Three
    kind: str
    reference: float  # of the joint's angle in the posture these axes are of, degrees
    limits: tuple[float, float] | None  # degrees
    damping: float  # N m s/rad
    rotor: float  # kg m²
    mass: float  # kg
    com: Three
    inertia: Six  # xx, yy, zz, xy, xz, yz about the com


E1, E2, E3, DOWN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
# fmt: off
LEG = (
    Part("hip_roll", "pelvis", (0.021, 0.135, 0.0), DOWN, E2, "revolute", 0.0, (-15.0, 22.5), 1.0,
         0.038125, 1.82, (-0.01793, 0.0001, -0.04428),
         (0.003431, 0.003793, 0.002135, -6.65e-07, -0.00084, 3.99e-06)),
    Part("hip_yaw", "hip_roll", (0.0, 0.0, -0.07), E3, E2, "revolute", 0.0, (-22.5, 22.5), 1.0,
         0.038125, 1.171, (0.0, -1e-05, -0.034277),
         (0.002443, 0.002803, 0.000842, -4e-08, 2.462e-07, -2.71e-08)),
    Part("hip_pitch", "hip_yaw", (0.0, 0.0, -0.09), DOWN, E1, "revolute", 0.0, (-50.0, 80.0), 1.0,
         0.09344, 5.52, (0.05946, 5e-05, -0.03581),
         (0.010898, 0.029714, 0.030257, -0.0002669, -5.721e-05, 9.17e-06)),
    Part("achilles_rod", "hip_pitch", (0.0, 0.0, 0.045), (0.7922, -0.60599, -0.072096),
         (0.60349, 0.79547, -0.054922), "spherical", 0.0, None, 0.01, 0.0, 0.1567,
         (0.24719, 0.0, 0.0), (3.754e-06, 0.004487, 0.004488, -3.74e-08, -1.61e-08, 0.0)),
    Part("knee", "hip_pitch", (0.12, 0.0, 0.0045), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), "revolute",
         -45.0, (-164.0, -37.0), 1.0, 0.09344, 0.7578, (0.023, 0.03207, -0.002181),
         (0.001376, 0.0010335, 0.0021637, -0.00039744, -4.085e-05, -5.374e-05)),
    Part("knee_spring", "knee", (0.06068, 0.08241, 0.0), E1, E2, "fixed", 0.0, None, 0.0, 0.0,
         0.186, (0.0836, 0.0034, 0.0), (5.215e-05, 0.00041205, 0.0003669, 6.87e-06, 0.0, 0.0)),
    Part("shin", "knee", (0.06068, 0.04741, 0.0), E1, E2, "revolute", 0.0, (-20.0, 20.0), 0.1, 0.0,
         0.577, (0.18338, 0.001169, 0.0002123),
         (0.00035939, 0.014728, 0.014707, -0.00020981, 2.266e-05, -1.2e-07)),
    Part("tarsus", "shin", (0.43476, 0.02, 0.0), (0.52992, 0.84805, 0.0), (-0.84805, 0.52992, 0.0),
         "revolute", 58.0, (50.0, 170.0), 0.1, 0.0, 0.782, (0.11046, -0.03058, -0.00131),
         (0.00039238, 0.013595, 0.013674, 0.00023651, -4.987e-05, -4.82e-06)),
    Part("heel_spring", "tarsus", (-0.01269, -0.03059, 0.00092), (-0.91211, 0.40829, 0.036948),
         (-0.40992, -0.90952, -0.068841), "revolute", 0.0, None, 0.0, 0.0, 0.126,
         (0.081, 0.0022, 0.0), (2.959e-05, 0.00022231, 0.0002007, 7.15e-06, -6e-07, 1e-07)),
    Part("foot_crank", "tarsus", (0.058, -0.034, 0.02275), E1, E2, "revolute", 0.0,
         (-140.0, -30.0), 1.0, 0.0, 0.1261, (0.00493, 2e-05, -0.00215),
         (2.6941e-05, 4.9621e-05, 6.3362e-05, -2.1e-09, -3.9623e-06, -1.09e-08)),
    Part("plantar_rod", "foot_crank", (0.055, 0.0, -0.00791), E1, E2, "revolute", 0.0, None, 0.0,
         0.0, 0.1186, (0.17792, 0.0, 0.0),
         (2.779e-06, 0.001774, 0.001775, -2.34e-08, -8.1e-09, 0.0)),
    Part("foot", "tarsus", (0.408, -0.04, 0.0), E1, E2, "revolute", 0.0, (-140.0, -30.0), 1.0,
         0.01225, 0.1498, (0.00474, 0.02748, -0.00014),
         (0.00017388, 0.00016793, 0.00033261, 0.00011814, 1.36e-06, -4e-07)),
)
# fmt: on
FLEXURES = {"shin": 1500.0, "heel_spring": 1250.0}  # N m/rad
LOOPS = {  # the rod, position of the ball along it (m), and the link it holds
    "plantar": ("plantar_rod", 0.35012, "foot"),
    "achilles": ("achilles_rod", 0.5012, "heel_spring"),
}


@register(
    "cassie",
    "Agility Cassie, a biped with four rods that close its legs",
    "Agility Robotics, cassie-mujoco-sim (2018), and MuJoCo Menagerie: lengths, masses, inertias",
)
def build(springs: bool = False) -> Constrained:
    """Cassie with a free pelvis: 32 velocities, 12 rows of four rods' ends, 22 freedoms.

    Joints are ``left_…`` and ``right_…``. The flexures of shin and heel are joints as well, with
    their springs if `springs` says so. The rods meet foot and heel where they do in the reference
    posture; λ are the forces there, along the axes of tarsus (plantar) and hip (Achilles).
    """
    free = {"name": "pelvis_motion", "type": "free"}
    links: list[Keywords] = [{"name": "pelvis", "joint": free, **PELVIS}]
    guess = [0.0, 0.0, HEIGHT, 0.0, 0.0, 0.0, 1.0]
    for side in ("left", "right"):
        links += [_link(side, part, springs) for part in LEG]
        for part in LEG:
            still = {"fixed": [], "spherical": [0.0, 0.0, 0.0, 1.0]}
            guess += still.get(part.kind, [radians(part.reference)])
    robot = Robot.from_links(links, name="cassie")
    # balls at the ends of the rods, on foot and heel where they are in the reference posture
    q, loops = np.array(guess), []
    for side, (name, (rod, length, link)) in product(("left", "right"), LOOPS.items()):
        ends = (f"{side}_{rod}", f"{side}_{link}")
        rod_pose, link_pose = (robot.reference("pose", q, frame=end) for end in ends)
        on_rod = pose(p=[length, 0.0, 0.0])
        on_link = pose(p=(np.linalg.inv(link_pose) @ rod_pose @ on_rod)[:3, 3])
        names = {"along": "carrier", "name": f"{side}_{name}"}
        loops.append(Loop(*ends, "point", on_rod, on_link, **names))
    return Constrained(robot, loops, guess=guess)


def _link(side: str, part: Part, springs: bool) -> Keywords:
    """The part as a link; a right leg is the left one's mirror image."""
    own, hung = _mirror(side, part.name), _mirror(side, part.parent)
    # the rotation whose x is along the part's and whose y is near the part's
    x = np.array(part.x) / np.linalg.norm(part.x)
    y = np.array(part.y) - (x @ np.array(part.y)) * x
    y = y / np.linalg.norm(y)
    axes = np.stack([x, y, np.cross(x, y)], axis=1)
    origin = pose(hung @ axes @ own, hung @ np.array(part.origin))
    joint: Keywords = {"name": f"{side}_{part.name}", "type": part.kind, "origin": origin}
    if part.kind != "fixed":
        joint |= {"viscous": part.damping, "rotor_inertia": part.rotor}
    if springs and part.name in FLEXURES:
        joint["stiffness"] = FLEXURES[part.name]
    if part.limits is not None:
        # a reflection turns the sense about z round, unless z itself is reflected
        sense = own[2, 2] * np.linalg.det(own)
        lower, upper = sorted(radians(sense * x) for x in part.limits)
        joint |= {"limits": (lower, upper), "offset": -radians(part.reference)}
    parent = part.parent if part.parent == "pelvis" else f"{side}_{part.parent}"
    inertia = own @ np.array(symmetric(*part.inertia)) @ own
    body = {"mass": part.mass, "com": own @ np.array(part.com), "inertia": inertia}
    return {"name": f"{side}_{part.name}", "parent": parent, "joint": joint, **body}


def _mirror(side: str, link: str) -> np.ndarray:
    """From left axes to right ones: y is reflected above the pitch of the hip, z from there on."""
    if side == "left":
        return np.eye(3)
    is_above = link in ("pelvis", "hip_roll", "hip_yaw")
    return np.diag([1.0, -1.0, 1.0] if is_above else [1.0, 1.0, -1.0])
