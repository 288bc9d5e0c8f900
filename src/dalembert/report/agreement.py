"""Checks a person can watch: every formulation against the others, and laws between quantities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations import Quantity
from dalembert.systems.system import System

COMPARED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
STATES = 1000
REFERENCE_STATES = 5  # plain NumPy takes one state at a time
# Rounding is near 1e-15; M(q) of an arm may be conditioned to 1e5 where its joints align.
TOLERANCE = 1e-10
SEED = 7
LARGE = 12  # degrees of freedom
# more than O(n²) instructions, or full matrices of all links
GROWING = ("uicker_kahn", "lagrange", "operator", "screw_sum", "symmetric_root", "square_root")


@dataclass(frozen=True)
class Agreement:
    """One formulation: how far it is from the others, and its kernel from plain NumPy."""

    quantity: str
    formulation: str
    citation: str
    apart: float | None  # largest relative difference from any other; None where there is no other
    compiled: float

    @property
    def holds(self) -> bool:
        return small(self.compiled) and (self.apart is None or small(self.apart))


@dataclass(frozen=True)
class Law:
    """An equation between quantities, and the largest relative difference of its sides."""

    claim: str
    left: str
    right: str
    error: float

    @property
    def holds(self) -> bool:
        return small(self.error)


def small(error: float) -> bool:
    """Whether a relative error is within the tolerance; NaN is not."""
    return bool(error <= TOLERANCE)


def formulations(system: System) -> Iterator[Agreement]:
    """All formulations of the main quantities, each against all others of its quantity.

    Those that cannot treat the robot's joints are left out; of robots with many joints, also those
    whose programs would grow too large.
    """
    values = random_values(system)
    for name in COMPARED:
        quantity = system.dynamics.quantity(name)
        yield from _formulations(system, quantity, [values[key] for key in quantity.inputs])


def laws(system: System) -> Iterator[Law]:
    """What must hold between quantities of a free system that are computed on different ways."""
    if system.dynamics.rows:
        return
    values = random_values(system)
    made = system.dynamics
    q, qd, qdd, tau = values["q"], values["qd"], values["qdd"], values["tau"]
    inverse, matrix, forward = (
        made.quantity(name).formulation(None, made.description).name for name in COMPARED
    )
    M, zero = system.mass_matrix(q), np.zeros_like(qd)
    back = system.forward_dynamics(q, qd, tau)
    yield Law("forward ∘ inverse = identity", forward, inverse, relative_error(back, qdd))
    # what of the torque belongs to the acceleration alone; bias and friction cancel
    inertial = tau - system.inverse_dynamics(q, qd, zero)
    error = relative_error(inertial, (M @ qdd[..., None])[..., 0], scale=tau)
    yield Law("τ(q̈) − τ(0) = M q̈", inverse, matrix, error)
    gained = back - system.forward_dynamics(q, qd, zero)
    solved = np.linalg.solve(M, tau[..., None])[..., 0]
    error = relative_error(gained, solved, scale=qdd)
    yield Law("q̈(τ) − q̈(0) = M⁻¹ τ", forward, f"{matrix}, LAPACK", error)
    energy = 0.5 * (qd[:, None, :] @ M @ qd[..., None])[:, 0, 0]
    error = relative_error(system.kinetic_energy_parts(q, qd).T2, energy)
    yield Law("kinetic energy = ½ q̇ᵀ M q̇", "sum over bodies", matrix, error)


def random_values(system: System) -> dict[str, np.ndarray]:
    """The same random states every time."""
    q, qd, qdd = system.random_state(np.random.default_rng(SEED), STATES)
    tau = first(system.inverse_dynamics(q, qd, qdd))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": tau}


def first(result: Any) -> Any:
    """Torques or accelerations, without the forces of constraints beside them."""
    return result[0] if isinstance(result, tuple) else result


def relative_error(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """max over states of ‖a − b‖ / max(‖a‖, ‖b‖, ‖scale‖), in the largest-entry norm.

    >>> relative_error(np.array([[1.0, 0.0]]), np.array([[1.0, 0.5]]))
    0.5
    """
    arrays = (a - b, a, b) if scale is None else (a - b, a, b, scale)
    difference, *sizes = (np.abs(x).reshape(len(x), -1).max(axis=1) for x in arrays)
    return float((difference / np.maximum(np.max(sizes, axis=0), np.finfo(float).tiny)).max())


def _formulations(
    system: System, quantity: Quantity, inputs: list[np.ndarray]
) -> Iterator[Agreement]:
    made = system.dynamics
    extra = (made.parameter_values(),) if made.parameters else ()
    found = {}
    for f in quantity.formulations:
        if system.nv <= LARGE or f.name not in GROWING:
            with suppress(FormulationError):
                found[f.name] = first(system.kernel(quantity.name, f.name)(*inputs, *extra))
    few = [x[:REFERENCE_STATES] for x in inputs]
    for f in quantity.formulations:
        if f.name not in found:
            continue
        mine = found[f.name]
        others = [relative_error(mine, x) for name, x in found.items() if name != f.name]
        plain = np.stack(
            [
                first(system.reference(quantity.name, *one, formulation=f.name))
                for one in zip(*few, strict=True)
            ]
        )
        yield Agreement(
            quantity.name.replace("_", " "),
            f.name,
            f.citation,
            float(np.max(others)) if others else None,
            relative_error(mine[:REFERENCE_STATES], plain),
        )
