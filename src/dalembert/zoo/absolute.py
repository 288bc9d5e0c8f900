"""Mechanisms in absolute coordinates, as tables: bodies, joints and where the numbers come from."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from dalembert.mechanisms import PlanarMechanism, SpatialMechanism
from dalembert.references import DOCUMENTS
from dalembert.zoo.entry import register

DAE_NOTES = DOCUMENTS["004"].title
IFTOMM = "IFToMM Technical Committee for Multibody Dynamics, Library of Computational Benchmarks"


@register("two_bars", "Arm of two bars in absolute coordinates", DAE_NOTES)
def two_bars(
    m2: float = 2.0,
    m3: float = 1.0,
    d2: float = 1.0,
    d3: float = 0.8,
    a2: float = 0.5,
    a3: float = 0.4,
    J2: float = 1.0 / 6.0,
    J3: float = 0.16 / 3.0,
    g: float = 9.81,
    name: str = "two_bars",
) -> PlanarMechanism:
    """The arm of 004 in absolute coordinates: pins A and B, tool at C; numbers of `two_bar_arm`."""
    bar2 = {"A": (-a2, 0.0), "B": (d2 - a2, 0.0)}
    bar3 = {"B": (-a3, 0.0), "C": (d3 - a3, 0.0)}
    return (
        PlanarMechanism(name, gravity=(0.0, -g))
        .body("bar2", m2, J2, at=(a2, 0.0), points=bar2)
        .body("bar3", m3, J3, at=(d2 + a3, 0.0), points=bar3)
        .revolute("A", "ground", "bar2.A")
        .revolute("B", "bar2.B", "bar3.B")
    )


@register("four_bar_linkage", "Four-bar linkage, crank and rocker", "numbers chosen")
def four_bar(
    ground: float = 1.0,
    crank: float = 0.3,
    coupler: float = 0.9,
    rocker: float = 0.8,
    density: float = 2.0,
    start: float = 0.0,
) -> PlanarMechanism:
    """Uniform slender bars of `density` kg/m, the crank at the angle `start`, branch upwards."""
    mechanism = PlanarMechanism("four_bar_linkage").ground(D=(ground, 0.0))
    x, y = crank * np.cos(start), crank * np.sin(start)
    diagonal = np.hypot(ground - x, y)
    to_D = np.arctan2(-y, ground - x)
    bend = np.arccos((coupler**2 + diagonal**2 - rocker**2) / (2.0 * coupler * diagonal))
    c = np.array([x, y]) + coupler * np.array([np.cos(to_D + bend), np.sin(to_D + bend)])
    angles = (start, to_D + bend, float(np.arctan2(c[1], c[0] - ground)))
    starts = (np.zeros(2), np.array([x, y]), np.array([ground, 0.0]))
    ends = (("A", "B"), ("B", "C"), ("D", "C"))
    names = ("crank", "coupler", "rocker")
    lengths = (crank, coupler, rocker)
    for name, l, angle, at, (p, r) in zip(names, lengths, angles, starts, ends, strict=True):
        half = 0.5 * l * np.array([np.cos(angle), np.sin(angle)])
        points = {p: (-0.5 * l, 0.0), r: (0.5 * l, 0.0)}
        mechanism.body(name, density * l, density * l**3 / 12.0, at + half, angle, points)
    return (
        mechanism.revolute("A", "ground", "crank.A")
        .revolute("B", "crank.B", "coupler.B")
        .revolute("C", "coupler.C", "rocker.C")
        .revolute("D", "ground.D", "rocker.D")
    )


@register("slider_crank_engine", "Slider-crank of an engine", "numbers chosen")
def slider_crank(
    crank: float = 0.1,
    rod: float = 0.3,
    crank_mass: float = 1.0,
    rod_mass: float = 0.6,
    piston_mass: float = 0.8,
    start: float = pi / 3,
    g: float = 0.0,
) -> PlanarMechanism:
    """An engine along +x: uniform crank and connecting rod, piston on the x axis."""
    x, y = crank * np.cos(start), crank * np.sin(start)
    tilt = -float(np.arcsin(y / rod))
    end = x + rod * np.cos(tilt)
    ends = {"A": (-crank / 2, 0.0), "B": (crank / 2, 0.0)}
    rod_ends = {"B": (-rod / 2, 0.0), "P": (rod / 2, 0.0)}
    return (
        PlanarMechanism("slider_crank_engine", gravity=(0.0, -g))
        .body("crank", crank_mass, crank_mass * crank**2 / 12, (x / 2, y / 2), start, ends)
        .body("rod", rod_mass, rod_mass * rod**2 / 12, ((x + end) / 2, y / 2), tilt, rod_ends)
        .body("piston", piston_mass, 0.01 * piston_mass, (end, 0.0))
        .revolute("A", "ground", "crank.A")
        .revolute("B", "crank.B", "rod.B")
        .revolute("P", "rod.P", "piston")
        .prismatic("cylinder", "ground", "piston", direction=0.0)
    )


@register("cartesian_pendulum", "Pendulum in Cartesian coordinates", f"{IFTOMM}, A01")
def cartesian_pendulum() -> PlanarMechanism:
    """A01: a point of 1 kg on a massless rod of 1 m, from (−1, 0) at rest."""
    return (
        PlanarMechanism("cartesian_pendulum")
        .body("bob", 1.0, 1.0, at=(-1.0, 0.0))
        .distance("rod", "ground", "bob", length=1.0)
    )


@register("double_four_bar", "Four-bars through singular positions", f"{IFTOMM}, A02")
def double_four_bar(loops: int = 2, angle: float = pi / 2, speed: float = 1.0) -> PlanarMechanism:
    """A02: `loops` rhombic four-bars side by side, links of 1 m and 1 kg, B0 starting at `speed`.

    It is singular whenever all links lie on the x axis. `angle` is that of the cranks at the start.
    """
    mechanism = PlanarMechanism("double_four_bar")
    c, s = np.cos(angle), np.sin(angle)
    ends = {"A": (-0.5, 0.0), "B": (0.5, 0.0)}
    tip = speed * np.array([s, -c])  # the cranks turn clockwise
    for k in range(loops + 1):
        at, moving = (k + 0.5 * c, 0.5 * s), (*(0.5 * tip), -speed)
        mechanism.body(f"crank{k}", 1.0, 1.0 / 12.0, at, angle, ends, moving)
    for k in range(loops):
        at = (k + 0.5 + c, s)
        mechanism.body(f"link{k}", 1.0, 1.0 / 12.0, at, 0.0, ends, (*tip, 0.0))
    for k in range(loops + 1):
        mechanism.revolute(f"A{k}", ("ground", (float(k), 0.0)), f"crank{k}.A")
    for k in range(loops):
        mechanism.revolute(f"B{k}", f"crank{k}.B", f"link{k}.A")
        mechanism.revolute(f"C{k}", f"link{k}.B", f"crank{k + 1}.B")
    return mechanism


@register("hanging_chain", "Chain of equal rods", "numbers chosen")
def hanging_chain(bodies: int = 200, l: float = 0.1, m: float = 0.1) -> PlanarMechanism:
    """A chain of equal rods of l metres and m kg, let go from the horizontal."""
    mechanism = PlanarMechanism("hanging_chain")
    ends = {"A": (-0.5 * l, 0.0), "B": (0.5 * l, 0.0)}
    for k in range(bodies):
        mechanism.body(f"rod{k}", m, m * l * l / 12.0, at=((k + 0.5) * l, 0.0), points=ends)
    mechanism.revolute("pin0", "ground", "rod0.A")
    for k in range(1, bodies):
        mechanism.revolute(f"pin{k}", f"rod{k - 1}.B", f"rod{k}.A")
    return mechanism


DENSITY = 3000.0  # kg/m³
PIVOT = 0.05  # m from the axis
BALL = 5.0  # kg at the end of each rod


def flyball_governor(
    stiffness: float = 8e5,
    damping: float = 4e4,
    free: float = 0.5,
    slider: float = 0.5,
    angle: float = pi / 6,
    speed: float = 2.0 * pi,
) -> SpatialMechanism:
    """IFToMM benchmark A05: two rods on a turning shaft, held by springs to a slider.

    The slider starts at the height `slider`, m.

    The rods of 1 m stand `angle` below the horizontal, each with a point of 5 kg at its end; the
    springs go from their middles to the slider. Everything turns at `speed`, rad/s, at the start.
    """
    shaft, cube = _box(0.01, 0.01, 1.0), _box(0.1, 0.1, 0.1)
    turn = (0.0, 0.0, 0.0, 0.0, 0.0, speed)
    mechanism = (
        SpatialMechanism("flyball_governor")
        .body("shaft", *shaft, at=(0.0, 0.0, 0.5), velocity=turn)
        .body("slider", *cube, at=(0.0, 0.0, slider), velocity=turn)
        .revolute("base", "ground", "shaft", at=(0.0, 0.0, 0.0))
        .prismatic("sleeve", "shaft", "slider", at=(0.0, 0.0, slider))
    )
    # a rod with a ball at its end: centre from the pivot, and moments about it
    rod_mass, moments = _box(1.0, 0.01, 0.01)
    mass = rod_mass + BALL
    centre = (0.5 * rod_mass + BALL) / mass
    steiner = rod_mass * (0.5 - centre) ** 2 + BALL * (1.0 - centre) ** 2
    tensor = moments + steiner * np.array([0.0, 1.0, 1.0])
    for name, side in (("right", 1.0), ("left", -1.0)):
        x, z = side * (PIVOT + centre * cos(angle)), 1.0 - centre * sin(angle)
        e = np.array([side * cos(angle), 0.0, -sin(angle)])
        R = np.stack([e, np.array([0.0, side, 0.0]), np.cross(e, [0.0, side, 0.0])], axis=1)
        omega = R.T @ np.array([0.0, 0.0, speed])
        velocity = (0.0, speed * x, 0.0, *omega)
        mechanism.body(name, mass, tensor, at=(x, 0.0, z), rotation=R, velocity=velocity)
        pin = (side * PIVOT, 0.0, 1.0)
        mechanism.revolute(f"{name} pin", "shaft", name, at=pin, axis=(0.0, 1.0, 0.0))
        ends = ("slider", (side * PIVOT, 0.0, 0.0)), (name, (0.5 - centre, 0.0, 0.0))
        mechanism.spring(
            f"{name} spring", stiffness=stiffness, free=free, damping=damping, between=ends
        )
    return mechanism


def _box(*sides: float) -> tuple[float, np.ndarray]:
    """Mass and principal moments of a uniform box."""
    a = np.array(sides)
    mass = DENSITY * float(np.prod(a))
    return mass, mass * ((a**2).sum() - a**2) / 12.0
