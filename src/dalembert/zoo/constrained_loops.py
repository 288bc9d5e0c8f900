"""Spatial closed chains: Bennett's linkage, and two arms that hold a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.errors import ModelError
from dalembert.spatial.shapes import box_inertia
from dalembert.systems.robot import Robot
from dalembert.zoo.chain import place
from dalembert.zoo.constrained_spatial import ARM
from dalembert.zoo.entry import register
from dalembert.zoo.rods import rod

Z = (0.0, 0.0, 1.0)


@register(
    "bennett",
    "Bennett's linkage: four skew rods, one freedom against Grübler's count",
    "Bennett, Engineering 76 (1903) 777-778; uniform rods",
)
def build_bennett(
    a: float = 0.3, b: float = 0.5, alpha: float = np.pi / 6.0, density: float = 1.0
) -> Constrained:
    """Four rods in a skew loop, a and b metres long in turn, twisted by α and β, of density kg/m.

    Neighbouring axes are α and β apart, sin α/a = sin β/b with β below a right angle; then, and only
    then, four revolute joints in space can move at all: Grübler counts −2 freedoms, there is one.
    The angles θ₁, θ₂ of ``crank`` and ``coupler``, as Denavit and Hartenberg measure them, keep
    tan(θ₁/2) tan(θ₂/2) = sin ½(β + α)/sin ½(β − α), and ``rocker`` turns by θ₃ = −θ₁.
    """
    sine = b * np.sin(alpha) / a
    if not (a > 0.0 and b > 0.0 and 0.0 < sine < 1.0) or a == b:
        raise ModelError(
            f"bennett: lengths a = {a} and b = {b} must be positive and different, and the twist "
            f"alpha = {alpha} such that 0 < b sin(alpha)/a < 1"
        )
    beta = float(np.arcsin(sine))
    links: list[dict[str, Any]] = []
    before, origin = None, np.eye(4)
    for name, length, twist in (("crank", a, alpha), ("coupler", b, beta), ("rocker", a, alpha)):
        joint = {"name": name, "type": "revolute", "axis": Z, "origin": origin}
        links.append(
            {"name": f"{name}_rod", "parent": before, "joint": joint, **_bar(density, length)}
        )
        before, origin = f"{name}_rod", place((length, 0.0, 0.0), (twist, 0.0, 0.0))
    # the fourth rod is the ground: from its far end to the crank
    ground = place((-b, 0.0, 0.0), (-beta, 0.0, 0.0))
    ends: dict[str, tuple[Any, Any]] = {
        "rocker_end": (before, origin),
        "ground_end": (None, ground),
    }
    robot = Robot.from_links(links, frames=ends, name="bennett")
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    first = 1.0
    second = 2.0 * float(np.arctan(ratio / np.tan(0.5 * first)))
    hinge = Loop("ground_end", "rocker_end", "revolute", name="hinge")
    guess = [first, second, -first]
    return Constrained(robot, [hinge], guess=guess, independent=("crank",))


def _bar(density: float, length: float) -> dict[str, Any]:
    """A uniform rod, with the little inertia about itself that a thin one has."""
    made = rod(density * length, length)
    return {**made, "inertia": np.asarray(made["inertia"]) + np.diag([1e-4, 0.0, 0.0])}


SIDES = {"left": (-1.0, 0.0), "right": (1.0, np.pi)}  # where the arm stands, and its heading
WRIST = ("wrist_turn", Z, (0.0, 0.0, 0.05), 0.4, (0.0, 0.0, 0.0))
HAND = 0.05  # from the last joint to the palm, m
REACH = 0.45  # from an arm's axis to the palm at home, m
HOME = 0.6  # height of the box at home, m


@register(
    "two_arms_with_box",
    "Two six-joint arms that hold a box",
    "Tarn, Bejczy and Yun, Proc. IEEE ICRA (1987): closed chain of two arms and an object",
)
def build_two_arms(
    mass: float = 4.0, size: tuple[float, float, float] = (0.3, 0.2, 0.2)
) -> Constrained:
    """Two arms of six joints, face to face, each with a palm fixed to its side of a uniform box.

    The box, `size` metres along x, y, z, moves freely but for its two grasps: 18 velocities, 12 rows,
    six freedoms, and twelve drives, so that six combinations of torques only squeeze. Joints are
    ``left_…`` and ``right_…``; reactions of ``left_grasp``, ``right_grasp`` act on the box.
    """
    free = {"name": "box_motion", "type": "free"}
    links: list[dict[str, Any]] = [
        {"name": "box", "joint": free, "mass": mass, "inertia": box_inertia(mass, size)}
    ]
    frames: dict[str, tuple[str, Any]] = {}
    for side, (sign, heading) in SIDES.items():
        links += _arm(side, place((sign * (REACH + 0.5 * size[0]), 0.0, 0.0), (0.0, 0.0, heading)))
        frames[f"{side}_palm"] = (f"{side}_wrist_turn_link", place((0.0, 0.0, HAND)))
        face = place((sign * 0.5 * size[0], 0.0, 0.0), (0.0, 0.5 * np.pi, heading))
        frames[f"{side}_face"] = ("box", face)
    robot = Robot.from_links(links, frames=frames, name="two_arms_with_box")
    grasps = [Loop(f"{side}_palm", f"{side}_face", "weld", name=f"{side}_grasp") for side in SIDES]
    guess = [0.0, 0.0, HOME, 0.0, 0.0, 0.0, 1.0, *_bent(), *_bent()]
    return Constrained(robot, grasps, guess=guess)


def _arm(side: str, base: np.ndarray) -> list[dict[str, Any]]:
    """Links of one arm that stands at `base`."""
    links: list[dict[str, Any]] = []
    before = None
    for name, axis, origin, mass, com in (*ARM, WRIST):
        at = place(origin) if before else base @ place(origin)
        joint = {"name": f"{side}_{name}", "type": "revolute", "axis": axis, "origin": at}
        made = {"mass": mass, "com": com, "inertia": 0.02 * mass * np.eye(3)}
        links.append({"name": f"{side}_{name}_link", "parent": before, "joint": joint, **made})
        before = f"{side}_{name}_link"
    return links


def _bent() -> list[float]:
    """Angles of an arm whose palm looks ahead, at `REACH` and `HOME`."""
    shoulder, upper = ARM[0][2][2] + ARM[1][2][2], ARM[2][2][2]
    ahead, above = REACH - WRIST[2][2] - HAND, HOME - shoulder
    far, towards = np.hypot(ahead, above), np.arctan2(ahead, above)
    bend = np.arccos(0.5 * far / upper)  # upper arm and forearm are of one length
    lift = float(towards - bend)
    return [0.0, lift, float(2.0 * bend), 0.0, float(0.5 * np.pi - towards - bend), 0.0]
