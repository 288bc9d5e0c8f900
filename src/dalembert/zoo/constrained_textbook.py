"""Particles on a rod: the pendulum (000 p.57) and the spherical pendulum (000 p.73) in x, y, z."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints import Constrained, Holonomic, Pfaffian
from dalembert.model.parameter import expression
from dalembert.systems.lagrangian import Lagrangian
from dalembert.systems.particles import Particles
from dalembert.zoo.entry import LECTURE, register


def _on_a_rod(coordinates: str, name: str, m: Any, l: Any, g: Any) -> Constrained:
    q = [tracing.symbol(x) for x in coordinates]
    down = [0.0] * (len(q) - 1) + [-g]
    far = float(getattr(l, "value", l))  # of a parameter, its default
    particle = Particles([m], [q], q, gravity=down, name=name)
    rod = Holonomic(partial(_off_the_sphere, l), name="rod")
    return Constrained(particle, [rod], guess=np.eye(len(q))[-1] * -far)


def _off_the_sphere(l: Any, q: Any) -> Any:
    """h = ½ (|q|² − l²), so that A = qᵀ and the tension is λ l."""
    return 0.5 * (q @ q - expression(l * l))


@register("pendulum_constrained", "Pendulum as a particle held by a rod", f"{LECTURE}, p. 57")
def build_pendulum(m: float = 1.0, l: float = 1.0, g: float = 9.81) -> Constrained:
    """m ẍ + x λ = 0, m ÿ + m g + y λ = 0, x² + y² = l²: λ = (m/l²)(ẋ² + ẏ² − g y)."""
    return _on_a_rod("xy", "pendulum_constrained", m, l, g)


@register(
    "spherical_pendulum_constrained",
    "Spherical pendulum as a particle held by a rod",
    f"{LECTURE}, pp. 73-74",
)
def build_spherical(m: float = 1.0, r: float = 1.0, g: float = 9.81) -> Constrained:
    """A particle on a sphere of radius r; P_ω = 1 − q qᵀ/r²."""
    return _on_a_rod("xyz", "spherical_pendulum_constrained", m, r, g)


def _symbols(*names: str) -> tuple[list[Any], list[Any]]:
    return [tracing.symbol(n) for n in names], [tracing.symbol(f"{n}_dot") for n in names]


@register("rolling_disk", "Disk rolling upright", f"{LECTURE}, pp. 61-62")
def build_disk(
    m: float = 1.0,
    I1: float = 0.25,
    I2: float = 0.5,
    rho: float = 1.0,
    g: float = 9.81,
    leaning: bool = False,
) -> Constrained:
    """A disk that stays upright: ẋ = ρ cos θ φ̇, ẏ = ρ sin θ φ̇; I₁ about the vertical, I₂ the axle.

    A `leaning` one falls: it leans by α to the left of its heading θ, I₁ about every diameter, and
    (x, y) is the contact (Neimark and Fufaev 1972). Straight rolling is stable where I₂ (I₂ + m ρ²)
    φ̇² > m g ρ I₁: φ̇² > g/3ρ for a thin disk, g/4ρ for a hoop.
    """
    q, qd = _symbols("x", "y", "theta", "phi", *(["alpha"] if leaning else []))
    rolling = Pfaffian(partial(_rolling, rho), name="rolling")
    if not leaning:
        T = 0.5 * m * (qd[0] ** 2 + qd[1] ** 2) + 0.5 * I1 * qd[2] ** 2 + 0.5 * I2 * qd[3] ** 2
        disk = Lagrangian(q, T, qd=qd, name="rolling_disk")
        return Constrained(disk, [rolling], independent=("theta", "phi"))
    m, I1, I2, rho, g = map(expression, (m, I1, I2, rho, g))
    c, s, C, S = np.cos(q[2]), np.sin(q[2]), np.cos(q[4]), np.sin(q[4])
    # along the heading, to the left of it, and up; the contact moves by ρ φ̇ along the heading
    along = c * qd[0] + s * qd[1] - rho * S * qd[2]
    left = c * qd[1] - s * qd[0] + rho * C * qd[4]
    T = 0.5 * m * (along**2 + left**2 + (rho * S * qd[4]) ** 2)
    T += 0.5 * I1 * (qd[4] ** 2 + (C * qd[2]) ** 2) + 0.5 * I2 * (qd[3] - S * qd[2]) ** 2
    disk = Lagrangian(q, T, m * g * rho * C, qd=qd, name="leaning_disk")
    return Constrained(disk, [rolling], independent=("theta", "phi", "alpha"))


def _rolling(rho: Any, q: Any) -> Any:
    """ẋ − ρ cos θ φ̇ = 0 and ẏ − ρ sin θ φ̇ = 0."""
    c, s, rest = (
        expression(rho) * np.cos(q[2]),
        expression(rho) * np.sin(q[2]),
        [0.0] * (len(q) - 4),
    )
    return np.stack([np.stack([1.0, 0.0, 0.0, -c, *rest]), np.stack([0.0, 1.0, 0.0, -s, *rest])])


@register(
    "knife_edge",
    "Knife edge on a slope",
    "Bloch, Nonholonomic Mechanics and Control (2003), section 1.6",
)
def build_knife(
    m: float = 1.0, J: float = 0.2, g: float = 9.81, slope: float = np.pi / 6
) -> Constrained:
    """A blade on a slope falling along x: it slides along its heading φ only (Bloch 2003, §1.6)."""
    q, qd = _symbols("x", "y", "phi")
    T = 0.5 * m * (qd[0] ** 2 + qd[1] ** 2) + 0.5 * J * qd[2] ** 2
    blade = Lagrangian(q, T, -m * g * np.sin(slope) * q[0], qd=qd, name="knife_edge")
    return Constrained(blade, [Pfaffian(_sideways, name="blade")])


def _sideways(q: Any) -> Any:
    """−sin θ ẋ + cos θ ẏ = 0: no motion across the heading, the third coordinate."""
    return np.stack([np.stack([-np.sin(q[2]), np.cos(q[2]), 0.0])])


@register(
    "chaplygin_sleigh",
    "Chaplygin's sleigh",
    "Bloch, Nonholonomic Mechanics and Control (2003), section 1.7",
)
def build_sleigh(m: float = 1.0, I: float = 0.3, a: float = 0.5) -> Constrained:
    """A blade under a platform whose centre is a ahead of it: v̇ = a ω², (I + m a²) ω̇ = −m a v ω.

    (x, y) is the blade. v = V tanh κt and ω = V √(m/(I + m a²)) sech κt with κ = m a V/(I + m a²).
    """
    q, qd = _symbols("x", "y", "theta")
    m, I, a = map(expression, (m, I, a))
    forward = [np.cos(q[2]), np.sin(q[2])]
    centre = [qd[0] - a * forward[1] * qd[2], qd[1] + a * forward[0] * qd[2]]
    T = 0.5 * m * (centre[0] ** 2 + centre[1] ** 2) + 0.5 * I * qd[2] ** 2
    platform = Lagrangian(q, T, qd=qd, name="chaplygin_sleigh")
    return Constrained(platform, [Pfaffian(_sideways, name="blade")])


@register("snakeboard", "Snakeboard", "Ostrowski, Lewis, Murray and Burdick, ICRA 1994")
def build_snakeboard(
    m: float = 6.0,
    J: float = 0.016,
    J_rotor: float = 0.072,
    J_wheel: float = 0.0013,
    l: float = 0.2,
) -> Constrained:
    """A board whose wheel axles turn by φ_b, φ_f and whose rider turns a rotor by ψ."""
    q, qd = _symbols("x", "y", "theta", "psi", "phi_b", "phi_f")
    m, J, J_rotor, J_wheel = map(expression, (m, J, J_rotor, J_wheel))
    T = 0.5 * m * (qd[0] ** 2 + qd[1] ** 2) + 0.5 * J * qd[2] ** 2
    T += 0.5 * J_rotor * (qd[2] + qd[3]) ** 2
    T += 0.5 * J_wheel * ((qd[2] + qd[4]) ** 2 + (qd[2] + qd[5]) ** 2)
    board = Lagrangian(q, T, qd=qd, name="snakeboard")
    ends = {"back": (4, -1.0), "front": (5, 1.0)}
    wheels = [Pfaffian(partial(_axle, l, *end), name=name) for name, end in ends.items()]
    return Constrained(board, wheels, guess=[0.0, 0.0, 0.0, 0.0, 0.4, -0.3])


def _axle(l: Any, angle: int, side: float, q: Any) -> Any:
    """No motion across wheels that are turned by q[angle], `side` · l ahead of the centre."""
    heading = q[2] + q[angle]
    turning = side * expression(l) * np.cos(q[angle])
    return np.stack([np.stack([-np.sin(heading), np.cos(heading), turning, 0.0, 0.0, 0.0])])
