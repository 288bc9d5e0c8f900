"""What is integrated: a system under a torque law, as traceable functions of one state.

The state is (q, q̇, z, W, H): z belongs to the controller and to the actuators (their activations,
where controls drive it), W is the work of the torques and H the
energy that friction (or any other force without potential) has taken away, so that

    K + U = K₀ + U₀ + W − H

holds along every exact solution, and measures the error of every other one. A system may be held
by constraints; those that move do work too, −λᵀb of A q̇ = b, which counts in W.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.formulations.parts.actuators import clipped
from dalembert.formulations.parts.drive import coulomb
from dalembert.linalg.cholesky import solve_with_held
from dalembert.linalg.entries import largest
from dalembert.simulation.inline import Function, Looped, Shapes, compiled
from dalembert.simulation.plant_state import PlantState
from dalembert.simulation.response import Drive, Response
from dalembert.systems.friction import rubs
from dalembert.systems.law import asked as asked_of
from dalembert.systems.law import pack, unpack
from dalembert.systems.system import Dynamics

Given = Mapping[str, Any]  # inputs besides state, time and torques


@dataclass(frozen=True, eq=False)
class Plant(PlantState):
    """A system and its controller; every method takes arrays of numbers or of symbols."""

    # inputs and kernels

    @cached_property
    def given(self) -> Shapes:
        """Inputs besides state, time and torques."""
        law = {}
        if self.controller is not None and len(constants := pack(self.controller.constants)):
            law = {"law": constants.shape}
        count = len(self.dynamics.parameters)
        bound = {"parameters": (count,)} if count else {}
        return {**law, **bound, **({"width": (self.nv,)} if self.smooth else {})}

    def built(self, name: str, function: Function, shapes: Shapes, traces: bool = True) -> Function:
        """The function's kernel, or the function itself on numbers where it cannot be traced."""
        if traces and self.traces:
            return compiled(name, function, shapes).ufunc
        return Looped(function, shapes)

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
        asked, zdot = asked_of(self.controller, t, q, qd, z[: self.law_size], constants)
        if callable(zdot):
            return tau + asked, lambda lam: np.concatenate([zdot(lam), rates])
        return tau + asked, np.concatenate([zdot, rates])

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
        power = drive.total @ qd + bare.at_time(t).chart_power(q, qd)
        if self.closed and not bare.resting:
            power = power - bare.at(q, None, t).b @ lam
        zdot = drive.zdot(lam) if callable(drive.zdot) else drive.zdot
        loss = (drive.rubbing - bare.generalized_forces(q, qd, t)) @ qd
        loss = loss + bare.friction_loss(q, qd, t, lam)
        return Response(change, zdot, drive.total, power, loss, lam=lam)

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
        return Response(qdd, zdot, total, total @ qd, (rubbing - psi) @ qd, held)

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

    @cached_property
    def errors_of(self) -> Function:
        """(x, t, …) → (2,) the same, compiled; x a plain state."""
        if self.plain is not None:
            return self.plain.errors_of

        def function(x: Any, t: Any, **given: Any) -> Any:
            return self.errors(x, t, given)

        return self.built("errors", function, {"x": (self.size,), "t": (), **self.given})

    @cached_property
    def project_of(self) -> Function:
        """(y, t, …) → what is integrated, on the constraints, compiled."""
        if self.plain is not None:
            return self.plain.project_of

        def function(x: Any, t: Any, **given: Any) -> Any:
            return self.project(x, t, given)

        return self.built("project", function, {"x": (self.size,), "t": (), **self.given})

    def switched(self, q: np.ndarray, t: float, given: Given) -> Plant:
        """The same with pivots that are good at this posture: its own, as long as they are."""
        bound = self.dynamics.bound(given.get("parameters"))
        known = () if self.pivots is None else (self.pivots,)
        return replace(self, pivots=bound.pivots_at(q, t, known).key)

    @cached_property
    def switches(self) -> bool:
        """Whether its formulation has pivots, which may have to be chosen again on the way."""
        if self.formulation is None or not self.closed:
            return False
        found = self.dynamics.quantity("forward_dynamics").formulation(self.formulation)
        return found.takes("pivots")

    # what is integrated, here the state itself

    def first(self, q: np.ndarray, given: Given) -> np.ndarray:
        """What is carried between q̇ and the energies at the start (..., nz)."""
        law = np.zeros(0) if self.controller is None else np.asarray(self.controller.initial)
        return np.concatenate([law, np.zeros(self.own - self.law_size)])

    def enter(self, x: Any, t: Any, given: Given) -> Any:
        """What is integrated (inner,) of a state (size,)."""
        return x

    def leave(self, y: Any, t: Any, given: Given) -> Any:
        """The state (size,) of what is integrated (inner,)."""
        return y

    def entered(self, x: np.ndarray, t: Any, given: Given) -> np.ndarray:
        """The same as `enter` for states (..., size) of numbers."""
        return x

    def left(self, y: np.ndarray, t: Any, given: Given) -> np.ndarray:
        """The same as `leave` for numbers (..., inner)."""
        return y

    def without_basis(self, x: np.ndarray) -> np.ndarray:
        """(q, q̇, z, W, H) (..., plain size), z of the controller and the actuators."""
        return x

    # on the manifold: x ⊞ d, and the slope of d

    def moved(self, x: Any, d: Any) -> Any:
        """x ⊞ d: q along its manifold by d[:nv], everything else by addition."""
        own = self.dynamics.integrate(x[: self.nq], d[: self.nv])
        return np.concatenate([own, x[self.nq : self.inner] + d[self.nv :]])

    def slope(self, x: Any, d: Any, t: Any, tau: Any, given: Given) -> Any:
        """ḋ at x ⊞ d (nv + nv + nz + 2,): the velocity pulled back to where d is measured."""
        q, qd, z, _ = self.parts(self.moved(x, d))
        found = self.motion(t, q, qd, z, tau, given)
        return np.concatenate([self.dynamics.pull_back(d[: self.nv], qd), found.rest])

    def rate(self, x: Any, t: Any, tau: Any, given: Given) -> Any:
        """ẋ (size,), with the derivatives of quaternions themselves."""
        q, qd, z, _ = self.parts(x)
        motion = self.locked_motion if "locked" in given else self.motion
        return np.concatenate([self.dynamics.rate(q, qd), motion(t, q, qd, z, tau, given).rest])
