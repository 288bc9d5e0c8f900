"""A system whose coordinates are somebody else's: a model's, or those of the system it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from dalembert.model.jointed import Kinds
from dalembert.systems.dynamics import Dynamics


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

    def pose(self, q: Any, frame: str) -> Any:
        return self.dynamics.pose(q, frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.dynamics.frame_jacobian(q, frame, expressed_in)
