"""A particle in the vertical plane: the first example of Lagrange's equations."""

from __future__ import annotations

from typing import Any

from dalembert import bridge
from dalembert.systems.particles import Particles
from dalembert.zoo.entry import LECTURE, Entry


def build(m: Any = 1.0, g: Any = 9.81) -> Particles:
    """m ẍ = F_x and m ÿ = F_y − m g (000 p.7); m in kg, y upward."""
    q = [bridge.symbol("x"), bridge.symbol("y")]
    return Particles([m], [q], q, gravity=[0.0, -g], name="particle")


ENTRY = Entry(
    name="particle",
    title="Particle in the vertical plane",
    citation=f"{LECTURE}, p. 7; unit mass",
    build=build,
)
