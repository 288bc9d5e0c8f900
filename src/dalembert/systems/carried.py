"""A system whose coordinates are somebody else's: a model's, or those of the system it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from operator import attrgetter
from typing import Any, Self, cast

import numpy as np

from dalembert.formulations.registry import Quantity
from dalembert.model.actuators import Actuation
from dalembert.model.jointed import Kinds
from dalembert.systems.dynamics import Dynamics

# what depends on state and controls alone is the same for the system around as for that inside
OF_A_STATE = {"q", "qd", "step", "to", "u", "activation", "efforts"}


def _carried(name: str) -> Any:
    """The carrier's property of this name."""
    return property(attrgetter(f"carrier.{name}"))


class Carried(Dynamics):
    """Coordinates, manifold, limits and Coulomb friction are those of the `carrier`."""

    @property
    def carrier(self) -> Any:
        """Who knows the coordinates: a model, or another `Dynamics`."""
        raise NotImplementedError

    nv: int = _carried("nv")
    velocities: tuple[str, ...] = _carried("velocities")
    lower: np.ndarray = _carried("lower")
    upper: np.ndarray = _carried("upper")
    velocity_limit: np.ndarray = _carried("velocity_limit")
    effort_limit: np.ndarray = _carried("effort_limit")
    driven_by: Actuation = _carried("driven_by")
    coulomb: Any = _carried("coulomb")

    @property
    def nq(self) -> int:
        return self.carrier.nq

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.carrier.coordinates

    @property
    def kinds(self) -> Kinds:
        return self.carrier.kinds

    def neutral(self) -> np.ndarray:
        return self.carrier.neutral()

    def integrate(self, q: Any, step: Any) -> Any:
        return self.carrier.integrate(q, step)

    def difference(self, q: Any, to: Any) -> Any:
        return self.carrier.difference(q, to)

    def rate(self, q: Any, qd: Any) -> Any:
        return self.carrier.rate(q, qd)

    def pull_back(self, step: Any, velocity: Any) -> Any:
        return self.carrier.pull_back(step, velocity)

    def normalised(self, q: Any) -> Any:
        return self.carrier.normalised(q)


class Around(Carried):
    """A frozen dataclass around other `dynamics`, whose frames and inertias are those of the inside."""

    dynamics: Dynamics
    inertia: Any = _carried("inertia")
    has_chart_energy: bool = _carried("has_chart_energy")
    gyroscopic: bool = _carried("gyroscopic")
    frames: tuple[str, ...] = _carried("frames")

    @property
    def carrier(self) -> Dynamics:
        return self.dynamics

    def _with(self, dynamics: Dynamics) -> Self:
        """The same around another inside."""
        return cast(Self, replace(cast(Any, self), dynamics=dynamics))

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        return self.dynamics.parameter_values(given)

    def require_possible(self, values: np.ndarray) -> None:
        self.dynamics.require_possible(values)

    def require_regular(self) -> None:
        self.dynamics.require_regular()

    def size(self, symbol: str) -> int:
        return self.dynamics.size(symbol)

    def chart_power(self, q: Any, qd: Any) -> Any:
        return self.dynamics.chart_power(q, qd)

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        return self.dynamics.generalized_forces(q, qd, t)

    def with_inertia(self, theta: Any) -> Self:
        return self._with(self.dynamics.with_inertia(theta))

    def without_coulomb(self) -> Self:
        return self._with(self.dynamics.without_coulomb())

    def options(self, choice: str) -> tuple[str, ...] | None:
        return self.dynamics.options(choice)

    def poses(self, q: Any) -> Mapping[str, Any]:
        return self.dynamics.poses(q)

    def poses_apart(self, q: Any, a: str, b: str) -> tuple[Any, Any, Any]:
        return self.dynamics.poses_apart(q, a, b)

    def pose(self, q: Any, frame: str) -> Any:
        return self.dynamics.pose(q, frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.dynamics.frame_jacobian(q, frame, expressed_in)

    def of_the_inside(self) -> dict[str, Quantity]:
        """Quantities of the inside that are those of the whole as well."""
        held = self.dynamics.catalogue.items()
        kept = {
            name: found
            for name, found in held
            if OF_A_STATE.issuperset(found.inputs) and not found.free_only
        }
        return {name: passed_on(found, _inside) for name, found in kept.items()}


def _inside(system: Around) -> Dynamics:
    return system.dynamics


def passed_on(
    found: Quantity,
    inside: Callable[[Any], Dynamics],
    own_q: Callable[[Any, Any], Any] | None = None,
) -> Quantity:
    """A quantity of the system inside another, for that other; `own_q` gives the inside's q."""

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def passed(system: Any, **given: Any) -> Any:
            if own_q is not None and "q" in given:
                given["q"] = own_q(system, given["q"])
            return function(inside(system).description, **given)

        return passed

    made = tuple(replace(way, made_by=around(way.function)) for way in found.formulations)
    best = found.best
    chosen = None if best is None else lambda system: best(inside(system).description)
    return replace(found, formulations=made, best=chosen)
