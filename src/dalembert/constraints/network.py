"""Many units joined by many links: forward dynamics whose cost grows with their number only.

Units move on their own but for the links, so M is block diagonal and S = A M⁻¹ Aᵀ has a block for
each pair of links at a common unit. Equal units, and equal links, are evaluated in one batch; S is
factorised as a sparse matrix, in time linear in the number of links for chains and ladders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.constraints.links import Link, LinkEvaluator, LinkRows
from dalembert.constraints.network_dynamics import NetworkDynamics
from dalembert.errors import ConstraintError, ShapeError
from dalembert.linalg.proximal import PROXIMITY
from dalembert.systems.system import System

STEPS, DONE = 40, 1e-15  # of the proximal iteration; long chains are badly conditioned


@dataclass(frozen=True)
class _Group:
    """Equal units or equal links: which ones, and where their numbers are."""

    members: np.ndarray  # numbers of the units or links
    evaluate: Any


class Network:
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
        self.name, self.units = name, tuple(units)
        self._q = np.concatenate([[0], np.cumsum([unit.nq for unit in units])])
        self._v = np.concatenate([[0], np.cumsum([unit.nv for unit in units])])
        self._units = self._group_units()
        self._ends = np.array([(a, b) for a, b, _ in links])
        if self._ends.min() < 0 or self._ends.max() >= len(units):
            raise ConstraintError(f"{name}: links join units 0 to {len(units) - 1}")
        self._links, heights = self._group_links(links)
        self._rows = np.concatenate([[0], np.cumsum(heights)])

    @property
    def nq(self) -> int:
        """Coordinates of all units."""
        return int(self._q[-1])

    @property
    def nv(self) -> int:
        """Velocities of all units."""
        return int(self._v[-1])

    @property
    def rows(self) -> int:
        """Rows of all links: the length of λ."""
        return int(self._rows[-1])

    @cached_property
    def dynamics(self) -> NetworkDynamics:
        """The interface every system has, on numbers."""
        return NetworkDynamics(self)

    def neutral(self) -> np.ndarray:
        """The reference configuration (nq,) of all units."""
        return self.dynamics.neutral()

    def link_rows(self) -> list[tuple[int, int, LinkRows]]:
        """(a, b, rows) of every link, a and b the units it joins."""
        made = {int(k): g.evaluate.description for g in self._links for k in g.members}
        return [(int(a), int(b), made[k]) for k, (a, b) in enumerate(self._ends)]

    def split(self, q: Any, qd: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(q, q̇) of every unit; none of what is None."""
        pairs = ((q, self._q), (qd, self._v))
        cut = [[] if x is None else np.split(x, starts[1:-1]) for x, starts in pairs]
        return cut[0], cut[1]

    def __repr__(self) -> str:
        return f"<Network {self.name}: {len(self.units)} units, {len(self._ends)} links>"

    def _group_units(self) -> list[_Group]:
        groups: dict[str, list[int]] = {}
        for k, unit in enumerate(self.units):
            groups.setdefault(unit.description.content, []).append(k)
        return [_Group(np.array(g), self.units[g[0]]) for g in groups.values()]

    def _group_links(
        self, links: Sequence[tuple[int, int, Link]]
    ) -> tuple[list[_Group], np.ndarray]:
        groups: dict[Any, list[int]] = {}
        for k, (a, b, link) in enumerate(links):
            key = (*(self.units[x].description.content for x in (a, b)), link)
            groups.setdefault(key, []).append(k)
        made, heights = [], np.zeros(len(links), dtype=int)
        for members in groups.values():
            a, b, link = links[members[0]]
            rows = LinkEvaluator(
                f"{self.name}_link{members[0]}", link, self.units[a], self.units[b]
            )
            heights[members] = rows.description.rows
            made.append(_Group(np.array(members), rows))
        return made, heights

    def _split(self, x: np.ndarray, starts: np.ndarray, members: np.ndarray) -> np.ndarray:
        """Entries of the units `members`, (len(members), size)."""
        size = starts[members[0] + 1] - starts[members[0]]
        return x[starts[members][:, None] + np.arange(size)]

    def _checked(self, **arrays: Any) -> list[np.ndarray]:
        found = []
        for name, value in arrays.items():
            size = self.nq if name == "q" else self.nv
            array = np.asarray(value, dtype=float)
            if array.shape != (size,):
                raise ShapeError(f"{self.name}: {name} has shape {array.shape}, expected ({size},)")
            found.append(array)
        return found

    # rows

    def rows_at(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """(h (rows,), A as a sparse matrix (rows, nv), γ (rows,))."""
        from scipy import sparse

        h, gamma = np.zeros(self.rows), np.zeros(self.rows)
        values, where = [], []
        for group in self._links:
            a, b = self._ends[group.members].T
            states = [
                self._split(x, s, m) for m in (a, b) for x, s in ((q, self._q), (qd, self._v))
            ]
            held, A, B, drift = group.evaluate(*states)
            rows = self._rows[group.members][:, None] + np.arange(held.shape[1])
            h[rows], gamma[rows] = held, drift
            for unit, block in ((a, A), (b, B)):
                columns = self._v[unit][:, None] + np.arange(block.shape[2])
                values.append(block.ravel())
                spread = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
                where.append(np.stack([x.ravel() for x in spread]))
        ij = np.concatenate(where, axis=1)
        shape = (self.rows, self.nv)
        return h, sparse.csr_array((np.concatenate(values), tuple(ij)), shape=shape), gamma

    def residual(self, q: Any) -> np.ndarray:
        """h (rows,)."""
        (q,) = self._checked(q=q)
        return self.rows_at(q, np.zeros(self.nv))[0]

    def jacobian(self, q: Any) -> Any:
        """A (rows, nv), a scipy.sparse array."""
        (q,) = self._checked(q=q)
        return self.rows_at(q, np.zeros(self.nv))[1]

    # dynamics

    def _inverse_mass(self, q: np.ndarray) -> Any:
        """M⁻¹ as a sparse block-diagonal matrix."""
        from scipy import sparse

        values, where = [], []
        for group in self._units:
            inverse = np.linalg.inv(
                group.evaluate.mass_matrix(self._split(q, self._q, group.members))
            )
            index = self._v[group.members][:, None] + np.arange(inverse.shape[1])
            spread = np.broadcast_arrays(index[:, :, None], index[:, None, :])
            where.append(np.stack([x.ravel() for x in spread]))
            values.append(inverse.ravel())
        ij = np.concatenate(where, axis=1)
        return sparse.csr_array((np.concatenate(values), tuple(ij)), shape=(self.nv, self.nv))

    def _by_unit(self, quantity: str, q: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
        """A quantity (nv,) of the units, equal ones in one call."""
        found = np.zeros(self.nv)
        for group in self._units:
            v = self._v[group.members][:, None] + np.arange(group.evaluate.nv)
            at = self._split(q, self._q, group.members)
            found[v] = getattr(group.evaluate, quantity)(at, *(x[v] for x in vectors))
        return found

    def generalized_forces(self, q: Any, qd: Any) -> np.ndarray:
        """ψ (nv,) of all units, on the side of τ."""
        q, qd = self._checked(q=q, qd=qd)
        return self._by_unit("generalized_forces", q, qd)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> tuple[np.ndarray, np.ndarray]:
        """(q̈ (nv,), λ (rows,)) with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = −Ȧ q̇, for one state."""
        q, qd, tau = self._checked(q=q, qd=qd, tau=tau)
        _, A, gamma = self.rows_at(q, qd)
        inverse, free = self._inverse_mass(q), self._by_unit("forward_dynamics", q, qd, tau)
        spread = inverse @ A.T
        lam = self._solve(A @ spread, A @ free - gamma)
        return free - spread @ lam, lam

    def _solve(self, S: Any, r: np.ndarray) -> np.ndarray:
        """S⁻¹ r by the proximal iteration of `least_norm`, on a sparse factorisation."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        mu = PROXIMITY * S.diagonal()
        proximal = sparse.csc_array(S + sparse.diags_array(mu))
        options = {"SymmetricMode": True}
        factors = splu(proximal, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        x, left = np.zeros_like(r), r
        for _ in range(STEPS):
            step = factors.solve(left)
            x, left = x + step, mu * step
            if np.abs(left).max() <= DONE * np.abs(r).max():
                break
        if not np.abs(left).max() <= 1e-6 * (1e-9 + np.abs(r).max()):
            worst = int(np.searchsorted(self._rows, np.abs(left).argmax(), side="right")) - 1
            a, b = self._ends[worst]
            raise ConstraintError(
                f"{self.name}: the links contradict each other or stand at a singular posture, "
                f"first seen at link {worst} between units {a} and {b}"
            )
        return x

    def project_velocity(self, q: Any, qd: Any) -> np.ndarray:
        """The velocity (nv,) the links allow that is nearest to q̇ in the metric M."""
        q, qd = self._checked(q=q, qd=qd)
        _, A, _ = self.rows_at(q, qd)
        spread = self._inverse_mass(q) @ A.T
        return qd - spread @ self._solve(A @ spread, A @ qd)

    def assemble(self, guess: Any, iterations: int = 50) -> np.ndarray:
        """q (nq,) with h(q) = 0 near the guess, by Newton's method along M-orthogonal steps."""
        (q,) = self._checked(q=guess)
        for _ in range(iterations):
            h, A, _ = self.rows_at(q, np.zeros(self.nv))
            if np.abs(h).max() <= 1e-13:
                return q
            spread = self._inverse_mass(q) @ A.T
            q = self.moved(q, -(spread @ self._solve(A @ spread, h)))
        worst = int(np.searchsorted(self._rows, np.abs(h).argmax(), side="right")) - 1
        raise ConstraintError(
            f"{self.name}: link {worst} is left open by {np.abs(h).max():.3g}; give a better guess"
        )

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        found = np.zeros(self.nq)
        for group in self._units:
            v = self._v[group.members][:, None] + np.arange(group.evaluate.nv)
            at = self._q[group.members][:, None] + np.arange(group.evaluate.nq)
            found[at] = group.evaluate.integrate(q[at], step[v])
        return found

    def energies(self, q: Any, qd: Any) -> tuple[float, float]:
        """(kinetic, potential) energy of all units, joules."""
        q, qd = self._checked(q=q, qd=qd)
        kinetic = potential = 0.0
        for group in self._units:
            at = self._split(q, self._q, group.members)
            moving = self._split(qd, self._v, group.members)
            kinetic += float(group.evaluate.kinetic_energy(at, moving).sum())
            potential += float(group.evaluate.potential_energy(at).sum())
        return kinetic, potential

    def energy(self, q: Any, qd: Any) -> float:
        """Kinetic and potential energy of all units, joules."""
        return sum(self.energies(q, qd))

    def mass_matrix(self, q: Any) -> np.ndarray:
        """M (..., nv, nv), a block for each unit."""
        from scipy.linalg import block_diag

        q = np.asarray(q, dtype=float)
        parts = np.split(q, self._q[1:-1], axis=-1)
        blocks = [unit.mass_matrix(x) for unit, x in zip(self.units, parts, strict=True)]
        found = [block_diag(*(b[where] for b in blocks)) for where in np.ndindex(q.shape[:-1])]
        return np.stack(found).reshape(*q.shape[:-1], self.nv, self.nv)
