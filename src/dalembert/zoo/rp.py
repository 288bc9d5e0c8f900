"""A revolute joint that carries a prismatic one along its arm; gravity along −y."""

from __future__ import annotations

from typing import Any

from dalembert.sources import DOCUMENTS
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Entry, diagonal, shift


def build(
    m1: Any = 2.0,
    m2: Any = 1.0,
    l1: Any = 0.4,
    Izz1: Any = 0.03,
    Izz2: Any = 0.01,
    g: Any = 9.81,
) -> Robot:
    """M = diag(m₁l₁² + I_zz1 + m₂d₂² + I_zz2, m₂) (003, the RP arm).

    The centres lie at l₁ and d₂ along the arm; d₂ is the second coordinate.
    G = ((m₁l₁ + m₂d₂) g c₁, m₂ g s₁). The links are thin along the arm.
    """
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
        frames=[shift(x=l1), shift()],
        inertias=[(m1, diagonal(0.0, Izz1, Izz1)), (m2, diagonal(0.0, Izz2, Izz2))],
        tool=shift(),
        gravity=[0.0, -g, 0.0],
        name="rp",
    )


ENTRY = Entry(
    name="rp",
    title="Planar arm with a revolute and a prismatic joint",
    citation=f"{DOCUMENTS['003'].title}, the RP arm; masses chosen",
    build=build,
)
