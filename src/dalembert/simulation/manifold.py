"""Steps on the manifolds of joints: spherical and free ones turn on a group, not in a chart.

Munthe-Kaas (1998): with g = g₀ exp(Ω) and the body velocity V, Ω̇ = dexp⁻¹_{−Ω} V
= V + ½ [Ω, V] + 1/12 [Ω, [Ω, V]] + O(Ω⁴). The next Bernoulli number is zero, so that the terms
kept here carry any explicit method up to order four.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Model
from dalembert.spatial import se3


def dexp_inverse(description: Any, step: Any, velocity: Any) -> Any:
    """Ω̇ (nv,) for Ω = `step` (nv,), joint by joint; the velocity itself for plain coordinates."""
    if not curved(description):
        return velocity
    rates = [
        velocity[body.v]
        if body.chart.nq == body.chart.nv
        else _pulled_back(step[body.v], velocity[body.v])
        for body in description.bodies
    ]
    return np.concatenate(rates)


def curved(description: Any) -> bool:
    """Whether any joint's configuration is not a vector."""
    return isinstance(description, Model) and any(
        body.chart.nq != body.chart.nv for body in description.bodies
    )


def _pulled_back(omega: Any, V: Any) -> Any:
    bracket = np.cross if V.shape[0] == 3 else se3.bracket
    once = bracket(omega, V)
    return V + 0.5 * once + bracket(omega, once) / 12.0


def normalised(description: Any, q: np.ndarray) -> np.ndarray:
    """q (..., nq) with quaternions of unit length."""
    if not curved(description):
        return q
    q = np.array(q, dtype=float)
    for body in description.bodies:
        if body.chart.nq != body.chart.nv:
            turn = slice(body.q.stop - 4, body.q.stop)
            q[..., turn] /= np.linalg.norm(q[..., turn], axis=-1, keepdims=True)
    return q
