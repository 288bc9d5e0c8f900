"""Checks a person can watch: every formulation against the others, and laws between quantities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dalembert.formulations import quantity as find_quantity
from dalembert.robot import Robot

COMPARED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
STATES = 1000
REFERENCE_STATES = 20  # plain NumPy takes one state at a time
# Rounding is near 1e-15; M(q) of an arm may be conditioned to 1e5 where its joints align.
TOLERANCE = 1e-10
SEED = 7


@dataclass(frozen=True)
class Check:
    """Two ways to the same numbers, and the largest relative difference found."""

    claim: str
    left: str
    right: str
    states: int
    error: float

    @property
    def holds(self) -> bool:
        return bool(self.error <= TOLERANCE)


def checks(robot: Robot) -> Iterator[Check]:
    """All checks, one by one as they are done, at the same random states."""
    q, qd, qdd = robot.random_state(np.random.default_rng(SEED), STATES)
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": robot.inverse_dynamics(q, qd, qdd)}
    for quantity in COMPARED:
        yield from _formulations(robot, quantity, values)
    yield from _laws(robot, values)


def relative_error(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """max over states of ‖a − b‖ / max(‖a‖, ‖b‖, ‖scale‖), in the largest-entry norm.

    >>> relative_error(np.array([[1.0, 0.0]]), np.array([[1.0, 0.5]]))
    0.5
    """
    arrays = (a - b, a, b) if scale is None else (a - b, a, b, scale)
    difference, *sizes = (np.abs(x).reshape(len(x), -1).max(axis=1) for x in arrays)
    return float((difference / np.maximum(np.max(sizes, axis=0), np.finfo(float).tiny)).max())


def _formulations(robot: Robot, name: str, values: dict[str, np.ndarray]) -> Iterator[Check]:
    """Each pair of formulations of a quantity, and each as a kernel against plain NumPy."""
    quantity, claim = find_quantity(name), name.replace("_", " ")
    inputs = [values[key] for key in quantity.inputs]
    found = {
        f.name: getattr(robot, name)(*inputs, formulation=f.name) for f in quantity.formulations
    }
    for (left, a), (right, b) in combinations(found.items(), 2):
        yield Check(claim, left, right, STATES, relative_error(a, b))
    few = [x[:REFERENCE_STATES] for x in inputs]
    for left, a in found.items():
        b = np.stack(
            [robot.reference(name, *one, formulation=left) for one in zip(*few, strict=True)]
        )
        error = relative_error(a[:REFERENCE_STATES], b)
        yield Check(claim, f"{left}, compiled", "plain NumPy", REFERENCE_STATES, error)


def _laws(robot: Robot, values: dict[str, np.ndarray]) -> Iterator[Check]:
    """What must hold between quantities that are computed on different ways."""
    q, qd, qdd, tau = values["q"], values["qd"], values["qdd"], values["tau"]
    inverse, forward, matrix = (find_quantity(name).formulations[0].name for name in _LAW_ORDER)
    M, zero = robot.mass_matrix(q), np.zeros_like(qd)
    back = robot.forward_dynamics(q, qd, tau)
    yield Check("forward ∘ inverse = identity", forward, inverse, STATES, relative_error(back, qdd))
    # what of the torque belongs to the acceleration alone; bias and friction cancel
    inertial = tau - robot.inverse_dynamics(q, qd, zero)
    product = (M @ qdd[..., None])[..., 0]
    error = relative_error(inertial, product, scale=tau)
    yield Check("τ(q̈) − τ(0) = M q̈", inverse, matrix, STATES, error)
    gained = back - robot.forward_dynamics(q, qd, zero)
    solved = np.linalg.solve(M, tau[..., None])[..., 0]
    error = relative_error(gained, solved, scale=qdd)
    yield Check("q̈(τ) − q̈(0) = M⁻¹ τ", forward, f"{matrix}, LAPACK", STATES, error)
    energy = 0.5 * (qd[:, None, :] @ M @ qd[..., None])[:, 0, 0]
    error = relative_error(robot.kinetic_energy(q, qd), energy)
    yield Check("kinetic energy = ½ q̇ᵀ M q̇", "sum over bodies", matrix, STATES, error)


_LAW_ORDER = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
