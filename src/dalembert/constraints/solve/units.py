"""What rows are put on: units that move on their own, each with its own block of M."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.systems.system import System

Array = np.ndarray


class Units(Protocol):
    """Systems one after the other in q (nq,) and v (nv,): M is block diagonal, M = L Lᵀ.

    With W = L⁻ᵀ, `half` is W x and `root` W⁻¹ v.
    """

    nq: int
    nv: int
    q_starts: Array  # (units + 1,)
    v_starts: Array
    ground: Array  # coordinates of the unit −1, which does not move
    diagonal: Array | None  # entries of W where M is diagonal, zeros for the ground after them

    def posture(self, q: Array) -> None: ...
    def blocks(self, members: Array) -> Array: ...
    def half(self, x: Array) -> Array: ...
    def root(self, v: Array) -> Array: ...
    def force(self, t: float, q: Array, v: Array, tau: Array) -> Array: ...
    def integrate(self, q: Array, step: Array) -> Array: ...
    def rate(self, q: Array, v: Array) -> Array: ...
    def difference(self, q: Array, to: Array) -> Array: ...
    def pull_back(self, step: Array, velocity: Array) -> Array: ...
    def normalised(self, q: Array) -> Array: ...


class _Group:
    """Equal units: where their numbers stand, and their factors of M."""

    def __init__(self, members: Array, unit: System, q: Array, v: Array) -> None:
        self.unit = unit
        self.q = q[members][:, None] + np.arange(unit.nq)
        self.v = v[members][:, None] + np.arange(unit.nv)
        self.L: Array = np.zeros((len(members), unit.nv, unit.nv))
        self.W: Array = self.L


class SystemUnits:
    """Any systems; equal ones are evaluated together."""

    def __init__(self, units: Sequence[System]) -> None:
        self.q_starts = np.concatenate([[0], np.cumsum([unit.nq for unit in units])])
        self.v_starts = np.concatenate([[0], np.cumsum([unit.nv for unit in units])])
        self.nq, self.nv = int(self.q_starts[-1]), int(self.v_starts[-1])
        self.ground: Array = np.zeros(0)
        self.diagonal: Array | None = None
        kinds: dict[str, list[int]] = {}
        for k, unit in enumerate(units):
            kinds.setdefault(unit.dynamics.content, []).append(k)
        self._groups: list[_Group] = []
        self._own = np.zeros((len(units), 2), dtype=np.intp)  # group of a unit, and place in it
        for number, members in enumerate(map(np.array, kinds.values())):
            made = _Group(members, units[members[0]], self.q_starts, self.v_starts)
            self._own[members] = np.stack(
                [np.full(len(members), number), np.arange(len(members))], axis=1
            )
            self._groups.append(made)

    def posture(self, q: Array) -> None:
        """Factorise M at this posture."""
        for g in self._groups:
            g.L = np.linalg.cholesky(g.unit.mass_matrix(q[g.q]))
            g.W = np.linalg.inv(g.L).transpose(0, 2, 1)

    def blocks(self, members: Array) -> Array:
        """W (n, nv, nv) of equal units."""
        group = self._groups[self._own[members[0], 0]]
        return group.W[self._own[members, 1]]

    def _each(self, size: int, function: Callable[[_Group], tuple[Array, Array]]) -> Array:
        found = np.zeros(size)
        for g in self._groups:
            where, values = function(g)
            found[where] = values
        return found

    def half(self, x: Array) -> Array:
        """W x (nv,): from scaled velocities to velocities."""
        return self._each(self.nv, lambda g: (g.v, np.einsum("kij,kj->ki", g.W, x[g.v])))

    def root(self, v: Array) -> Array:
        """W⁻¹ v (nv,): the inverse of `half`."""
        return self._each(self.nv, lambda g: (g.v, np.einsum("kji,kj->ki", g.L, v[g.v])))

    def force(self, t: float, q: Array, v: Array, tau: Array) -> Array:
        """Scaled forces (nv,) without those of the rows."""
        return self.root(
            self._each(self.nv, lambda g: (g.v, g.unit.forward_dynamics(q[g.q], v[g.v], tau[g.v])))
        )

    def integrate(self, q: Array, step: Array) -> Array:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        return self._each(self.nq, lambda g: (g.q, g.unit.integrate(q[g.q], step[g.v])))

    def rate(self, q: Array, v: Array) -> Array:
        """dq/dt (nq,)."""
        if self.nq == self.nv:
            return v
        return self._each(self.nq, lambda g: (g.q, _rows(g.unit.dynamics.rate, q[g.q], v[g.v])))

    def difference(self, q: Array, to: Array) -> Array:
        """The shortest step (nv,) with integrate(q, step) = to."""
        return self._each(self.nv, lambda g: (g.v, g.unit.difference(q[g.q], to[g.q])))

    def pull_back(self, step: Array, velocity: Array) -> Array:
        """The rate (nv,) of a step at which integrate(q, step) moves with the velocity."""
        if self.nq == self.nv:
            return velocity
        return self._each(
            self.nv,
            lambda g: (g.v, _rows(g.unit.dynamics.pull_back, step[g.v], velocity[g.v])),
        )

    def normalised(self, q: Array) -> Array:
        """q with unit quaternions."""
        if self.nq == self.nv:
            return q
        return self._each(self.nq, lambda g: (g.q, g.unit.dynamics.normalised(q[g.q])))

    def sum(self, function: Callable[..., Any], q: Array, v: Array) -> float:
        """Σ of `function(unit, q, v)` over all units, equal ones in one call."""
        return float(sum(np.sum(function(g.unit, q[g.q], v[g.v])) for g in self._groups))

    def each_velocity(self, function: Callable[..., Any], q: Array, v: Array) -> Array:
        """`function(unit, q, v)` (nv,) of all units."""
        return self._each(self.nv, lambda g: (g.v, function(g.unit, q[g.q], v[g.v])))


def _rows(function: Callable[[Array, Array], Array], q: Array, v: Array) -> Array:
    return np.stack([function(*pair) for pair in zip(q, v, strict=True)])
