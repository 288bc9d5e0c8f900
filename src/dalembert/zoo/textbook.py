"""Textbook arms, which take their lengths, masses and moments as arguments."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.parameter import Number
from dalembert.references import DOCUMENTS
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import LECTURE, register, shift, symmetric


@register(
    "pendulum", "Pendulum: a point mass on a massless rod", f"{LECTURE}, p. 9; unit mass and length"
)
def pendulum(m: Number = 1.0, l: Number = 1.0, g: Number = 9.81) -> Robot:
    """A point mass on a massless rod, swinging in the x–y plane; θ = 0 hangs along −y.

    x = l sin θ, y = −l cos θ: m l² θ̈ + m g l sin θ = τ (000 p.9). m in kg, l in m.
    """
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]],
        frames=[shift(y=-l)],
        inertias=[(m, symmetric(0.0, 0.0, 0.0))],
        tool=shift(y=-l),
        gravity=[0.0, -g, 0.0],
        name="pendulum",
    )


@register(
    "planar_2r",
    "Planar arm with two revolute joints, without gravity",
    f"{LECTURE}, pp. 17-19; uniform rods",
)
def planar_2r(
    m1: Number = 1.0,
    m2: Number = 1.0,
    l1: Number = 1.0,
    l2: Number = 1.0,
    r1: Number = 0.5,
    r2: Number = 0.5,
    Iz1: Number = 1.0 / 12.0,
    Iz2: Number = 1.0 / 12.0,
) -> Robot:
    """Two links in the plane, no gravity: the textbook's first robot.

    M = [[α + 2β c₂, δ + β c₂], [δ + β c₂, δ]] (000 p.17–19); r is joint to mass centre.

    α = I_z1 + I_z2 + m₁r₁² + m₂(l₁² + r₂²), β = m₂ l₁ r₂, δ = I_z2 + m₂r₂². The defaults are
    uniform rods of 1 kg and 1 m; about their own axis they have no inertia.
    """
    masses, moments = (m1, m2), (Iz1, Iz2)
    return _two_links("planar_2r", masses, (l1, l2), (r1, r2), moments, [0.0, 0.0, 0.0])


def _two_links(
    name: str,
    m: Sequence[Number],
    l: Sequence[Number],
    r: Sequence[Number],
    I: Sequence[Number],
    gravity: Sequence[Number],
    links: Sequence[str] | None = None,
) -> Robot:
    """Two revolute joints about z: lengths l, mass centres r from the joints, thin links."""
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, -l[0], 0.0, 0.0, 0.0, 1.0]],
        frames=[shift(x=r[0]), shift(x=l[0] + r[1])],
        inertias=[
            (mass, symmetric(0.0, moment, moment)) for mass, moment in zip(m, I, strict=True)
        ],
        tool=shift(x=l[0] + l[1]),
        names=links,
        gravity=gravity,
        name=name,
    )


@register(
    "elbow_3r",
    "Elbow arm with three revolute joints",
    f"{LECTURE}, pp. 27-30; misprints corrected, masses chosen",
)
def elbow_3r(
    l0: Number = 0.6,
    l1: Number = 0.5,
    l2: Number = 0.4,
    r0: Number = 0.3,
    r1: Number = 0.25,
    r2: Number = 0.2,
    m1: Number = 8.0,
    m2: Number = 5.0,
    m3: Number = 3.0,
    Ix1: Number = 0.25,
    Iy1: Number = 0.25,
    Iz1: Number = 0.04,
    Ix2: Number = 0.11,
    Iy2: Number = 0.01,
    Iz2: Number = 0.105,
    Ix3: Number = 0.042,
    Iy3: Number = 0.004,
    Iz3: Number = 0.04,
    g: Number = 9.81,
) -> Robot:
    """A column that turns, a shoulder and an elbow; arm along +y at the reference posture.

    The 3-DoF robot of 000 p.27–30 (lengths m, masses kg, moments kg m² about mass centres).

    The screws are ξ₂ = (0, −l₀, 0, −1, 0, 0) and ξ₃ = (0, −l₀, l₁, −1, 0, 0); p.27 prints the
    angular part (−1, 0, 1), a misprint. Masses and moments are those of solid bars, rounded.
    """
    across = [-1.0, 0.0, 0.0]
    bodies = ((m1, (Ix1, Iy1, Iz1)), (m2, (Ix2, Iy2, Iz2)), (m3, (Ix3, Iy3, Iz3)))
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, -l0, 0.0, *across], [0.0, -l0, l1, *across]],
        frames=[shift(z=r0), shift(y=r1, z=l0), shift(y=l1 + r2, z=l0)],
        inertias=[(m, symmetric(*moments)) for m, moments in bodies],
        tool=shift(y=l1 + l2, z=l0),
        gravity=[0.0, 0.0, -g],
        name="elbow_3r",
    )


@register(
    "rp",
    "Planar arm with a revolute and a prismatic joint",
    f"{DOCUMENTS['003'].title}, the RP arm; masses chosen",
)
def rp(
    m1: Number = 2.0,
    m2: Number = 1.0,
    l1: Number = 0.4,
    Izz1: Number = 0.03,
    Izz2: Number = 0.01,
    g: Number = 9.81,
) -> Robot:
    """A revolute joint that carries a prismatic one along its arm; gravity along −y.

    M = diag(m₁l₁² + I_zz1 + m₂d₂² + I_zz2, m₂) (003, the RP arm).

    The centres lie at l₁ and d₂ along the arm; d₂ is the second coordinate.
    G = ((m₁l₁ + m₂d₂) g c₁, m₂ g s₁). The links are thin along the arm.
    """
    return Robot.from_screws(
        screws=[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
        frames=[shift(x=l1), shift()],
        inertias=[(m1, symmetric(0.0, Izz1, Izz1)), (m2, symmetric(0.0, Izz2, Izz2))],
        tool=shift(),
        gravity=[0.0, -g, 0.0],
        name="rp",
    )


@register(
    "two_bar_arm",
    "Anthropomorphic arm of two bars, gravity in its plane",
    f"{DOCUMENTS['004'].title}; uniform bars chosen",
)
def two_bar_arm(
    m2: Number = 2.0,
    m3: Number = 1.0,
    d2: Number = 1.0,
    d3: Number = 0.8,
    a2: Number = 0.5,
    a3: Number = 0.4,
    J2: Number = 1.0 / 6.0,
    J3: Number = 0.16 / 3.0,
    g: Number = 9.81,
) -> Robot:
    """Two bars with revolute joints A and B, gravity along −y: the arm of the DAE notes.

    Inverse dynamics of 004, p.1: bars 2 and 3, θ₃ relative to bar 2; a is joint to centroid.

    J_B = m₃a₃² + J₃, J_A = J_B + m₂a₂² + m₃d₂² + J₂ + 2m₃d₂a₃c₃, C = J_B + m₃d₂a₃c₃ and
    D = m₃d₂a₃s₃: T₂ = J_A θ̈₂ + C θ̈₃ − D θ̇₃² − 2D θ̇₂θ̇₃ + (m₂a₂ + m₃d₂) g c₂ + m₃a₃ g c₂₃. The tool
    is the point C at the end of bar 3. The defaults are uniform thin bars.
    """
    masses, centres, names = (m2, m3), (a2, a3), ["bar2", "bar3"]
    down = [0.0, -g, 0.0]
    return _two_links("two_bar_arm", masses, (d2, d3), centres, (J2, J3), down, names)


@register(
    "scara",
    "SCARA arm: three revolute joints and a prismatic one, all vertical",
    "Murray, Li, Sastry, A Mathematical Introduction to Robotic Manipulation (1994), ch. 4; "
    "lengths of the Adept Cobra 600, masses chosen",
)
def scara(
    l0: Number = 0.387,
    l1: Number = 0.325,
    l2: Number = 0.275,
    r1: Number = 0.1625,
    r2: Number = 0.1375,
    m1: Number = 6.0,
    m2: Number = 5.0,
    m3: Number = 1.0,
    m4: Number = 1.5,
    Iz1: Number = 0.06,
    Iz2: Number = 0.04,
    Iz3: Number = 0.001,
    Iz4: Number = 0.002,
    g: Number = 9.81,
) -> Robot:
    """Three vertical revolute joints, then a vertical prismatic one; arm along +y at the reference.

    M = [[α + β + 2γ c₂, β + γ c₂, δ, 0], [·, β, δ, 0], [·, ·, δ, 0], [·, ·, ·, m₄]].

    α = I_z1 + r₁²m₁ + l₁²(m₂ + m₃ + m₄), β = I_z2 + I_z3 + I_z4 + l₂²(m₃ + m₄) + m₂r₂²,
    γ = l₁l₂(m₃ + m₄) + l₁m₂r₂, δ = I_z3 + I_z4. Only moments about the vertical matter; the
    other two are set equal to them. Lengths are those of an Adept Cobra 600, masses and
    moments are chosen.
    """
    vertical = [0.0, 0.0, 1.0]
    moments = ((m1, Iz1), (m2, Iz2), (m3, Iz3), (m4, Iz4))
    return Robot.from_screws(
        screws=[
            *([x, 0.0, 0.0, *vertical] for x in (0.0, l1, l1 + l2)),
            [*vertical, 0.0, 0.0, 0.0],
        ],
        frames=[shift(0.0, y, l0) for y in (r1, l1 + r2, l1 + l2, l1 + l2)],
        inertias=[(m, symmetric(Iz, Iz, Iz)) for m, Iz in moments],
        tool=shift(0.0, l1 + l2, l0),
        gravity=[0.0, 0.0, -g],
        name="scara",
    )
