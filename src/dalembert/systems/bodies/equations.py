"""Newton and Euler for one body at its centre of mass, and the forces on it: traceable functions.

    m p̈ = m g + F,    J ω̇ + ω × J ω = M,

F in world axes, ω, J and M in body axes (in the plane J φ̈ = M). Each is for one
body; `BodySet` goes through all of them, and `BodyUnits` calls them compiled, all bodies at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.systems.bodies.data import Body
from dalembert.systems.bodies.space import Space


def mass(space: Space, body: Body) -> Any:
    """M (nv, nv) of one body; it is constant."""
    n, turns = space.dimension, space.nv - space.dimension
    J = body.inertia if n == 3 else body.inertia * np.eye(1)
    above = np.concatenate([body.mass * np.eye(n), np.zeros((n, turns))], axis=1)
    return np.concatenate([above, np.concatenate([np.zeros((turns, n)), J], axis=1)])


def bias(space: Space, M: Any, gravity: Any, v: Any) -> Any:
    """(−m g, ω × J ω) (nv,)."""
    n = space.dimension
    weight = -M[0, 0] * gravity
    if n == 2:
        return np.concatenate([weight, 0.0 * v[:1]])
    omega = v[3:6]
    return np.concatenate([weight, np.cross(omega, M[3:6, 3:6] @ omega)])


def kinetic_energy(M: Any, v: Any) -> Any:
    """½ vᵀ M v."""
    return 0.5 * (v @ (M @ v))


def weight_energy(space: Space, M: Any, gravity: Any, q: Any) -> Any:
    """−m g·p, from the origin."""
    return -M[0, 0] * (gravity @ q[: space.dimension])


def load_force(space: Space, q: Any, numbers: Any) -> Any:
    """Generalised force (nv,) of a `Load` on its body."""
    n = space.dimension
    point, force, moment, follows = (
        numbers[:n],
        numbers[n : 2 * n],
        numbers[2 * n : -1],
        numbers[-1],
    )
    R = space.rotation(q)
    pull = follows * (R @ force) + (1.0 - follows) * force  # in the world
    if n == 2:
        arm = R @ point
        turning = arm[0] * pull[1] - arm[1] * pull[0] + moment[0]
        return np.concatenate([pull, np.stack([turning])])
    turning = follows * moment + (1.0 - follows) * (R.T @ moment)
    return np.concatenate([pull, np.cross(point, R.T @ pull) + turning])
