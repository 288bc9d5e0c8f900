"""Random states that the constraints allow."""

import numpy as np

import dalembert as dl
from dalembert.constraints import Constrained
from dalembert.constraints.catalogue import FORWARD_DYNAMICS

ROUTES = tuple(route.name for route in FORWARD_DYNAMICS.formulations)
SMALL = (
    "pendulum_constrained",
    "spherical_pendulum_constrained",
    "rolling_disk",
    "knife_edge",
    "chaplygin_sleigh",
    "snakeboard",
    "four_bar",
    "slider_crank",
    "parallel_3rr",
)


def consistent_states(
    closed: Constrained, rng: np.random.Generator, count: int, spread: float = 0.4
) -> tuple[np.ndarray, ...]:
    """(q, qd, tau) with h(q) = 0 and A q̇ = b, around the reference posture."""
    steps = rng.uniform(-spread, spread, (count, closed.nv))
    near = closed.integrate(np.broadcast_to(closed.neutral(), (count, closed.nq)), steps)
    q = np.stack([closed.assemble(x) for x in near])
    qd = closed.project_velocity(q, rng.normal(size=(count, closed.nv)))
    return q, qd, rng.normal(size=(count, closed.nv))


def load_states(name: str, seed: int = 0, count: int = 30) -> tuple[Constrained, np.ndarray, ...]:
    """A named model with random states."""
    closed = dl.load(name)
    return closed, *consistent_states(closed, np.random.default_rng(seed), count)
