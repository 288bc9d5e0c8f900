"""Back to the constraints: the state nearest to one that a step has brought a little off them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.projection import metric, project_velocity

if TYPE_CHECKING:
    from dalembert.simulation.plant import Plant

# from the error of a step to rounding: Newton's method squares it
NEWTON_STEPS = 2


def on_constraints(plant: Plant, x: Any, t: Any, given: Mapping[str, Any]) -> Any:
    """The state nearest to x, in the metric M, at which h = 0 and A q̇ = b."""
    if plant.closed is None:
        return x
    q, qd, z, energy = plant.parts(x)
    bare, *_ = plant.bound(given.get("parameters"))
    closed = plant.rows(bare, given.get("parameters"))
    for _ in range(NEWTON_STEPS if closed.held else 0):
        q = bare.integrate(q, _back(closed, q, t))
    return np.concatenate([q, project_velocity(closed, q, qd, t), z, energy])


def _back(closed: ConstrainedDynamics, q: Any, t: Any) -> Any:
    """The step −M⁻¹Aᵀ (A M⁻¹ Aᵀ)⁺ h (nv,) of the rows that hold positions."""
    found = closed.at(q, None, t)
    A = found.A[list(closed.positions)]
    maps = metric(closed, closed.dynamics.mass_matrix(q), A)
    excess, _ = maps.flat(found.h)
    return -(maps.A_sharp.T @ excess)
