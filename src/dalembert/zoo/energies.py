"""Systems that are no robots: given by their energies."""

from __future__ import annotations

import numpy as np

from dalembert import tracing
from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.model.parameter import Number, expression
from dalembert.systems.lagrangian import Lagrangian
from dalembert.systems.particles import Particles
from dalembert.zoo.entry import LECTURE, register


@register("particle", "Particle in the vertical plane", f"{LECTURE}, p. 7; unit mass")
def particle(m: Number = 1.0, g: Number = 9.81) -> Particles:
    """A particle in the vertical plane: the first example of Lagrange's equations.

    m ẍ = F_x and m ÿ = F_y − m g (000 p.7); m in kg, y upward.
    """
    q = [tracing.symbol("x"), tracing.symbol("y")]
    return Particles([m], [q], q, gravity=[0.0, -g], name="particle")


CHARTS = {"polar": ("theta", "phi"), "latitude": ("mu", "nu"), "cartesian": ("x", "y")}


@register(
    "spherical_pendulum",
    "Spherical pendulum: a point mass on a massless rod, in three charts",
    f"{LECTURE}, pp. 10-11 and 74; unit mass and length",
)
def spherical_pendulum(
    m: Number = 1.0, l: Number = 1.0, g: Number = 9.81, chart: str = "polar"
) -> Lagrangian:
    """A point mass on a massless rod that swings in all directions, in three charts of the sphere.

    The bob at r(q), |r| = l, gravity along −z; m in kg, l in m.

    ``"polar"``: r = l (sin θ cos φ, sin θ sin φ, −cos θ), θ from the lowest point (000 p.10);
    ``"latitude"``: r = l (cos μ cos ν, cos μ sin ν, sin μ) (000 p.74); both are singular at the
    lowest point. ``"cartesian"``: r = (x, y, −√(l² − x² − y²)), the lower half, regular there.
    """
    if chart not in CHARTS:
        raise UnknownNameError(f"there is no chart {chart!r}{suggest(chart, list(CHARTS))}")
    m, l, g = map(expression, (m, l, g))
    a, b = q = [tracing.symbol(name) for name in CHARTS[chart]]
    va, vb = qd = [tracing.symbol(f"{name}_dot") for name in CHARTS[chart]]
    if chart == "cartesian":
        # z = −√(l² − x² − y²), so z ż = −(x ẋ + y ẏ)
        z2 = l * l - a * a - b * b
        kinetic = m * ((va * va + vb * vb + (a * va + b * vb) ** 2 / z2) / 2)
        potential = -(m * g * np.sqrt(z2))
    else:
        turn = np.sin(a) if chart == "polar" else np.cos(a)
        height = -np.cos(a) if chart == "polar" else np.sin(a)
        kinetic = m * l * l * ((va * va + turn * turn * vb * vb) / 2)
        potential = m * g * l * height
    return Lagrangian(q, kinetic, potential, qd=qd, name="spherical_pendulum")
