"""Two links in the plane, no gravity: the textbook's first robot."""

from __future__ import annotations

from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, Entry, diagonal, shift


def build(
    m1: Any = 1.0,
    m2: Any = 1.0,
    l1: Any = 1.0,
    l2: Any = 1.0,
    r1: Any = 0.5,
    r2: Any = 0.5,
    Iz1: Any = 1.0 / 12.0,
    Iz2: Any = 1.0 / 12.0,
) -> Robot:
    """M = [[α + 2β c₂, δ + β c₂], [δ + β c₂, δ]] (000 p.17–19); r is joint to mass centre.

    α = I_z1 + I_z2 + m₁r₁² + m₂(l₁² + r₂²), β = m₂ l₁ r₂, δ = I_z2 + m₂r₂². The defaults are
    uniform rods of 1 kg and 1 m; about their own axis they have no inertia.
    """
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, -l1, 0.0, 0.0, 0.0, 1.0]],
        frames=[shift(x=r1), shift(x=l1 + r2)],
        inertias=[(m1, diagonal(0.0, Iz1, Iz1)), (m2, diagonal(0.0, Iz2, Iz2))],
        tool=shift(x=l1 + l2),
        gravity=[0.0, 0.0, 0.0],
        name="planar_2r",
    )


ENTRY = Entry(
    name="planar_2r",
    title="Planar arm with two revolute joints, without gravity",
    citation=f"{LECTURE}, pp. 17-19; uniform rods",
    build=build,
)
