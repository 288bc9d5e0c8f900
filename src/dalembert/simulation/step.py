"""A fixed-step method on a plant: its kernels, and the same step stage by stage.

A step's kernel takes (x, dt, u0, u1, …): the inner state with the time as its last entry, the step,
the torques at its begin and end (linear in between), and what the law and the parameters need. It
returns the next inner state, so a run is the same call again and again, with ``out=`` its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import FormulationError
from dalembert.simulation.methods.method import FixedMethod, Step
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.plant import Flow, Shapes
from dalembert.systems.steps import Torque


@dataclass(frozen=True)
class Stepper:
    """A plant with a fixed-step method; kernels are made when first asked for."""

    plant: SimulatedPlant
    method: FixedMethod

    def __post_init__(self) -> None:
        if self.plant.closed and not self.method.closes:
            raise FormulationError(
                f"the {self.method.name} method does not hold the constraints of "
                f"{self.plant.dynamics.name}; rk4 does"
            )

    @cached_property
    def step(self) -> Step:
        """The method's step for this plant."""
        return self.method.make(self.plant)

    @property
    def given(self) -> Shapes:
        """Inputs besides state, time and torques."""
        return self.plant.given

    @property
    def size(self) -> int:
        """Length of the inner state: x, what the method carries along, and t."""
        return self.plant.inner + self.step.carried + 1

    @cached_property
    def kernel(self) -> Callable[..., Any]:
        """(x, dt, u0, u1, …) → x of the next step."""
        flow, last = self._flow, self.size - 1

        def function(x: Any, dt: Any, u0: Any, u1: Any, **given: Any) -> Any:
            def torque(c: float, x: Any, d: Any) -> Any:
                return u0 if c == 0.0 else u1 if c == 1.0 else (1.0 - c) * u0 + c * u1

            moved = self._closed(flow.under(given), x[:last], x[last], dt, torque)
            return np.concatenate([moved, np.stack([x[last] + dt])])

        driven = (len(self.plant.driving),)
        shapes = {"x": (self.size,), "dt": (), "u0": driven, "u1": driven}
        return self._built(f"{self.method.name}_step", function, shapes)

    @cached_property
    def enter(self) -> Callable[..., Any]:
        """(x, t, …) → inner state, from the state (q, q̇, z, W, H)."""

        def function(x: Any, t: Any, **given: Any) -> Any:
            inner = self.step.enter(self.plant.enter(x, t, given), given)
            return np.concatenate([inner, np.stack([t])])

        return self._built("enter", function, {"x": (self.plant.size,), "t": ()})

    @cached_property
    def leave(self) -> Callable[..., Any]:
        """(x, …) → the state (q, q̇, z, W, H), from the inner state."""

        def function(x: Any, **given: Any) -> Any:
            last = self.size - 1
            return self.plant.leave(self.step.leave(x[:last], given), x[last], given)

        return self._built("leave", function, {"x": (self.size,)})

    @property
    def _flow(self) -> Flow:
        return self.plant.traced_flow(self.given) if self.method.traces else self.stages

    @cached_property
    def stages(self) -> Flow:
        """The flow of a step that is called stage by stage."""
        return self.plant.called_flow(self.given)

    def taken(self, x: Any, t: float, dt: float, given: Mapping[str, Any], torque: Torque) -> Any:
        """The inner state x (size - 1, ...) after a step that is called stage by stage."""
        return self._closed(self.stages.under(given), x, t, dt, torque)

    def _closed(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
        moved = self.step.advance(flow, x, t, h, torque)
        return flow.project(moved, t + h) if self.method.projects else moved

    def _built(self, name: str, function: Callable[..., Any], shapes: Shapes) -> Callable[..., Any]:
        return self.plant.built(name, function, {**shapes, **self.given}, self.method.traces)
