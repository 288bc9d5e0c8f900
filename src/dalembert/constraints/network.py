"""Many units joined by many links: forward dynamics whose cost grows with their number only.

Units move on their own but for the links, so M is block diagonal and S = A M⁻¹ Aᵀ has a block for
each pair of links at a common unit. Equal units, and equal links, are evaluated in one batch; S is
factorised as a band, in time linear in the number of links for chains and ladders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.constraints.network_dynamics import Link, NetworkDynamics
from dalembert.constraints.solve.solver import Solver
from dalembert.errors import ConstraintError, ConvergenceError, ShapeError
from dalembert.systems.system import System


class Network(System):
    """Units (robots or other systems) joined by links h(q_a, q_b) = 0 between pairs of them.

    `links` are (a, b, function) with the numbers of two units and a function of their postures,
    which gives the rows: ``lambda a, b: a.pose("tip")[1] - b.pose("base")[1]``. Coordinates and
    velocities are those of all units, one after the other; λ those of all links.
    """

    def __init__(
        self, units: Sequence[System], links: Sequence[tuple[int, int, Link]], name: str = "network"
    ) -> None:
        if not units or not links:
            raise ConstraintError(f"{name}: a network needs units and links between them")
        ends = np.array([(a, b) for a, b, _ in links])
        if ends.min() < 0 or ends.max() >= len(units):
            raise ConstraintError(f"{name}: links join units 0 to {len(units) - 1}")
        moving = [unit.name for unit in units if unit.dynamics.moving]
        if moving:
            raise ConstraintError(
                f"{name}: {moving[0]} depends on time, which a network does not count; build one "
                "system of it with dl.Constrained"
            )
        self.units = tuple(units)
        self.dynamics: NetworkDynamics
        super().__init__(NetworkDynamics(name, self.units, list(links)))

    @property
    def solver(self) -> Solver:
        """The equations of all links, solved at numbers."""
        return self.dynamics.solver

    @property
    def rows(self) -> int:
        """Rows of all links: the length of λ."""
        return self.solver.rows.m

    def __repr__(self) -> str:
        places = self.solver.rows.places
        return f"<Network {self.name}: {len(self.units)} units, {len(places)} links>"

    def _checked(self, **arrays: Any) -> list[np.ndarray]:
        found = []
        for name, value in arrays.items():
            size = self.nq if name == "q" else self.nv
            array = np.asarray(value, dtype=float)
            if array.shape != (size,):
                raise ShapeError(f"{self.name}: {name} has shape {array.shape}, expected ({size},)")
            found.append(array)
        return found

    def residual(self, q: Any) -> np.ndarray:
        """h (rows,)."""
        (q,) = self._checked(q=q)
        return self.solver.terms(0.0, q, np.zeros(self.nv)).phi

    def jacobian(self, q: Any) -> Any:
        """A (rows, nv), a scipy.sparse array."""
        (q,) = self._checked(q=q)
        return self.solver.rows.jacobian(0.0, q)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> tuple[np.ndarray, np.ndarray]:
        """(q̈ (nv,), λ (rows,)) with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = −Ȧ q̇, for one state."""
        q, qd, tau = self._checked(q=q, qd=qd, tau=tau)
        return self.solver.acceleration(0.0, q, qd, tau)

    def project_velocity(self, q: Any, qd: Any) -> np.ndarray:
        """The velocity (nv,) the links allow that is nearest to q̇ in the metric M."""
        return self.solver.velocity(0.0, *self._checked(q=q, qd=qd))

    def assemble(self, guess: Any) -> np.ndarray:
        """q (nq,) with h(q) = 0 near the guess, by Newton's method along M-orthogonal steps."""
        (q,) = self._checked(q=guess)
        try:
            return self.solver.position(0.0, q)
        except ConvergenceError as error:
            raise ConstraintError(str(error)) from None

    def energy(self, q: Any, qd: Any) -> float:
        """Kinetic and potential energy of all units, joules."""
        q, qd = self._checked(q=q, qd=qd)
        return self.kinetic_energy(q, qd) + self.potential_energy(q)

    def mass_matrix(self, q: Any, **_: Any) -> np.ndarray:
        """M (..., nv, nv), a block for each unit."""
        q = np.asarray(q, dtype=float)
        found = [self.dynamics.mass_matrix(q[where]) for where in np.ndindex(q.shape[:-1])]
        return np.stack(found).reshape(*q.shape[:-1], self.nv, self.nv)

    def kinetic_energy(self, q: Any, qd: Any, **_: Any) -> float:
        """K of all units, J."""
        return self.dynamics.kinetic_energy(*self._checked(q=q, qd=qd))

    def potential_energy(self, q: Any, **_: Any) -> float:
        """U of all units, J."""
        return self.dynamics.potential_energy(*self._checked(q=q))
