"""A column that turns, a shoulder and an elbow; arm along +y at the reference posture."""

from __future__ import annotations

from typing import Any

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, Entry, diagonal, shift


def build(
    l0: Any = 0.6,
    l1: Any = 0.5,
    l2: Any = 0.4,
    r0: Any = 0.3,
    r1: Any = 0.25,
    r2: Any = 0.2,
    m1: Any = 8.0,
    m2: Any = 5.0,
    m3: Any = 3.0,
    Ix1: Any = 0.25,
    Iy1: Any = 0.25,
    Iz1: Any = 0.04,
    Ix2: Any = 0.11,
    Iy2: Any = 0.01,
    Iz2: Any = 0.105,
    Ix3: Any = 0.042,
    Iy3: Any = 0.004,
    Iz3: Any = 0.04,
    g: Any = 9.81,
) -> Robot:
    """The 3-DoF robot of 000 p.27–30 (lengths m, masses kg, moments kg m² about mass centres).

    The screws are ξ₂ = (0, −l₀, 0, −1, 0, 0) and ξ₃ = (0, −l₀, l₁, −1, 0, 0); p.27 prints the
    angular part (−1, 0, 1), a misprint. Masses and moments are those of solid bars, rounded.
    """
    return Robot.from_screws(
        screws=[
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [0.0, -l0, 0.0, -1.0, 0.0, 0.0],
            [0.0, -l0, l1, -1.0, 0.0, 0.0],
        ],
        frames=[shift(z=r0), shift(y=r1, z=l0), shift(y=l1 + r2, z=l0)],
        inertias=[
            (m1, diagonal(Ix1, Iy1, Iz1)),
            (m2, diagonal(Ix2, Iy2, Iz2)),
            (m3, diagonal(Ix3, Iy3, Iz3)),
        ],
        tool=shift(y=l1 + l2, z=l0),
        gravity=[0.0, 0.0, -g],
        name="elbow_3r",
    )


ENTRY = Entry(
    name="elbow_3r",
    title="Elbow arm with three revolute joints",
    citation=f"{LECTURE}, pp. 27-30; misprints corrected, masses chosen",
    build=build,
)
