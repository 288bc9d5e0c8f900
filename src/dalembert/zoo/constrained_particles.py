"""Particles on a rod: the pendulum (000 p.57) and the spherical pendulum (000 p.73) in x, y, z."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints import Constrained, Holonomic
from dalembert.model.parameter import expression
from dalembert.systems.particles import Particles
from dalembert.zoo.entry import LECTURE, register


def _on_a_rod(coordinates: str, name: str, m: Any, l: Any, g: Any) -> Constrained:
    q = [tracing.symbol(x) for x in coordinates]
    down = [0.0] * (len(q) - 1) + [-g]
    far = float(getattr(l, "value", l))  # of a letter, its default
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
