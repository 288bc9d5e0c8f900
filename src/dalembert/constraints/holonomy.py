"""Is A(q) q̇ = b integrable? Lie brackets of the permitted velocities, and how far they reach.

Δ₁ = ker A, Δ_{i+1} = Δ_i + [Δ₁, Δ_i]. The set is holonomic where Δ₂ = Δ₁ (Frobenius; 000 p.54), and
every direction can be reached where the filtration ends with all of them (Chow). With b, or where rows
depend on time, A dq − b dt = 0 is such a set on (q, t), with [A −b] in place of A.

How far it must be followed is known, for A that is analytic: at an ordinary point two equal dimensions
on end are the last, and their number is the same all over the orbit of q (Hermann, Nagano), so the
filtration at q ends when it has reached that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints.brackets import Distribution
from dalembert.constraints.kinds import Pfaffian
from dalembert.errors import ConstraintError, ShapeError
from dalembert.systems.system import System

NEARBY, APART = 4, 0.2  # postures around q at which brackets must stay inside too, rad or m


@dataclass(frozen=True)
class Holonomy:
    """What brackets say of a Pfaffian set at a configuration; true where it is holonomic.

    Where the filtration ends before it has all velocities, its last dimension stands twice. Where b is
    not zero or the rows depend on time, time is one more direction and counts in `growth`.
    """

    holonomic: bool
    growth: tuple[int, ...]  # dimensions of Δ₁, Δ₂, … at q
    accessible: bool  # brackets reach all directions of Q, the configurations with h(q) = 0
    complete: bool = True  # followed to its end; if not, deeper brackets were too large to form

    def __bool__(self) -> bool:
        return self.holonomic


def is_holonomic(A: Any, q: Any = None) -> Holonomy:
    """Whether A(q) q̇ = b is integrable around q, its growth vector there, and accessibility.

    `A` is a `Constrained` system, whose reference posture is the default of q, a `Pfaffian`, a matrix,
    or a function of q (NumPy or CasADi) that returns (k, n). Rows with b(q, t), and rows that depend on
    time, are looked at on (q, t) around t = 0: ẋ = y is not holonomic, ẋ = t is. With SymPy
    expressions, q is a mapping from symbols to numbers in the order of the columns. A must be analytic
    around q. Positions held by h(q) = 0 count as rows that cannot be left, `accessible` is about motion
    on them, and q must be assembled. The brackets are followed to the end unless that needs more than
    30 fields in one, or series too long to multiply: then `complete` is false, and `growth` is what was
    found.

    >>> disk = lambda q: np.stack([np.stack([1.0, 0, 0, -np.cos(q[2])]),
    ...                            np.stack([0.0, 1, 0, -np.sin(q[2])])])
    >>> is_holonomic(disk, [0.0, 0.0, 0.3, 0.0])
    Holonomy(holonomic=False, growth=(2, 3, 4), accessible=True, complete=True)
    """
    given, at = _distribution(A, _configuration(A, q))
    ordinary, n = given.ordinary(at), given.nv
    usual, ended = _until(given, ordinary, n)
    holonomic = len(set(usual)) == 1 and all(_inside(given, p) for p in _around(given, at))
    growth: list[int] = []
    for dimension in given.dimensions(at):
        growth.append(dimension)
        if dimension >= usual[-1]:
            break
    complete = ended and growth[-1] == usual[-1]
    if complete and growth[-1] < n:
        growth.append(growth[-1])
    return Holonomy(holonomic, tuple(growth), growth[-1] == given.dimension(ordinary), complete)


def _until(given: Distribution, point: np.ndarray, most: int) -> tuple[list[int], bool]:
    """Dimensions at an ordinary point up to the last, and whether that was reached."""
    found: list[int] = []
    for dimension in given.dimensions(point):
        if found and dimension == found[-1]:
            return found, True
        found.append(dimension)
        if dimension == most:
            return found, True
    return found, False


def _inside(given: Distribution, point: np.ndarray) -> bool:
    """Whether the brackets of permitted velocities are permitted at this point."""
    first, second = islice(given.dimensions(point), 2)
    return first == second


def _around(given: Distribution, q: np.ndarray) -> list[np.ndarray]:
    """q and postures about it on which h is zero too, where one is found."""
    rng = np.random.default_rng(0)
    steps = rng.uniform(-APART, APART, (NEARBY, given.nv))
    found = [given.assembled(np.asarray(given.move(q, step), dtype=float)) for step in steps]
    return [q, *(p for p in found if p is not None)]


def _configuration(A: Any, q: Any) -> Any:
    """q, or the reference posture of a system."""
    if q is not None:
        return q
    if isinstance(A, System):
        return A.neutral()
    raise ConstraintError(
        "q is missing: the brackets of a matrix are taken at a configuration (n,)"
    )


def _distribution(A: Any, q: Any) -> tuple[Distribution, np.ndarray]:
    """The permitted velocities around q, or around (q, 0) where time counts, and that point."""
    values = list(q.values()) if isinstance(q, Mapping) else q
    at = np.asarray(values, dtype=float)
    if at.ndim != 1:
        raise ShapeError(
            f"q has shape {at.shape}; the brackets are taken at one configuration (n,)"
        )
    x, t = tracing.symbol("x", at.shape[0]), tracing.symbol("t")
    if isinstance(A, System):
        h, matrix, b, spread, move = _of_system(A, x, t)
    else:
        h, spread, move = np.zeros(0), np.eye(at.shape[0]), np.add
        matrix, b = _of_rows(A if isinstance(A, Pfaffian) else Pfaffian(A), q, x, t)
    if tracing.is_zero(b) and not tracing.depends_on(tracing.flat([h, matrix]), t):
        return Distribution.of(x, matrix, spread, h, at, move), at
    # ẋ = S v and ṫ = s with A v − b s = 0
    (nx, nv), still = tracing.shape_of(spread), np.append(at, 0.0)
    matrix = np.concatenate([matrix, -b.reshape(-1, 1)], axis=1)
    above = np.concatenate([spread, np.zeros((nx, 1))], axis=1)
    spread = np.concatenate([above, np.eye(nv + 1)[-1:]])

    def moved(place: Any, step: Any) -> Any:
        return np.concatenate([move(place[:nx], step[:nv]), place[nx:] + step[nv:]])

    return Distribution.of(tracing.flat([x, t]), matrix, spread, h, still, moved), still


def _of_rows(given: Pfaffian, q: Any, x: Any, t: Any) -> tuple[Any, Any]:
    """A (k, n) and b (k,) of rows that no system holds."""
    if getattr(given.A, "free_symbols", None) and not isinstance(q, Mapping):
        raise ConstraintError(
            "A holds SymPy symbols: give q as a mapping {symbol: number}, in the order of its columns"
        )
    names = {str(name): x[k] for k, name in enumerate(q)} if isinstance(q, Mapping) else {}
    return given.rows(x, t, {**names, "t": t}, x.shape[0])


def _of_system(closed: System, x: Any, t: Any) -> tuple[Any, Any, Any, Any, Any]:
    """h, A, b, ∂ẋ/∂v and how x is moved."""
    system = closed.dynamics.on_symbols.bound()
    if x.shape[0] != system.nq:
        raise ShapeError(f"{system.name}: q has {x.shape[0]} entries, expected ({system.nq},)")
    if not system.rows:
        raise ConstraintError(f"{system.name} has no constraints, so there is nothing to integrate")
    v, rows = tracing.symbol("v", system.nv), system.at(x, None, t)
    spread = tracing.jacobian(system.rate(x, v), v)
    return rows.h, rows.A, rows.b, spread, system.integrate


def growth_vector(A: Any, q: Any = None) -> tuple[int, ...]:
    """The growth vector of A(q) q̇ = 0 at q, as `is_holonomic` finds it.

    With A a SymPy matrix and q its symbols, exactly at a generic point; that is for small sets.

    >>> import sympy
    >>> x, y, t = sympy.symbols("x y theta")
    >>> blade = sympy.Matrix([[-sympy.sin(t), sympy.cos(t), 0]])
    >>> growth_vector(blade, [x, y, t]), growth_vector(blade, {x: 0.0, y: 0.0, t: 0.5})
    ((2, 3), (2, 3))
    """
    if q is None or isinstance(q, Mapping) or not any(hasattr(x, "free_symbols") for x in q):
        return is_holonomic(A, q).growth
    import sympy

    matrix, symbols = sympy.Matrix(A), sympy.Matrix(list(q))
    fields = [sympy.simplify(field) for field in matrix.nullspace()]
    seen, last, growth = list(fields), list(fields), [len(fields)]
    while growth[-1] < len(symbols) and growth[-2:] != [growth[-1]] * 2:
        new = []
        for Y in last:
            for X in fields:
                bracket = sympy.simplify(Y.jacobian(symbols) * X - X.jacobian(symbols) * Y)
                # a combination of others, by functions of q, has brackets that are one too
                if sympy.Matrix.hstack(*seen, bracket).rank(simplify=True) > len(seen):
                    seen.append(bracket)
                    new.append(bracket)
        last = new
        growth.append(len(seen))
    return tuple(growth)
