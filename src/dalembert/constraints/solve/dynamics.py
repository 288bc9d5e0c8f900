"""A large system as every other: its equations on numbers, by the sparse solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.solve.solver import Solver
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.held import Rows


class Solved(Dynamics):
    """Units held by rows; nothing here runs on symbols."""

    traces: bool = False

    @property
    def solver(self) -> Solver:
        """Its rows, solved at numbers."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        return self.solver.rows.m

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(
            place.label if place.function.rows == 1 else f"{place.label}[{k}]"
            for place in self.solver.rows.places
            for k in range(place.function.rows)
        )

    def at(self, q: Any, qd: Any = None, t: Any = None) -> Rows:
        now, v = 0.0 if t is None else float(t), np.zeros(self.nv) if qd is None else qd
        found = self.solver.rows.terms(now, q, v)
        return Rows(found.phi, self.solver.rows.jacobian(now, q), found.nu, found.gamma)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return self.solver.acceleration(float(t), q, qd, tau)

    def project(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        now = 0.0 if t is None else float(t)
        q, qd, gap = self.solver.project(now, q, qd)
        self.solver.require_closed(now, q, gap)
        return q, qd

    def integrate(self, q: Any, step: Any) -> Any:
        return self.solver.units.integrate(q, step)

    def rate(self, q: Any, qd: Any) -> Any:
        return self.solver.units.rate(q, qd)

    def difference(self, q: Any, to: Any) -> Any:
        return self.solver.units.difference(q, to)

    def pull_back(self, step: Any, velocity: Any) -> Any:
        return self.solver.units.pull_back(step, velocity)

    def normalised(self, q: Any) -> Any:
        return self.solver.units.normalised(q)
