"""Three vertical revolute joints, then a vertical prismatic one; arm along +y at the reference."""

from __future__ import annotations

from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Entry, diagonal, shift


def build(
    l0: Any = 0.387,
    l1: Any = 0.325,
    l2: Any = 0.275,
    r1: Any = 0.1625,
    r2: Any = 0.1375,
    m1: Any = 6.0,
    m2: Any = 5.0,
    m3: Any = 1.0,
    m4: Any = 1.5,
    Iz1: Any = 0.06,
    Iz2: Any = 0.04,
    Iz3: Any = 0.001,
    Iz4: Any = 0.002,
    g: Any = 9.81,
) -> Robot:
    """M = [[α + β + 2γ c₂, β + γ c₂, δ, 0], [·, β, δ, 0], [·, ·, δ, 0], [·, ·, ·, m₄]].

    α = I_z1 + r₁²m₁ + l₁²(m₂ + m₃ + m₄), β = I_z2 + I_z3 + I_z4 + l₂²(m₃ + m₄) + m₂r₂²,
    γ = l₁l₂(m₃ + m₄) + l₁m₂r₂, δ = I_z3 + I_z4. Only moments about the vertical matter; the
    other two are set equal to them. Lengths are those of an Adept Cobra 600, masses and
    moments are chosen.
    """
    vertical = [0.0, 0.0, 1.0]
    moments = ((m1, Iz1), (m2, Iz2), (m3, Iz3), (m4, Iz4))
    return Robot.from_screws(
        screws=[
            [0.0, 0.0, 0.0, *vertical],
            [l1, 0.0, 0.0, *vertical],
            [l1 + l2, 0.0, 0.0, *vertical],
            [*vertical, 0.0, 0.0, 0.0],
        ],
        frames=[shift(0.0, y, l0) for y in (r1, l1 + r2, l1 + l2, l1 + l2)],
        inertias=[(m, diagonal(Iz, Iz, Iz)) for m, Iz in moments],
        tool=shift(0.0, l1 + l2, l0),
        gravity=[0.0, 0.0, -g],
        name="scara",
    )


ENTRY = Entry(
    name="scara",
    title="SCARA arm: three revolute joints and a prismatic one, all vertical",
    citation=(
        "Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation (1994), ch. 4; "
        "lengths of the Adept Cobra 600, masses chosen"
    ),
    build=build,
)
