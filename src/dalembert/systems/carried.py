"""A system whose coordinates are somebody else's: a model's, or those of the system it holds."""

from __future__ import annotations

from typing import Any

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
