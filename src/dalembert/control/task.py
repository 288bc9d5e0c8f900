"""Coordinates of a constrained motion: θ(q) or u = U(q) q̇, and the q̈ that a wish for them means.

With A q̇ = b, the rows Θ q̇ = θ̇ and A q̇ = b together determine q̇, and so
[Θ; A] q̈ = [θ̈ − Θ̇ q̇; γ] gives q̈ = J θ̈ + J̇ θ̇ + … of 000 p.75 without a parametrisation ψ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints import Constrained
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.posture import index
from dalembert.errors import ShapeError
from dalembert.linalg.entries import flagged
from dalembert.linalg.row_space import row_space

Coordinates = Sequence[str] | Callable[[Any], Any]


class Task(NamedTuple):
    """Task coordinates at a state."""

    value: Any  # θ (m,), or u where only velocities are given
    rate: Any  # θ̇ = Θ q̇ (m,), or nothing more than u
    matrix: Any  # Θ (m, nv)
    drift: Any  # Θ̇ q̇ (m,)


def chosen(system: Constrained, coordinates: Coordinates) -> Callable[[Any], Any]:
    """θ as a function of q, from names of coordinates or as given.

    Contact coordinates of a system are named with their contact, such as "contact.u_f".
    """
    if callable(coordinates):
        return coordinates
    entries, contacts = _entries(system, coordinates, system.coordinates, "coordinate")
    if not contacts:
        return lambda q: np.stack([q[k] for k in entries])
    seen, still = system.dynamics.bound(), np.zeros(system.nv)

    def theta(q: Any) -> Any:
        every = np.concatenate([q, seen.contact_state(q, still)[0]])
        return np.stack([every[k] for k in entries])

    return theta


def chosen_velocities(system: Constrained, velocities: Coordinates) -> Callable[[Any], Any]:
    """U (m, nv) as a function of q, from names of velocities or as given.

    The rate of a contact coordinate has its name, such as "contact.u_f".
    """
    if callable(velocities):
        return velocities
    entries, contacts = _entries(system, velocities, system.dynamics.velocities, "velocity")
    if not contacts:
        picked = np.eye(system.nv)[entries]
        return lambda q: picked
    seen = system.dynamics.bound()

    def U(q: Any) -> Any:
        v = tracing.symbol("v", system.nv)
        rates = tracing.jacobian(seen.contact_state(q, v)[1], v)
        every = np.concatenate([np.eye(system.nv), rates])
        return np.stack([every[k] for k in entries])

    return U


def _entries(
    system: Constrained, chosen: Sequence[str], names: Sequence[str], kind: str
) -> tuple[list[int], bool]:
    """Places of these names among `names` and the contacts behind them; whether contacts occur."""
    if not len(chosen):
        plural = "velocities" if kind == "velocity" else f"{kind}s"
        raise ShapeError(f"{system.name}: name at least one of its {plural} for the task")
    known = (*names, *system.dynamics.contact_names)
    entries = [index(known, name, f"{system.name} has no {kind}") for name in chosen]
    return entries, any(k >= len(names) for k in entries)


def position_task(
    system: ConstrainedDynamics, theta: Callable[[Any], Any]
) -> Callable[[Any, Any], Task]:
    """(q, q̇) → `Task` of coordinates θ(q), with Θ and Θ̇ q̇ by automatic differentiation."""
    q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    flow, value = system.dynamics.rate(q, v), theta(q)
    rate = tracing.directional(value, q, flow)
    parts = [value, rate, tracing.jacobian(rate, v), tracing.directional(rate, q, flow)]
    function = tracing.Function([q, v], parts)
    return lambda q, qd: Task(*function(q, qd))


def velocity_task(
    system: ConstrainedDynamics, U: Callable[[Any], Any]
) -> Callable[[Any, Any], Task]:
    """(q, q̇) → `Task` of quasi-velocities u = U(q) q̇."""
    q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    matrix = U(q)
    rate = matrix @ v
    drift = tracing.directional(rate, q, system.dynamics.rate(q, v))
    function = tracing.Function([q, v], [rate, rate, matrix, drift])
    return lambda q, qd: Task(*function(q, qd))


def require_complete(system: Constrained, size: int, matrix: Any) -> None:
    """The task must have as many coordinates as there are freedoms, and determine the motion."""
    if size != system.freedoms:
        raise ShapeError(
            f"{system.name} has {system.freedoms} degrees of freedom, the task {size} coordinates"
        )
    q = system.neutral()
    t = 0.0 if system.dynamics.moving else None
    stacked = np.concatenate([matrix, system.jacobian(q, t)])
    if np.linalg.matrix_rank(stacked) < system.nv:
        raise ShapeError(
            f"these coordinates do not determine the motion of {system.name}: choose others"
        )


def stacked_solve(task: Task, A: Any, r: Any) -> Any:
    """X with [Θ; A] X = r, A with or without redundant rows; NaN where it is not determined."""
    K = np.concatenate([task.matrix, A])
    space = row_space(K, K.shape[1])
    y, _ = space.coordinates(r)
    (X,) = flagged(space.lost <= 0.0, space.back(y))
    return X


def acceleration(task: Task, A: Any, gamma: Any, wanted: Any) -> Any:
    """q̈ (nv,) with θ̈ = `wanted` that the constraints allow."""
    return stacked_solve(task, A, np.concatenate([wanted - task.drift, gamma]))


def times(K: Any, e: Any) -> Any:
    """K e for gains K (m,) one by one, or a matrix (m, m)."""
    return K * e if len(K.shape) == 1 else K @ e
