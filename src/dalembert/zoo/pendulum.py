"""A point mass on a massless rod, swinging in the x–y plane; θ = 0 hangs along −y."""

from __future__ import annotations

from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, Entry, diagonal, shift


def build(m: Any = 1.0, l: Any = 1.0, g: Any = 9.81) -> Robot:
    """x = l sin θ, y = −l cos θ: m l² θ̈ + m g l sin θ = τ (000 p.9). m in kg, l in m."""
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]],
        frames=[shift(y=-l)],
        inertias=[(m, diagonal(0.0, 0.0, 0.0))],
        tool=shift(y=-l),
        gravity=[0.0, -g, 0.0],
        name="pendulum",
    )


ENTRY = Entry(
    name="pendulum",
    title="Pendulum: a point mass on a massless rod",
    citation=f"{LECTURE}, p. 9; unit mass and length",
    build=build,
)
