"""Spatial mechanisms: a Stewart platform, and a finger on a sphere (000 p.76–79)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Constraint, Loop, PointOnSurface, Rolling, Sphere
from dalembert.model.joint import align
from dalembert.spatial import pose
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, Keywords, pose_at, register

LEGS = 6


@register(
    "stewart_platform",
    "Stewart platform with six driven legs",
    "Stewart, Proc. Inst. Mech. Eng. 180 (1965); uniform legs",
)
def build_stewart(
    base: float = 1.0, top: float = 0.6, height: float = 1.0, mass: float = 10.0
) -> Constrained:
    """A platform on six legs with universal joints below and ball joints above; the slides drive.

    `base` and `top` are the radii of the circles of joints, `height` that of the platform at home.
    Velocities ``leg0`` … ``leg5`` are the slides. All are zero at home.
    """
    spread = np.deg2rad(12.0)
    corners = np.repeat(2.0 * np.pi * np.arange(3) / 3.0, 2)
    low = corners + np.tile([-spread, spread], 3)
    high = corners + np.tile([-np.pi / 3 + spread, np.pi / 3 - spread], 3)
    feet = base * np.stack([np.cos(low), np.sin(low), 0.0 * low], axis=1)
    heads = top * np.stack([np.cos(high), np.sin(high), 0.0 * high], axis=1)
    inertia = mass * top**2 * np.diag([0.25, 0.25, 0.5])
    free = {"name": "platform_motion", "type": "free"}
    links: list[Keywords] = [{"name": "platform", "joint": free, "mass": mass, "inertia": inertia}]
    frames: dict[str, tuple[str, Any]] = {}
    slender = np.diag([0.02, 0.02, 0.001])
    for k in range(LEGS):  # cylinder and piston from the foot to the platform's joint
        along = heads[k] + [0.0, 0.0, height] - feet[k]
        length = float(np.linalg.norm(along))
        origin = pose(align(along / length), feet[k])
        hinge = {"name": f"foot{k}", "type": "universal", "axis": (1.0, 0.0, 0.0), "origin": origin}
        slide = {"name": f"leg{k}", "type": "prismatic", "origin_xyz": (0.0, 0.0, 0.5 * length)}
        body = {"com": (0.0, 0.0, 0.25 * length), "inertia": slender}
        foot = {"joint": {**hinge, "axis2": (0.0, 1.0, 0.0)}, "mass": 1.0, **body}
        piston = {"parent": f"cylinder{k}", "joint": slide, "mass": 0.5, **body}
        links += [{"name": f"cylinder{k}", **foot}, {"name": f"piston{k}", **piston}]
        frames[f"tip{k}"] = (f"piston{k}", pose_at((0.0, 0.0, 0.5 * length)))
        frames[f"head{k}"] = ("platform", pose_at(tuple(heads[k])))
    robot = Robot.from_links(links, frames=frames, name="stewart_platform")
    loops = [
        Loop(f"tip{k}", f"head{k}", "point", along="world", name=f"ball{k}") for k in range(LEGS)
    ]
    home = np.concatenate([[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0], np.zeros(3 * LEGS)])
    return Constrained(robot, loops, guess=home)


BALL = 0.05  # radius of the finger's tip, m
OBJECT, CENTRE = 0.3, (0.55, 0.0, 0.2)  # radius and centre of the sphere it touches, m
POLE = "y"  # of the sphere's chart, away from the top where the finger stands
FINGER = {"mass": 0.4, "inertia": 4e-4 * np.eye(3)}
# joint, axis, origin in the link before, mass and centre of the link
ARM = (
    ("shoulder_pan", (0.0, 0.0, 1.0), (0.0, 0.0, 0.3), 2.0, (0.0, 0.0, 0.0)),
    ("shoulder_lift", (0.0, 1.0, 0.0), (0.0, 0.0, 0.1), 3.0, (0.0, 0.0, 0.2)),
    ("elbow", (0.0, 1.0, 0.0), (0.0, 0.0, 0.4), 2.0, (0.0, 0.0, 0.2)),
    ("wrist_roll", (0.0, 0.0, 1.0), (0.0, 0.0, 0.4), 0.5, (0.0, 0.0, 0.0)),
    ("wrist_pitch", (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), 0.5, (0.0, 0.0, 0.0)),
)


def arm(massless: bool = False) -> Robot:
    """Six joints that carry a ball, the finger; with `massless`, the finger alone has inertia."""
    links: list[Keywords] = []
    before = None
    for name, axis, origin, mass, com in ARM:
        joint = {"name": name, "type": "revolute", "axis": axis, "origin_xyz": origin}
        own = {} if massless else {"mass": mass, "com": com, "inertia": 0.02 * mass * np.eye(3)}
        links.append({"name": f"{name}_link", "parent": before, "joint": joint, **own})
        before = f"{name}_link"
    # the last axis stands across the wrist's, so that the finger's six velocities are all reached
    turn = {"name": "wrist_turn", "type": "revolute", "axis": (1.0, 0.0, 0.0)}
    turn["origin_xyz"] = (0.0, 0.0, 0.1)
    links.append({"name": "finger", "parent": before, "joint": turn, **FINGER})
    return Robot.from_links(links, frames={"object": (None, pose_at(CENTRE))}, name="arm")


def finger() -> Robot:
    """The finger alone, free in space: its six forces are the wrench F_m in its own frame."""
    free = {"name": "finger_motion", "type": "free"}
    link = {"name": "finger", "joint": free, **FINGER}
    return Robot.from_links([link], frames={"object": (None, pose_at(CENTRE))}, name="finger")


def _touching(contact: Constraint, form: str, massless: bool, name: str) -> Constrained:
    if form == "finger":
        above = (CENTRE[0], 0.0, CENTRE[2] + OBJECT + BALL)
        guess = [*above, 0.0, 0.0, 0.0, 1.0]
        return Constrained(finger(), [contact], guess=guess, name=name)
    if form != "arm":
        raise ValueError(f"form={form!r} must be 'arm' or 'finger'")
    return Constrained(arm(massless), [contact], guess=[0.1, 0.2, 1.5, 0.3, 0.9, 0.2], name=name)


@register("arm_on_sphere", "Six-joint arm whose finger slides on a sphere", f"{LECTURE}, pp. 76-77")
def build_sliding(form: str = "arm", massless: bool = False) -> Constrained:
    """A finger's ball slides on a sphere without friction; `form` is "arm" or "finger" (000 p.76)."""
    contact = PointOnSurface(
        "finger", Sphere(OBJECT, POLE), on="object", radius=BALL, name="contact"
    )
    return _touching(contact, form, massless, "arm_on_sphere")


@register(
    "arm_rolling_on_sphere", "Six-joint arm whose finger rolls on a sphere", f"{LECTURE}, pp. 78-79"
)
def build_rolling(form: str = "arm", massless: bool = False) -> Constrained:
    """The same rolling without slip and spin: the four rows of p.78."""
    contact = Rolling("finger", Sphere(OBJECT, POLE), on="object", radius=BALL, name="contact")
    return _touching(contact, form, massless, "arm_rolling_on_sphere")
