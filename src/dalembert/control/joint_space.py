"""Controllers in joint space: PD with gravity compensation, feed-forward, computed torque, PID and
sliding mode.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.trajectory import Array, Constants, Output, Point, Scalar, Trajectory, hold
from dalembert.errors import ModelError, ParameterError, ShapeError
from dalembert.pickling import Portable
from dalembert.systems.controller import controller_digest
from dalembert.systems.system import Dynamics, System
from dalembert.version import renamed_arguments

C = TypeVar("C")


def gain(value: ArrayLike, size: int, name: str, matrix: bool = False) -> np.ndarray:
    """A gain (size,) from a number or a vector; with `matrix` also a matrix (size, size)."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,), *([(size, size)] if matrix else [])):
        other = f" or ({size}, {size})" if matrix else ""
        raise ShapeError(
            f"{name} must be a number or have the shape ({size},){other}, not {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} must be finite, not {array}")
    return array if array.ndim == 2 else np.broadcast_to(array, (size,)).copy()


def require_one_degree(system: System) -> None:
    """An error for quaternions, whose configurations have no differences."""
    if system.nq != system.nv:
        raise ModelError(
            f"{system.name} has spherical or free joints, whose configurations have no difference; "
            "this controller needs joints of one degree"
        )


def target_trajectory(system: System, target: Trajectory | ArrayLike) -> Trajectory:
    """The target of a controller of the system's joints; a posture (nv,) is constant."""
    require_one_degree(system)
    path = target if isinstance(target, Trajectory) else hold(target)
    if path.size != system.nv:
        raise ShapeError(f"the target has {path.size} joints, {system.name} has {system.nv}")
    return path


class TracedController(Portable):
    """A controller with gains and a target; it has a state z of its own where it defines `initial`."""

    GAINS: ClassVar[tuple[str, ...]] = ()
    system: System
    target: Any
    command: Callable[..., Output]

    @cached_property
    def model(self) -> Dynamics:
        """The dynamics in its equations: without constraints and Coulomb friction, parameters set."""
        return self.system.dynamics.bound().free.without_coulomb()

    @property
    def initial(self) -> np.ndarray:
        """Initial state z (n,)."""
        return np.zeros(0)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        gains = {name: getattr(self, name) for name in self.GAINS}
        used = {name: np.asarray(value) for name, value in gains.items() if value is not None}
        return {**used, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """A key of its equations, besides its constants."""
        system = self.system
        return controller_digest(self, system.nq, system.nv, system.dynamics.rows)


@dataclass(frozen=True, eq=False)
class JointController(TracedController):
    """A controller of a system's joints, with a model and gains for each joint."""

    system: System
    target: Trajectory | Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", target_trajectory(self.system, self.target))
        for name in self.GAINS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, gain(getattr(self, name), self.system.nv, name))

    def with_model(self, model: Dynamics) -> Self:
        """The controller with these dynamics in its equations, whose numbers may be symbols."""
        controller = copy(self)
        controller.__dict__["model"] = model.free.without_coulomb()
        return controller

    def _error(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Array, Array, Point]:
        """(e, ė, desired motion) at a state."""
        desired = self.target.at(t, constants)
        return q - desired.q, qd - desired.qd, desired


@dataclass(frozen=True, eq=False)
class _Feedback(JointController):
    """K_p e + K_d ė + K_i z with ż = e."""

    GAINS = ("kp", "kd", "ki")

    kp: ArrayLike
    kd: ArrayLike
    ki: ArrayLike | None = None
    _torque: ClassVar[Callable[..., Array]]  # (model, q, q̇, desired motion, feedback) → τ

    @property
    def initial(self) -> np.ndarray:
        """Initial ∫e."""
        return np.zeros(0 if self.ki is None else self.system.nv)

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        e, de, desired = self._error(t, q, qd, constants)
        feedback, zdot = constants["kp"] * e + constants["kd"] * de, np.zeros(0)
        if self.ki is not None:
            feedback, zdot = feedback + constants["ki"] * z, e
        return self._torque(self.model.at_time(t), q, qd, desired, feedback), zdot


@dataclass(frozen=True, eq=False)
class PDGravity(_Feedback):
    """τ = −K_p e − K_d ė − K_i ∫e + N(q), e = q − q_d (Takegaki and Arimoto 1981).

    Parameters
    ----------
    system : System
        The model that the controller computes with.
    target : Trajectory or array_like
        Desired motion, or a posture (nv,) to hold.
    kp : array_like
        K_p, a number or one for each joint.
    kd : array_like
        K_d, a number or one for each joint.
    ki : array_like, optional
        K_i of the integral of the error; default none.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> controller = dl.control.PDGravity(robot, target=[1.0], kp=100.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0], [0.0], controller, duration=2.0, dt=0.01)
    >>> bool(abs(run.q[-1] - 1.0) < 1e-6)
    True
    """

    def _torque(self, model: Dynamics, q: Array, qd: Array, desired: Point, feedback: Array) -> Any:
        return model.compute("gravity_torque", q=q) - feedback


@dataclass(frozen=True, eq=False)
class FeedForward(_Feedback):
    """τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + N(q_d) − ψ − K_p e − K_d ė − K_i ∫e, e = q − q_d.

    The torques of the desired motion, which may be computed in advance, and feedback. About a
    posture the errors obey M ë + K_d ė + (K_p + ∂N/∂q) e = 0.

    Parameters
    ----------
    system : System
        The model that the controller computes with.
    target : Trajectory or array_like
        Desired motion, or a posture (nv,) to hold.
    kp : array_like
        K_p, a number or one for each joint.
    kd : array_like
        K_d, a number or one for each joint.
    ki : array_like, optional
        K_i of the integral of the error; default none.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("planar_2r")
    >>> path = dl.control.quintic([0.0, 0.0], [1.0, -0.5], duration=1.0)
    >>> controller = dl.control.FeedForward(robot, path, kp=100.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0, 0.0], None, controller, duration=1.0, dt=0.01)
    >>> bool(abs(run.q - path(run.time.values).q).max() < 1e-8)
    True
    """

    def _torque(self, model: Dynamics, q: Array, qd: Array, desired: Point, feedback: Array) -> Any:
        return model.compute("inverse_dynamics", **desired._asdict()) - feedback


@dataclass(frozen=True, eq=False)
class ComputedTorque(_Feedback):
    """τ = M(q)(q̈_d − K_d ė − K_p e − K_i ∫e) + C q̇ + N − ψ (000 p.75 without constraints; 004).

    With the true model every joint's error obeys ë + K_d ė + K_p e + K_i ∫e = 0. Coulomb friction
    is not compensated.

    Parameters
    ----------
    system : System
        The model that the controller computes with.
    target : Trajectory or array_like
        Desired motion, or a posture (nv,) to hold.
    kp : array_like
        K_p, a number or one for each joint.
    kd : array_like
        K_d, a number or one for each joint.
    ki : array_like, optional
        K_i of the integral of the error; default none.
    """

    def _torque(self, model: Dynamics, q: Array, qd: Array, desired: Point, feedback: Array) -> Any:
        return model.compute("inverse_dynamics", q=q, qd=qd, qdd=desired.qdd - feedback)


class PID:
    """Digital PID control with anti-windup, run with ``control_dt``.

    τ = clip(v, ± limit), v = −K_p e − K_d ė − z, e = q − q_d, z ← z + T (K_i e + (v − τ)/T_t).
    Back-calculation (Åström and Hägglund 1995, §3.5): while a drive is at its limit, z follows the
    torque of the drive in the time T_t and does not wind up. States may be batches (N, nv).

    Parameters
    ----------
    system
        With joints of one degree.
    target
        A trajectory, or a posture (nv,).
    kp, ki, kd
        Gains, numbers or (nv,).
    limit
        Largest torque, a number or (nv,); by default the system's ``effort_limit``.
    tracking
        T_t in s, a number or (nv,); by default √(K_d/K_i).

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> controller = dl.control.PID(robot, [1.0], kp=100.0, ki=200.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0], [0.0], controller, duration=4.0, control_dt=0.001)
    >>> bool(abs(run.q[-1] - 1.0) < 1e-3)  # though it knows nothing of the weight
    True
    """

    digital = True  # called once a sample, not at the stages of a step

    def __init__(
        self,
        system: System,
        target: Trajectory | ArrayLike,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        limit: ArrayLike | None = None,
        tracking: ArrayLike | None = None,
    ) -> None:
        n = system.nv
        self.target = target_trajectory(system, target)
        self.kp, self.ki, self.kd = gain(kp, n, "kp"), gain(ki, n, "ki"), gain(kd, n, "kd")
        self.limit = system.effort_limit if limit is None else gain(limit, n, "limit")
        if not (self.limit > 0.0).all():
            raise ParameterError("PID: limit must be positive")
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = np.sqrt(self.kd / self.ki)
        usual = np.where(np.isfinite(usual) & (usual > 0.0), usual, np.inf)
        self.tracking = usual if tracking is None else gain(tracking, n, "tracking")
        if not (self.tracking > 0.0).all():
            raise ParameterError("PID: tracking must be a positive time in s")
        self.reset()

    def reset(self) -> None:
        """Set the integral to zero; every run begins with it."""
        self.integral: np.ndarray = np.zeros(len(self.kp))
        self._last: float | None = None

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ (..., nv) at a sample; the integral advances to the next."""
        desired = self.target(t)
        e, de = q - desired.q, qd - desired.qd
        T = 0.0 if self._last is None else t - self._last
        self._last = t
        z = self.integral + T * self.ki * e
        command = -self.kp * e - self.kd * de - z
        tau: np.ndarray = np.clip(command, -self.limit, self.limit)
        follow = T / np.maximum(self.tracking, T) if T > 0.0 else 0.0
        self.integral = z + follow * (command - tau)
        return tau


@dataclass(frozen=True, eq=False)
class SlidingMode(JointController):
    """Sliding mode control with a boundary layer (Slotine and Li 1991, ch. 7).

    τ = M(q)(q̈_d − Λ ė − k sat(s/φ)) + C q̇ + N − ψ with s = ė + Λ e, e = q − q_d.

    `bandwidth` Λ is the rate, 1/s, at which errors decay on s = 0; `switching_gain` k the rate of s,
    rad/s², outside the layer −φ ≤ s ≤ φ, larger than the error of the model; `layer` φ, rad/s. With
    the true model s falls by k t until the layer, inside it as e^(−k t/φ). A digital controller
    needs φ > k · ``control_dt``.

    Parameters
    ----------
    system : System
        The model that the controller computes with.
    target : Trajectory or array_like
        Desired motion, or a posture (nv,) to hold.
    bandwidth : array_like
        Λ, 1/s.
    switching_gain : array_like
        k, rad/s² or m/s².
    layer : array_like
        φ, rad/s or m/s.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> controller = dl.control.SlidingMode(
    ...     robot, [1.0], bandwidth=5.0, switching_gain=20.0, layer=0.1
    ... )
    >>> controller.reaching_time([0.0], [0.0])  # |s| = 5, less the layer, at 20 rad/s²
    array([0.245])
    """

    GAINS = ("bandwidth", "switching_gain", "layer")

    bandwidth: ArrayLike
    switching_gain: ArrayLike
    layer: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.GAINS:
            if not (getattr(self, name) > 0.0).all():
                raise ParameterError(f"SlidingMode: {name} must be positive")

    def surface(self, t: Scalar, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """s (..., nv) at times (...) and states (..., nv)."""
        desired = self.target(t)
        e, de = np.asarray(q) - desired.q, np.asarray(qd) - desired.qd
        return np.asarray(de + self.bandwidth * e)

    def reaching_time(self, q: Array, qd: Array, t: float = 0.0) -> np.ndarray:
        """Seconds (..., nv) until each joint is in its layer, from a state at time t."""
        outside = np.abs(self.surface(t, q, qd)) - self.layer
        return np.asarray(np.maximum(0.0, outside) / self.switching_gain)

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        e, de, desired = self._error(t, q, qd, constants)
        s = de + constants["bandwidth"] * e
        share = np.minimum(np.maximum(s / constants["layer"], -1.0), 1.0)
        a = desired.qdd - constants["bandwidth"] * de - constants["switching_gain"] * share
        return self.model.at_time(t).compute("inverse_dynamics", q=q, qd=qd, qdd=a), np.zeros(0)


SlidingMode.__init__ = renamed_arguments(  # type: ignore[method-assign]
    slope="bandwidth", reach="switching_gain"
)(SlidingMode.__init__)
