"""Hybrid position/force control by the geometric approach (Liu and Li; 000 p.75–79).

    τ = M J (θ̈_d − K_v ė − K_p e) + C₁ + N − ψ + Aᵀ(λ_d − K_I ∫(λ − λ_d)),    C₁ = C q̇ + M J̇ θ̇

in coordinates θ of the constrained motion; for nonholonomic constraints with quasi-velocities u in
place of θ̇ and no position error. Motion and force decouple: ë + K_v ė + K_p e = 0, and
λ − λ_d = −K_I ∫(λ − λ_d).

The rows Θ q̇ = θ̇ and A q̇ = b together determine q̇, and so [Θ; A] q̈ = [θ̈ − Θ̇ q̇; γ] gives
q̈ = J θ̈ + J̇ θ̇ + … of 000 p.75 without a parametrisation ψ. `RedundantActuation` has more drives than
freedoms, or passive joints (000 p.80–81).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints import Constrained
from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.inverse import inverse_dynamics, selected
from dalembert.constraints.kinds import index
from dalembert.control.trajectory import Array, Constants, Output, Scalar, Trajectory, hold
from dalembert.errors import ShapeError
from dalembert.linalg.factorisations import flagged
from dalembert.linalg.row_space import row_space
from dalembert.pickling import Portable

Coordinates = Sequence[str] | Callable[[Array], Array]


class Task(NamedTuple):
    """Task coordinates at a state."""

    value: Array  # θ (m,), or u of velocities
    rate: Array  # θ̇ = Θ q̇ (m,), or u
    matrix: Array  # Θ (m, nv)
    drift: Array  # Θ̇ q̇ (m,)


def _entries(
    system: Constrained, requested: Sequence[str], names: Sequence[str], kind: str
) -> tuple[list[int], bool]:
    """(indices among `names` and the contacts behind them, whether contacts occur)."""
    if not len(requested):
        plural = "velocities" if kind == "velocity" else f"{kind}s"
        raise ShapeError(f"{system.name}: name at least one of its {plural} for the task")
    known = (*names, *system.dynamics.contact_names)
    entries = [index(known, name, f"{system.name} has no {kind}") for name in requested]
    return entries, any(k >= len(names) for k in entries)


def stacked_solve(task: Task, A: Array, r: Array) -> Array:
    """X with [Θ; A] X = r, A with or without redundant rows; NaN where it is not unique."""
    K = np.concatenate([task.matrix, A])
    space = row_space(K, K.shape[1])
    y, _ = space.coordinates(r)
    X: Array
    (X,) = flagged(space.lost <= 0.0, space.back(y))
    return X


def acceleration(task: Task, A: Array, gamma: Array, theta_ddot: Array) -> Array:
    """q̈ (nv,) with this θ̈ on the constraints."""
    return stacked_solve(task, A, np.concatenate([theta_ddot - task.drift, gamma]))


def times(K: Array, e: Array) -> Array:
    """K e for gains K (m,) or a matrix (m, m)."""
    product: Array = K * e if len(K.shape) == 1 else K @ e
    return product


def gains(value: ArrayLike, size: int, name: str) -> np.ndarray:
    """Gains (size,) from a number or a vector, or a matrix (size, size)."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,), (size, size)) or not np.isfinite(array).all():
        raise ShapeError(
            f"{name} must be a number, ({size},) or ({size}, {size}), not {array.shape}"
        )
    return array if array.ndim == 2 else np.broadcast_to(array, (size,)).copy()


@dataclass(frozen=True, eq=False)
class ForcePart:
    """The force command λ_d − K_I z with ż = λ − λ_d of every hybrid controller."""

    rows: int
    lam: ArrayLike | None
    ki: ArrayLike | None
    start: ArrayLike | None
    desired: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        lam = np.zeros(self.rows) if self.lam is None else np.asarray(self.lam, dtype=float)
        if lam.shape != (self.rows,) or not np.isfinite(lam).all():
            raise ShapeError(f"lam must have the shape ({self.rows},), not {lam.shape}")
        object.__setattr__(self, "desired", lam)
        if self.ki is not None:
            object.__setattr__(self, "ki", gains(self.ki, self.rows, "ki"))
        z = np.zeros(self.rows) if self.start is None else np.asarray(self.start, dtype=float)
        object.__setattr__(self, "start", z if self.ki is not None else np.zeros(0))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """λ_d and K_I."""
        return {"lam": self.desired, **({} if self.ki is None else {"ki": np.asarray(self.ki)})}

    def force(self, z: Array, constants: Constants, attained: Callable[[], Array]) -> Output:
        """(λ_d − K_I z, ż as a function of λ).

        `attained()` is the λ that λ_d leads to: with redundant rows or few actuators another one, whose
        difference must not be integrated.
        """
        if self.ki is None:
            return constants["lam"], np.zeros(0)
        best = attained()
        return constants["lam"] - times(constants["ki"], z), lambda lam: lam - best


class _HybridController(Portable):
    """Target, force command and dynamics of both hybrid controllers."""

    system: Constrained
    target: Trajectory | Any
    lam: ArrayLike | None
    ki: ArrayLike | None
    integral: ArrayLike | None
    force: ForcePart
    task: Any

    def _prepare(self, *feedback: str) -> None:
        """Convert the target, these gains and the desired forces to arrays; check the task."""
        if not isinstance(self.target, Trajectory):
            object.__setattr__(self, "target", hold(self.target))
        for name in feedback:
            object.__setattr__(self, name, gains(getattr(self, name), self.target.size, name))
        force = ForcePart(self.system.rows, self.lam, self.ki, self.integral)
        object.__setattr__(self, "force", force)
        # the task must have as many coordinates as there are freedoms, and determine the motion
        system, q = self.system, self.system.neutral()
        task = self.task(q, np.zeros(system.nv))
        size = len(task.value)
        if size != system.freedoms:
            raise ShapeError(
                f"{system.name} has {system.freedoms} degrees of freedom, the task {size} coordinates"
            )
        t = 0.0 if system.dynamics.moving else None
        stacked = np.concatenate([task.matrix, system.jacobian(q, t)])
        if np.linalg.matrix_rank(stacked) < system.nv:
            raise ShapeError(
                f"these coordinates do not determine the motion of {system.name}: choose others"
            )

    @cached_property
    def model(self) -> ConstrainedDynamics:
        """The constrained dynamics in the controller's equations."""
        return self.system.dynamics.bound()

    def commanded_force(self, t: Scalar, q: Array, z: Array, constants: Constants) -> Output:
        """(λ to command, ż as a function of λ), with all velocities driven."""
        model = self.model
        lam: Array = constants["lam"]

        def effective() -> Array:
            """λ (rows,) of least norm with the same force Aᵀλ."""
            if model.balanced:
                return lam
            _, remainder = row_space(model.at(q, None, t).A, model.known_rank).coordinates(lam)
            least: Array = lam - remainder
            return least

        return self.force.force(z, constants, effective)

    @property
    def initial(self) -> np.ndarray:
        """Initial ∫(λ − λ_d)."""
        return np.asarray(self.force.start)


@dataclass(frozen=True, eq=False)
class Hybrid(_HybridController):
    """Hybrid control with holonomic constraints, in coordinates θ: names, or a function of q.

    Contact coordinates are named with their contact ("contact.u_o": along the surface).
    `lam` (rows,) are the desired forces of the constraints, `integral` the initial ∫(λ − λ_d).

    >>> import dalembert as dl
    >>> pendulum = dl.load("pendulum_constrained")
    >>> controller = dl.control.Hybrid(pendulum, ["x"], [0.3], kp=25.0, kd=10.0, lam=[20.0])
    >>> run = dl.simulate(pendulum, tau=controller, duration=4.0, dt=0.1)
    >>> bool(abs(run.q[-1, 0] - 0.3) < 1e-6), bool(abs(run["lambda"][-1, 0] - 20.0) < 1e-6)
    (True, True)
    """

    system: Constrained
    coordinates: Coordinates
    target: Trajectory | Any
    kp: ArrayLike
    kd: ArrayLike
    lam: ArrayLike | None = None
    ki: ArrayLike | None = None
    integral: ArrayLike | None = None
    force: ForcePart = field(init=False)

    def __post_init__(self) -> None:
        self._prepare("kp", "kd")

    @cached_property
    def task(self) -> Callable[[Array, Array], Task]:
        """(q, q̇) → θ, θ̇, Θ and Θ̇ q̇, by automatic differentiation."""
        system, names = self.model, self.system.coordinates
        q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
        flow = system.dynamics.rate(q, v)
        if callable(self.coordinates):
            value = self.coordinates(q)
        else:
            entries, contacts = _entries(self.system, self.coordinates, names, "coordinate")
            values = q
            if contacts:
                values = np.concatenate([q, system.contact_state(q, np.zeros(system.nv))[0]])
            value = np.stack([values[k] for k in entries])
        rate = tracing.directional(value, q, flow)
        parts = [value, rate, tracing.jacobian(rate, v), tracing.directional(rate, q, flow)]
        function = tracing.Function([q, v], parts)
        return lambda q, qd: Task(*function(q, qd))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, target and desired forces."""
        gains = {"kp": np.asarray(self.kp), "kd": np.asarray(self.kd)}
        return {**gains, **self.force.constants, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """A key of its equations, besides its constants."""
        theta = self.coordinates if callable(self.coordinates) else tuple(self.coordinates)
        return type(self).__name__, self.system, theta, self.force.ki is None

    def errors(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Array, Array, Array, Task]:
        """(e, ė, θ̈_d, task)."""
        task, desired = self.task(q, qd), self.target.at(t, constants)
        return task.value - desired.q, task.rate - desired.qd, desired.qdd, task

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        a = feedforward - times(constants["kd"], de) - times(constants["kp"], e)
        lam, zdot = self.commanded_force(t, q, z, constants)
        return command_torque(self.model, t, q, qd, task, a, lam), zdot


def command_torque(
    model: ConstrainedDynamics, t: Scalar, q: Array, qd: Array, task: Task, a: Array, lam: Array
) -> Array:
    """τ (nv,) that gives the task the acceleration `a` and the constraints the forces `lam`."""
    plant, rows = model.dynamics.at_time(t), model.at(q, qd, t)
    qdd = acceleration(task, rows.A, rows.drift, a)
    inertial = plant.mass_matrix(q) @ qdd + plant.bias(q, qd)
    tau: Array = inertial - plant.generalized_forces(q, qd, t) + model.reaction(q, qd, t, lam)
    return tau


@dataclass(frozen=True, eq=False)
class HybridVelocity(_HybridController):
    """Hybrid control with nonholonomic constraints (000 p.75), in quasi-velocities u = U(q) q̇.

    `velocities` are names, those of contact coordinates for their rates (p.79 has α̇_f as
    u), or a function q → U (m, nv). The target is a trajectory of u itself:
    u_d its value, u̇_d its first derivative.
    """

    system: Constrained
    velocities: Coordinates
    target: Trajectory | Any
    kp: ArrayLike
    lam: ArrayLike | None = None
    ki: ArrayLike | None = None
    integral: ArrayLike | None = None
    force: ForcePart = field(init=False)

    def __post_init__(self) -> None:
        self._prepare("kp")

    @cached_property
    def task(self) -> Callable[[Array, Array], Task]:
        """(q, q̇) → u = U(q) q̇, U and U̇ q̇."""
        system, names = self.model, self.system.dynamics.velocities
        q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
        if callable(self.velocities):
            matrix = self.velocities(q)
        else:
            entries, contacts = _entries(self.system, self.velocities, names, "velocity")
            rows = np.eye(system.nv)
            if contacts:
                u = tracing.symbol("u", system.nv)
                rows = np.concatenate([rows, tracing.jacobian(system.contact_state(q, u)[1], u)])
            matrix = np.stack([rows[k] for k in entries])
        rate = matrix @ v
        drift = tracing.directional(rate, q, system.dynamics.rate(q, v))
        function = tracing.Function([q, v], [rate, rate, matrix, drift])
        return lambda q, qd: Task(*function(q, qd))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, target and desired forces."""
        return {"kp": np.asarray(self.kp), **self.force.constants, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """A key of its equations, besides its constants."""
        U = self.velocities if callable(self.velocities) else tuple(self.velocities)
        return type(self).__name__, self.system, U, self.force.ki is None

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        task, desired = self.task(q, qd), self.target.at(t, constants)
        a = desired.qd - times(constants["kp"], task.value - desired.q)
        lam, zdot = self.commanded_force(t, q, z, constants)
        return command_torque(self.model, t, q, qd, task, a, lam), zdot


@dataclass(frozen=True, eq=False)
class RedundantActuation(Hybrid):
    """P̂_ω τ̂ = P_ω (M J (θ̈_d − K_v ė − K_p e) + C₁ + N) at the `actuators` alone.

    Without `lam` the torques have the least norm; with it, the freedom that remains brings λ as near
    to `lam` as possible, in the metric A M⁻¹Aᵀ: an internal force. `actuators` are names of velocities,
    all of them by default: then λ is commanded exactly.
    """

    actuators: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        selected(self.model, self._names)

    @property
    def _names(self) -> str | None:
        return None if self.actuators is None else ",".join(self.actuators)

    @property
    def structure(self) -> Hashable:
        """A key of its equations, besides its constants."""
        return *super().structure, self._names, self.lam is None  # type: ignore[misc]  # a tuple

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        a = feedforward - times(constants["kd"], de) - times(constants["kp"], e)
        rows = self.model.at(q, qd, t)
        qdd = acceleration(task, rows.A, rows.drift, a)

        def torques(lam: Array | None) -> tuple[Array, Array]:
            return inverse_dynamics(self.model, q, qd, qdd, lam, None, t, self._names)

        lam, zdot = self.force.force(z, constants, lambda: torques(constants["lam"])[1])
        tau, _ = torques(None if self.lam is None and self.force.ki is None else lam)
        return tau, (zdot if self.force.ki is not None else np.zeros(0))
