"""Many units joined by many links: forward dynamics whose cost grows with their number only.

Units move on their own but for the links, so M is block diagonal and S = A M⁻¹ Aᵀ has a block for
each pair of links at a common unit. Equal units, and equal links, are evaluated in one batch; S is
factorised as a band, in time linear in the number of links for chains and ladders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints.kinds import Posture, Time, rows_of
from dalembert.constraints.sparse_rows import RowBlock, SystemUnits
from dalembert.constraints.sparse_solver import Solver, SparseDynamics
from dalembert.errors import ConstraintError, ConvergenceError, FormulationError, ShapeError
from dalembert.formulations.parts.elements import coulomb
from dalembert.formulations.registry import Quantity
from dalembert.model.model import CoordinateKinds
from dalembert.spatial.arrays import Array
from dalembert.systems.bodies.space import RowFunction
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System

Link = Callable[[Posture, Posture], Any]


@dataclass(frozen=True, eq=False)
class NetworkDynamics(SparseDynamics):
    """M q̈ + h + Aᵀλ = τ + ψ of all units and links, sparse inside."""

    name: str
    units_joined: tuple[System, ...]
    links: Sequence[tuple[int, int, Link]]
    bare: bool = False  # without the Coulomb friction of the units
    catalogue: Mapping[str, Quantity] = field(default_factory=dict)
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    traced_from: ClassVar[tuple[str, ...]] = ()
    resting: bool = field(default=True, init=False)  # b = 0: its constraints do no work

    @cached_property
    def solver(self) -> Solver:
        functions: dict[Any, RowFunction] = {}
        blocks = []
        for k, (a, b, link) in enumerate(self.links):
            first, second = self.units_joined[a], self.units_joined[b]
            key = (first.dynamics.content, second.dynamics.content, link)
            if key not in functions:
                functions[key] = _link_rows(f"link {k}", link, first.dynamics, second.dynamics)
            names = f"link {k} between units {a} and {b}", f"link{k}"
            blocks.append(RowBlock(functions[key], (a, b), np.zeros(1), None, False, *names))
        return Solver(self.name, self.joined, blocks)

    @cached_property
    def joined(self) -> SystemUnits:
        """The units, equal ones together."""
        return SystemUnits(self.units_joined)

    @cached_property
    def content(self) -> str:
        units = [unit.dynamics.content for unit in self.units_joined]
        links = [(block.units, block.function.digest) for block in self.solver.rows.blocks]
        return hashlib.sha256(repr((self.name, units, links)).encode()).hexdigest()

    def quantity(self, name: str) -> Quantity:
        raise FormulationError(
            f"{self.name} is solved sparsely, on numbers: no program is made of its {name!r}; its "
            "methods give it at a state"
        )

    @property
    def constraint_set(self) -> tuple[Array, ...]:
        raise FormulationError(
            f"{self.name} is solved sparsely, on numbers: give further links when the network is made"
        )

    # coordinates: those of the units, one after the other

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return self._numbered("coordinates")

    @cached_property
    def velocities(self) -> tuple[str, ...]:
        return self._numbered("velocities")

    def _numbered(self, names: str) -> tuple[str, ...]:
        units = enumerate(self.units_joined)
        return tuple(f"{x}[{k}]" for k, unit in units for x in getattr(unit.dynamics, names))

    @property
    def kinds(self) -> CoordinateKinds:
        kinds = zip(*(unit.dynamics.kinds for unit in self.units_joined), strict=True)
        return CoordinateKinds(*(tuple(chain(*own)) for own in kinds))

    @property
    def row_names(self) -> tuple[str, ...]:
        blocks = self.solver.rows.blocks
        return tuple(f"{p.label}[{k}]" for p in blocks for k in range(p.function.rows))

    def neutral(self) -> Array:
        return np.concatenate([unit.neutral() for unit in self.units_joined])

    # M q̈ + h + Aᵀλ = τ + ψ

    @cached_property
    def coulomb(self) -> Array:
        own = [np.asarray(unit.dynamics.coulomb) for unit in self.units_joined]
        return np.concatenate(own, axis=1)

    def without_coulomb(self) -> NetworkDynamics:
        bare = replace(self, bare=True)
        bare.__dict__["solver"] = self.solver
        return bare

    def _coulomb_to_cancel(self, qd: Array) -> Array:
        """The units' Coulomb friction, which cancels what they take (nv,)."""
        own = self.bare and self.coulomb.any()
        return coulomb(qd, *self.coulomb) if own else np.zeros(self.nv)

    def generalized_forces(self, q: Array, qd: Array, t: Time = None) -> Array:
        own = self.joined.each(self.nv, lambda g: (g.v, g.unit.generalized_forces(q[g.q], qd[g.v])))
        psi: Array = own + self._coulomb_to_cancel(qd)
        return psi

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        return super().motion(t, q, qd, tau + self._coulomb_to_cancel(qd))

    def kinetic_energy(self, q: Array, qd: Array) -> float:
        return self.joined.sum(lambda unit, x, v: unit.kinetic_energy(x, v), q, qd)

    def potential_energy(self, q: Array) -> float:
        still = np.zeros(self.nv)
        return self.joined.sum(lambda unit, x, v: unit.potential_energy(x), q, still)

    def mass_matrix(self, q: Array) -> Array:
        from scipy.linalg import block_diag

        parts = np.split(q, self.joined.q_starts[1:-1])
        each = zip(self.units_joined, parts, strict=True)
        M: Array = block_diag(*(unit.mass_matrix(x) for unit, x in each))
        return M


def _link_rows(name: str, link: Link, first: Dynamics, second: Dynamics) -> RowFunction:
    """h of a link as a function of the coordinates of both units, one after the other."""

    def rows(q: Array, _: Array | None) -> Array:
        postures = Posture(first, q[: first.nq]), Posture(second, q[first.nq :])
        return rows_of(lambda: link(*postures), (), {}, name)

    def rate(q: Array, v: Array) -> Array:
        parts = first.rate(q[: first.nq], v[: first.nv]), second.rate(q[first.nq :], v[first.nv :])
        return np.concatenate(parts)

    height = rows(tracing.symbol("q", first.nq + second.nq), None).shape[0]
    sizes = (first.nq + second.nq, first.nv + second.nv, height, 1)
    return RowFunction(name, *sizes, rows, rate)


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
        blocks = self.solver.rows.blocks
        return f"<Network {self.name}: {len(self.units)} units, {len(blocks)} links>"

    def _checked(self, **arrays: Any) -> list[Array]:
        result = []
        for name, value in arrays.items():
            size = self.nq if name == "q" else self.nv
            array = np.asarray(value, dtype=float)
            if array.shape != (size,):
                raise ShapeError(f"{self.name}: {name} has shape {array.shape}, expected ({size},)")
            result.append(array)
        return result

    def residual(self, q: ArrayLike) -> Array:
        """h (rows,).

        Parameters
        ----------
        q : array_like
            (nq,) configuration.

        Returns
        -------
        ndarray
            (rows,), m or rad.
        """
        (q,) = self._checked(q=q)
        return self.solver.terms(0.0, q, np.zeros(self.nv)).phi

    def jacobian(self, q: ArrayLike) -> Any:
        """A (rows, nv), a scipy.sparse array.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.

        Returns
        -------
        scipy.sparse array
            (rows, nv).
        """
        (q,) = self._checked(q=q)
        return self.solver.rows.jacobian(0.0, q)

    def forward_dynamics(  # type: ignore[override]  # of one state, without choices
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array]:
        """(q̈ (nv,), λ (rows,)) with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = −Ȧ q̇, for one state.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.
        qd : array_like
            (nv,) velocities.
        tau : array_like
            (nv,) torques and forces.

        Returns
        -------
        tuple of ndarray
            q̈ (nv,) and λ (rows,).
        """
        q, qd, tau = self._checked(q=q, qd=qd, tau=tau)
        return self.solver.acceleration(0.0, q, qd, tau)

    def project_velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """The velocity (nv,) the links allow that is nearest to q̇ in the metric M.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.
        qd : array_like
            (nv,) velocities.

        Returns
        -------
        ndarray
            (nv,).
        """
        return self.solver.velocity(0.0, *self._checked(q=q, qd=qd))

    def assemble(self, guess: ArrayLike) -> Array:
        """q (nq,) with h(q) = 0 near the guess, by Newton's method along M-orthogonal steps.

        Parameters
        ----------
        guess : array_like
            (nq,) a configuration near the result.

        Returns
        -------
        ndarray
            (nq,).

        Raises
        ------
        ConstraintError
            If Newton's method finds none.
        """
        (q,) = self._checked(q=guess)
        try:
            return self.solver.position(0.0, q)
        except ConvergenceError as error:
            raise ConstraintError(str(error)) from None

    def energy(self, q: ArrayLike, qd: ArrayLike) -> float:
        """Kinetic and potential energy of all units, joules.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.
        qd : array_like
            (nv,) velocities.

        Returns
        -------
        float
            J.
        """
        q, qd = self._checked(q=q, qd=qd)
        return self.kinetic_energy(q, qd) + self.potential_energy(q)

    def mass_matrix(self, q: ArrayLike, *_: Any, **__: Any) -> Array:
        """M (..., nv, nv), a block for each unit.

        Parameters
        ----------
        q : array_like
            (..., nq) configurations.

        Returns
        -------
        ndarray
            (..., nv, nv).
        """
        q = np.asarray(q, dtype=float)
        matrices = [self.dynamics.mass_matrix(q[where]) for where in np.ndindex(q.shape[:-1])]
        return np.stack(matrices).reshape(*q.shape[:-1], self.nv, self.nv)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *_: Any, **__: Any) -> float:
        """K of all units, J.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.
        qd : array_like
            (nv,) velocities.

        Returns
        -------
        float
            J.
        """
        return self.dynamics.kinetic_energy(*self._checked(q=q, qd=qd))

    def potential_energy(self, q: ArrayLike, *_: Any, **__: Any) -> float:
        """U of all units, J.

        Parameters
        ----------
        q : array_like
            (nq,) configuration.

        Returns
        -------
        float
            J.
        """
        return self.dynamics.potential_energy(*self._checked(q=q))
