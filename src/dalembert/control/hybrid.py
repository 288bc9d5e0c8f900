"""Hybrid position/force control by the geometric approach (Liu and Li; 000 p.75–79).

    τ = M J (θ̈_d − K_v ė − K_p e) + C₁ + N − ψ + Aᵀ(λ_d − K_I ∫(λ − λ_d)),    C₁ = C q̇ + M J̇ θ̇

in coordinates θ of the constrained motion; for nonholonomic constraints with quasi-velocities u in
place of θ̇ and no position error. Motion and force decouple: ë + K_v ė + K_p e = 0, and
λ − λ_d = −K_I ∫(λ − λ_d).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.constraints import Constrained
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.control.task import (
    Coordinates,
    Task,
    acceleration,
    chosen,
    chosen_velocities,
    position_task,
    require_complete,
    times,
    velocity_task,
)
from dalembert.control.trajectory import Trajectory, hold
from dalembert.errors import ShapeError
from dalembert.linalg.row_space import row_space
from dalembert.travel import Portable


def gains(value: Any, size: int, name: str) -> np.ndarray:
    """Gains (size,) from a number or a vector; a matrix (size, size) stays one."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,), (size, size)) or not np.isfinite(array).all():
        raise ShapeError(
            f"{name} must be a number, ({size},) or ({size}, {size}), not {array.shape}"
        )
    return array if array.ndim == 2 else np.broadcast_to(array, (size,)).copy()


@dataclass(frozen=True, eq=False)
class ForcePart:
    """λ_d − K_I z with ż = λ − λ_d: what every hybrid law adds along the constraints."""

    rows: int
    lam: Any
    ki: Any
    start: Any
    wanted: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        lam = np.zeros(self.rows) if self.lam is None else np.asarray(self.lam, dtype=float)
        if lam.shape != (self.rows,) or not np.isfinite(lam).all():
            raise ShapeError(f"lam must have the shape ({self.rows},), not {lam.shape}")
        object.__setattr__(self, "wanted", lam)
        if self.ki is not None:
            object.__setattr__(self, "ki", gains(self.ki, self.rows, "ki"))
        z = np.zeros(self.rows) if self.start is None else np.asarray(self.start, dtype=float)
        object.__setattr__(self, "start", z if self.ki is not None else np.zeros(0))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """λ_d and K_I."""
        return {"lam": self.wanted, **({} if self.ki is None else {"ki": self.ki})}

    def command(
        self, z: Any, constants: Mapping[str, Any], attained: Callable[[], Any]
    ) -> tuple[Any, Any]:
        """(λ_d − K_I z, ż as a function of λ).

        `attained()` is what λ becomes of λ_d: with redundant rows or few actuators less than all of
        it, and what cannot be attained must not be integrated for ever.
        """
        if self.ki is None:
            return constants["lam"], np.zeros(0)
        best = attained()
        return constants["lam"] - times(constants["ki"], z), lambda lam: lam - best


def in_range(model: ConstrainedDynamics, A: Any, lam: Any) -> Any:
    """The part of λ (rows,) that Aᵀ feels: λ of least norm with the same force Aᵀλ."""
    if model.balanced:
        return lam
    _, unfelt = row_space(A, model.known_rank).coordinates(lam)
    return lam - unfelt


class _Law(Portable):
    """What both laws share: the target, the force part, and the dynamics they compute with."""

    system: Constrained
    target: Trajectory | Any
    lam: Any
    ki: Any
    integral: Any
    force: ForcePart
    task: Any

    def _prepare(self, *feedback: str) -> None:
        """Bring the target, the gains named and the wanted forces into shape; check the task."""
        if not isinstance(self.target, Trajectory):
            object.__setattr__(self, "target", hold(self.target))
        for name in feedback:
            object.__setattr__(self, name, gains(getattr(self, name), self.target.size, name))
        force = ForcePart(self.system.rows, self.lam, self.ki, self.integral)
        object.__setattr__(self, "force", force)
        here = self.task(self.system.neutral(), np.zeros(self.system.nv))
        require_complete(self.system, len(here.value), here.matrix)

    @cached_property
    def model(self) -> ConstrainedDynamics:
        """The constraints and the dynamics the law computes with."""
        return self.system.dynamics.bound()

    def commanded_force(self, t: Any, q: Any, z: Any, constants: Mapping[str, Any]) -> Any:
        """(λ to command, ż as a function of λ), with all velocities driven."""
        model, lam = self.model, constants["lam"]
        return self.force.command(
            z, constants, lambda: in_range(model, model.at(q, None, t).A, lam)
        )

    @property
    def initial(self) -> np.ndarray:
        """Where ∫(λ − λ_d) begins."""
        return self.force.start


@dataclass(frozen=True, eq=False)
class Hybrid(_Law):
    """The law for holonomic constraints, in coordinates θ: names, or a function of q.

    Contact coordinates are named with their contact ("contact.u_o": along the surface).
    `lam` (rows,) are the wanted forces of the constraints; `integral` where ∫(λ − λ_d) begins.

    >>> import dalembert as dl
    >>> pendulum = dl.load("pendulum_constrained")
    >>> law = dl.control.Hybrid(pendulum, ["x"], [0.3], kp=25.0, kd=10.0, lam=[20.0])
    >>> run = dl.simulate(pendulum, tau=law, duration=4.0, dt=0.1)
    >>> bool(abs(run.q[-1, 0] - 0.3) < 1e-6), bool(abs(run["lambda"][-1, 0] - 20.0) < 1e-6)
    (True, True)
    """

    system: Constrained
    coordinates: Coordinates
    target: Trajectory | Any
    kp: Any
    kd: Any
    lam: Any = None
    ki: Any = None
    integral: Any = None
    force: ForcePart = field(init=False)

    def __post_init__(self) -> None:
        self._prepare("kp", "kd")

    @cached_property
    def task(self) -> Callable[[Any, Any], Task]:
        """θ, θ̇, Θ and Θ̇ q̇ at a state."""
        return position_task(self.model, chosen(self.system, self.coordinates))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, target and wanted forces."""
        return {"kp": self.kp, "kd": self.kd, **self.force.constants, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        theta = self.coordinates if callable(self.coordinates) else tuple(self.coordinates)
        return type(self).__name__, self.system, theta, self.force.ki is None

    def errors(self, t: Any, q: Any, qd: Any, constants: Mapping[str, Any]) -> tuple[Any, ...]:
        """(e, ė, θ̈_d, task)."""
        task, wanted = self.task(q, qd), self.target.at(t, constants)
        return task.value - wanted.q, task.rate - wanted.qd, wanted.qdd, task

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż as a function of λ), traceable."""
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        a = feedforward - times(constants["kd"], de) - times(constants["kp"], e)
        lam, zdot = self.commanded_force(t, q, z, constants)
        return commanded(self.model, t, q, qd, task, a, lam), zdot


def commanded(
    model: ConstrainedDynamics, t: Any, q: Any, qd: Any, task: Task, a: Any, lam: Any
) -> Any:
    """τ (nv,) that gives the task the acceleration `a` and the constraints the forces `lam`."""
    plant, rows = model.dynamics.at_time(t), model.at(q, qd, t)
    qdd = acceleration(task, rows.A, rows.drift, a)
    inertial = plant.mass_matrix(q) @ qdd + plant.bias(q, qd)
    return inertial - plant.generalized_forces(q, qd, t) + model.reaction(q, qd, t, lam)


@dataclass(frozen=True, eq=False)
class HybridVelocity(_Law):
    """The law for nonholonomic constraints (000 p.75), in quasi-velocities u = U(q) q̇.

    `velocities` are names, those of contact coordinates for their rates (p.79 has α̇_f as
    u), or a function q → U (m, nv). The target is a trajectory of u itself:
    u_d its value, u̇_d its first derivative.
    """

    system: Constrained
    velocities: Coordinates
    target: Trajectory | Any
    kp: Any
    lam: Any = None
    ki: Any = None
    integral: Any = None
    force: ForcePart = field(init=False)

    def __post_init__(self) -> None:
        self._prepare("kp")

    @cached_property
    def task(self) -> Callable[[Any, Any], Task]:
        """u, U and U̇ q̇ at a state."""
        return velocity_task(self.model, chosen_velocities(self.system, self.velocities))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, target and wanted forces."""
        return {"kp": self.kp, **self.force.constants, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        U = self.velocities if callable(self.velocities) else tuple(self.velocities)
        return type(self).__name__, self.system, U, self.force.ki is None

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż as a function of λ), traceable."""
        task, wanted = self.task(q, qd), self.target.at(t, constants)
        a = wanted.qd - times(constants["kp"], task.value - wanted.q)
        lam, zdot = self.commanded_force(t, q, z, constants)
        return commanded(self.model, t, q, qd, task, a, lam), zdot
