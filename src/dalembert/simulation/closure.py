"""Back to the constraints: the state nearest to one that a step has brought a little off them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dalembert.simulation.plant import Plant


def on_constraints(plant: Plant, x: Any, t: Any, given: Mapping[str, Any]) -> Any:
    """The state nearest to x, in the metric M, at which h = 0 and A q̇ = b."""
    if plant.closed is None:
        return x
    q, qd, z, energy = plant.parts(x)
    bare, *_ = plant.bound(given.get("parameters"))
    closed = plant.rows(bare, given.get("parameters"))
    q, qd = closed.project(q, qd, t)
    return np.concatenate([q, qd, z, energy])
