"""Symplectic Euler: q̇ by the acceleration here, then q by the new velocity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.simulation.methods.method import FixedMethod, OneStep, Torque

if TYPE_CHECKING:
    from dalembert.simulation.flow import Flow


def semi_implicit(flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
    """x ⊞ h k, k the slope here with its velocity replaced by q̇ + h q̈."""
    nv, nq, still = flow.plant.nv, flow.plant.nq, np.zeros(flow.plant.flat)
    k = flow.slope(x, still, t, torque(0.0, x, still))
    faster = x[nq : nq + nv] + h * k[nv : 2 * nv]
    return flow.moved(x, h * np.concatenate([faster, k[nv:]]))


METHODS = (
    FixedMethod(
        "semi_implicit",
        1,
        "symplectic Euler (de Vogelaere 1956)",
        lambda plant: OneStep(semi_implicit),
    ),
)
