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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints import Constrained
from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.inverse import inverse_dynamics, selected
from dalembert.constraints.kinds import index
from dalembert.control.joint_space import TracedController, gain
from dalembert.control.trajectory import Array, Constants, Output, Scalar, Trajectory, hold
from dalembert.errors import ShapeError
from dalembert.linalg.factorisations import flagged
from dalembert.linalg.row_space import row_space

Coordinates = Sequence[str] | Callable[[Array], Array]


class Task(NamedTuple):
    """Task coordinates at a state."""

    value: Array  # θ (m,), or u of velocities
    rate: Array  # θ̇ = Θ q̇ (m,), or u
    matrix: Array  # Θ (m, nv)
    drift: Array  # Θ̇ q̇ (m,)


def _entries(
    system: Constrained, requested: Sequence[str], names: Sequence[str], kind: str
) -> list[int]:
    """Indices among `names` and the contacts behind them."""
    if not len(requested):
        plural = "velocities" if kind == "velocity" else f"{kind}s"
        raise ShapeError(f"{system.name}: name at least one of its {plural} for the task")
    known = (*names, *system.dynamics.contact_names)
    return [index(known, name, f"{system.name} has no {kind}") for name in requested]


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


class _HybridController(TracedController):
    """Target, force command and dynamics of both hybrid controllers."""

    system: Constrained
    lam: ArrayLike | None
    ki: ArrayLike | None
    integral: ArrayLike | None
    desired: np.ndarray  # λ_d (rows,)
    _coordinates: Any  # (q, v) → the task's coordinates and their rates, symbols as q and v are
    _acceleration: Any  # (t, q, q̇, constants) → the task and its commanded acceleration

    def __post_init__(self) -> None:
        """Convert the target, these gains and the desired forces to arrays; check the task."""
        if not isinstance(self.target, Trajectory):
            object.__setattr__(self, "target", hold(self.target))
        system, q, rows = self.system, self.system.neutral(), self.system.rows
        for name in self.GAINS:
            size, value = rows if name == "ki" else self.target.size, getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, gain(value, size, name, matrix=True))
        lam = np.zeros(rows) if self.lam is None else np.asarray(self.lam, dtype=float)
        if lam.shape != (rows,) or not np.isfinite(lam).all():
            raise ShapeError(f"lam must have the shape ({rows},), not {lam.shape}")
        object.__setattr__(self, "desired", lam)
        # the task must have as many coordinates as there are freedoms, and determine the motion
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

    @cached_property
    def task(self) -> Callable[[Array, Array], Task]:
        """(q, q̇) → θ, θ̇, Θ and Θ̇ q̇ (of velocities u, u, U and U̇ q̇), by automatic differentiation."""
        system = self.model
        q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
        value, rate = self._coordinates(q, v)
        drift = tracing.directional(rate, q, system.dynamics.rate(q, v))
        function = tracing.Function([q, v], [value, rate, tracing.jacobian(rate, v), drift])
        return lambda q, qd: Task(*function(q, qd))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, desired forces and target."""
        return {"lam": self.desired, **super().constants}

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        task, a = self._acceleration(t, q, qd, constants)
        lam, zdot = self.commanded_force(t, q, z, constants)
        plant, rows = self.model.dynamics.at_time(t), self.model.at(q, qd, t)
        qdd = acceleration(task, rows.A, rows.drift, a)
        inertial = plant.mass_matrix(q) @ qdd + plant.bias(q, qd)
        applied = self.model.reaction(q, qd, t, lam)
        return inertial - plant.generalized_forces(q, qd, t) + applied, zdot

    def commanded_force(self, t: Scalar, q: Array, z: Array, constants: Constants) -> Output:
        """(λ to command, ż as a function of λ), with all velocities driven."""
        lam: Array = constants["lam"]
        if self.ki is None:
            return lam, np.zeros(0)
        if not self.model.balanced:  # λ of least norm with the same force Aᵀλ
            A = self.model.at(q, None, t).A
            lam = lam - row_space(A, self.model.known_rank).coordinates(lam)[1]
        return self._integrated(z, constants, lam)

    def _integrated(self, z: Array, constants: Constants, attained: Array) -> Output:
        """λ_d − K_I z with ż = λ − `attained`, a function of λ.

        λ_d leads to `attained`: with redundant rows or few actuators another one, whose difference
        must not be integrated.
        """
        return constants["lam"] - times(constants["ki"], z), lambda lam: lam - attained

    @property
    def initial(self) -> np.ndarray:
        """Initial ∫(λ − λ_d)."""
        if self.ki is None:
            return np.zeros(0)
        return np.zeros(self.system.rows) if self.integral is None else np.asarray(self.integral)


@dataclass(frozen=True, eq=False)
class Hybrid(_HybridController):
    """Hybrid control with holonomic constraints, in coordinates θ: names, or a function of q.

    Contact coordinates are named with their contact ("contact.u_o": along the surface).
    `lam` (rows,) are the desired forces of the constraints, `integral` the initial ∫(λ − λ_d).

    Parameters
    ----------
    system : Constrained
        The constrained model.
    coordinates : sequence of str or callable
        Names of coordinates, or a function q → θ.
    target : Trajectory or array_like
        Desired motion of these coordinates, or values to hold.
    kp : array_like
        K_p, a number, a vector or a matrix, 1/s².
    kd : array_like
        K_d, a number, a vector or a matrix, 1/s.
    lam : array_like, optional
        Desired λ (rows,); default zero.
    ki : array_like, optional
        K_I of ∫(λ − λ_d); default none.
    integral : array_like, optional
        Initial ∫(λ − λ_d) (rows,); default zero.

    Examples
    --------
    >>> import dalembert as dl
    >>> pendulum = dl.load("pendulum_constrained")
    >>> controller = dl.control.Hybrid(pendulum, ["x"], [0.3], kp=25.0, kd=10.0, lam=[20.0])
    >>> run = dl.simulate(pendulum, tau=controller, duration=4.0, dt=0.1)
    >>> bool(abs(run.q[-1, 0] - 0.3) < 1e-6), bool(abs(run["lambda"][-1, 0] - 20.0) < 1e-6)
    (True, True)
    """

    GAINS = ("kp", "kd", "ki")

    system: Constrained
    coordinates: Coordinates
    target: Trajectory | Any
    kp: ArrayLike
    kd: ArrayLike
    lam: ArrayLike | None = None
    ki: ArrayLike | None = None
    integral: ArrayLike | None = None

    def _coordinates(self, q: Array, v: Array) -> tuple[Array, Array]:
        system, names = self.model, self.system.coordinates
        if callable(self.coordinates):
            value = self.coordinates(q)
        else:
            entries = _entries(self.system, self.coordinates, names, "coordinate")
            values = q
            if max(entries) >= len(names):
                values = np.concatenate([q, system.contact_state(q, np.zeros(system.nv))[0]])
            value = np.stack([values[k] for k in entries])
        return value, tracing.directional(value, q, system.dynamics.rate(q, v))

    def errors(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Array, Array, Array, Task]:
        """(e, ė, θ̈_d, task)."""
        task, desired = self.task(q, qd), self.target.at(t, constants)
        return task.value - desired.q, task.rate - desired.qd, desired.qdd, task

    def _acceleration(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Task, Array]:
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        return task, feedforward - times(constants["kd"], de) - times(constants["kp"], e)


@dataclass(frozen=True, eq=False)
class HybridVelocity(_HybridController):
    """Hybrid control with nonholonomic constraints (000 p.75), in quasi-velocities u = U(q) q̇.

    `velocities` are names, those of contact coordinates for their rates (p.79 has α̇_f as
    u), or a function q → U (m, nv). The target is a trajectory of u itself:
    u_d its value, u̇_d its first derivative.

    Parameters
    ----------
    system : Constrained
        The constrained model.
    velocities : sequence of str or callable
        Names of velocities, or a function q → U (m, nv).
    target : Trajectory or array_like
        Desired motion of these coordinates, or values to hold.
    kp : array_like
        K_p, a number, a vector or a matrix, 1/s².
    lam : array_like, optional
        Desired λ (rows,); default zero.
    ki : array_like, optional
        K_I of ∫(λ − λ_d); default none.
    integral : array_like, optional
        Initial ∫(λ − λ_d) (rows,); default zero.
    """

    GAINS = ("kp", "ki")

    system: Constrained
    velocities: Coordinates
    target: Trajectory | Any
    kp: ArrayLike
    lam: ArrayLike | None = None
    ki: ArrayLike | None = None
    integral: ArrayLike | None = None

    def _coordinates(self, q: Array, v: Array) -> tuple[Array, Array]:
        system, names = self.model, self.system.dynamics.velocities
        if callable(self.velocities):
            matrix = self.velocities(q)
        else:
            entries = _entries(self.system, self.velocities, names, "velocity")
            rows = np.eye(system.nv)
            if max(entries) >= len(names):
                u = tracing.symbol("u", system.nv)
                rows = np.concatenate([rows, tracing.jacobian(system.contact_state(q, u)[1], u)])
            matrix = np.stack([rows[k] for k in entries])
        rate = matrix @ v
        return rate, rate

    def _acceleration(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Task, Array]:
        task, desired = self.task(q, qd), self.target.at(t, constants)
        return task, desired.qd - times(constants["kp"], task.value - desired.q)


@dataclass(frozen=True, eq=False)
class RedundantActuation(Hybrid):
    """P̂_ω τ̂ = P_ω (M J (θ̈_d − K_v ė − K_p e) + C₁ + N) at the `actuators` alone.

    Without `lam` the torques have the least norm; with it, the freedom that remains brings λ as near
    to `lam` as possible, in the metric A M⁻¹Aᵀ: an internal force. `actuators` are names of velocities,
    all of them by default: then λ is commanded exactly.

    Parameters
    ----------
    system : Constrained
        The constrained model.
    coordinates : sequence of str or callable
        Names of coordinates, or a function q → θ.
    target : Trajectory or array_like
        Desired motion of these coordinates, or values to hold.
    kp : array_like
        K_p, a number, a vector or a matrix, 1/s².
    kd : array_like
        K_d, a number, a vector or a matrix, 1/s.
    lam : array_like, optional
        Desired λ (rows,); default zero.
    ki : array_like, optional
        K_I of ∫(λ − λ_d); default none.
    integral : array_like, optional
        Initial ∫(λ − λ_d) (rows,); default zero.
    actuators : sequence of str, optional
        Names of the driven velocities; default all.
    """

    actuators: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        selected(self.model, self._names)

    @property
    def _names(self) -> str | None:
        return None if self.actuators is None else ",".join(self.actuators)

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        task, a = self._acceleration(t, q, qd, constants)
        rows = self.model.at(q, qd, t)
        qdd = acceleration(task, rows.A, rows.drift, a)

        def torques(lam: Array | None) -> tuple[Array, Array]:
            return inverse_dynamics(self.model.at_time(t), q, qd, qdd, lam, None, self._names)

        if self.ki is None:
            return torques(None if self.lam is None else constants["lam"])[0], np.zeros(0)
        lam, zdot = self._integrated(z, constants, torques(constants["lam"])[1])
        return torques(lam)[0], zdot
