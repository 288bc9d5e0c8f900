"""Which forces of a robot's own actuators give a motion of the closed chain (000 p.80–81).

Bᵀ f = M q̈ + C q̇ + N − ψ + Aᵀλ with the moment arms B(q) of the actuators: joints that none of them
moves are passive. Where there are more of them than the motion needs, Σ w f² is least, or λ comes as
near as they can bring it to a wanted one, which is a choice of the internal forces.
"""

from __future__ import annotations

from typing import Any

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.inverse import asked, driven
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.linalg.entries import flagged


def required_efforts(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    effort_weights: Any = None,
    lam: Any = None,
    t: Any = None,
    tip_wrench: Any = None,
) -> tuple[Any, Any]:
    """(f (nu,), λ (rows,)); NaN where the actuators cannot give this motion."""
    B = system.dynamics.at_time(t).compute("transmission", q=q)
    wanted = asked(system, q, qd, qdd, t, tip_wrench)
    f, found, ok = driven(system, wanted, B.T, effort_weights, lam)
    return flagged(ok, f, found)


REQUIRED = Quantity(
    "required_efforts",
    "forces of the actuators that give a motion, and what the constraints then carry",
    ("q", "qd", "qdd"),
    {"f": ("nu",), "lam": ("rows",)},
    (Formulation("direct", required_efforts, "000 p.80–81", "P_ω Bᵀ f = P_ω τ, of least norm"),),
    optional=("effort_weights", "lam", "t", "tip_wrench"),
    inverts_mass=True,
)
