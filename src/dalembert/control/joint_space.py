"""Controllers in joint space: PD with gravity compensation, and computed torque."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.control.trajectory import Trajectory, hold
from dalembert.errors import ModelError, ShapeError
from dalembert.systems.system import Dynamics, System
from dalembert.travel import Portable


def gain(value: Any, size: int, name: str) -> np.ndarray:
    """A gain as one number for each joint."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,)) or not np.isfinite(array).all():
        raise ShapeError(f"{name} must be a number or have the shape ({size},), not {array.shape}")
    return np.broadcast_to(array, (size,)).copy()


def known(system: System) -> Dynamics:
    """What a controller knows of a system: no constraints, no Coulomb friction, parameters set."""
    if system.nq != system.nv:
        raise ModelError(
            f"{system.name} has spherical or free joints, whose configurations have no difference; "
            "this controller needs joints of one degree"
        )
    return system.dynamics.bound().free.without_coulomb()


@dataclass(frozen=True, eq=False)
class _JointSpace(Portable):
    """A controller of a system's joints, with the model it believes in."""

    system: System
    target: Trajectory | Any
    kp: Any
    kd: Any
    ki: Any = None
    initial: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        n = self.system.nv
        if not isinstance(self.target, Trajectory):
            object.__setattr__(self, "target", hold(self.target))
        if self.target.size != n:
            raise ShapeError(
                f"the target has {self.target.size} joints, {self.system.name} has {n}"
            )
        for name in ("kp", "kd", "ki"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, gain(getattr(self, name), n, name))
        object.__setattr__(self, "initial", np.zeros(0 if self.ki is None else n))

    @cached_property
    def model(self) -> Dynamics:
        """The dynamics the law computes with."""
        return known(self.system)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        gains = {"kp": self.kp, "kd": self.kd, **({} if self.ki is None else {"ki": self.ki})}
        return {**gains, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        return type(self).__name__, self.system, self.ki is None

    def _error(self, t: Any, q: Any, qd: Any, constants: Mapping[str, Any]) -> tuple[Any, ...]:
        wanted = self.target.at(t, constants)
        return q - wanted.q, qd - wanted.qd, wanted


@dataclass(frozen=True, eq=False)
class PDGravity(_JointSpace):
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
        weight = self.model.at_time(t).compute("gravity_torque", q=q)
        tau = weight - constants["kp"] * e - constants["kd"] * de
        return (tau, np.zeros(0)) if self.ki is None else (tau - constants["ki"] * z, e)


@dataclass(frozen=True, eq=False)
class ComputedTorque(_JointSpace):
    """τ = M(q)(q̈_d − K_d ė − K_p e − K_i ∫e) + C q̇ + N − ψ (000 p.75 without constraints; 004).

    With the true model every joint's error obeys ë + K_d ė + K_p e + K_i ∫e = 0. Coulomb friction
    is not compensated.
    """

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        e, de, wanted = self._error(t, q, qd, constants)
        a = wanted.qdd - constants["kd"] * de - constants["kp"] * e
        zdot = np.zeros(0)
        if self.ki is not None:
            a, zdot = a - constants["ki"] * z, e
        return self.model.at_time(t).compute("inverse_dynamics", q=q, qd=qd, qdd=a), zdot
