"""A network with the interface of every system, on numbers: its equations are called, not traced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dalembert import bridge
from dalembert.constraints.posture import Posture
from dalembert.constraints.read import rows_of
from dalembert.constraints.solve.dynamics import Solved
from dalembert.constraints.solve.rows import Place
from dalembert.constraints.solve.solver import Solver
from dalembert.constraints.solve.units import SystemUnits
from dalembert.errors import FormulationError
from dalembert.formulations.parts.drive import coulomb
from dalembert.formulations.registry import Quantity
from dalembert.model.jointed import Kinds
from dalembert.systems.row_function import RowFunction
from dalembert.systems.system import System

Link = Callable[[Posture, Posture], Any]


@dataclass(frozen=True, eq=False)
class NetworkDynamics(Solved):
    """M q̈ + h + Aᵀλ = τ + ψ of all units and links, sparse inside."""

    name: str
    units_joined: tuple[System, ...]
    links: Sequence[tuple[int, int, Link]]
    bare: bool = False  # without the Coulomb friction of the units
    catalogue: Mapping[str, Quantity] = field(default_factory=dict)
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    traced_from: ClassVar[tuple[str, ...]] = ()
    traces: bool = field(default=False, init=False)
    resting: bool = field(default=True, init=False)  # b = 0: its constraints do no work

    @cached_property
    def solver(self) -> Solver:
        functions: dict[Any, RowFunction] = {}
        places = []
        for k, (a, b, link) in enumerate(self.links):
            first, second = self.units_joined[a], self.units_joined[b]
            key = (first.dynamics.content, second.dynamics.content, link)
            if key not in functions:
                functions[key] = link_rows(f"link {k}", link, first, second)
            name = f"link {k} between units {a} and {b}"
            places.append(Place(functions[key], (a, b), np.zeros(1), name=name, label=f"link{k}"))
        return Solver(self.name, self.joined, places)

    @cached_property
    def joined(self) -> SystemUnits:
        """The units, equal ones together."""
        return SystemUnits(self.units_joined)

    @cached_property
    def content(self) -> str:
        units = [unit.dynamics.content for unit in self.units_joined]
        links = [(place.units, place.function.digest) for place in self.solver.rows.places]
        return hashlib.sha256(repr((self.name, units, links)).encode()).hexdigest()

    def quantity(self, name: str) -> Quantity:
        raise FormulationError(
            f"{self.name} is solved sparsely, on numbers: no program is made of its {name!r}; its "
            "methods give it at a state"
        )

    @property
    def held_by(self) -> tuple[Any, ...]:
        raise FormulationError(
            f"{self.name} is solved sparsely, on numbers: give further links when the network is made"
        )

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        return np.zeros(0)

    def bind(self, values: Any) -> Self:
        return self

    # coordinates: those of the units, one after the other

    def _of_units(self, names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(f"{name}[{k}]" for k, own in enumerate(names) for name in own)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return self._of_units(unit.dynamics.coordinates for unit in self.units_joined)

    @cached_property
    def velocities(self) -> tuple[str, ...]:
        return self._of_units(unit.dynamics.velocities for unit in self.units_joined)

    @property
    def kinds(self) -> Kinds:
        units = [unit.dynamics.kinds for unit in self.units_joined]
        return Kinds(*(tuple(k for own in units for k in own[side]) for side in (0, 1)))

    @property
    def row_names(self) -> tuple[str, ...]:
        places = self.solver.rows.places
        return tuple(f"{p.label}[{k}]" for p in places for k in range(p.function.rows))

    def neutral(self) -> np.ndarray:
        return np.concatenate([unit.neutral() for unit in self.units_joined])

    # M q̈ + h + Aᵀλ = τ + ψ

    @cached_property
    def coulomb(self) -> Any:
        own = [np.asarray(unit.dynamics.coulomb) for unit in self.units_joined]
        return np.concatenate(own, axis=1)

    def without_coulomb(self) -> NetworkDynamics:
        return self._smooth

    @cached_property
    def _smooth(self) -> NetworkDynamics:
        made = replace(self, bare=True)
        made.__dict__["solver"] = self.solver
        return made

    def _given_back(self, qd: Any) -> Any:
        """The units' Coulomb friction, which cancels what they take (nv,)."""
        if not self.bare or not self.coulomb.any():
            return np.zeros(self.nv)
        return coulomb(qd, self.coulomb[0], self.coulomb[1])

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        own = self.joined.each_velocity(lambda unit, x, v: unit.generalized_forces(x, v), q, qd)
        return own + self._given_back(qd)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return super().motion(t, q, qd, tau + self._given_back(qd))

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        return self.joined.sum(lambda unit, x, v: unit.kinetic_energy(x, v), q, qd)

    def potential_energy(self, q: Any) -> Any:
        still = np.zeros(self.nv)
        return self.joined.sum(lambda unit, x, v: unit.potential_energy(x), q, still)

    def mass_matrix(self, q: Any) -> Any:
        from scipy.linalg import block_diag

        parts = np.split(q, self.joined.q_starts[1:-1])
        each = zip(self.units_joined, parts, strict=True)
        return block_diag(*(unit.mass_matrix(x) for unit, x in each))


def link_rows(name: str, link: Link, a: System, b: System) -> RowFunction:
    """h of a link as a function of the coordinates of both units, one after the other."""
    first, second = a.dynamics, b.dynamics

    def rows(q: Any, p: Any) -> Any:
        postures = Posture(first, q[: first.nq]), Posture(second, q[first.nq :])
        return rows_of(lambda: link(*postures), (), {}, name)

    def rate(q: Any, v: Any) -> Any:
        parts = first.rate(q[: first.nq], v[: first.nv]), second.rate(q[first.nq :], v[first.nv :])
        return np.concatenate(parts)

    height = rows(bridge.symbol("q", first.nq + second.nq), None).shape[0]
    sizes = (first.nq + second.nq, first.nv + second.nv, height, 1)
    return RowFunction(name, *sizes, rows, rate)
