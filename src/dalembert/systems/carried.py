"""A system whose coordinates are somebody else's: a model's, or those of the system it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Self, cast

import numpy as np

from dalembert.formulations.registry import Quantity
from dalembert.model.actuators import Actuation
from dalembert.model.jointed import Kinds
from dalembert.systems.dynamics import Dynamics

# what depends on state and controls alone is the same for the system around as for that inside
OF_A_STATE = {"q", "qd", "step", "to", "u", "activation", "efforts"}


class Carried(Dynamics):
    """Coordinates, manifold, limits and Coulomb friction are those of the `carrier`."""

    @property
    def carrier(self) -> Any:
        """Who knows the coordinates: a model, or another `Dynamics`."""
        raise NotImplementedError

    @property
    def nq(self) -> int:
        return self.carrier.nq

    @property
    def nv(self) -> int:
        return self.carrier.nv

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.carrier.coordinates

    @property
    def velocities(self) -> tuple[str, ...]:
        return self.carrier.velocities

    @property
    def kinds(self) -> Kinds:
        return self.carrier.kinds

    @property
    def lower(self) -> np.ndarray:
        return self.carrier.lower

    @property
    def upper(self) -> np.ndarray:
        return self.carrier.upper

    @property
    def velocity_limit(self) -> np.ndarray:
        return self.carrier.velocity_limit

    @property
    def effort_limit(self) -> np.ndarray:
        return self.carrier.effort_limit

    @property
    def driven_by(self) -> Actuation:
        return self.carrier.driven_by

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

    @property
    def coulomb(self) -> Any:
        return self.carrier.coulomb


class Around(Carried):
    """A frozen dataclass around other `dynamics`, whose frames and inertias are those of the inside."""

    dynamics: Dynamics

    @property
    def carrier(self) -> Dynamics:
        return self.dynamics

    def _with(self, dynamics: Dynamics) -> Self:
        """The same around another inside."""
        return cast(Self, replace(cast(Any, self), dynamics=dynamics))

    @property
    def inertia(self) -> Any:
        return self.dynamics.inertia

    def with_inertia(self, theta: Any) -> Self:
        return self._with(self.dynamics.with_inertia(theta))

    def without_coulomb(self) -> Self:
        return self._with(self.dynamics.without_coulomb())

    def options(self, choice: str) -> tuple[str, ...] | None:
        return self.dynamics.options(choice)

    @property
    def frames(self) -> tuple[str, ...]:
        return self.dynamics.frames

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
