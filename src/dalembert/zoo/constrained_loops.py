"""Closed chains: four-bar, slider-crank, the redundant parallel 3×RR (000 p.79), Bennett's linkage, two
arms that hold a box, and the N-four-bar ladder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.errors import ModelError
from dalembert.spatial.shapes import box_inertia
from dalembert.systems.robot import Robot
from dalembert.zoo.constrained_spatial import ARM
from dalembert.zoo.entry import LECTURE, Keywords, pinned, pose_at, register, rod, shift

if TYPE_CHECKING:
    from dalembert.constraints.network import Network

DOWN = (0.0, -9.81, 0.0)
Z = (0.0, 0.0, 1.0)
CORNERS = "abc"


@register("four_bar", "Four-bar linkage", "uniform rods, Grashof's crank-rocker")
def build_four_bar(
    ground: float = 1.0,
    crank: float = 0.35,
    coupler: float = 0.9,
    rocker: float = 0.8,
    density: float = 1.0,
) -> Constrained:
    """Uniform rods (density in kg/m) in the x–y plane; the coupler's tip is pinned to the rocker's."""
    rods = [
        pinned("crank", None, (0.0, 0.0), density * crank, crank),
        pinned("coupler", "crank_rod", (crank, 0.0), density * coupler, coupler),
        pinned("rocker", None, (ground, 0.0), density * rocker, rocker),
    ]
    tips = {"coupler_tip": ("coupler_rod", shift(coupler))}
    tips["rocker_tip"] = ("rocker_rod", shift(rocker))
    robot = Robot.from_links(rods, frames=tips, gravity=DOWN, name="four_bar")
    pin = Loop("coupler_tip", "rocker_tip", "pin", along="world", name="pin")
    return Constrained(robot, [pin], guess=[1.2, -0.9, 1.6], independent=("crank",))


@register("slider_crank", "Slider-crank", "uniform rods and a piston")
def build_slider_crank(
    crank: float = 0.2, rod_length: float = 0.6, density: float = 1.0, slider: float = 0.5
) -> Constrained:
    """A crank and a connecting rod, pinned to a piston that slides along x; density in kg/m."""
    slide = {"name": "slider", "type": "prismatic", "axis": (1.0, 0.0, 0.0)}
    piston = {"name": "piston", "parent": None, "joint": slide, "mass": slider}
    links = [
        pinned("crank", None, (0.0, 0.0), density * crank, crank),
        pinned("rod", "crank_rod", (crank, 0.0), density * rod_length, rod_length),
        {**piston, "inertia": 1e-3 * np.eye(3)},
    ]
    tip = {"rod_tip": ("rod_rod", shift(rod_length))}
    robot = Robot.from_links(links, frames=tip, gravity=DOWN, name="slider_crank")
    pin = Loop("rod_tip", "piston", "pin", along="world", name="pin")
    return Constrained(robot, [pin], guess=[0.8, -1.0, 0.7], independent=("crank",))


@register(
    "parallel_3rr",
    "Redundant planar parallel manipulator with three RR chains",
    f"{LECTURE}, pp. 79-81; uniform rods",
)
def build_parallel_3rr(
    l: float = 0.25,
    radius: float | None = None,
    m: float = 1.0,
    x_a: float = 0.0,
    y_a: float = 0.3,
    x_b: float = -0.15 * 3.0**0.5,
    y_b: float = -0.15,
    x_c: float = 0.15 * 3.0**0.5,
    y_c: float = -0.15,
) -> Constrained:
    """Three RR chains of rods l, m from the corners a, b, c of a triangle; their tips coincide.

    θ₁, θ₃, θ₅ turn at the corners, θ₂, θ₄, θ₆ between the rods; h is H(θ) of p.79. No gravity: the
    plane is horizontal. `radius` puts the corners on a circle about the origin in place of x_a … y_c.
    """
    corners: list[tuple[Any, Any]] = [(x_a, y_a), (x_b, y_b), (x_c, y_c)]
    if radius is not None:
        turns = 2.0 * np.pi * np.arange(3) / 3.0 + np.pi / 2.0
        corners = list(radius * np.stack([np.cos(turns), np.sin(turns)], axis=1))
    links: list[Keywords] = []
    frames = {}
    for k, (side, corner) in enumerate(zip(CORNERS, corners, strict=True)):
        inner = pinned(f"theta{2 * k + 1}", None, (corner[0], corner[1]), m, l)
        outer = pinned(f"theta{2 * k + 2}", inner["name"], (l, 0.0), m, l)
        links += [inner, outer]
        frames[f"tip_{side}"] = (outer["name"], shift(l))
    robot = Robot.from_links(links, frames=frames, gravity=(0.0, 0.0, 0.0), name="parallel_3rr")
    loops = [
        Loop(f"tip_{side}", "tip_a", "pin", along="world", name=f"a_{side}") for side in CORNERS[1:]
    ]
    # the tips meet in the middle of the corners, all three chains bent to the same side
    length = float(getattr(l, "value", l))  # of a parameter, its default
    at = np.array([[getattr(x, "value", x) for x in corner] for corner in corners], dtype=float)
    inward = at.mean(axis=0) - at
    half = np.arccos(np.clip(np.hypot(*inward.T) / (2.0 * length), -1.0, 1.0))
    guess = np.ravel(np.stack([np.arctan2(inward[:, 1], inward[:, 0]) - half, 2.0 * half], axis=1))
    return Constrained(robot, loops, guess=guess, independent=("theta1", "theta3"))


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
    links: list[Keywords] = []
    before, origin = None, np.eye(4)
    for name, length, twist in (("crank", a, alpha), ("coupler", b, beta), ("rocker", a, alpha)):
        joint = {"name": name, "type": "revolute", "axis": Z, "origin": origin}
        bar = rod(density * length, length)
        # with the little inertia about itself that a thin rod has
        bar["inertia"] = np.asarray(bar["inertia"]) + np.diag([1e-4, 0.0, 0.0])
        links.append({"name": f"{name}_rod", "parent": before, "joint": joint, **bar})
        before, origin = f"{name}_rod", pose_at((length, 0.0, 0.0), (twist, 0.0, 0.0))
    # the fourth rod is the ground: from its far end to the crank
    ground = pose_at((-b, 0.0, 0.0), (-beta, 0.0, 0.0))
    ends: dict[str, tuple[Any, Any]] = {"rocker_end": (before, origin)}
    ends["ground_end"] = (None, ground)
    robot = Robot.from_links(links, frames=ends, name="bennett")
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    first = 1.0
    second = 2.0 * float(np.arctan(ratio / np.tan(0.5 * first)))
    hinge = Loop("ground_end", "rocker_end", "revolute", name="hinge")
    guess = [first, second, -first]
    return Constrained(robot, [hinge], guess=guess, independent=("crank",))


SIDES = {"left": (-1.0, 0.0), "right": (1.0, np.pi)}  # where the arm stands, and its heading
WRIST = ("wrist_turn", Z, (0.0, 0.0, 0.05), 0.4, (0.0, 0.0, 0.0))
HAND = 0.05  # from the last joint to the palm, m
ARM_LENGTH = 0.45  # from an arm's axis to the palm at home, m
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
    links: list[Keywords] = [
        {"name": "box", "joint": free, "mass": mass, "inertia": box_inertia(mass, size)}
    ]
    frames: dict[str, tuple[str, Any]] = {}
    for side, (sign, heading) in SIDES.items():
        x = sign * (ARM_LENGTH + 0.5 * size[0])
        before, base = None, pose_at((x, 0.0, 0.0), (0.0, 0.0, heading))
        for name, axis, origin, weight, com in (*ARM, WRIST):
            at = pose_at(origin) if before else base @ pose_at(origin)
            joint = {"name": f"{side}_{name}", "type": "revolute", "axis": axis, "origin": at}
            body = {"mass": weight, "com": com, "inertia": 0.02 * weight * np.eye(3)}
            links.append({"name": f"{side}_{name}_link", "parent": before, "joint": joint, **body})
            before = f"{side}_{name}_link"
        frames[f"{side}_palm"] = (f"{side}_wrist_turn_link", pose_at((0.0, 0.0, HAND)))
        face = pose_at((sign * 0.5 * size[0], 0.0, 0.0), (0.0, 0.5 * np.pi, heading))
        frames[f"{side}_face"] = ("box", face)
    robot = Robot.from_links(links, frames=frames, name="two_arms_with_box")
    grasps = [Loop(f"{side}_palm", f"{side}_face", "weld", name=f"{side}_grasp") for side in SIDES]
    # angles of an arm whose palm looks ahead, at ARM_LENGTH and HOME
    shoulder, upper = ARM[0][2][2] + ARM[1][2][2], ARM[2][2][2]
    ahead, above = ARM_LENGTH - WRIST[2][2] - HAND, HOME - shoulder
    far, towards = np.hypot(ahead, above), np.arctan2(ahead, above)
    bend = np.arccos(0.5 * far / upper)  # upper arm and forearm are of one length
    lift, pitch = float(towards - bend), float(0.5 * np.pi - towards - bend)
    bent = [0.0, lift, float(2.0 * bend), 0.0, pitch, 0.0]
    guess = [0.0, 0.0, HOME, 0.0, 0.0, 0.0, 1.0, *bent, *bent]
    return Constrained(robot, grasps, guess=guess)


def _next_tip(a: Any, b: Any) -> Any:
    """The coupler's tip of a unit, seen from its ground, is one metre from the next rod's tip."""
    gap = a.pose("coupler_tip")[1] - b.pose("rod_tip")[1]
    return np.stack([gap[0] - 1.0, gap[1]])


@register(
    "n_four_bar",
    "Ladder of N four-bar loops",
    "González, Dopico, Lugrís and Cuadrado, Multibody System Dynamics 16 (2006)",
)
def build(N: int = 40) -> Network:
    """Rods and couplers of one metre and one kilogram in the x–y plane: one degree of freedom.

    Unit i is rod i with the coupler on its tip, its own ground as origin; the last is a rod alone.
    All angles zero is the upright ladder with its couplers level.
    """
    from dalembert.constraints.network import Network

    upright = np.eye(4)
    upright[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    level = upright.T.copy()
    level[:3, 3] = [1.0, 0.0, 0.0]
    units: list[Keywords] = []
    for name, parent, origin in (("rod", None, upright), ("coupler", "rod_rod", level)):
        joint = {"name": name, "type": "revolute", "axis": Z, "origin": origin}
        units.append({"name": f"{name}_rod", "parent": parent, "joint": joint, **rod(1.0, 1.0)})
    end = pose_at((1.0, 0.0, 0.0))
    tip, tips = {"rod_tip": ("rod_rod", end)}, {"coupler_tip": ("coupler_rod", end)}
    unit = Robot.from_links(units, frames=tip | tips, gravity=DOWN, name="rod_and_coupler")
    last = Robot.from_links(units[:1], frames=tip, gravity=DOWN, name="last_rod")
    links = [(k, k + 1, _next_tip) for k in range(N)]
    return Network([unit] * N + [last], links, name="n_four_bar")
