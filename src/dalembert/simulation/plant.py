"""What is integrated: a system under a torque law, as traceable functions of one state.

The state is (q, q̇, z, W, H): z belongs to the controller, W is the work of the torques and H the
energy that friction (or any other force without potential) has taken away, so that

    T + V = T₀ + V₀ + W − H

holds along every exact solution, and measures the error of every other one. A system may be held
by constraints; those that move do work too, −λᵀb of A q̇ = b, which counts in W.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.multiplier import forward_dynamics as held_dynamics
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.simulation.law import Controller, unpack
from dalembert.systems.system import Dynamics, System, dynamics


@dataclass(frozen=True)
class Motion:
    """What the equations of motion say at one state."""

    qdd: Any
    zdot: Any
    tau: Any  # (nv,) what the drives exert, the controller's part included
    power: Any  # τ·q̇, W
    loss: Any  # −ψ·q̇ + friction·q̇, W
    held: Any = 0.0  # (nv,) torque that holds locked joints, on the side of friction
    lam: Any = None  # (rows,) forces of the constraints


@dataclass(frozen=True, eq=False)
class Plant:
    """A system and its controller; every method takes arrays of numbers or of symbols."""

    system: System
    controller: Controller | None = None
    smooth: bool = False  # Coulomb friction rises over the velocity `width`, an input

    @cached_property
    def dynamics(self) -> Dynamics:
        """The traceable side of the system, without its constraints."""
        made = self.system.description
        return made.dynamics if isinstance(made, ConstrainedDynamics) else dynamics(self.system)

    @property
    def closed(self) -> ConstrainedDynamics | None:
        """The constraints and what they hold, if there are any."""
        made = self.system.description
        return made if isinstance(made, ConstrainedDynamics) else None

    @property
    def parameters(self) -> Mapping[str, float | None]:
        """Named parameters that are still open, with their defaults."""
        return self.system.description.parameters

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return self.system.description.parameter_values(given)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.system.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.system.nv

    @property
    def nz(self) -> int:
        """Length of the controller's own state."""
        return 0 if self.controller is None else len(self.controller.initial)

    @property
    def size(self) -> int:
        """Length of the state (q, q̇, z, W, H)."""
        return self.nq + self.nv + self.nz + 2

    def parts(self, x: Any) -> tuple[Any, Any, Any, Any]:
        """(q, q̇, z, (W, H)) of a state x (..., size)."""
        q, v = self.nq, self.nq + self.nv
        if isinstance(x, np.ndarray):
            return x[..., :q], x[..., q:v], x[..., v:-2], x[..., -2:]
        return x[:q], x[q:v], x[v : self.size - 2], x[self.size - 2 : self.size]

    def bound(self, parameters: Any) -> tuple[Dynamics, Any, Any]:
        """(dynamics without Coulomb friction, its torque at positive and at negative velocity)."""
        whole = self.dynamics
        if parameters is not None:
            own = len(whole.parameters)
            whole = whole.bind(parameters[:own]) if own else whole
        return whole.without_coulomb(), *whole.coulomb

    @cached_property
    def coulomb(self) -> np.ndarray:
        """(2, nv) Coulomb friction at positive and negative velocity, parameters at defaults."""
        values = self.parameters
        known = None if not values or None in values.values() else self.parameter_values()
        if values and known is None:
            return np.zeros((2, self.nv))
        _, positive, negative = self.bound(known)
        return np.stack([positive, negative])

    def torque(self, t: Any, q: Any, qd: Any, z: Any, tau: Any, law: Any) -> tuple[Any, Any]:
        """(τ, ż): what was given plus what the controller asks for."""
        if self.controller is None:
            return tau, np.zeros(0)
        constants = unpack(self.controller.constants, law)
        asked, zdot = self.controller.law(t, q, qd, z, constants)
        return tau + asked, zdot

    def rows(self, bare: Dynamics, parameters: Any) -> ConstrainedDynamics:
        """The constraints with their parameters set, on the dynamics `bare`."""
        assert self.closed is not None
        bound = self.closed if parameters is None else self.closed.bind(parameters)
        return replace(bound, dynamics=bare)

    def motion(self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Mapping[str, Any]) -> Motion:
        """q̈ with M q̈ + h = τ + ψ − Coulomb friction, and the powers."""
        bare, positive, negative = self.bound(given.get("parameters"))
        total, zdot = self.torque(t, q, qd, z, tau, given.get("law"))
        rubbing = self.rubbing(qd, positive, negative, given)
        loss = (rubbing - bare.generalized_forces(q, qd)) @ qd
        if self.closed is None:
            qdd, _ = bare.motion(t, q, qd, total - rubbing)
            return Motion(qdd, zdot, total, total @ qd, loss)
        closed = self.rows(bare, given.get("parameters"))
        qdd, lam = held_dynamics(closed, q, qd, total - rubbing, t)
        power = total @ qd - closed.at(q, None, t).b @ lam
        zdot = zdot(lam) if callable(zdot) else zdot
        return Motion(qdd, zdot, total, power, loss, lam=lam)

    def rubbing(self, qd: Any, positive: Any, negative: Any, given: Mapping[str, Any]) -> Any:
        """Coulomb friction (nv,): plain signs, or rising linearly over ±`width`."""
        if not np.any(self.coulomb):
            return np.zeros(self.nv)
        if not self.smooth:
            return (qd > 0) * positive + (qd < 0) * negative
        share = np.minimum(np.maximum(qd / given["width"], -1.0), 1.0)
        return np.maximum(share, 0.0) * positive - np.minimum(share, 0.0) * negative

    def locked_motion(
        self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Mapping[str, Any]
    ) -> Motion:
        """The same with joints held (`locked` 0 or 1) and slipping in the `direction` −1, 0, 1.

        Rows and columns of held joints leave M; what holds them is the rest of their equation.
        """
        bare, positive, negative = self.bound(given.get("parameters"))
        total, zdot = self.torque(t, q, qd, z, tau, given.get("law"))
        locked, direction = given["locked"], given["direction"]
        rubbing = (direction > 0) * positive + (direction < 0) * negative
        psi = bare.generalized_forces(q, qd)
        M = bare.mass_matrix(q)
        b = total - bare.bias(q, qd) + psi - rubbing
        free = 1.0 - locked
        reduced = np.outer(free, free) * M + np.diag(locked)
        qdd = cholesky_solve(reduced, free * b)
        held = locked * (b - M @ qdd)
        return Motion(qdd, zdot, total, total @ qd, (rubbing - psi) @ qd, held)

    def culprit(self, before: np.ndarray) -> str:
        """Who left the finite numbers: the fastest joint of the last finite state."""
        speeds = np.abs(before[self.nq : self.nq + self.nv])
        fastest = self.dynamics.velocities[int(np.argmax(speeds))]
        return f"the motion is not finite, joint {fastest!r} fastest,"

    # on the manifold: x ⊞ d, and the slope of d

    def moved(self, x: Any, d: Any) -> Any:
        """x ⊞ d: q along its manifold by d[:nv], everything else by addition."""
        q, qd, z, energy = self.parts(x)
        nv = self.nv
        own = self.dynamics.integrate(q, d[:nv])
        rest = np.concatenate([qd, z, energy]) + d[nv:]
        return np.concatenate([own, rest])

    def slope(self, x: Any, d: Any, t: Any, tau: Any, given: Mapping[str, Any]) -> Any:
        """ḋ at x ⊞ d (nv + nv + nz + 2,): the velocity pulled back to where d is measured."""
        q, qd, z, _ = self.parts(self.moved(x, d))
        m = self.motion(t, q, qd, z, tau, given)
        rate = self.dynamics.pull_back(d[: self.nv], qd)
        powers = np.stack([m.power, m.loss])
        return np.concatenate([rate, m.qdd, m.zdot, powers])

    def rate(self, x: Any, t: Any, tau: Any, given: Mapping[str, Any]) -> Any:
        """ẋ (size,), with the derivatives of quaternions themselves."""
        q, qd, z, _ = self.parts(x)
        locked = "locked" in given
        m = (self.locked_motion if locked else self.motion)(t, q, qd, z, tau, given)
        powers = np.stack([m.power, m.loss])
        return np.concatenate([self.dynamics.rate(q, qd), m.qdd, m.zdot, powers])
