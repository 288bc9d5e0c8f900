"""Steps on the manifolds of joints: spherical and free ones turn on a group, not in a chart.

Munthe-Kaas (1998): with g = g₀ exp(Ω) and the body velocity V, Ω̇ = dexp⁻¹_{−Ω} V
= V + ½ [Ω, V] + 1/12 [Ω, [Ω, V]] + O(Ω⁴). The next Bernoulli number is zero, so that the terms
kept here carry any explicit method up to order four.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import JointInfo, Model
from dalembert.spatial import se3


def turning(description: Any) -> list[JointInfo]:
    """The joints whose configuration is not a vector: their q ends in a quaternion."""
    if not isinstance(description, Model):
        return []
    return [j for j in description.joints if j.q.stop - j.q.start != j.v.stop - j.v.start]


def dexp_inverse(description: Any, step: Any, velocity: Any) -> Any:
    """Ω̇ (nv,) for Ω = `step` (nv,), joint by joint; the velocity itself for plain coordinates."""
    groups = turning(description)
    if not groups:
        return velocity
    starts = {joint.v.start: joint.v for joint in groups}
    rates, k = [], 0
    while k < velocity.shape[0]:
        own = starts.get(k, slice(k, k + 1))
        v = velocity[own]
        rates.append(_pulled_back(step[own], v) if k in starts else v)
        k = own.stop
    return np.concatenate(rates)


def _pulled_back(omega: Any, V: Any) -> Any:
    bracket = np.cross if V.shape[0] == 3 else se3.bracket
    once = bracket(omega, V)
    return V + 0.5 * once + bracket(omega, once) / 12.0


def normalised(description: Any, q: np.ndarray) -> np.ndarray:
    """q (..., nq) with quaternions of unit length."""
    groups = turning(description)
    if not groups:
        return q
    q = np.array(q, dtype=float)
    for joint in groups:
        turn = slice(joint.q.stop - 4, joint.q.stop)
        q[..., turn] /= np.linalg.norm(q[..., turn], axis=-1, keepdims=True)
    return q
