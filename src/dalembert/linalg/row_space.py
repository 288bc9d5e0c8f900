"""(B Bᵀ)⁺ of rows B that may depend on each other, from an orthogonal basis of their span.

B Bᵀ itself, whose condition is the square of that of B, is never formed: errors grow like ε cond(B).
Everything is done in a fixed order, so that it traces; where rows are redundant, the one farthest
from those before it comes next, chosen by comparisons.

Rows in blocks that never depend on each other have a basis per block (`blocked_rows`), so that the
zeros between blocks stay zeros. The bases P of the blocks are coupled by the small K = P W Pᵀ, which
is factorised. That squares the condition of one block beside another, which is that of the metric and
grows at no singular configuration; within a block nothing is squared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.linalg.factorisations import (
    AnyLDL,
    has_numbers,
    is_large,
    ldl,
    less,
    triangular_solve,
)

# of a row's distance from the span of others, beside its length: below it, rounding is all there is
RESOLVED = 1e-10
VANISHED = 1e-13  # of a row's length beside that of all: below it, it is rounding
SHORT = (
    1e-4  # of a row's length beside that of all: shorter ones are not chosen for their direction
)
EXTRA = 1e-4  # of a distance, to count beyond the rank that is expected
HUGE = 1e300
UNSURE = 1e-8  # of a distance, to count where no rank is expected


@dataclass(frozen=True)
class Basis(ABC):
    """B = L P with orthogonal rows P, lengths being √Σ w x² with the weights W."""

    P: np.ndarray  # (r, n)
    inverse: list[np.ndarray]  # of their squares, as good as zero for one that depends on others
    weights: np.ndarray  # (n,)
    squares: list[np.ndarray]  # of the original rows
    lost: np.ndarray | float  # whether fewer of them than usual are independent

    @abstractmethod
    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y of least squares with L y = r, residual of r), for r (m,) or (m, k)."""

    @abstractmethod
    def spread(self, z: np.ndarray) -> np.ndarray:
        """The shortest x (m,) or (m, k) with Lᵀ x = z."""

    def scaled(self, y: np.ndarray) -> np.ndarray:
        """(P W Pᵀ)⁻¹ y."""
        return np.stack([a * b for a, b in zip(y, self.inverse, strict=True)])

    def solve(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((B W Bᵀ)⁺ r, residual of r)."""
        y, residual = self.coordinates(r)
        return self.spread(self.scaled(y)), residual

    def back(self, y: np.ndarray) -> np.ndarray:
        """The shortest u (n,) or (n, k) with P W u = y: with y of `coordinates(r)`, B W u = r."""
        u: np.ndarray = self.P.T @ self.scaled(y)
        return u

    def across(self, u: np.ndarray) -> np.ndarray:
        """The part of u (n,) orthogonal to the span of the rows."""
        return across(u, self.P, self.inverse, self.weights)[0]


@dataclass(frozen=True)
class RowSpace(Basis):
    """B = L P in the order of the rows, L with a diagonal of ones."""

    lower: list[list[np.ndarray]]  # L below its diagonal
    is_independent: list[np.ndarray]  # whether a row does not depend on those before it

    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y: list[np.ndarray] = []
        for row, value in zip(self.lower, r, strict=True):
            y.append(less(value, row, y))
        residual = [
            np.where(independent, 0.0, 1.0) * each
            for independent, each in zip(self.is_independent, y, strict=True)
        ]
        return np.stack(y), np.stack(residual)

    def spread(self, z: np.ndarray) -> np.ndarray:
        x: list[np.ndarray] = []
        for i in reversed(range(len(self.lower))):
            below = [self.lower[k][i] for k in reversed(range(i + 1, len(self.lower)))]
            x.append(less(z[i], below, x))
        return np.stack(x[::-1])


@dataclass(frozen=True)
class PivotedRowSpace(Basis):
    """B = L P, the column of L of a chosen row being one there."""

    L: np.ndarray  # (m, r)
    gram: AnyLDL  # LᵀL

    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = self.gram.solve(self.L.T @ r)
        return y, r - self.L @ y

    def spread(self, z: np.ndarray) -> np.ndarray:
        x: np.ndarray = self.L @ self.gram.solve(z)
        return x


class MatrixBasis(Basis):
    """A basis that is applied as one matrix, not row by row."""

    def across(self, u: np.ndarray) -> np.ndarray:
        part: np.ndarray = u - self.back(self.P @ (self.weights * u))
        return part


@dataclass(frozen=True)
class DenseRowSpace(MatrixBasis):
    """B = L P of many numbers, by LAPACK; the rows P have unit length."""

    L: np.ndarray  # (m, r)

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """L = q R."""
        return np.linalg.qr(self.L)

    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, triangle = self._factors
        y = triangular_solve(triangle.T, q.T @ r, transposed=True)
        return y, r - self.L @ y

    def spread(self, z: np.ndarray) -> np.ndarray:
        q, triangle = self._factors
        x: np.ndarray = q @ triangular_solve(triangle.T, z)
        return x

    def scaled(self, y: np.ndarray) -> np.ndarray:
        return y


AnyRowSpace = RowSpace | PivotedRowSpace | DenseRowSpace


def row_space(
    B: np.ndarray,
    rank: int | None = None,
    weights: np.ndarray | None = None,
    made_of: np.ndarray | None = None,
    most: int = 10**9,
) -> AnyRowSpace:
    """The space that the rows of B (m, n) span, lengths being √Σ w x² with `weights` (n,).

    `rank` is how many rows are usually independent. Where that is not known, `most` is how many may
    be at most, and `made_of` (m, n) the parts of which the rows are differences.

    >>> space = row_space(np.array([[3.0, 4.0], [6.0, 8.0]]), rank=1)
    >>> x, left = space.solve(np.array([5.0, 10.0]))
    >>> x.round(12), bool(abs(left).max() < 1e-14)
    (array([0.04, 0.08]), True)
    """
    weights = np.ones(B.shape[1]) if weights is None else weights
    if rank == 0:
        # the space of m rows that hold nothing: whatever stands in them is rounding
        m, n = B.shape
        zeros, tiny, lower = [0.0] * m, [1.0 / HUGE] * m, [[0.0] * k for k in range(m)]
        scalars: Any = (tiny, weights, zeros, 0.0, lower, [True] * m)
        return RowSpace(np.zeros((m, n)), *scalars)
    if is_large(B) and has_numbers(weights) and (made_of is None or has_numbers(made_of)):
        from scipy.linalg import qr

        # by LAPACK, with the rows that `_pivoted` would choose: the farthest from those before it,
        # beside its usual size, is always next
        sources = B if made_of is None else made_of
        squares = (sources * sources) @ weights
        usual = 0 if rank is None else rank
        least = np.full(min(*B.shape, most), UNSURE if rank is None else EXTRA)
        least[:usual] = RESOLVED
        scale = np.sqrt(squares + SHORT**2 * squares.sum())
        scaled = (B * np.sqrt(weights)).T / scale
        Q, R, order = qr(scaled, mode="economic", pivoting=True, check_finite=False)
        distances = np.abs(np.diag(R))[: len(least)]
        beyond = distances > least[: len(distances)]
        r = int(beyond.argmin()) if not beyond.all() else len(beyond)
        L = np.zeros((len(B), r))
        L[order] = R[:r].T
        lost = float(r < usual)
        P = Q[:, :r].T / np.sqrt(weights)
        return DenseRowSpace(P, [], weights, list(squares), lost, L * scale[:, None])
    if rank == B.shape[0]:
        return ordered(B, weights)
    return _pivoted(B, weights, rank, B if made_of is None else made_of, most)


def ordered(B: np.ndarray, weights: np.ndarray) -> RowSpace:
    """The space of rows that are taken in their order."""
    rows = [B[i] for i in range(B.shape[0])]
    squares = [(weights * b) @ b for b in rows]
    floor = VANISHED**2 * sum(squares[1:], squares[0])
    P: list[np.ndarray] = []
    inverse: list[np.ndarray] = []
    lower, is_independent = [], []
    for x, square in zip(rows, squares, strict=True):
        x, coefficients = across(x, P, inverse, weights)
        length = (weights * x) @ x
        is_independent.append(length > RESOLVED**2 * square + floor)
        inverse.append(1.0 / np.where(is_independent[-1], length, HUGE))
        P.append(x)
        lower.append(coefficients)
    lost = _not_all(is_independent)
    return RowSpace(np.stack(P), inverse, weights, squares, lost, lower, is_independent)


def _pivoted(
    B: np.ndarray, weights: np.ndarray, rank: int | None, made_of: np.ndarray, most: int
) -> PivotedRowSpace:
    m, n = B.shape
    rows = [B[i] for i in range(m)]
    squares = [(weights * made_of[i]) @ made_of[i] for i in range(m)]
    floor = SHORT**2 * sum(squares[1:], squares[0])
    sizes = [1.0 / (square + floor) for square in squares]
    P: list[np.ndarray] = []
    inverse: list[np.ndarray] = []
    columns, is_independent = [], []
    for k in range(min(m, n, most)):
        # (square beside its usual size, row) of the row for which that is largest
        best, chosen = sizes[0] * ((weights * rows[0]) @ rows[0]), rows[0]
        for row, size in zip(rows[1:], sizes[1:], strict=True):
            size_of = size * ((weights * row) @ row)
            longer = size_of > best
            best, chosen = np.where(longer, size_of, best), np.where(longer, row, chosen)
        x, _ = across(chosen, P, inverse, weights)
        least = UNSURE if rank is None else RESOLVED if k < rank else EXTRA
        is_independent.append(best > least**2)
        inverse.append(1.0 / np.where(is_independent[-1], (weights * x) @ x, HUGE))
        P.append(x)
        along = [((weights * x) @ b) * inverse[-1] for b in rows]
        rows = [b - c * x for b, c in zip(rows, along, strict=True)]
        columns.append(np.stack(along))
    L = np.stack(columns).T
    # a column of zeros takes no part
    idle = np.stack([np.where(each, 0.0, 1.0) for each in is_independent])
    lost = _not_all(is_independent[:rank] if rank else [])
    basis = (np.stack(P), inverse, weights, squares, lost)
    return PivotedRowSpace(*basis, L, ldl(L.T @ L + np.diag(idle)))


def across(
    x: np.ndarray, P: Iterable[Any], inverse: list[Any], weights: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The part of x (n,) orthogonal to the orthogonal vectors P, and its coordinates in P."""
    total: list[np.ndarray] = []
    for p, scale in zip(P, inverse, strict=True):
        total.append(((weights * p) @ x) * scale)
        x = x - total[-1] * p
    return x, total


def _not_all(conditions: list[Any]) -> Any:
    """Whether one of them is false, as a number 0 or 1."""
    product: Any = 1.0
    for each in conditions:
        product = product * np.where(each, 1.0, 0.0)
    return 1.0 - product


Blocks = Sequence[tuple[list[int], int]]  # rows of each, and how many of them are independent


@dataclass(frozen=True)
class BlockedRowSpace(MatrixBasis):
    """B = L P with a block of L for every block of rows; P is orthogonal within a block."""

    rows: list[list[int]]
    own: list[RowSpace | PivotedRowSpace]  # the space of every block
    joint: AnyLDL  # K
    idle: list[int]  # rows that hold nothing: zero but for rounding

    def scaled(self, y: np.ndarray) -> np.ndarray:
        return self.joint.solve(y)

    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [
            space.coordinates(r[rows]) for space, rows in zip(self.own, self.rows, strict=True)
        ]
        residuals = [*(residuals for _, residuals in parts), r[self.idle]]
        return np.concatenate([y for y, _ in parts]), self._in_order(residuals)

    def spread(self, z: np.ndarray) -> np.ndarray:
        parts, start = [], 0
        for space in self.own:
            parts.append(space.spread(z[start : start + len(space.P)]))
            start += len(space.P)
        return self._in_order([*parts, np.zeros((len(self.idle), *z.shape[1:]))])

    def _in_order(self, parts: list[Any]) -> np.ndarray:
        """Entries of the blocks in the order of the rows."""
        every = [*(k for rows in self.rows for k in rows), *self.idle]
        used = parts if self.idle else parts[:-1]
        return np.concatenate(used)[np.argsort(every)]


def blocked_rows(B: np.ndarray, weights: np.ndarray, blocks: Blocks) -> BlockedRowSpace:
    """The space that the rows of B (m, n) span.

    >>> B = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [6.0, 8.0, 0.0], [0.0, 0.0, 2.0]])
    >>> space = blocked_rows(B, np.ones(3), [([0, 2], 1), ([1], 0), ([3], 1)])
    >>> x, left = space.solve(np.array([5.0, 0.0, 10.0, 4.0]))
    >>> x.round(12), bool(abs(left).max() < 1e-12)
    (array([0.04, 0.  , 0.08, 1.  ]), True)
    """
    idle = [k for rows, rank in blocks if not rank for k in rows]
    taken = [(list(rows), rank) for rows, rank in blocks if rank]
    own: list[RowSpace | PivotedRowSpace] = [
        row_space(B[rows], rank, weights, most=rank)  # type: ignore[misc]  # traced or small: never dense
        for rows, rank in taken
    ]
    P = np.concatenate([space.P for space in own])
    inverse = [x for space in own for x in space.inverse]
    # the factors of K = P W Pᵀ, P being orthogonal within blocks of these sizes
    sizes = [len(space.P) for space in own]
    block = np.repeat(np.arange(len(sizes)), sizes)
    between = (block[:, None] != block[None, :]).astype(float)
    own_squares = np.diag(np.stack([1.0 / each for each in inverse]))
    joint = ldl(between * (P @ (weights.reshape(-1, 1) * P.T)) + own_squares)
    squares = [square for space in own for square in space.squares]
    lost = 1.0 - np.prod(np.stack([1.0 - space.lost for space in own]))
    about = (P, inverse, weights, squares, lost)
    return BlockedRowSpace(*about, [rows for rows, _ in taken], own, joint, idle)
