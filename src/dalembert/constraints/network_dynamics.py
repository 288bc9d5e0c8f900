"""A network with the interface of every system, on numbers: its equations are called, not traced."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dalembert.formulations.parts.drive import coulomb
from dalembert.formulations.registry import Quantity
from dalembert.model.jointed import Kinds
from dalembert.systems.dynamics import Dynamics, Rows

if TYPE_CHECKING:
    from dalembert.constraints.network import Network


@dataclass(frozen=True, eq=False)
class NetworkDynamics(Dynamics):
    """M q̈ + h + Aᵀλ = τ + ψ of all units and links, sparse inside."""

    network: Network
    bare: bool = False  # without the Coulomb friction of the units
    catalogue: Mapping[str, Quantity] = field(default_factory=dict)
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    traced_from: ClassVar[tuple[str, ...]] = ()
    traces: bool = field(default=False, init=False)
    resting: bool = field(default=True, init=False)  # b = 0: its constraints do no work

    @property
    def name(self) -> str:
        return self.network.name

    @property
    def content(self) -> str:
        network = self.network
        units = [unit.dynamics.content for unit in network.units]
        links = [(a, b, rows.content) for a, b, rows in network.link_rows()]
        return hashlib.sha256(repr((network.name, units, links)).encode()).hexdigest()

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        return np.zeros(0)

    def bind(self, values: Any) -> Self:
        return self

    # coordinates: those of the units, one after the other

    @property
    def nq(self) -> int:
        return self.network.nq

    @property
    def nv(self) -> int:
        return self.network.nv

    def _of_units(self, names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(f"{name}[{k}]" for k, own in enumerate(names) for name in own)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self._of_units(unit.dynamics.coordinates for unit in self.network.units)

    @property
    def velocities(self) -> tuple[str, ...]:
        return self._of_units(unit.dynamics.velocities for unit in self.network.units)

    @property
    def kinds(self) -> Kinds:
        units = [unit.dynamics.kinds for unit in self.network.units]
        return Kinds(*(tuple(k for own in units for k in own[side]) for side in (0, 1)))

    def neutral(self) -> np.ndarray:
        return np.concatenate([unit.neutral() for unit in self.network.units])

    def integrate(self, q: Any, step: Any) -> Any:
        return self.network.moved(q, step)

    def rate(self, q: Any, qd: Any) -> Any:
        if self.nq == self.nv:
            return qd
        parts = zip(self.network.units, *self.network.split(q, qd), strict=True)
        return np.concatenate([unit.dynamics.rate(a, b) for unit, a, b in parts])

    def pull_back(self, step: Any, velocity: Any) -> Any:
        if self.nq == self.nv:
            return velocity
        units = self.network.units
        (_, steps), (_, rates) = (self.network.split(None, x) for x in (step, velocity))
        parts = zip(units, steps, rates, strict=True)
        return np.concatenate([unit.dynamics.pull_back(a, b) for unit, a, b in parts])

    def normalised(self, q: Any) -> Any:
        if self.nq == self.nv:
            return q
        parts = zip(self.network.units, self.network.split(q, None)[0], strict=True)
        return np.concatenate([unit.dynamics.normalised(x) for unit, x in parts])

    # M q̈ + h + Aᵀλ = τ + ψ

    @cached_property
    def coulomb(self) -> Any:
        own = [np.asarray(unit.dynamics.coulomb) for unit in self.network.units]
        return np.concatenate(own, axis=1)

    def without_coulomb(self) -> NetworkDynamics:
        return self._smooth

    @cached_property
    def _smooth(self) -> NetworkDynamics:
        return replace(self, bare=True)

    def _given_back(self, qd: Any) -> Any:
        """The units' Coulomb friction, which cancels what they take (nv,)."""
        if not self.bare or not self.coulomb.any():
            return np.zeros(self.nv)
        return coulomb(qd, self.coulomb[0], self.coulomb[1])

    def generalized_forces(self, q: Any, qd: Any) -> Any:
        return self.network.generalized_forces(q, qd) + self._given_back(qd)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        return self.network.energies(q, qd)[0]

    def potential_energy(self, q: Any) -> Any:
        return self.network.energies(q, np.zeros(self.nv))[1]

    def mass_matrix(self, q: Any) -> Any:
        return self.network.mass_matrix(q)

    @property
    def rows(self) -> int:
        return self.network.rows

    @property
    def row_names(self) -> tuple[str, ...]:
        heights = [rows.rows for _, _, rows in self.network.link_rows()]
        return tuple(f"link{k}[{row}]" for k, n in enumerate(heights) for row in range(n))

    def at(self, q: Any, qd: Any = None, t: Any = None) -> Rows:
        h, A, gamma = self.network.rows_at(q, np.zeros(self.nv) if qd is None else qd)
        return Rows(h, A, np.zeros(self.rows), gamma)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return self.network.forward_dynamics(q, qd, tau + self._given_back(qd))

    def project(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        q = self.network.assemble(q)
        return q, self.network.project_velocity(q, qd)
