"""All rows of a large system, evaluated kind by kind, each kind in one call.

Φ(t, q) = f(q) − s(t) = 0,    J v = ν = ṡ,    J v̇ = γ = s̈ − δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.constraints.solve.targets import targets
from dalembert.constraints.solve.units import Units
from dalembert.systems.bodies.data import Prescribed
from dalembert.systems.row_function import RowFunction


class Place(NamedTuple):
    """A row function on these units (−1 is the ground) with its numbers, and what it follows."""

    function: RowFunction
    units: tuple[int, ...]
    parameters: np.ndarray
    motion: Prescribed | None = None
    near: bool = False  # the last parameter is the angle it is measured near: s(t)
    name: str = ""  # in messages
    label: str = ""  # in results


class Terms(NamedTuple):
    """The rows at one state; `data` are the entries of J M^{-1/2}."""

    phi: np.ndarray
    nu: np.ndarray
    gamma: np.ndarray
    data: np.ndarray


class _Group:
    """All places of one row function."""

    def __init__(self, units: Units, places: Sequence[Place], rows: np.ndarray) -> None:
        first = places[0]
        self.rows, self.near = rows, first.near  # rows (n, function.rows)
        self.units = np.array([place.units for place in places], dtype=np.intp)
        self.parameters = np.array([place.parameters for place in places])
        self.q = self._gathered(units.q_starts, len(units.ground))
        self.v = self._gathered(units.v_starts, first.function.nv // len(first.units))
        self._ufunc = first.function.kernel.ufunc

    def _gathered(self, starts: np.ndarray, ground: int) -> np.ndarray:
        """Where the numbers of its units stand; those of the ground come after all others."""
        parts = []
        for end in self.units.T:
            sizes = np.where(end < 0, ground, np.diff(starts, append=starts[-1])[end])
            first = np.where(end < 0, starts[-1], starts[end])
            parts.append(first[:, None] + np.arange(sizes.max()))
        return np.concatenate(parts, axis=1)

    def evaluate(
        self, q: np.ndarray, v: np.ndarray, s: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ (n, rows), J (n, rows, nv), δ (n, rows), from q and v with the ground's at the end."""
        p = self.parameters
        if self.near:
            p = np.concatenate([p[:, :-1], s[self.rows[:, :1]]], axis=1)
        return self._ufunc(q[self.q], v[self.v], p)

    def scaled(self, units: Units, jacobian: np.ndarray) -> np.ndarray:
        """J M^{-1/2}, unit by unit."""
        if units.diagonal is not None:
            return (jacobian * units.diagonal[self.v][:, None, :]).ravel()
        parts, start = [], 0
        for end in self.units.T:
            W = units.blocks(np.maximum(end, 0))  # what the ground gets is not kept
            stop = start + W.shape[-1]
            parts.append(jacobian[:, :, start:stop] @ W)
            start = stop
        return np.concatenate(parts, axis=2).ravel()


class Rows:
    """The rows of many places on many units, and where the entries of J stand."""

    def __init__(self, units: Units, places: Sequence[Place]) -> None:
        self.units, self.places = units, tuple(places)
        heights = [place.function.rows for place in places]
        self.starts = np.concatenate([[0], np.cumsum(heights)]).astype(np.intp)
        self.m = int(self.starts[-1])
        self.groups = self._grouped()
        self._targets = targets(
            [(p.name, p.motion, p.function.rows) for p in places if p.motion is not None]
        )
        self._driven = np.concatenate(
            [np.zeros(0, dtype=np.intp)]
            + [self.of(k) for k, place in enumerate(places) if place.motion is not None]
        )
        self._pattern()

    def of(self, place: int) -> np.ndarray:
        """The rows of one place."""
        return np.arange(self.starts[place], self.starts[place + 1])

    def owner(self, row: int) -> int:
        """The place a row belongs to."""
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def _grouped(self) -> list[_Group]:
        kinds: dict[tuple[int, bool], list[int]] = {}
        for k, place in enumerate(self.places):
            kinds.setdefault((id(place.function), place.near), []).append(k)
        made = []
        for members in kinds.values():
            rows = np.stack([self.of(k) for k in members])
            made.append(_Group(self.units, [self.places[k] for k in members], rows))
        return made

    def _pattern(self) -> None:
        rows, columns = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for group in self.groups:
            spread = np.broadcast_arrays(group.rows[:, :, None], group.v[:, None, :])
            rows.append(spread[0].ravel())
            columns.append(spread[1].ravel())
        column = np.concatenate(columns)
        self._keep = np.flatnonzero(column < self.units.nv)
        self.at = np.concatenate(rows)[self._keep], column[self._keep]

    def terms(self, t: float, q: np.ndarray, v: np.ndarray) -> Terms:
        """The rows at a state; M^{-1/2} is that of the units' last posture."""
        s, nu, gamma = self._followed(t)
        phi, parts = -s, []
        for group, (value, jacobian, drift) in self._evaluated(q, v, s):
            phi[group.rows] += value
            gamma[group.rows] -= drift
            parts.append(group.scaled(self.units, jacobian))
        return Terms(phi, nu, gamma, self._kept(parts))

    def jacobian(self, t: float, q: np.ndarray) -> Any:
        """J (rows, nv), a scipy.sparse array."""
        from scipy import sparse

        found = self._evaluated(q, np.zeros(self.units.nv), self._followed(t)[0])
        data = self._kept([jacobian.ravel() for _, (_, jacobian, _) in found])
        return sparse.csr_array((data, self.at), shape=(self.m, self.units.nv))

    def _followed(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, ṡ and s̈ (rows,), zero where nothing is prescribed."""
        found = np.zeros((3, self.m))
        if self._targets is not None:
            found[:, self._driven] = self._targets.ufunc(t)
        return found[0], found[1], found[2]

    def _evaluated(
        self, q: np.ndarray, v: np.ndarray, s: np.ndarray
    ) -> list[tuple[_Group, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        q = np.concatenate([q, self.units.ground])
        v = np.concatenate([v, np.zeros(len(self.units.ground))])
        return [(group, group.evaluate(q, v, s)) for group in self.groups]

    def _kept(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)[self._keep] if parts else np.zeros(0)
