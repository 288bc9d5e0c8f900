"""A plant with its inputs set, behind one face: traced, called kernel by kernel, or on numbers.

States are columns here: (size,) or, where numbers are called, (size, N).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dalembert import bridge
from dalembert.simulation.inline import Function, Shapes
from dalembert.simulation.plant import Plant


@dataclass(frozen=True)
class Flow:
    """What a step is written with: `slope` (x, d, t, τ) → ḋ at x ⊞ d, and `moved` (x, d) → x ⊞ d."""

    plant: Plant
    given: Mapping[str, Any]
    slope_of: Callable[..., Any]
    moved: Callable[[Any, Any], Any]
    project_of: Callable[..., Any]

    def slope(self, x: Any, d: Any, t: Any, tau: Any) -> Any:
        """ḋ at x ⊞ d."""
        return self.slope_of(x=x, d=d, t=t, tau=tau, **self.given)

    def project(self, x: Any, t: Any) -> Any:
        """The nearest state on the constraints; the same state where there are none."""
        return self.project_of(x=x, t=t, **self.given) if self.plant.closed else x

    def under(self, given: Mapping[str, Any]) -> Flow:
        """The same with these inputs."""
        return replace(self, given=given)


def traced(plant: Plant, shapes: Shapes) -> Flow:
    """For the trace of a whole step: the equations of motion are traced once, not once a stage."""
    slope = _slope(plant)
    if plant.traces:
        slope = bridge.traced(slope, _of_slope(plant, shapes), shared=True)
    return Flow(plant, {}, slope, plant.moved, _project(plant))


def called(plant: Plant, shapes: Shapes) -> Flow:
    """For torques that are functions: every stage is a call, on one column or on many."""
    states, steps = {"x": (plant.inner,)}, {"d": (plant.flat,)}
    slope = plant.built("slope", _slope(plant), _of_slope(plant, shapes))
    moved = plant.built("moved", plant.moved, {**states, **steps})
    project = plant.built("project", _project(plant), {**states, "t": (), **shapes})
    given = list(shapes)

    def slopes(x: Any, d: Any, t: Any, tau: Any, **inputs: Any) -> Any:
        return slope(x.T, d.T, t, tau.T, *(inputs[name] for name in given)).T

    def projected(x: Any, t: Any, **inputs: Any) -> Any:
        return project(x.T, t, *(inputs[name] for name in given)).T

    return Flow(plant, {}, slopes, lambda x, d: moved(x.T, d.T).T, projected)


def _slope(plant: Plant) -> Function:
    return lambda x, d, t, tau, **given: plant.slope(x, d, t, tau, given)


def _project(plant: Plant) -> Function:
    return lambda x, t, **given: plant.project(x, t, given)


def _of_slope(plant: Plant, shapes: Shapes) -> Shapes:
    return {
        "x": (plant.inner,),
        "d": (plant.flat,),
        "t": (),
        "tau": (len(plant.driving),),
        **shapes,
    }


@dataclass(frozen=True)
class Field:
    """The right-hand side of a plant for methods that choose their own steps, and its locked joints."""

    plant: Plant
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
