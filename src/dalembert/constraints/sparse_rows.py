"""Constraint rows of many units, each unit with its own block of M.

Φ(t, q) = f(q) − s(t) = 0,    J v = ν = ṡ,    J v̇ = γ = s̈ − δ.

Equal units are evaluated together, and rows kind by kind, each kind in one call. Prescribed motions
s(t) are differentiated automatically and compiled together with their rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dalembert import tracing
from dalembert.constraints.kinds import Time
from dalembert.errors import CompileError, DalembertError
from dalembert.kernels import Kernel, build
from dalembert.kernels.program.trace import trace
from dalembert.spatial.arrays import Array
from dalembert.systems.bodies.body import Prescribed
from dalembert.systems.bodies.space import RowFunction
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.systems.bodies.batch import BodyUnits


class UnitGroup:
    """Equal units: positions of their entries, and their factors of M."""

    def __init__(self, members: Array, unit: System, q: Array, v: Array) -> None:
        self.unit = unit
        self.q = q[members][:, None] + np.arange(unit.nq)
        self.v = v[members][:, None] + np.arange(unit.nv)
        self.L: Array = np.zeros((len(members), unit.nv, unit.nv))
        self.W: Array = self.L


class SystemUnits:
    """Systems one after the other in q (nq,) and v (nv,); equal ones are evaluated together.

    M is block diagonal, M = L Lᵀ. With W = L⁻ᵀ, `half` is W x and `root` W⁻¹ v. `q_starts` and
    `v_starts` (units + 1,) are the first entries of each unit, `ground` the coordinates of the unit
    −1, which does not move, and `diagonal` the entries of W where M is diagonal.
    """

    def __init__(self, units: Sequence[System]) -> None:
        self.q_starts = np.concatenate([[0], np.cumsum([unit.nq for unit in units])])
        self.v_starts = np.concatenate([[0], np.cumsum([unit.nv for unit in units])])
        self.nq, self.nv = int(self.q_starts[-1]), int(self.v_starts[-1])
        self.ground: Array = np.zeros(0)
        self.diagonal: Array | None = None
        kinds: dict[str, list[int]] = {}
        for k, unit in enumerate(units):
            kinds.setdefault(unit.dynamics.content, []).append(k)
        self._groups: list[UnitGroup] = []
        self._own = np.zeros((len(units), 2), dtype=np.intp)  # group of a unit, and position in it
        for number, members in enumerate(map(np.array, kinds.values())):
            group = UnitGroup(members, units[members[0]], self.q_starts, self.v_starts)
            self._own[members, 0], self._own[members, 1] = number, np.arange(len(members))
            self._groups.append(group)

    def posture(self, q: Array) -> None:
        """Factorise M at this posture."""
        for g in self._groups:
            g.L = np.linalg.cholesky(g.unit.mass_matrix(q[g.q]))
            g.W = np.linalg.inv(g.L).transpose(0, 2, 1)

    def blocks(self, members: Array) -> Array:
        """W (n, nv, nv) of equal units."""
        group = self._groups[self._own[members[0], 0]]
        W: Array = group.W[self._own[members, 1]]
        return W

    def each(self, size: int, function: Callable[[UnitGroup], tuple[Array, Array]]) -> Array:
        """(size,) of all units, from the entries of a group and its values there."""
        result = np.zeros(size)
        for g in self._groups:
            where, values = function(g)
            result[where] = values
        return result

    def half(self, x: Array) -> Array:
        """W x (nv,): from scaled velocities to velocities."""
        return self.each(self.nv, lambda g: (g.v, np.einsum("kij,kj->ki", g.W, x[g.v])))

    def root(self, v: Array) -> Array:
        """W⁻¹ v (nv,): the inverse of `half`."""
        return self.each(self.nv, lambda g: (g.v, np.einsum("kji,kj->ki", g.L, v[g.v])))

    def force(self, t: float, q: Array, v: Array, tau: Array) -> Array:
        """Scaled forces (nv,) without those of the rows."""
        return self.root(
            self.each(self.nv, lambda g: (g.v, g.unit.forward_dynamics(q[g.q], v[g.v], tau[g.v])))
        )

    def integrate(self, q: Array, step: Array) -> Array:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        return self.each(self.nq, lambda g: (g.q, g.unit.integrate(q[g.q], step[g.v])))

    def rate(self, q: Array, v: Array) -> Array:
        """dq/dt (nq,)."""
        if self.nq == self.nv:
            return v
        return self.each(self.nq, lambda g: (g.q, _rows(g.unit.dynamics.rate, q[g.q], v[g.v])))

    def difference(self, q: Array, to: Array) -> Array:
        """The shortest step (nv,) with integrate(q, step) = to."""
        return self.each(self.nv, lambda g: (g.v, g.unit.difference(q[g.q], to[g.q])))

    def pull_back(self, step: Array, velocity: Array) -> Array:
        """The rate (nv,) of a step at which integrate(q, step) moves with the velocity."""
        if self.nq == self.nv:
            return velocity
        return self.each(
            self.nv, lambda g: (g.v, _rows(g.unit.dynamics.pull_back, step[g.v], velocity[g.v]))
        )

    def normalised(self, q: Array) -> Array:
        """q with unit quaternions."""
        if self.nq == self.nv:
            return q
        return self.each(self.nq, lambda g: (g.q, g.unit.dynamics.normalised(q[g.q])))

    def sum(self, function: Callable[..., Any], q: Array, v: Array) -> float:
        """Σ of `function(unit, q, v)` over all units, equal ones in one call."""
        return float(sum(np.sum(function(g.unit, q[g.q], v[g.v])) for g in self._groups))


def _rows(function: Callable[[Array, Array], Array], q: Array, v: Array) -> Array:
    return np.stack([function(*pair) for pair in zip(q, v, strict=True)])


if TYPE_CHECKING:
    # both have the methods of `SystemUnits` that rows need
    Units: TypeAlias = SystemUnits | BodyUnits


NUMPY = (
    "its motion must be a function of t in NumPy that also runs on symbols (np.sin, not math.sin)"
)


def targets(motions: Sequence[tuple[str, Prescribed, int]]) -> Kernel | None:
    """The kernel t → (s, ṡ, s̈) (rows,) each, of all named motions and their numbers of rows."""
    if not motions:
        return None

    def function(t: Time) -> dict[str, Any]:
        s = np.concatenate([target(name, motion, rows, t) for name, motion, rows in motions])
        speed = tracing.jacobian(s, t)
        return {"s": s, "speed": speed, "acceleration": tracing.jacobian(speed, t)}

    program = trace(function, {"t": ()}, name="motions")
    return build(program.digest, lambda: program, program.inputs, program.outputs, "motions")


def target(name: str, motion: Prescribed, rows: int, t: Time) -> Array:
    """s (rows,) at a time that is a symbol; what is no function of it is named."""
    try:
        value = motion(t)
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise CompileError(f"driver {name}: {NUMPY}: {error}") from None
    if not tracing.is_symbolic(value):
        value = np.asarray(value, dtype=float)
        if not np.isfinite(value).all():  # what a function of floats makes of a symbol
            raise CompileError(f"driver {name}: {NUMPY}")
    flat: Array = value.ravel()
    if flat.shape[0] != rows:
        raise DalembertError(f"driver {name} has {rows} rows, its motion {flat.shape[0]}")
    return flat


class RowBlock(NamedTuple):
    """A row function on these units (−1 is the ground), its parameters and prescribed motion."""

    function: RowFunction
    units: tuple[int, ...]
    parameters: Array
    motion: Prescribed | None = None
    near: bool = False  # the last parameter is the angle it is measured near: s(t)
    name: str = ""  # in messages
    label: str = ""  # in results


class RowTerms(NamedTuple):
    """The rows at one state; `data` are the entries of J M^{-1/2}."""

    phi: Array
    nu: Array
    gamma: Array
    data: Array


class _RowGroup:
    """All blocks with one row function."""

    def __init__(self, units: Units, blocks: Sequence[RowBlock], rows: Array) -> None:
        first = blocks[0]
        self.rows, self.near = rows, first.near  # rows (n, function.rows)
        self.units = np.array([block.units for block in blocks], dtype=np.intp)
        self.parameters = np.array([block.parameters for block in blocks])
        self.q = self._gathered(units.q_starts, len(units.ground))
        self.v = self._gathered(units.v_starts, first.function.nv // len(first.units))
        self.ufunc = first.function.kernel.ufunc

    def _gathered(self, starts: Array, ground: int) -> Array:
        """Positions of the entries of its units; those of the ground come after all others."""
        parts = []
        for end in self.units.T:
            sizes = np.where(end < 0, ground, np.diff(starts, append=starts[-1])[end])
            first = np.where(end < 0, starts[-1], starts[end])
            parts.append(first[:, None] + np.arange(sizes.max()))
        return np.concatenate(parts, axis=1)

    def scaled(self, units: Units, jacobian: Array) -> Array:
        """J M^{-1/2}, unit by unit."""
        if units.diagonal is not None:
            return np.ravel(jacobian * units.diagonal[self.v][:, None, :])
        parts, start = [], 0
        for end in self.units.T:
            W = units.blocks(np.maximum(end, 0))  # columns of the ground are dropped
            stop = start + W.shape[-1]
            parts.append(jacobian[:, :, start:stop] @ W)
            start = stop
        return np.concatenate(parts, axis=2).ravel()


class ConstraintRows:
    """The rows of many blocks on many units, and the pattern of J."""

    def __init__(self, units: Units, blocks: Sequence[RowBlock]) -> None:
        self.units, self.blocks = units, tuple(blocks)
        heights = np.array([block.function.rows for block in blocks], dtype=np.intp)
        self.starts = np.concatenate([[0], np.cumsum(heights)]).astype(np.intp)
        self.m = int(self.starts[-1])
        kinds: dict[tuple[int, bool], list[int]] = {}
        for k, block in enumerate(self.blocks):
            kinds.setdefault((id(block.function), block.near), []).append(k)
        self.groups = [
            _RowGroup(units, [blocks[k] for k in members], np.stack([self.of(k) for k in members]))
            for members in kinds.values()
        ]
        self._targets = targets(
            [(p.name, p.motion, p.function.rows) for p in blocks if p.motion is not None]
        )
        is_driven = np.array([block.motion is not None for block in blocks], dtype=bool)
        self._driven = np.flatnonzero(np.repeat(is_driven, heights))
        entries = [np.zeros((2, 0), dtype=np.intp)]  # rows and columns
        for group in self.groups:
            spread = np.broadcast_arrays(group.rows[:, :, None], group.v[:, None, :])
            entries.append(np.stack(spread).reshape(2, -1))
        rows, columns = np.concatenate(entries, axis=1)
        self._keep = np.flatnonzero(columns < self.units.nv)
        self.at = rows[self._keep], columns[self._keep]

    def of(self, block: int) -> Array:
        """The rows of one block."""
        return np.arange(self.starts[block], self.starts[block + 1])

    def terms(self, t: float, q: Array, v: Array) -> RowTerms:
        """The rows at a state; M^{-1/2} is that of the units' last posture."""
        s, nu, gamma = self._followed(t)
        phi, parts = -s, []
        for group, (value, jacobian, drift) in self._evaluated(q, v, s):
            phi[group.rows] += value
            gamma[group.rows] -= drift
            parts.append(group.scaled(self.units, jacobian))
        return RowTerms(phi, nu, gamma, self._stored_entries(parts))

    def jacobian(self, t: float, q: Array) -> Any:
        """J (rows, nv), a scipy.sparse array."""
        from scipy import sparse

        evaluated = self._evaluated(q, np.zeros(self.units.nv), self._followed(t)[0])
        data = self._stored_entries([jacobian.ravel() for _, (_, jacobian, _) in evaluated])
        return sparse.csr_array((data, self.at), shape=(self.m, self.units.nv))

    def _followed(self, t: float) -> tuple[Array, Array, Array]:
        """s, ṡ and s̈ (rows,), zero where nothing is prescribed."""
        targets = np.zeros((3, self.m))
        if self._targets is not None:
            targets[:, self._driven] = self._targets.ufunc(t)
        return targets[0], targets[1], targets[2]

    def _evaluated(
        self, q: Array, v: Array, s: Array
    ) -> list[tuple[_RowGroup, tuple[Array, Array, Array]]]:
        """Φ (n, rows), J (n, rows, nv) and δ (n, rows) of every group."""
        q = np.concatenate([q, self.units.ground])
        v = np.concatenate([v, np.zeros(len(self.units.ground))])
        evaluated = []
        for group in self.groups:
            p = group.parameters
            if group.near:
                p = np.concatenate([p[:, :-1], s[group.rows[:, :1]]], axis=1)
            evaluated.append((group, group.ufunc(q[group.q], v[group.v], p)))
        return evaluated

    def _stored_entries(self, parts: list[Array]) -> Array:
        return np.concatenate(parts)[self._keep] if parts else np.zeros(0)
