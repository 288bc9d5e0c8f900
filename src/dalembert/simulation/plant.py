"""The plant of a run: the integrated and the saved state, and kernels of its functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.kernels import Kernel, Port, build
from dalembert.kernels.call.kernel import Function, PlainKernel
from dalembert.kernels.program.trace import trace
from dalembert.systems.plant import Flow, Inputs, Plant, Shapes
from dalembert.systems.system import System

__all__ = ["Function", "PlainKernel", "Shapes", "Time", "compiled"]

Time = float | np.ndarray  # s; lengths of time too
CLOSED = 1e-6  # error of constraints, m, rad, m/s or rad/s
INEXACT = 1e-3  # the same where rows repeat others but for the digits of their data


def compiled(name: str, function: Callable[..., Any], inputs: Shapes) -> Kernel:
    """The kernel of a function of arrays, cached by the digest of its program."""
    present = {key: shape for key, shape in inputs.items() if prod(shape)}
    traced = trace(function, present, name=name)
    outputs = tuple(Port(port.name, port.shape) for port in traced.outputs)
    ports = tuple(Port(key, shape) for key, shape in present.items())
    return build(f"{name} {traced.digest}", lambda: traced, ports, outputs, name)


@dataclass(frozen=True, eq=False)
class SimulatedPlant(Plant):
    """A plant with kernels; functions of a plant that cannot be traced run on numbers."""

    system: System = field(kw_only=True)
    plain: SimulatedPlant | None = None  # in the default formulation

    def built(self, name: str, function: Function, shapes: Shapes, traces: bool = True) -> Function:
        """The function's kernel, or the function itself on numbers where it cannot be traced."""
        if traces and self.dynamics.traces:
            return compiled(name, function, shapes).ufunc
        return PlainKernel(function, shapes)

    @cached_property
    def errors_of(self) -> Function:
        """(x, t, …) → (2,) largest |h| and |A q̇ − b| of the constraints, compiled; x a plain state."""
        if self.plain:
            return self.plain.errors_of
        return self._of_state("errors", self.errors, self.size)

    @cached_property
    def closing_tolerance(self) -> float:
        """Largest error of a state that is projected onto the constraints, m, rad, m/s or rad/s.

        No projection closes rows that repeat others but for the digits of their data (decision 26).
        """
        return INEXACT if getattr(self.dynamics, "dependent", ()) else CLOSED

    @cached_property
    def project_of(self) -> Function:
        """(y, t, …) → the integrated state projected onto the constraints, compiled."""
        if self.plain:
            return self.plain.project_of
        return self._of_state("project", self.project, self.size)

    def _of_state(self, name: str, method: Function, size: int) -> Function:
        """A method (x (size,), t, inputs), compiled as (x, t, …)."""
        shapes = {"x": (size,), "t": (), **self.fixed_inputs}
        return self.built(name, lambda x, t, **inputs: method(x, t, inputs), shapes)

    def switched(self, q: np.ndarray, t: float, inputs: Inputs) -> SimulatedPlant:
        """The plant with pivots that are well conditioned at this posture; the present ones if so."""
        bound = self.dynamics.bound(inputs.get("parameters"))
        known = () if self.pivots is None else (self.pivots,)
        return replace(self, pivots=bound.pivots_at(q, t, known).key)

    @cached_property
    def switches(self) -> bool:
        """Whether its formulation has pivots, which may change along the motion."""
        if self.formulation is None or not self.closed:
            return False
        quantity = self.dynamics.quantity("forward_dynamics")
        return quantity.formulation(self.formulation).takes("pivots")

    # the integrated state, here the state itself

    def first(self, q: np.ndarray, inputs: Inputs) -> np.ndarray:
        """Initial z (..., nz): the controller's own state and the activations."""
        own = np.zeros(0) if self.controller is None else np.asarray(self.controller.initial)
        return np.concatenate([own, np.zeros(self.own - self.controller_size)])

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The integrated state (inner,) of a state (size,)."""
        return x

    leave = enter  # back, from an integrated state
    entered = left = enter  # both for states (..., size) of numbers

    def without_basis(self, x: np.ndarray) -> np.ndarray:
        """(q, q̇, z, W, H) (..., plain size), z of the controller and the actuators."""
        return x

    # flows

    def traced_flow(self, shapes: Shapes) -> Flow:
        """The flow of a traced step: the dynamics are traced once, not once per stage."""
        flow = self.flow({})
        if not self.dynamics.traces:
            return flow
        return replace(
            flow, derivative_of=tracing.traced(flow.derivative_of, self._derivative_shapes(shapes))
        )

    def called_flow(self, shapes: Shapes) -> Flow:
        """The flow whose stages are kernel calls, on columns (size,) or (size, N)."""
        flow, states = self.flow({}), {"x": (self.inner,)}
        derivative = self.built("slope", flow.derivative_of, self._derivative_shapes(shapes))
        moved = self.built("moved", self.moved, {**states, "d": (self.flat,)})
        project = self.built("project", flow.project_of, {**states, "t": (), **shapes})
        names = list(shapes)

        def derivatives(
            x: np.ndarray, d: np.ndarray, t: Time, tau: np.ndarray, **inputs: np.ndarray
        ) -> Any:
            return derivative(x.T, d.T, t, tau.T, *(inputs[name] for name in names)).T

        def projected(x: np.ndarray, t: Time, **inputs: np.ndarray) -> Any:
            return project(x.T, t, *(inputs[name] for name in names)).T

        return Flow(self, {}, derivatives, lambda x, d: moved(x.T, d.T).T, projected)

    def _derivative_shapes(self, shapes: Shapes) -> Shapes:
        driven = (len(self.driving),)
        return {"x": (self.inner,), "d": (self.flat,), "t": (), "tau": driven, **shapes}


@dataclass(frozen=True)
class Field:
    """The right-hand side of a plant for adaptive methods, with joints that may be locked."""

    plant: SimulatedPlant
    locking: bool
    others: dict[str, Field] = field(default_factory=dict, compare=False)  # by their pivots

    def switched(self, q: np.ndarray, t: float, inputs: Inputs) -> Field:
        """The field with pivots that are well conditioned at a posture (nq,)."""
        return self.by(self.plant.switched(q, t, inputs).pivots or "")

    def by(self, pivots: str) -> Field:
        """The field with these pivots, cached with its kernels."""
        if pivots not in self.others:
            self.others[pivots] = replace(self, plant=replace(self.plant, pivots=pivots or None))
        return self.others[pivots]

    @cached_property
    def rate(self) -> Function:
        """(x, t, τ, …) → ẋ."""
        plant = self.plant
        return plant.built(
            "rate", lambda x, t, tau, **inputs: plant.rate(x, t, tau, inputs), self._shapes
        )

    @cached_property
    def locking_torques(self) -> Function:
        """(x, t, τ, …) → torques (nv,) that lock the locked joints, and q̈ (nv,)."""

        def function(
            x: np.ndarray, t: Time, tau: np.ndarray, **inputs: np.ndarray
        ) -> dict[str, np.ndarray]:
            q, qd, z, _ = self.plant.parts(x)
            motion = self.plant.locked_motion(t, q, qd, z, tau, inputs)
            return {"held": motion.locking_torque, "qdd": motion.qdd}

        return self.plant.built("held", function, self._shapes)

    @property
    def _shapes(self) -> Shapes:
        plant = self.plant
        modes = {"direction": (plant.nv,), "locked": (plant.nv,)} if self.locking else {}
        states = {"x": (plant.inner,), "t": (), "tau": (len(plant.driving),)}
        return {**states, **plant.fixed_inputs, **modes}
