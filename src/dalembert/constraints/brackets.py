"""Lie brackets of the permitted velocities at a point, by Taylor series of A around it.

A bracket of level k at q needs the fields' derivatives up to k − 1 there and nothing else, so series of
that order give it exactly; nothing is formed in symbols, which would grow with every bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ConstraintError
from dalembert.kernels.program.taylor import algebra, taylor, variables
from dalembert.kernels.program.trace import trace
from dalembert.linalg.geometry import CLOSED, close, least_squares, pivots, rank, unit
from dalembert.tracing.program import Program

ZERO = 1e-9  # of a singular value, the largest field of a level being of unit size
NEW = 1e-11  # of a field beside those it might be made of
NOISE = 1e-12  # what rounding leaves of a bracket that vanishes, beside the terms it is made of
REACH = 0.5  # how far along the permitted velocities one goes to find an ordinary point
DEEPEST = 30  # fields in a bracket
WORK = 1_000_000  # pairs of monomials in one product of series: seconds for each level


@dataclass(frozen=True)
class Distribution:
    """The velocities ẋ = S(x) v with A(x) v = 0 around points of one leaf of h(x) = 0."""

    program: Program  # x → A (rows, nv), S (nx, nv)
    function: tracing.Function  # x → A, S, h (held,), ∂h/∂x S (held, nv)
    rows: tuple[int, ...]  # independent ones at the point first asked for
    move: Callable[[Any, Any], Any]  # x moved by a velocity v for unit time

    @staticmethod
    def of(
        x: Any, A: Any, S: Any, h: Any, point: np.ndarray, move: Callable[[Any, Any], Any]
    ) -> Distribution:
        """From arrays in the symbols x, with the independent rows found at `point`."""
        fields = tracing.Function([x], [A, S])
        program = trace(lambda x: fields(x), {"x": x.shape})
        function = tracing.Function([x], [A, S, h, tracing.jacobian(h, x) @ S])
        found = function(point)[0]
        if not np.isfinite(found).all():
            raise ConstraintError("A is not finite at q; brackets are taken where it is smooth")
        rows = pivots(unit(found)).rows
        if len(rows) == found.shape[1]:
            raise ConstraintError("A permits no velocity at q, so there is nothing to integrate")
        return Distribution(program, function, rows, move)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.program.outputs[0].shape[1]

    def dimension(self, x: np.ndarray) -> int:
        """dim Q at a point: the velocities that leave h as it is, whatever A permits."""
        return self.nv - rank(unit(self.function(x)[3]))

    def assembled(self, x: np.ndarray) -> np.ndarray | None:
        """x moved until h = 0; None where that is not reached."""
        found, left = close(x, lambda at: self.function(at)[2:], self.move)
        return found if left <= CLOSED else None

    def fields(self, x: np.ndarray, order: int) -> np.ndarray:
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

    def ordinary(self, x: np.ndarray) -> np.ndarray:
        """A point reached from x along permitted velocities that vary at random.

        It stays on the orbit of x, and almost surely on no smaller set of special points there.
        """
        from scipy.integrate import solve_ivp

        rng = np.random.default_rng(0)

        def flow(t: float, at: np.ndarray) -> np.ndarray:
            A, S, *_ = self.function(at)
            A, wish = A[list(self.rows)], wishes @ [1.0, t, t * t]
            return S @ (wish - least_squares(A, A @ wish)[0])

        for shorter in (1.0, 0.3, 0.1, 0.03):
            wishes = shorter * REACH * rng.uniform(-1.0, 1.0, (self.nv, 3))
            try:
                run = solve_ivp(flow, (0.0, 1.0), x, method="DOP853", rtol=1e-12, atol=1e-13)
            except np.linalg.LinAlgError:  # A is not finite there
                continue
            if run.success and np.isfinite(run.y).all():
                return self._same_rank(run.y[:, -1])
        raise ConstraintError("the permitted velocities cannot be followed from q: A is not smooth")

    def _same_rank(self, x: np.ndarray) -> np.ndarray:
        usual = rank(unit(self.function(x)[0]))
        if usual != len(self.rows):
            raise ConstraintError(
                f"A has rank {len(self.rows)} at q and {usual} at ordinary points near it: the "
                "permitted velocities are not smooth at q; give a posture that is not singular"
            )
        return x

    def dimensions(self, x: np.ndarray) -> Iterator[int]:
        """dim Δ₁, dim Δ₂, … at x, to brackets of `DEEPEST` fields or series that are too long."""
        given, order = 0, 1
        while order < DEEPEST and _work(len(variables(self.program)), order) <= WORK:
            # level k is exact where the series were of order k − 1
            found = list(_growth(self.fields(x, order), variables(self.program), order))
            yield from found[given:]
            given, order = len(found), order + (1 if order == 1 else 2)


def _work(variables: int, order: int) -> int:
    """Pairs of monomials with a product of at most that order."""
    return comb(2 * variables + order, order)


def _growth(fields: np.ndarray, used: np.ndarray, order: int) -> Iterator[int]:
    """dim Δ₁ … Δ_{order + 1} at the point the series are about."""
    first = seen = level = _balanced(fields, len(used), order)
    yield _dimension(seen)
    for k in range(order, 0, -1):
        new = _brackets(first, level, used, k)
        seen = seen[: len(new)]
        level = _reduced(seen, new)
        seen = np.concatenate([seen, level], axis=2)
        yield _dimension(seen)


def _balanced(fields: np.ndarray, used: int, order: int) -> np.ndarray:
    """The fields of unit size, in lengths along which they change by as much: no series grows."""
    degree = algebra(used, order).degree
    sizes = [np.abs(fields[degree == k]).max(initial=0.0) for k in range(order + 1)]
    grows = [(size / sizes[0]) ** (1 / k) for k, size in enumerate(sizes) if k and size > 0]
    shrink = max([1.0, *grows]) ** -degree.astype(float)
    return shrink[:, None, None] * fields / sizes[0]


def _brackets(first: np.ndarray, last: np.ndarray, used: np.ndarray, order: int) -> np.ndarray:
    """[X, Y] = DY X − DX Y for X in `first` and Y in `last`, series of one order less.

    All are divided by the size that their terms may have; what is only rounding of that is zero.
    """
    upper, lower = algebra(len(used), order), algebra(len(used), order - 1)
    n, m, k = last.shape[1], first.shape[2], last.shape[2]
    X, Y = first[: upper.size], last[: upper.size]
    DX, DY = upper.slopes(X), upper.slopes(Y)
    ahead = lower.product(DY.reshape(lower.size, n * k, len(used)), X[: lower.size, used])
    back = lower.product(DX.reshape(lower.size, n * m, len(used)), Y[: lower.size, used])
    ahead = ahead.reshape(lower.size, n, k, m)
    back = back.reshape(lower.size, n, m, k).swapaxes(2, 3)
    sizes = [np.abs(a).max(initial=0.0) for a in (DY, X, DX, Y)]
    largest = max(sizes[0] * sizes[1], sizes[2] * sizes[3], 1e-300)
    found = (ahead - back).reshape(lower.size, n, k * m) / largest
    found[np.abs(found) < NOISE] = 0.0
    return found


def _reduced(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Combinations of the new fields, less what numbers make of the old ones: as few as needed."""
    both = np.concatenate([old, new], axis=2)
    # inner products are all that counts: R of QR has those of the long columns
    _, R = np.linalg.qr(both.reshape(-1, both.shape[2]))
    known, fresh = R[:, : old.shape[2]], R[:, old.shape[2] :]
    made = np.linalg.lstsq(known, fresh, rcond=1e-10)[0]
    _, sizes, Vt = np.linalg.svd(fresh - known @ made, full_matrices=False)
    return (new - old @ made) @ Vt[sizes > NEW].T


def _dimension(fields: np.ndarray) -> int:
    """Rank of the fields at the point."""
    return int((np.linalg.svd(fields[0], compute_uv=False) > ZERO).sum())
