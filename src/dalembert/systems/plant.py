"""What every integrator moves: a system under torques, controls or a controller, of one state.

The state is x = (q, q̇, z, W, H): z belongs to the controller and to the actuators (their activations,
where controls drive it), W is the work of the torques and H the energy that friction (or any other
force without potential) has taken away, so that

    K + U = K₀ + U₀ + W − H

holds along every exact solution, and measures the error of every other one. Without `energies` W and H
are left out. A system may be held by constraints; those that move do work too, −λᵀb of A q̇ = b, which
counts in W. A step d of the state is measured on the manifold of q, x ⊞ d = (q exp(Ω), …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.parts.actuators import clipped
from dalembert.formulations.parts.drive import coulomb
from dalembert.linalg.cholesky import solve_with_held
from dalembert.linalg.entries import largest
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import rubs
from dalembert.systems.law import Controller, asked, pack, unpack

Given = Mapping[str, Any]  # inputs besides state, time and torques
Shapes = Mapping[str, tuple[int, ...]]


class Drive(NamedTuple):
    """Torques at one state."""

    total: Any  # (nv,) given ones and the controller's
    zdot: Any  # of the controller's own state, or a function of λ
    rubbing: Any  # (nv,) Coulomb friction

    @property
    def left(self) -> Any:
        """What friction leaves of them."""
        return self.total - self.rubbing


@dataclass(frozen=True)
class Response:
    """What the equations of motion say at one state."""

    qdd: Any  # or the change of the speeds, where these are integrated
    zdot: Any
    tau: Any  # (nv,) what the drives exert, the controller's part included
    powers: tuple[Any, ...]  # (τ·q̇, −ψ·q̇ + friction·q̇), W; () where energies are left out
    held: Any = 0.0  # (nv,) torque that holds locked joints, on the side of friction
    lam: Any = None  # (rows,) forces of the constraints

    @property
    def rest(self) -> Any:
        """What follows the rate of q in the rate of the state: (q̈, ż, Ẇ, Ḣ)."""
        powers = [np.stack(self.powers)] if self.powers else []
        return np.concatenate([self.qdd, self.zdot, *powers])


@dataclass(frozen=True, eq=False)
class Plant:
    """A system and its controller; every method takes arrays of numbers or of symbols."""

    dynamics: Dynamics
    controller: Controller | None = None
    smooth: bool = False  # Coulomb friction rises over the velocity `width`, an input
    controlled: bool = False  # what comes from outside are controls of actuators, not torques
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
    def law_size(self) -> int:
        """Length of the controller's own state."""
        return 0 if self.controller is None else len(self.controller.initial)

    @cached_property
    def own(self) -> int:
        """Length of the controller's own state and of the activations behind it."""
        return self.law_size + (len(self.dynamics.driven_by.active) if self.controlled else 0)

    @cached_property
    def nz(self) -> int:
        """Length of what is carried between q̇ and the energies."""
        return self.own

    @cached_property
    def size(self) -> int:
        """Length of the state (q, q̇, z, W, H)."""
        return self.nq + self.nv + self.nz + 2 * self.energies

    @cached_property
    def inner(self) -> int:
        """Length of what is integrated: the state itself."""
        return self.size

    @cached_property
    def flat(self) -> int:
        """Length of a step d of the state, (nv, nv, nz, 2)."""
        return self.size + self.nv - self.nq

    @cached_property
    def driving(self) -> tuple[str, ...]:
        """Names of what comes from outside: of velocities for torques, of actuators for controls."""
        return self.dynamics.driven_by.names if self.controlled else self.dynamics.velocities

    @cached_property
    def given(self) -> Shapes:
        """Inputs besides state, time and torques."""
        law = {}
        if self.controller is not None and len(constants := pack(self.controller.constants)):
            law = {"law": constants.shape}
        count = len(self.dynamics.parameters)
        bound = {"parameters": (count,)} if count else {}
        return {**law, **bound, **({"width": (self.nv,)} if self.smooth else {})}

    def parts(self, x: Any) -> tuple[Any, Any, Any, Any]:
        """(q, q̇, z, (W, H)) of a state x (..., size)."""
        q, v, z = self.nq, self.nq + self.nv, x.shape[-1] - 2 * self.energies
        return x[..., :q], x[..., q:v], x[..., v:z], x[..., z:]

    def bound(self, given: Given) -> tuple[Dynamics, Any]:
        """(dynamics without Coulomb friction, (2, nv) friction at positive, negative velocity)."""
        if "inertia" in given:
            here = {name: x for name, x in given.items() if name != "inertia"}
            bare, friction = self.bound(here)
            return bare.with_inertia(given["inertia"]), friction
        if "parameters" not in given:
            return self._as_it_is
        whole = self.dynamics.bind(given["parameters"])
        return whole.without_coulomb(), whole.coulomb

    @cached_property
    def _as_it_is(self) -> tuple[Dynamics, Any]:
        whole = self.dynamics
        return whole.without_coulomb() if self.rubs else whole, whole.coulomb

    @cached_property
    def rubs(self) -> bool:
        """Whether there is Coulomb friction, or may be by a parameter."""
        return rubs(self.dynamics)

    # forces

    def torque(self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Given) -> tuple[Any, Any]:
        """(τ, ż): what was given plus what the controller asks for, or as much as the drives give."""
        total, zdot = self._asked_for(t, q, qd, z, tau, given)
        if not self.saturate:
            return total, zdot
        within = self.dynamics.effort_limit
        return np.stack([clipped(total[k], (-x, x)) for k, x in enumerate(within)]), zdot

    def _asked_for(
        self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Given
    ) -> tuple[Any, Any]:
        rates = np.zeros(0)
        if self.controlled:
            tau, rates = self._actuated(q, qd, tau, z[self.law_size : self.own], given)
        if self.controller is None:
            return tau, rates
        constants = unpack(self.controller.constants, given.get("law"))
        own, zdot = asked(self.controller, t, q, qd, z[: self.law_size], constants)
        total = own if tau is None else tau + own
        if callable(zdot):
            return total, lambda lam: np.concatenate([zdot(lam), rates])
        return total, np.concatenate([zdot, rates])

    def _actuated(self, q: Any, qd: Any, u: Any, w: Any, given: Given) -> tuple[Any, Any]:
        """(τ of the actuators, rates of their activations w) under controls u."""
        seen, _ = self.bound(given)
        if not seen.driven_by.active:
            return seen.compute("actuator_forces", q=q, qd=qd, u=u), np.zeros(0)
        forces = seen.compute("actuator_forces", q=q, qd=qd, u=u, activation=w)
        return forces, seen.compute("activation_rate", u=u, activation=w)

    def rubbing(self, qd: Any, friction: Any, given: Given) -> Any:
        """Coulomb friction (nv,): plain signs, or rising linearly over ±`width`."""
        if not self.rubs:
            return np.zeros(self.nv)
        return coulomb(qd, friction[0], friction[1], given["width"] if self.smooth else None)

    def drive(
        self, t: Any, q: Any, qd: Any, z: Any, tau: Any, friction: Any, given: Given
    ) -> Drive:
        """What drives and brakes at a state, `friction` (2, nv) that of `bound`."""
        total, zdot = self.torque(t, q, qd, z, tau, given)
        return Drive(total, zdot, self.rubbing(qd, friction, given))

    # motion

    def motion(self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Given) -> Response:
        """q̈ and λ with M q̈ + h + Aᵀλ = τ + ψ − Coulomb friction, and the powers."""
        bare, friction = self.bound(given)
        drive = self.drive(t, q, qd, z, tau, friction, given)
        qdd, lam = self._accelerations(bare, t, q, qd, drive.left)
        return self.response(bare, t, q, qd, qdd, lam, drive)

    def _accelerations(self, bare: Dynamics, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        """(q̈ (nv,), λ (rows,)) by the formulation that was named."""
        if self.formulation is None:
            return bare.motion(t, q, qd, tau)
        choices = {"t": t} if self.closed else {}
        choices |= {} if self.pivots is None else {"pivots": self.pivots}
        state = {"q": q, "qd": qd, "tau": tau}
        here = bare.at_time(t)
        found = here.compute("forward_dynamics", self.formulation, **state, **choices)
        return found if self.closed else (found, np.zeros(0))

    def response(
        self, bare: Dynamics, t: Any, q: Any, qd: Any, change: Any, lam: Any, drive: Drive
    ) -> Response:
        """The `change` of velocities or speeds and λ, with the powers that belong to them."""
        zdot = drive.zdot(lam) if callable(drive.zdot) else drive.zdot
        if not self.energies:
            return Response(change, zdot, drive.total, (), lam=lam)
        power = drive.total @ qd + bare.at_time(t).chart_power(q, qd)
        if self.closed and not bare.resting:
            power = power - bare.at(q, None, t).b @ lam
        loss = (drive.rubbing - bare.generalized_forces(q, qd, t)) @ qd
        loss = loss + bare.friction_loss(q, qd, t, lam)
        return Response(change, zdot, drive.total, (power, loss), lam=lam)

    def locked_motion(self, t: Any, q: Any, qd: Any, z: Any, tau: Any, given: Given) -> Response:
        """The same with joints held (`locked` 0 or 1) and slipping in the `direction` −1, 0, 1.

        Rows and columns of held joints leave M; what holds them is the rest of their equation.
        """
        bare, friction = self.bound(given)
        bare = bare.at_time(t)
        total, zdot = self.torque(t, q, qd, z, tau, given)
        rubbing = coulomb(given["direction"], friction[0], friction[1])
        psi = bare.generalized_forces(q, qd, t)
        M = bare.mass_matrix(q)
        b = total - bare.bias(q, qd) + psi - rubbing
        qdd, held = solve_with_held(M, b, given["locked"])
        return Response(qdd, zdot, total, (total @ qd, (rubbing - psi) @ qd), held)

    # constraints

    def project(self, x: Any, t: Any, given: Given) -> Any:
        """The state nearest to x, in the metric M, at which h = 0 and A q̇ = b."""
        q, qd, z, energy = self.parts(x)
        bare, _ = self.bound(given)
        return np.concatenate([*bare.project(q, qd, t), z, energy])

    def errors(self, x: Any, t: Any, given: Given) -> Any:
        """(2,) largest errors of the constraints: of positions |h|, of velocities |A q̇ − b|."""
        q, qd, *_ = self.parts(x)
        bare, _ = self.bound(given)
        rows = bare.at(q, qd, t)
        held = largest(rows.h) if rows.h.shape[0] else np.zeros(())
        return np.stack([held, largest(rows.A @ qd - rows.b)])

    # on the manifold: x ⊞ d, and the slope of d

    def moved(self, x: Any, d: Any) -> Any:
        """x ⊞ d: q along its manifold by d[:nv], everything else by addition."""
        own = self.dynamics.integrate(x[: self.nq], d[: self.nv])
        return np.concatenate([own, x[self.nq : self.inner] + d[self.nv :]])

    def slope(self, x: Any, d: Any, t: Any, tau: Any, given: Given) -> Any:
        """ḋ at x ⊞ d (nv + nv + nz + 2,): the velocity pulled back to where d is measured."""
        return self.slope_at(self.moved(x, d), d[: self.nv], t, tau, given)

    def slope_at(self, x: Any, omega: Any, t: Any, tau: Any, given: Given) -> Any:
        """ḋ at a state x whose q is Ω = `omega` (nv,) away from where d is measured."""
        q, qd, z, _ = self.parts(x)
        rest = self.motion(t, q, qd, z, tau, given).rest
        return np.concatenate([self.dynamics.pull_back(omega, qd), rest])

    def rate(self, x: Any, t: Any, tau: Any, given: Given) -> Any:
        """ẋ (size,), with the derivatives of quaternions themselves."""
        q, qd, z, _ = self.parts(x)
        motion = self.locked_motion if "locked" in given else self.motion
        return np.concatenate([self.dynamics.rate(q, qd), motion(t, q, qd, z, tau, given).rest])

    def flow(self, given: Given) -> Flow:
        """The plant with these inputs, its functions called as they are."""
        slope, project = self.slope, self.project
        return Flow(
            self,
            given,
            lambda x, d, t, tau, **own: slope(x, d, t, tau, own),
            self.moved,
            lambda x, t, **own: project(x, t, own),
        )


@dataclass(frozen=True)
class Flow:
    """What a step is written with: `slope` (x, d, t, τ) → ḋ at x ⊞ d, and `moved` (x, d) → x ⊞ d.

    Behind it are the plant's own functions, traced or on numbers, or their kernels.
    """

    plant: Plant
    given: Given
    slope_of: Callable[..., Any]
    moved: Callable[[Any, Any], Any]
    project_of: Callable[..., Any]

    def slope(self, x: Any, d: Any, t: Any, tau: Any) -> Any:
        """ḋ at x ⊞ d."""
        return self.slope_of(x=x, d=d, t=t, tau=tau, **self.given)

    def project(self, x: Any, t: Any) -> Any:
        """The nearest state on the constraints; the same state where there are none."""
        return self.project_of(x=x, t=t, **self.given) if self.plant.closed else x

    def under(self, given: Given) -> Flow:
        """The same with these inputs."""
        return replace(self, given=given)
