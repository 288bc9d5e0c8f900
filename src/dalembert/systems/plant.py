"""The equations that every integrator solves: a system under torques, controls or a controller.

The state is x = (q, q̇, z, W, H): z belongs to the controller and to the actuators (their activations,
where controls drive it), W is the work of the torques and H the energy that friction (or any other
force without potential) has taken away, so that

    K + U = K₀ + U₀ + W − H

holds along every exact solution, and measures the error of every other one. Without `energies` W and H
are left out. The system may have constraints; those that move do work too, −λᵀb of A q̇ = b, which
counts in W. A step d of the state is measured on the manifold of q, x ⊞ d = (q exp(Ω), …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.actuators import clipped
from dalembert.formulations.parts.elements import coulomb
from dalembert.linalg.factorisations import largest, solve_with_fixed
from dalembert.systems.controller import Controller, controller_output, pack, unpack
from dalembert.systems.dynamics import Array, Dynamics, Time
from dalembert.systems.friction import has_coulomb

Inputs = Mapping[str, Any]  # inputs besides state, time and torques
Shapes = Mapping[str, tuple[int, ...]]
StateRate = Array | Callable[[Array], Array]  # ż (nz,), or a function of λ


class Drive(NamedTuple):
    """Torques at one state."""

    total: Array  # (nv,) given ones and the controller's
    zdot: StateRate  # of the controller's own state
    coulomb: Array  # (nv,) Coulomb friction

    @property
    def left(self) -> Array:
        """The torques less friction."""
        tau: Array = self.total - self.coulomb
        return tau


@dataclass(frozen=True)
class Response:
    """The solution of the equations of motion at one state."""

    qdd: Array  # or the change of the speeds, where these are integrated
    zdot: Any  # (nz,) of the controller's own state and the activations
    tau: Array  # (nv,) of the drives, the controller's part included
    powers: tuple[Any, ...]  # (τ·q̇, −ψ·q̇ + friction·q̇), W; () where energies are left out
    locking_torque: Any = 0.0  # (nv,) that holds locked joints, on the side of friction
    lam: Any = None  # (rows,) forces of the constraints

    @property
    def rest(self) -> Array:
        """The rate of the state after that of q: (q̈, ż, Ẇ, Ḣ)."""
        powers = [np.stack(self.powers)] if self.powers else []
        return np.concatenate([self.qdd, self.zdot, *powers])


@dataclass(frozen=True, eq=False)
class Plant:
    """A system and its controller; every method takes arrays of numbers or of symbols."""

    dynamics: Dynamics
    controller: Controller | None = None
    smooth: bool = False  # Coulomb friction rises over the velocity `width`, an input
    controlled: bool = False  # the inputs are controls of actuators, not torques
    saturate: bool = False  # the drives give no more than their limits
    energies: bool = True  # W and H are part of the state
    formulation: str | None = None  # of forward dynamics, the default where none is named
    pivots: str | None = None  # rows and coordinates of that formulation, where it has them

    # sizes and parts

    @cached_property
    def closed(self) -> bool:
        """Whether constraints hold it."""
        return self.dynamics.rows > 0

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.dynamics.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.dynamics.nv

    @cached_property
    def controller_size(self) -> int:
        """Length of the controller's own state."""
        return 0 if self.controller is None else len(self.controller.initial)

    @cached_property
    def own(self) -> int:
        """Length of the controller's own state and of the activations behind it."""
        activations = len(self.dynamics.driven_by.active) if self.controlled else 0
        return self.controller_size + activations

    @cached_property
    def nz(self) -> int:
        """Length of z, between q̇ and the energies."""
        return self.own

    @cached_property
    def size(self) -> int:
        """Length of the state (q, q̇, z, W, H)."""
        return self.nq + self.nv + self.nz + 2 * self.energies

    @cached_property
    def inner(self) -> int:
        """Length of the integrated vector: the state itself."""
        return self.size

    @cached_property
    def flat(self) -> int:
        """Length of a step d of the state, (nv, nv, nz, 2)."""
        return self.size + self.nv - self.nq

    @cached_property
    def driving(self) -> tuple[str, ...]:
        """Names of the inputs: of velocities for torques, of actuators for controls."""
        return self.dynamics.driven_by.names if self.controlled else self.dynamics.velocities

    @cached_property
    def fixed_inputs(self) -> Shapes:
        """Inputs besides state, time and torques."""
        shapes: dict[str, tuple[int, ...]] = {}
        if self.controller is not None and len(constants := pack(self.controller.constants)):
            shapes["law"] = constants.shape
        if self.dynamics.parameters:
            shapes["parameters"] = (len(self.dynamics.parameters),)
        if self.smooth:
            shapes["width"] = (self.nv,)
        return shapes

    def parts(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """(q, q̇, z, (W, H)) of a state x (..., size)."""
        q, v, z = self.nq, self.nq + self.nv, x.shape[-1] - 2 * self.energies
        return x[..., :q], x[..., q:v], x[..., v:z], x[..., z:]

    def bound(self, inputs: Inputs) -> tuple[Dynamics, Array]:
        """(dynamics without Coulomb friction, (2, nv) friction at positive, negative velocity)."""
        if "parameters" in inputs:
            whole = self.dynamics.bind(inputs["parameters"])
            bare, friction = whole.without_coulomb(), whole.coulomb
        else:
            bare, friction = self._with_defaults
        return bare.with_inertia(inputs["inertia"]) if "inertia" in inputs else bare, friction

    @cached_property
    def _with_defaults(self) -> tuple[Dynamics, Array]:
        whole = self.dynamics
        return whole.without_coulomb() if self.has_coulomb else whole, whole.coulomb

    @cached_property
    def has_coulomb(self) -> bool:
        """Whether there is Coulomb friction, or may be by a parameter."""
        return has_coulomb(self.dynamics)

    # forces

    def torque(
        self, t: Time, q: Array, qd: Array, z: Array, tau: Array | None, inputs: Inputs
    ) -> tuple[Array, Any]:
        """(τ, ż): the given torques plus those of the controller, saturated if the drives are."""
        rates: Array = np.zeros(0)
        if self.controlled:  # τ stands for controls; behind z are the activations
            dynamics, _ = self.bound(inputs)
            state: dict[str, Any] = {"q": q, "qd": qd, "u": tau}
            if dynamics.driven_by.active:
                state["activation"] = z[self.controller_size : self.own]
            tau = dynamics.compute("actuator_forces", **state)
            if dynamics.driven_by.active:
                u, activation = state["u"], state["activation"]
                rates = dynamics.compute("activation_rate", u=u, activation=activation)
        total: Any = tau
        zdot: StateRate = rates
        if self.controller is not None:
            constants = unpack(self.controller.constants, inputs.get("law"))
            own_z = z[: self.controller_size]
            own, rate = controller_output(self.controller, t, q, qd, own_z, constants)
            total = own if tau is None else tau + own
            if callable(rate):
                zdot = lambda lam: np.concatenate([rate(lam), rates])  # noqa: E731
            else:
                zdot = np.concatenate([rate, rates])
        if self.saturate:
            limits = enumerate(self.dynamics.effort_limit)
            total = np.stack([clipped(total[k], (-x, x)) for k, x in limits])
        return total, zdot

    def coulomb_torque(self, qd: Array, friction: Array, inputs: Inputs) -> Array:
        """Coulomb friction (nv,): plain signs, or rising linearly over ±`width`."""
        if not self.has_coulomb:
            return np.zeros(self.nv)
        return coulomb(qd, friction[0], friction[1], inputs["width"] if self.smooth else None)

    # motion

    def motion(
        self, t: Time, q: Array, qd: Array, z: Array, tau: Array | None, inputs: Inputs
    ) -> Response:
        """q̈ and λ with M q̈ + h + Aᵀλ = τ + ψ − Coulomb friction, and the powers."""
        bare, friction = self.bound(inputs)
        loss = self.coulomb_torque(qd, friction, inputs)
        drive = Drive(*self.torque(t, q, qd, z, tau, inputs), loss)
        if self.formulation is None:
            qdd, lam = bare.motion(t, q, qd, drive.left)
        else:
            choices: dict[str, Any] = {"t": t} if self.closed else {}
            choices |= {} if self.pivots is None else {"pivots": self.pivots}
            state = {"q": q, "qd": qd, "tau": drive.left}
            here = bare.at_time(t)
            result = here.compute("forward_dynamics", self.formulation, **state, **choices)
            qdd, lam = result if self.closed else (result, np.zeros(0))
        return self.response(bare, t, q, qd, qdd, lam, drive)

    def response(
        self, bare: Dynamics, t: Time, q: Array, qd: Array, change: Array, lam: Array, drive: Drive
    ) -> Response:
        """The `change` of velocities or speeds and λ, with the powers that belong to them."""
        zdot = drive.zdot(lam) if callable(drive.zdot) else drive.zdot
        if not self.energies:
            return Response(change, zdot, drive.total, (), lam=lam)
        power = drive.total @ qd + bare.at_time(t).chart_power(q, qd)
        if self.closed and not bare.resting:
            power = power - bare.at(q, None, t).b @ lam
        loss = (drive.coulomb - bare.generalized_forces(q, qd, t)) @ qd
        loss = loss + bare.friction_loss(q, qd, t, lam)
        return Response(change, zdot, drive.total, (power, loss), lam=lam)

    def locked_motion(
        self, t: Time, q: Array, qd: Array, z: Array, tau: Array | None, inputs: Inputs
    ) -> Response:
        """The same with joints stuck (`locked` 0 or 1) or slipping in the `direction` −1, 0, 1.

        Rows and columns of stuck joints leave M; their static torque is the rest of their equation.
        """
        bare, friction = self.bound(inputs)
        bare = bare.at_time(t)
        total, zdot = self.torque(t, q, qd, z, tau, inputs)
        slipping = coulomb(inputs["direction"], friction[0], friction[1])
        psi = bare.generalized_forces(q, qd, t)
        M = bare.mass_matrix(q)
        b = total - bare.bias(q, qd) + psi - slipping
        qdd, locking_torque = solve_with_fixed(M, b, inputs["locked"])
        powers = (total @ qd, (slipping - psi) @ qd)
        return Response(qdd, zdot, total, powers, locking_torque)

    # constraints

    def project(self, x: Array, t: Time, inputs: Inputs) -> Array:
        """The state nearest to x, in the metric M, at which h = 0 and A q̇ = b."""
        q, qd, z, energy = self.parts(x)
        bare, _ = self.bound(inputs)
        return np.concatenate([*bare.project(q, qd, t), z, energy])

    def errors(self, x: Array, t: Time, inputs: Inputs) -> Array:
        """(2,) largest errors of the constraints: of positions |h|, of velocities |A q̇ − b|."""
        q, qd, *_ = self.parts(x)
        bare, _ = self.bound(inputs)
        rows = bare.at(q, qd, t)
        position = largest(rows.h) if rows.h.shape[0] else np.zeros(())
        return np.stack([position, largest(rows.A @ qd - rows.b)])

    # on the manifold: x ⊞ d, and the derivative of d

    def moved(self, x: Array, d: Array) -> Array:
        """x ⊞ d: q along its manifold by d[:nv], everything else by addition."""
        own = self.dynamics.integrate(x[: self.nq], d[: self.nv])
        return np.concatenate([own, x[self.nq : self.inner] + d[self.nv :]])

    def derivative(self, x: Array, d: Array, t: Time, tau: Array | None, inputs: Inputs) -> Array:
        """ḋ (flat,) at x ⊞ d."""
        return self.derivative_at(self.moved(x, d), d[: self.nv], t, tau, inputs)

    def derivative_at(
        self, x: Array, omega: Array, t: Time, tau: Array | None, inputs: Inputs
    ) -> Array:
        """ḋ (nv + nv + nz + 2,) at a state x whose q is Ω = `omega` (nv,) away from where d begins.

        The velocity is pulled back to where d is measured.
        """
        q, qd, z, _ = self.parts(x)
        rest = self.motion(t, q, qd, z, tau, inputs).rest
        return np.concatenate([self.dynamics.pull_back(omega, qd), rest])

    def rate(self, x: Array, t: Time, tau: Array | None, inputs: Inputs) -> Array:
        """ẋ (size,), with the derivatives of quaternions themselves."""
        q, qd, z, _ = self.parts(x)
        motion = self.locked_motion if "locked" in inputs else self.motion
        return np.concatenate([self.dynamics.rate(q, qd), motion(t, q, qd, z, tau, inputs).rest])

    def flow(self, inputs: Inputs) -> Flow:
        """The plant with these inputs, its functions not compiled."""
        return Flow(
            self,
            inputs,
            lambda x, d, t, tau, **own: self.derivative(x, d, t, tau, own),
            self.moved,
            lambda x, t, **own: self.project(x, t, own),
        )


@dataclass(frozen=True)
class Flow:
    """The functions of a step: `derivative` (x, d, t, τ) → ḋ at x ⊞ d, `moved` (x, d) → x ⊞ d.

    They are the plant's own functions, traced or on numbers, or their kernels.
    """

    plant: Plant
    fixed_inputs: Inputs
    derivative_of: Callable[..., Array]
    moved: Callable[[Array, Array], Array]
    project_of: Callable[..., Array]

    def derivative(self, x: Array, d: Array, t: Time, tau: Array | None) -> Array:
        """ḋ at x ⊞ d."""
        return self.derivative_of(x=x, d=d, t=t, tau=tau, **self.fixed_inputs)

    def project(self, x: Array, t: Time) -> Array:
        """The nearest state on the constraints; the same state where there are none."""
        return self.project_of(x=x, t=t, **self.fixed_inputs) if self.plant.closed else x

    def under(self, inputs: Inputs) -> Flow:
        """The same with these inputs."""
        return replace(self, fixed_inputs=inputs)
