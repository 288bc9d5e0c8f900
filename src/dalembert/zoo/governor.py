"""A flyball governor whose couplers are stiff spring-dampers: a benchmark for stiff mechanisms."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from dalembert.mechanisms import SpatialMechanism
from dalembert.zoo.absolute import IFTOMM
from dalembert.zoo.entry import register

DENSITY = 3000.0  # kg/m³
PIVOT = 0.05  # m from the axis
BALL = 5.0  # kg at the end of each rod


@register("flyball_governor", "Flyball governor with stiff couplers", f"{IFTOMM}, A05")
def flyball_governor(
    stiffness: float = 8e5,
    damping: float = 4e4,
    free: float = 0.5,
    slider: float = 0.5,
    angle: float = pi / 6,
    speed: float = 2.0 * pi,
) -> SpatialMechanism:
    """A05: two rods on a turning shaft, held by springs to a slider at the height `slider`, m.

    The rods of 1 m stand `angle` below the horizontal, each with a point of 5 kg at its end; the
    springs go from their middles to the slider. Everything turns at `speed`, rad/s, at the start.
    """
    shaft, cube = _box(0.01, 0.01, 1.0), _box(0.1, 0.1, 0.1)
    turn = (0.0, 0.0, 0.0, 0.0, 0.0, speed)
    made = (
        SpatialMechanism("flyball_governor")
        .body("shaft", *shaft, at=(0.0, 0.0, 0.5), velocity=turn)
        .body("slider", *cube, at=(0.0, 0.0, slider), velocity=turn)
        .revolute("base", "ground", "shaft", at=(0.0, 0.0, 0.0))
        .prismatic("sleeve", "shaft", "slider", at=(0.0, 0.0, slider))
    )
    mass, centre, tensor = _rod_with_ball()
    for name, side in (("right", 1.0), ("left", -1.0)):
        x, z = side * (PIVOT + centre * cos(angle)), 1.0 - centre * sin(angle)
        e = np.array([side * cos(angle), 0.0, -sin(angle)])
        R = np.stack([e, np.array([0.0, side, 0.0]), np.cross(e, [0.0, side, 0.0])], axis=1)
        omega = R.T @ np.array([0.0, 0.0, speed])
        velocity = (0.0, speed * x, 0.0, *omega)
        made.body(name, mass, tensor, at=(x, 0.0, z), rotation=R, velocity=velocity)
        pin = (side * PIVOT, 0.0, 1.0)
        made.revolute(f"{name} pin", "shaft", name, at=pin, axis=(0.0, 1.0, 0.0))
        ends = ("slider", (side * PIVOT, 0.0, 0.0)), (name, (0.5 - centre, 0.0, 0.0))
        made.spring(f"{name} spring", stiffness=stiffness, free=free, damping=damping, between=ends)
    return made


def _box(*sides: float) -> tuple[float, np.ndarray]:
    """Mass and principal moments of a uniform box."""
    a = np.array(sides)
    mass = DENSITY * float(np.prod(a))
    return mass, mass * ((a**2).sum() - a**2) / 12.0


def _rod_with_ball() -> tuple[float, float, np.ndarray]:
    """Mass, centre from the pivot, and moments about it, of a rod with a ball at its end."""
    mass, moments = _box(1.0, 0.01, 0.01)
    total = mass + BALL
    centre = (0.5 * mass + BALL) / total
    steiner = mass * (0.5 - centre) ** 2 + BALL * (1.0 - centre) ** 2
    return total, centre, moments + steiner * np.array([0.0, 1.0, 1.0])
