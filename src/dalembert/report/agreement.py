"""Agreement of all formulations with each other, in Python and as kernels of a live page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, FormulationError
from dalembert.formulations import Quantity
from dalembert.report.live_kernels import Part, time_choice
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
    """One formulation: its distance from the others, and of its kernel from plain NumPy."""

    quantity: str
    formulation: str
    citation: str
    apart: float | None  # largest relative difference from any other; None where there is no other
    compiled: float

    @property
    def holds(self) -> bool:
        return small(self.compiled) and (self.apart is None or small(self.apart))


@dataclass(frozen=True)
class Identity:
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
        yield from _compared(system, quantity, [values[key] for key in quantity.inputs])


def _compared(system: System, quantity: Quantity, inputs: list[np.ndarray]) -> Iterator[Agreement]:
    dynamics = system.dynamics
    extra = (dynamics.parameter_values(),) if dynamics.parameters else ()
    results = {}
    for f in quantity.formulations:
        if system.nv <= LARGE or f.name not in GROWING:
            with suppress(FormulationError):
                results[f.name] = _first(system.kernel(quantity.name, f.name)(*inputs, *extra))
    states = list(zip(*(x[:REFERENCE_STATES] for x in inputs), strict=True))
    for f in quantity.formulations:
        if f.name not in results:
            continue
        own = results[f.name]
        others = [relative_error(own, x) for name, x in results.items() if name != f.name]
        references = [
            _first(system.reference(quantity.name, *state, formulation=f.name)) for state in states
        ]
        yield Agreement(
            quantity.name.replace("_", " "),
            f.name,
            f.citation,
            float(np.max(others)) if others else None,
            relative_error(own[:REFERENCE_STATES], np.stack(references)),
        )


def identities(system: System) -> Iterator[Identity]:
    """Identities between quantities of a free system that are computed independently."""
    dynamics = system.dynamics
    if dynamics.rows:
        return
    values = random_values(system)
    q, qd, qdd, tau = values["q"], values["qd"], values["qdd"], values["tau"]
    inverse, matrix, forward = (
        dynamics.quantity(name).formulation(None, dynamics.description).name for name in COMPARED
    )
    M, zero = system.mass_matrix(q), np.zeros_like(qd)
    acceleration = system.forward_dynamics(q, qd, tau)
    error = relative_error(acceleration, qdd)
    yield Identity("forward ∘ inverse = identity", forward, inverse, error)
    # the torque of the acceleration alone; bias and friction cancel
    inertial = tau - system.inverse_dynamics(q, qd, zero)
    error = relative_error(inertial, (M @ qdd[..., None])[..., 0], scale=tau)
    yield Identity("τ(q̈) − τ(0) = M q̈", inverse, matrix, error)
    difference = acceleration - system.forward_dynamics(q, qd, zero)
    solved = np.linalg.solve(M, tau[..., None])[..., 0]
    error = relative_error(difference, solved, scale=qdd)
    yield Identity("q̈(τ) − q̈(0) = M⁻¹ τ", forward, f"{matrix}, LAPACK", error)
    energy = 0.5 * (qd[:, None, :] @ M @ qd[..., None])[:, 0, 0]
    error = relative_error(system.kinetic_energy_parts(q, qd).T2, energy)
    yield Identity("kinetic energy = ½ q̇ᵀ M q̇", "sum over bodies", matrix, error)


def random_values(system: System) -> dict[str, np.ndarray]:
    """The same random states every time."""
    q, qd, qdd = system.random_state(np.random.default_rng(SEED), STATES)
    tau = _first(system.inverse_dynamics(q, qd, qdd))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": tau}


def _first(result: np.ndarray | tuple[np.ndarray, ...]) -> np.ndarray:
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


# formulations as kernels of a live page

# A page carries a formulation whose program has at most EACH operations, about five bytes of code
# each, and at most ALL together: inverse dynamics before the others, the shortest first.
EACH, ALL = 3_000, 12_000
SYMBOLS = {"inverse_dynamics": "τ", "forward_dynamics": "q̈", "mass_matrix": "M"}


@dataclass(frozen=True)
class PageFormulation:
    """A formulation of a quantity as a kernel of the page's module."""

    quantity: str
    name: str
    citation: str
    summary: str
    operations: int
    pair: tuple[int, int]  # multiplications, additions
    is_default: bool
    choices: Mapping[str, Any]

    @property
    def kernel(self) -> str:
        """Its name in the module; the default one has that of the quantity."""
        return self.quantity if self.is_default else f"{self.quantity} by {self.name}"

    @property
    def plain(self) -> dict[str, Any]:
        """For the page's script."""
        names = ("quantity", "name", "citation", "summary", "kernel", "pair")
        return {"symbol": SYMBOLS[self.quantity], **{name: getattr(self, name) for name in names}}


def formulations_part(system: System) -> Part:
    """All formulations that are small enough, with their sources; the names of the others."""
    included, omitted = page_formulations(system.compiled)
    data: dict[str, Any] = {
        "entries": [f.plain for f in included],
        "left_out": [f"{f.quantity} by {f.name} ({f.operations:,})" for f in omitted],
        "tolerance": TOLERANCE,
    }
    kernels = {
        f.kernel: {"quantity": f.quantity, "formulation": f.name, **f.choices} for f in included
    }
    return Part(kernels, {"formulations": data}, "formulations beside the usual ones")


def page_formulations(system: System) -> tuple[list[PageFormulation], list[PageFormulation]]:
    """(Those of a page, those that are too large for it), in the catalogue's order."""
    every = [f for name in COMPARED for f in _candidates(system, name)]
    included, total = set(), 0
    for f in sorted(every, key=lambda f: (f.quantity != COMPARED[0], f.operations)):
        if f.is_default or (f.operations <= EACH and total + f.operations <= ALL):
            included.add(id(f))
            total += 0 if f.is_default else f.operations
    return [f for f in every if id(f) in included], [f for f in every if id(f) not in included]


def _candidates(system: System, name: str) -> Iterator[PageFormulation]:
    """All formulations of a quantity that treat this system and do not grow too large."""
    if name not in system.dynamics.catalogue:
        return
    quantity = system.dynamics.quantity(name)
    default = quantity.formulation(None, system.dynamics.description).name
    for f in quantity.formulations:
        if system.nv > LARGE and f.name in GROWING:
            continue
        try:
            count = system.operation_count(name, f.name)
        except DalembertError:  # it does not treat these joints
            continue
        yield PageFormulation(
            name,
            f.name,
            f.citation,
            f.summary,
            count.total,
            (count.multiplications, count.additions),
            f.name == default,
            time_choice(system, name),
        )
