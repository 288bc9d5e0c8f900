"""Is A(q) q̇ = b integrable? Lie brackets of the permitted velocities, and the growth vector.

Δ₁ = ker A, Δ_{i+1} = Δ_i + [Δ₁, Δ_i]. The set is holonomic where Δ₂ = Δ₁ (Frobenius; 000 p.54), and
every direction is accessible where the filtration ends with all of them (Chow). With b, or where rows
depend on time, A dq − b dt = 0 is such a set on (q, t), with [A −b] in place of A.

For analytic A the end of the filtration is known: at an ordinary point two equal dimensions in a row
are the last, and their number is the same all over the orbit of q (Hermann, Nagano), so the
filtration at q ends when it has reached that dimension. A bracket of level k at q needs the
derivatives of the fields up to k − 1 there and nothing else, so Taylor series of that order give it
exactly; nothing is formed in symbols, which would grow with every bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import comb
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints.kinds import Pfaffian
from dalembert.errors import ConstraintError, ShapeError
from dalembert.kernels.program.taylor import algebra, taylor, variables
from dalembert.kernels.program.trace import trace
from dalembert.linalg.rank import CLOSED, close, least_squares, pivots, rank, unit
from dalembert.spatial.arrays import Array
from dalembert.systems.system import System
from dalembert.tracing.program import Program

ZERO = 1e-9  # of a singular value, the largest field of a level being of unit size
NEW = 1e-11  # of a field beside those it might be made of
NOISE = 1e-12  # what rounding leaves of a bracket that vanishes, beside the terms it is made of
FAR = 0.5  # how far along the permitted velocities one goes to find an ordinary point
DEEPEST = 30  # fields in a bracket
WORK = 1_000_000  # pairs of monomials in one product of series: seconds for each level


@dataclass(frozen=True)
class Distribution:
    """The velocities ẋ = S(x) v with A(x) v = 0 around points of one leaf of h(x) = 0."""

    program: Program  # x → A (rows, nv), S (nx, nv)
    function: tracing.Function  # x → A, S, h (position_count,), ∂h/∂x S (position_count, nv)
    rows: tuple[int, ...]  # independent ones at the point first asked for
    move: Callable[[Any, Any], Any]  # x moved by a velocity v for unit time

    @staticmethod
    def of(
        x: Array, A: Array, S: Array, h: Array, point: Array, move: Callable[[Any, Any], Any]
    ) -> Distribution:
        """From arrays in the symbols x, with the independent rows found at `point`."""
        fields = tracing.Function([x], [A, S])
        program = trace(lambda x: fields(x), {"x": x.shape})
        function = tracing.Function([x], [A, S, h, tracing.jacobian(h, x) @ S])
        matrix = function(point)[0]
        if not np.isfinite(matrix).all():
            raise ConstraintError("A is not finite at q; brackets are taken where it is smooth")
        rows = pivots(unit(matrix)).rows
        if len(rows) == matrix.shape[1]:
            raise ConstraintError("A permits no velocity at q, so there is nothing to integrate")
        return Distribution(program, function, rows, move)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.program.outputs[0].shape[1]

    def fields(self, x: Array, order: int) -> Array:
        """A basis (size, nx, m) of the permitted ẋ as series about x: δv₂ = −A₂⁻¹ A₁ δv₁."""
        A, S = taylor(self.program, x, order)
        A = A[:, list(self.rows)]
        columns = list(pivots(unit(A[0])).columns)
        free = [k for k in range(A.shape[2]) if k not in columns]
        series = algebra(len(variables(self.program)), order)
        first, second = A[:, :, free], A[:, :, columns]
        start, change = np.linalg.inv(second[0]), second.copy()
        change[0] = 0.0
        basis = series.constant(np.zeros((A.shape[2], len(free))))
        basis[0, free] = np.eye(len(free))
        dependent = -(start @ first)
        for _ in range(order):  # every round is right to one more order
            dependent = -(start @ (first + series.product(change, dependent)))
        basis[:, columns] = dependent
        return series.product(S, basis)

    def ordinary(self, x: Array) -> Array:
        """A point reached from x along permitted velocities that vary at random.

        It stays on the orbit of x, and almost surely on no smaller set of special points there.
        """
        from scipy.integrate import solve_ivp

        rng = np.random.default_rng(0)

        def flow(t: float, at: Array) -> Array:
            A, S, *_ = self.function(at)
            A, direction = A[list(self.rows)], coefficients @ [1.0, t, t * t]
            rate: Array = S @ (direction - least_squares(A, A @ direction)[0])
            return rate

        for shorter in (1.0, 0.3, 0.1, 0.03):
            coefficients = shorter * FAR * rng.uniform(-1.0, 1.0, (self.nv, 3))
            try:
                run = solve_ivp(flow, (0.0, 1.0), x, method="DOP853", rtol=1e-12, atol=1e-13)
            except np.linalg.LinAlgError:  # A is not finite there
                continue
            if run.success and np.isfinite(run.y).all():
                end: Array = run.y[:, -1]
                usual = rank(unit(self.function(end)[0]))
                if usual != len(self.rows):
                    raise ConstraintError(
                        f"A has rank {len(self.rows)} at q and {usual} at ordinary points near it: the "
                        "permitted velocities are not smooth at q; give a posture that is not singular"
                    )
                return end
        raise ConstraintError("the permitted velocities cannot be followed from q: A is not smooth")

    def dimensions(self, x: Array) -> Iterator[int]:
        """dim Δ₁, dim Δ₂, … at x, to brackets of `DEEPEST` fields or series that are too long."""
        yielded, order = 0, 1
        while order < DEEPEST and comb(2 * len(variables(self.program)) + order, order) <= WORK:
            # level k is exact where the series were of order k − 1
            growth = list(_growth(self.fields(x, order), variables(self.program), order))
            yield from growth[yielded:]
            yielded, order = len(growth), order + (1 if order == 1 else 2)


def _growth(fields: Array, used: Array, order: int) -> Iterator[int]:
    """dim Δ₁ … Δ_{order + 1} at the point the series are about."""
    # fields of unit size, in lengths along which they change by as much: no series grows
    degree = algebra(len(used), order).degree
    sizes = [np.abs(fields[degree == k]).max(initial=0.0) for k in range(order + 1)]
    grows = [(size / sizes[0]) ** (1 / k) for k, size in enumerate(sizes) if k and size > 0]
    shrink = max([1.0, *grows]) ** -degree.astype(float)
    first = span = level = shrink[:, None, None] * fields / sizes[0]
    yield _dimension(span)
    for k in range(order, 0, -1):
        new = _brackets(first, level, used, k)
        span = span[: len(new)]
        # as few combinations of the new fields as needed, less what numbers make of the old ones;
        # inner products are all that counts: R of QR has those of the long columns
        both = np.concatenate([span, new], axis=2)
        _, R = np.linalg.qr(both.reshape(-1, both.shape[2]))
        old, fresh = R[:, : span.shape[2]], R[:, span.shape[2] :]
        combinations = np.linalg.lstsq(old, fresh, rcond=1e-10)[0]
        _, lengths, Vt = np.linalg.svd(fresh - old @ combinations, full_matrices=False)
        level = (new - span @ combinations) @ Vt[lengths > NEW].T
        span = np.concatenate([span, level], axis=2)
        yield _dimension(span)


def _brackets(first: Array, last: Array, used: Array, order: int) -> Array:
    """[X, Y] = DY X − DX Y for X in `first` and Y in `last`, series of one order less.

    All are divided by the size that their terms may have; what is only rounding of that is zero.
    """
    upper, lower = algebra(len(used), order), algebra(len(used), order - 1)
    n, m, k = last.shape[1], first.shape[2], last.shape[2]
    X, Y = first[: upper.size], last[: upper.size]
    DX, DY = upper.gradient(X), upper.gradient(Y)
    ahead = lower.product(DY.reshape(lower.size, n * k, len(used)), X[: lower.size, used])
    back = lower.product(DX.reshape(lower.size, n * m, len(used)), Y[: lower.size, used])
    ahead = ahead.reshape(lower.size, n, k, m)
    back = back.reshape(lower.size, n, m, k).swapaxes(2, 3)
    sizes = [np.abs(a).max(initial=0.0) for a in (DY, X, DX, Y)]
    largest = max(sizes[0] * sizes[1], sizes[2] * sizes[3], 1e-300)
    brackets: Array = (ahead - back).reshape(lower.size, n, k * m) / largest
    brackets[np.abs(brackets) < NOISE] = 0.0
    return brackets


def _dimension(fields: Array) -> int:
    """Rank of the fields at the point."""
    return int((np.linalg.svd(fields[0], compute_uv=False) > ZERO).sum())


NEARBY, APART = 4, 0.2  # postures around q at which brackets must stay inside too, rad or m


@dataclass(frozen=True)
class Holonomy:
    """Result of `is_holonomic` at a configuration; true where the set is holonomic.

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

    Parameters
    ----------
    A : Constrained, Pfaffian, matrix or function
        Analytic around q. A function of q (NumPy or CasADi) returns (k, n). Rows with b(q, t), and rows
        that depend on time, are taken on (q, t) around t = 0: ẋ = y is not holonomic, ẋ = t is.
        Position constraints h(q) = 0 count as rows too, and `accessible` is about motion on them.
    q : array_like or mapping, optional
        Configuration (n,), assembled; default the reference of a system. With SymPy expressions, a
        mapping from symbols to numbers in the order of the columns.

    Returns
    -------
    Holonomy
        The filtration is followed to its end unless that needs brackets of more than 30 fields, or
        series too long to multiply: then `complete` is false, and `growth` its computed part.

    Examples
    --------
    >>> disk = lambda q: np.stack([np.stack([1.0, 0, 0, -np.cos(q[2])]),
    ...                            np.stack([0.0, 1, 0, -np.sin(q[2])])])
    >>> is_holonomic(disk, [0.0, 0.0, 0.3, 0.0])
    Holonomy(holonomic=False, growth=(2, 3, 4), accessible=True, complete=True)
    """
    if q is None and not isinstance(A, System):
        raise ConstraintError("q is missing: expected the configuration (n,) of the brackets")
    distribution, at = _distribution(A, A.neutral() if q is None else q)
    ordinary, n = distribution.ordinary(at), distribution.nv
    # dimensions at an ordinary point, up to the last
    usual: list[int] = []
    for dimension in distribution.dimensions(ordinary):
        usual.append(dimension)
        if ended := dimension == n or usual[-2:] == [dimension] * 2:
            break
    # integrable: brackets are permitted velocities too, at q and at configurations around it
    holonomic = len(set(usual)) == 1
    steps = np.random.default_rng(0).uniform(-APART, APART, (NEARBY if holonomic else 0, n))
    points, move = [at], distribution.move
    for step in steps:
        moved = np.asarray(move(at, step), dtype=float)
        closed, residual = close(moved, lambda x: distribution.function(x)[2:], move)
        if residual <= CLOSED:
            points.append(closed)
    first_two = (islice(distribution.dimensions(point), 2) for point in points)
    holonomic = holonomic and all(len(set(levels)) == 1 for levels in first_two)
    growth: list[int] = []
    for dimension in distribution.dimensions(at):
        growth.append(dimension)
        if dimension >= usual[-1]:
            break
    complete = ended and growth[-1] == usual[-1]
    if complete and growth[-1] < n:
        growth.append(growth[-1])
    # dim Q: the velocities that leave h as it is, whatever A permits
    accessible = growth[-1] == n - rank(unit(distribution.function(ordinary)[3]))
    return Holonomy(holonomic, tuple(growth), accessible, complete)


def _distribution(A: Any, q: Any) -> tuple[Distribution, Array]:
    """The permitted velocities around q, or around (q, 0) where time counts, and that point."""
    values = list(q.values()) if isinstance(q, Mapping) else q
    at = np.asarray(values, dtype=float)
    if at.ndim != 1:
        raise ShapeError(
            f"q has shape {at.shape}; the brackets are taken at one configuration (n,)"
        )
    x, t = tracing.symbol("x", at.shape[0]), tracing.symbol("t")
    if isinstance(A, System):
        system = A.dynamics.on_symbols.bound()
        if x.shape[0] != system.nq:
            raise ShapeError(f"{system.name}: q has {x.shape[0]} entries, expected ({system.nq},)")
        if not system.rows:
            raise ConstraintError(
                f"{system.name} has no constraints, so there is nothing to integrate"
            )
        v, rows = tracing.symbol("v", system.nv), system.at(x, None, t)
        spread = tracing.jacobian(system.rate(x, v), v)
        h, matrix, b = rows.h, rows.A, rows.b
        move: Callable[[Array, Array], Array] = system.integrate
    else:
        h, spread, move = np.zeros(0), np.eye(at.shape[0]), np.add
        pfaffian = A if isinstance(A, Pfaffian) else Pfaffian(A)
        if getattr(pfaffian.A, "free_symbols", None) and not isinstance(q, Mapping):
            raise ConstraintError(
                "A has SymPy symbols: expected q as a mapping {symbol: number} in the order of "
                "its columns"
            )
        names = {str(name): x[k] for k, name in enumerate(q)} if isinstance(q, Mapping) else {}
        matrix, b = pfaffian.rows(x, t, {**names, "t": t}, x.shape[0])
    if tracing.is_zero(b) and not tracing.depends_on(tracing.flat([h, matrix]), t):
        return Distribution.of(x, matrix, spread, h, at, move), at
    # ẋ = S v and ṫ = s with A v − b s = 0
    (nx, nv), still = tracing.shape_of(spread), np.append(at, 0.0)
    matrix = np.concatenate([matrix, -b.reshape(-1, 1)], axis=1)
    above = np.concatenate([spread, np.zeros((nx, 1))], axis=1)
    spread = np.concatenate([above, np.eye(nv + 1)[-1:]])

    def moved(x: Array, step: Array) -> Array:
        return np.concatenate([move(x[:nx], step[:nv]), x[nx:] + step[nv:]])

    return Distribution.of(tracing.flat([x, t]), matrix, spread, h, still, moved), still


def growth_vector(A: Any, q: Any = None) -> tuple[int, ...]:
    """The growth vector of A(q) q̇ = 0 at q, as `is_holonomic` finds it.

    With A a SymPy matrix and q its symbols, exactly at a generic point; that is for small sets.

    Parameters
    ----------
    A : Pfaffian, System or sympy.Matrix
        The constraints, or a system that has them.
    q : array_like, mapping or sequence of symbols, optional
        Configuration, or the symbols of a SymPy matrix.

    Returns
    -------
    tuple of int
        Dimensions of the filtration by brackets.

    Examples
    --------
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
    span, last, growth = list(fields), list(fields), [len(fields)]
    while growth[-1] < len(symbols) and growth[-2:] != [growth[-1]] * 2:
        new = []
        for Y in last:
            for X in fields:
                bracket = sympy.simplify(Y.jacobian(symbols) * X - X.jacobian(symbols) * Y)
                # a combination of others, by functions of q, has brackets that are one too
                if sympy.Matrix.hstack(*span, bracket).rank(simplify=True) > len(span):
                    span.append(bracket)
                    new.append(bracket)
        last = new
        growth.append(len(span))
    return tuple(growth)
