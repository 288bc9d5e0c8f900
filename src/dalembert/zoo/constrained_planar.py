"""Planar closed chains: four-bar, slider-crank, and the redundant parallel 3×RR (000 p.79)."""

from __future__ import annotations

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, pinned, pose_at, register, shift

DOWN = (0.0, -9.81, 0.0)
SIDES = "abc"


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
def build_parallel_3rr(l: float = 0.25, radius: float = 0.3, m: float = 1.0) -> Constrained:
    """Three RR chains of rods l, m from the corners a, b, c of a triangle; their tips coincide.

    θ₁, θ₃, θ₅ turn at the corners, θ₂, θ₄, θ₆ between the rods; h is H(θ) of p.79. No gravity: the
    plane is horizontal.
    """
    links, frames = [], {}
    for k, side in enumerate(SIDES):
        angle = 2.0 * np.pi * k / 3.0 + np.pi / 2.0
        corner = (radius * np.cos(angle), radius * np.sin(angle))
        inner = pinned(f"theta{2 * k + 1}", None, corner, m, l)
        outer = pinned(f"theta{2 * k + 2}", inner["name"], (l, 0.0), m, l)
        links += [inner, outer]
        frames[f"tip_{side}"] = (outer["name"], pose_at((l, 0.0, 0.0)))
    robot = Robot.from_links(links, frames=frames, gravity=(0.0, 0.0, 0.0), name="parallel_3rr")
    loops = [
        Loop(f"tip_{side}", "tip_a", "pin", along="world", name=f"a_{side}") for side in SIDES[1:]
    ]
    bend = 2.0 * np.arccos(radius / (2.0 * l))  # the tips meet in the middle
    inward = [2.0 * np.pi * k / 3.0 - np.pi / 2.0 - 0.5 * bend for k in range(3)]
    guess = np.ravel([[start, bend] for start in inward])
    return Constrained(robot, loops, guess=guess, independent=("theta1", "theta3"))
