"""Controllers in joint space: PD with gravity compensation, feed-forward, and computed torque."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dalembert.control.trajectory import Trajectory, hold
from dalembert.errors import ModelError, ParameterError, ShapeError
from dalembert.systems.system import Dynamics, System
from dalembert.travel import Portable


def gain(value: Any, size: int, name: str) -> np.ndarray:
    """A gain as one number for each joint."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} must be a number or have the shape ({size},), not {array.shape}")
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} must be finite, not {array}")
    return np.broadcast_to(array, (size,)).copy()


def known(system: System) -> Dynamics:
    """What a controller knows of a system: no constraints, no Coulomb friction, parameters set."""
    require_one_degree(system)
    return system.dynamics.bound().free.without_coulomb()


def require_one_degree(system: System) -> None:
    """Configurations must have differences."""
    if system.nq != system.nv:
        raise ModelError(
            f"{system.name} has spherical or free joints, whose configurations have no difference; "
            "this controller needs joints of one degree"
        )


def tracked(system: System, target: Trajectory | Any) -> Trajectory:
    """The motion a controller of the system's joints follows; a posture (nv,) is held."""
    require_one_degree(system)
    path = target if isinstance(target, Trajectory) else hold(target)
    if path.size != system.nv:
        raise ShapeError(f"the target has {path.size} joints, {system.name} has {system.nv}")
    return path


@dataclass(frozen=True, eq=False)
class JointLaw(Portable):
    """A controller of a system's joints, with the model it believes in and gains for each joint."""

    GAINS: ClassVar[tuple[str, ...]] = ()

    system: System
    target: Trajectory | Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", tracked(self.system, self.target))
        for name in self.GAINS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, gain(getattr(self, name), self.system.nv, name))

    @cached_property
    def model(self) -> Dynamics:
        """The dynamics the law computes with."""
        return known(self.system)

    def believing(self, model: Dynamics) -> Self:
        """The same law, computing with these dynamics, whose numbers may be symbols."""
        made = copy(self)
        made.__dict__["model"] = model.free.without_coulomb()
        return made

    @property
    def _given(self) -> tuple[str, ...]:
        return tuple(name for name in self.GAINS if getattr(self, name) is not None)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        return {**{name: getattr(self, name) for name in self._given}, **self.target.constants}

    @property
    def initial(self) -> np.ndarray:
        """No state of its own."""
        return np.zeros(0)

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        return type(self).__name__, self.system, self._given

    def _error(self, t: Any, q: Any, qd: Any, constants: Mapping[str, Any]) -> tuple[Any, ...]:
        wanted = self.target.at(t, constants)
        return q - wanted.q, qd - wanted.qd, wanted


@dataclass(frozen=True, eq=False)
class _Feedback(JointLaw):
    """K_p e + K_d ė + K_i z with ż = e."""

    GAINS = ("kp", "kd", "ki")

    kp: Any
    kd: Any
    ki: Any = None

    @property
    def initial(self) -> np.ndarray:
        """Where ∫e begins."""
        return np.zeros(0 if self.ki is None else self.system.nv)

    def _feedback(self, e: Any, de: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(K_p e + K_d ė + K_i z, ż)."""
        found = constants["kp"] * e + constants["kd"] * de
        return (found, np.zeros(0)) if self.ki is None else (found + constants["ki"] * z, e)


@dataclass(frozen=True, eq=False)
class PDGravity(_Feedback):
    """τ = −K_p e − K_d ė − K_i ∫e + N(q), e = q − q_d (Takegaki and Arimoto 1981).

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> law = dl.control.PDGravity(robot, target=[1.0], kp=100.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0], [0.0], law, duration=2.0, dt=0.01)
    >>> bool(abs(run.q[-1] - 1.0) < 1e-6)
    True
    """

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        e, de, _ = self._error(t, q, qd, constants)
        feedback, zdot = self._feedback(e, de, z, constants)
        return self.model.at_time(t).compute("gravity_torque", q=q) - feedback, zdot


@dataclass(frozen=True, eq=False)
class FeedForward(_Feedback):
    """τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + N(q_d) − ψ − K_p e − K_d ė − K_i ∫e, e = q − q_d.

    The torques of the wanted motion, which may be computed before it, and feedback for what they
    miss. About a posture the errors obey M ë + K_d ė + (K_p + ∂N/∂q) e = 0.

    >>> import dalembert as dl
    >>> robot = dl.load("planar_2r")
    >>> path = dl.control.quintic([0.0, 0.0], [1.0, -0.5], duration=1.0)
    >>> law = dl.control.FeedForward(robot, path, kp=100.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0, 0.0], None, law, duration=1.0, dt=0.01)
    >>> bool(abs(run.q - path(run.time.values).q).max() < 1e-8)
    True
    """

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        e, de, wanted = self._error(t, q, qd, constants)
        feedback, zdot = self._feedback(e, de, z, constants)
        motion = {"q": wanted.q, "qd": wanted.qd, "qdd": wanted.qdd}
        return self.model.at_time(t).compute("inverse_dynamics", **motion) - feedback, zdot


@dataclass(frozen=True, eq=False)
class ComputedTorque(_Feedback):
    """τ = M(q)(q̈_d − K_d ė − K_p e − K_i ∫e) + C q̇ + N − ψ (000 p.75 without constraints; 004).

    With the true model every joint's error obeys ë + K_d ė + K_p e + K_i ∫e = 0. Coulomb friction
    is not compensated.
    """

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        e, de, wanted = self._error(t, q, qd, constants)
        feedback, zdot = self._feedback(e, de, z, constants)
        state = {"q": q, "qd": qd, "qdd": wanted.qdd - feedback}
        return self.model.at_time(t).compute("inverse_dynamics", **state), zdot
