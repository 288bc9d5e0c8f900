"""Is A(q) q̇ = 0 integrable? Lie brackets of the permitted velocities, and how far they reach.

Δ₁ = ker A, Δ_{i+1} = Δ_i + [Δ₁, Δ_i]. The set is holonomic where Δ₂ = Δ₁ (Frobenius; 000 p.54), and
every direction can be reached where the filtration ends with all of them (Chow).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.constraints import rank
from dalembert.constraints.read import matrix_of
from dalembert.errors import ConstraintError, ShapeError
from dalembert.systems.system import System

DEPTH = 6
NEARBY = 4  # postures around q at which brackets must stay inside too
ZERO = 1e-9  # of a singular value, the fields being of unit length


@dataclass(frozen=True)
class Holonomy:
    """What brackets say of a Pfaffian set at a configuration; true where it is holonomic."""

    holonomic: bool
    growth: tuple[int, ...]  # dimensions of Δ₁, Δ₂, … at q
    accessible: bool  # all directions are reached by brackets

    def __bool__(self) -> bool:
        return self.holonomic


def is_holonomic(A: Any, q: Any) -> Holonomy:
    """Whether A(q) q̇ = 0 is integrable around q, its growth vector there, and accessibility.

    `A` is a function of q (NumPy or CasADi) that returns (k, n), or a `Constrained` system, whose
    rows are taken at time 0. Numeric, at the configuration q; see `growth_vector` for symbols.

    >>> disk = lambda q: np.stack([np.stack([1.0, 0, 0, -np.cos(q[2])]),
    ...                            np.stack([0.0, 1, 0, -np.sin(q[2])])])
    >>> is_holonomic(disk, [0.0, 0.0, 0.3, 0.0])
    Holonomy(holonomic=False, growth=(2, 3, 4), accessible=True)
    """
    at = np.asarray(q, dtype=float)
    fields, x, most = _fields(A, at)
    levels, growth, seen = [fields], [_dimension(fields, x, at)], fields
    beside = _around(at)
    inside = True
    while growth[-1] < most and len(growth) < DEPTH and growth[-3:] != [growth[-1]] * 3:
        levels.append(_brackets(fields, levels[-1], x))
        if levels[-1].shape[1]:
            seen = np.concatenate([seen, levels[-1]], axis=1)
        growth.append(_dimension(seen, x, at))
        if len(growth) == 2:
            here = [_dimension(fields, x, p) == _dimension(seen, x, p) for p in (at, *beside)]
            inside = all(here)
    return Holonomy(inside, tuple(growth), growth[-1] == most)


def _around(q: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [q + rng.uniform(-0.2, 0.2, q.shape) for _ in range(NEARBY)]


def _fields(A: Any, q: np.ndarray) -> tuple[Any, Any, int]:
    """A smooth basis (nq, m) of the permitted velocities around q, its symbols, and nv."""
    if q.ndim != 1:
        raise ShapeError(f"q has shape {q.shape}; the brackets are taken at one configuration (n,)")
    x = bridge.symbol("x", q.shape[0])
    matrix, spread = _matrix(A, x)
    chosen = rank.pivots(rank.unit(*bridge.Function([x], [matrix])(q)))
    n, rows, columns = matrix.shape[1], list(chosen.rows), list(chosen.columns)
    free = [k for k in range(n) if k not in columns]
    if not free:
        raise ConstraintError("A permits no velocity at q, so there is nothing to integrate")
    # δq₂ = −A₂⁻¹ A₁ δq₁: rational in A, so smooth where A₂ is regular
    dependent = -np.linalg.solve(matrix[rows][:, columns], matrix[rows][:, free])
    order = np.argsort([*free, *columns]).tolist()
    basis = np.concatenate([np.eye(len(free)), dependent])[order]
    return spread @ basis, x, n


def _matrix(A: Any, x: Any) -> tuple[Any, Any]:
    """A (k, nv) in the symbols x, and the map (nq, nv) from velocities to rates of q."""
    if isinstance(A, System):
        return _rows_of(A, x)
    return matrix_of(A, (x,), {}, x.shape[0], "A"), np.eye(x.shape[0])


def _rows_of(closed: System, x: Any) -> tuple[Any, Any]:
    system = closed.dynamics.bound()
    if x.shape[0] != system.nq:
        raise ShapeError(f"{system.name}: q has {x.shape[0]} entries, expected ({system.nq},)")
    v = bridge.symbol("v", system.nv)
    return system.at(x).A, bridge.jacobian(system.rate(x, v), v)


def _brackets(first: Any, last: Any, x: Any) -> Any:
    """[X, Y] = ∂Y/∂q X − ∂X/∂q Y for X in Δ₁ and Y of the last level; zero ones are left out."""
    found = []
    for j in range(last.shape[1]):
        slope = bridge.jacobian(last[:, j], x)
        for i in range(first.shape[1]):
            bracket = slope @ first[:, i] - bridge.jacobian(first[:, i], x) @ last[:, j]
            if not bridge.is_zero(bracket):
                found.append(bracket)
    return np.stack(found).T if found else np.zeros((first.shape[0], 0))


def _dimension(fields: Any, x: Any, q: np.ndarray) -> int:
    """Rank of the fields at q, those that vanish there left out."""
    (values,) = bridge.Function([x], [fields])(q)
    sizes = np.linalg.norm(values, axis=0)
    kept = values[:, sizes > ZERO] / sizes[sizes > ZERO]
    return int((np.linalg.svd(kept, compute_uv=False) > ZERO).sum()) if kept.size else 0


def growth_vector(A: Any, q: Any) -> tuple[int, ...]:
    """The growth vector at a generic point, exactly: A a SymPy matrix, q its symbols. For small sets.

    >>> import sympy
    >>> x, y, t = sympy.symbols("x y theta")
    >>> growth_vector(sympy.Matrix([[-sympy.sin(t), sympy.cos(t), 0]]), [x, y, t])
    (2, 3)
    """
    import sympy

    matrix, symbols = sympy.Matrix(A), sympy.Matrix(list(q))
    fields = [sympy.simplify(field) for field in matrix.nullspace()]
    seen, last, growth = list(fields), list(fields), [len(fields)]
    while growth[-1] < len(symbols) and len(growth) < DEPTH and growth[-3:] != [growth[-1]] * 3:
        last = [
            sympy.simplify(Y.jacobian(symbols) * X - X.jacobian(symbols) * Y)
            for Y in last
            for X in fields
        ]
        last = [bracket for bracket in last if not bracket.is_zero_matrix]
        seen += last
        growth.append(sympy.Matrix.hstack(*seen).rank(simplify=True))
    return tuple(growth)
