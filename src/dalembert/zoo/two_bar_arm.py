"""Two bars with revolute joints A and B, gravity along −y: the arm of the DAE notes."""

from __future__ import annotations

from typing import Any

from dalembert.sources import DOCUMENTS
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Entry, diagonal, shift


def build(
    m2: Any = 2.0,
    m3: Any = 1.0,
    d2: Any = 1.0,
    d3: Any = 0.8,
    a2: Any = 0.5,
    a3: Any = 0.4,
    J2: Any = 1.0 / 6.0,
    J3: Any = 0.16 / 3.0,
    g: Any = 9.81,
) -> Robot:
    """Inverse dynamics of 004, p.1: bars 2 and 3, θ₃ relative to bar 2; a is joint to centroid.

    J_B = m₃a₃² + J₃, J_A = J_B + m₂a₂² + m₃d₂² + J₂ + 2m₃d₂a₃c₃, C = J_B + m₃d₂a₃c₃ and
    D = m₃d₂a₃s₃: T₂ = J_A θ̈₂ + C θ̈₃ − D θ̇₃² − 2D θ̇₂θ̇₃ + (m₂a₂ + m₃d₂) g c₂ + m₃a₃ g c₂₃. The tool
    is the point C at the end of bar 3. The defaults are uniform thin bars.
    """
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, -d2, 0.0, 0.0, 0.0, 1.0]],
        frames=[shift(x=a2), shift(x=d2 + a3)],
        inertias=[(m2, diagonal(0.0, J2, J2)), (m3, diagonal(0.0, J3, J3))],
        tool=shift(x=d2 + d3),
        names=["bar2", "bar3"],
        gravity=[0.0, -g, 0.0],
        name="two_bar_arm",
    )


ENTRY = Entry(
    name="two_bar_arm",
    title="Anthropomorphic arm of two bars, gravity in its plane",
    citation=f"{DOCUMENTS['004'].title}; uniform bars chosen",
    build=build,
)
