"""The plant of a run: what is integrated and the states that are saved, and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.simulation.inline import Function, Looped, compiled
from dalembert.systems.plant import Flow, Given, Plant, Shapes
from dalembert.systems.system import System


@dataclass(frozen=True, eq=False)
class SimulatedPlant(Plant):
    """A plant that is simulated; where it cannot be traced its functions run on numbers."""

    system: System = field(kw_only=True)
    plain: SimulatedPlant | None = (
        None  # the same by default, for kernels that no formulation changes
    )

    def built(self, name: str, function: Function, shapes: Shapes, traces: bool = True) -> Function:
        """The function's kernel, or the function itself on numbers where it cannot be traced."""
        if traces and self.dynamics.traces:
            return compiled(name, function, shapes).ufunc
        return Looped(function, shapes)

    @cached_property
    def errors_of(self) -> Function:
        """(x, t, …) → (2,) errors of the constraints, compiled; x a plain state."""
        return self.plain.errors_of if self.plain else self._of_state("errors", self.errors)

    @cached_property
    def project_of(self) -> Function:
        """(y, t, …) → what is integrated, on the constraints, compiled."""
        return self.plain.project_of if self.plain else self._of_state("project", self.project)

    def _of_state(self, name: str, method: Function) -> Function:
        def function(x: Any, t: Any, **given: Any) -> Any:
            return method(x, t, given)

        return self.built(name, function, {"x": (self.size,), "t": (), **self.given})

    def switched(self, q: np.ndarray, t: float, given: Given) -> SimulatedPlant:
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

    # flows

    def traced_flow(self, shapes: Shapes) -> Flow:
        """For the trace of a whole step: the equations of motion are traced once, not once a stage."""
        flow = self.flow({})
        if not self.dynamics.traces:
            return flow
        return replace(flow, slope_of=tracing.traced(flow.slope_of, self._of_slope(shapes)))

    def called_flow(self, shapes: Shapes) -> Flow:
        """For torques that are functions: every stage is a call, on columns (size,) or (size, N)."""
        flow, states = self.flow({}), {"x": (self.inner,)}
        slope = self.built("slope", flow.slope_of, self._of_slope(shapes))
        moved = self.built("moved", self.moved, {**states, "d": (self.flat,)})
        project = self.built("project", flow.project_of, {**states, "t": (), **shapes})
        given = list(shapes)

        def slopes(x: Any, d: Any, t: Any, tau: Any, **inputs: Any) -> Any:
            return slope(x.T, d.T, t, tau.T, *(inputs[name] for name in given)).T

        def projected(x: Any, t: Any, **inputs: Any) -> Any:
            return project(x.T, t, *(inputs[name] for name in given)).T

        return Flow(self, {}, slopes, lambda x, d: moved(x.T, d.T).T, projected)

    def _of_slope(self, shapes: Shapes) -> Shapes:
        driven = (len(self.driving),)
        return {"x": (self.inner,), "d": (self.flat,), "t": (), "tau": driven, **shapes}


@dataclass(frozen=True)
class Field:
    """The right-hand side of a plant for methods that choose their own steps, and its locked joints."""

    plant: SimulatedPlant
    locking: bool
    others: dict[str, Field] = field(default_factory=dict, compare=False)  # by their pivots

    def switched(self, q: Any, t: float, given: Mapping[str, Any]) -> Field:
        """The same with pivots that are good at a posture (nq,)."""
        return self.by(self.plant.switched(q, t, given).pivots or "")

    def by(self, pivots: str) -> Field:
        """The same with these pivots; kept, as kernels belong to it."""
        if pivots not in self.others:
            self.others[pivots] = replace(self, plant=replace(self.plant, pivots=pivots or None))
        return self.others[pivots]

    @cached_property
    def given(self) -> Shapes:
        """Inputs besides state, time and torques."""
        modes = {"direction": (self.plant.nv,), "locked": (self.plant.nv,)} if self.locking else {}
        return {**self.plant.given, **modes}

    @cached_property
    def rate(self) -> Callable[..., Any]:
        """(x, t, τ, …) → ẋ."""

        def function(x: Any, t: Any, tau: Any, **given: Any) -> Any:
            return self.plant.rate(x, t, tau, given)

        return self.plant.built("rate", function, self._shapes)

    @cached_property
    def held(self) -> Callable[..., Any]:
        """(x, t, τ, …) → torques that hold the locked joints (nv,), and q̈ (nv,)."""

        def function(x: Any, t: Any, tau: Any, **given: Any) -> Any:
            q, qd, z, _ = self.plant.parts(x)
            motion = self.plant.locked_motion(t, q, qd, z, tau, given)
            return {"held": motion.held, "qdd": motion.qdd}

        return self.plant.built("held", function, self._shapes)

    @property
    def _shapes(self) -> Shapes:
        return {"x": (self.plant.inner,), "t": (), "tau": (len(self.plant.driving),), **self.given}
