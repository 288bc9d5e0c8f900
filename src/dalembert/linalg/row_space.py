"""(B Bᵀ)⁺ of rows B that may depend on each other, from an orthogonal basis of what they span.

B Bᵀ itself, whose condition is the square of that of B, is never formed: errors grow like ε cond(B).
Everything is done in a fixed order, so that it traces; where rows are redundant, the one that stands
farthest from those before it comes next, chosen by comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linalg.dense import DenseRowSpace, has_numbers, is_large
from dalembert.linalg.ldl import AnyLDL, ldl
from dalembert.linalg.triangular import less

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
class Basis:
    """Orthogonal rows P, lengths being √Σ w x² with the weights W."""

    P: list[Any]  # rows (n,)
    inverse: list[Any]  # of their squares, as good as zero for one that depends on others
    weights: Any  # (n,)
    squares: list[Any]  # of the rows that were given
    lost: Any  # whether fewer of them than usual are independent

    def back(self, y: Any) -> Any:
        """The shortest u (n,) or (n, k) with P W u = y: with y of `coordinates(r)`, B W u = r."""
        scaled = np.stack([a * b for a, b in zip(y, self.inverse, strict=True)])
        return np.stack(self.P).T @ scaled

    def across(self, u: Any) -> Any:
        """What u (n,) has beside the span of the rows."""
        return across(u, self.P, self.inverse, self.weights)[0]


@dataclass(frozen=True)
class RowSpace(Basis):
    """B = L P in the order of the rows, L with a diagonal of ones."""

    lower: list[list[Any]]  # L below its diagonal
    kept: list[Any]  # whether a row does not depend on those before it

    def coordinates(self, r: Any) -> tuple[Any, Any]:
        """(y with L y = r, what is left of r where rows depend on others), for r (m,) or (m, k)."""
        y: list[Any] = []
        for row, value in zip(self.lower, r, strict=True):
            y.append(less(value, row, y))
        left = [np.where(kept, 0.0, 1.0) * each for kept, each in zip(self.kept, y, strict=True)]
        return np.stack(y), np.stack(left)

    def solve(self, r: Any) -> tuple[Any, Any]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self.coordinates(r)
        scaled = [a * b for a, b in zip(y, self.inverse, strict=True)]
        return self.spread(scaled), left

    def spread(self, z: Any) -> Any:
        """x (m,) with Lᵀ x = z."""
        x: list[Any] = []
        for i in reversed(range(len(self.lower))):
            below = [self.lower[k][i] for k in reversed(range(i + 1, len(self.lower)))]
            x.append(less(z[i], below, x))
        return np.stack(x[::-1])


@dataclass(frozen=True)
class PivotedRowSpace(Basis):
    """B = L P, the column of L of a chosen row being one there."""

    L: Any  # (m, r)
    gram: AnyLDL  # LᵀL

    def coordinates(self, r: Any) -> tuple[Any, Any]:
        """(y of least squares with L y = r, what is left of r)."""
        y = self.gram.solve(self.L.T @ r)
        return y, r - self.L @ y

    def solve(self, r: Any) -> tuple[Any, Any]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self.coordinates(r)
        scaled = np.stack([a * b for a, b in zip(y, self.inverse, strict=True)])
        return self.spread(scaled), left

    def spread(self, z: Any) -> Any:
        """The shortest x (m,) with Lᵀ x = z."""
        return self.L @ self.gram.solve(z)


AnyRowSpace = RowSpace | PivotedRowSpace | DenseRowSpace


def row_space(
    B: Any, rank: int | None = None, weights: Any = None, made_of: Any = None, most: int = 10**9
) -> AnyRowSpace:
    """The space that the rows of B (m, n) span, lengths being √Σ w x² with `weights` (n,).

    `rank` is how many rows are usually independent. Where that is not known, `most` is how many may
    be at most, and `made_of` (m, n) what the rows were before most of them cancelled.

    >>> space = row_space(np.array([[3.0, 4.0], [6.0, 8.0]]), rank=1)
    >>> x, left = space.solve(np.array([5.0, 10.0]))
    >>> x.round(12), bool(abs(left).max() < 1e-14)
    (array([0.04, 0.08]), True)
    """
    weights = np.ones(B.shape[1]) if weights is None else weights
    if rank == 0:
        return _nothing(B.shape[0], B.shape[1], weights)
    if is_large(B) and has_numbers(weights) and (made_of is None or has_numbers(made_of)):
        return _dense(B, weights, rank, B if made_of is None else made_of, most)
    if rank == B.shape[0]:
        return ordered(B, weights)
    return _pivoted(B, weights, rank, B if made_of is None else made_of, most)


def _nothing(m: int, n: int, weights: Any) -> RowSpace:
    """The space of m rows that hold nothing: whatever stands in them is rounding."""
    lower = [[0.0] * k for k in range(m)]
    return RowSpace([np.zeros(n)] * m, [1.0 / HUGE] * m, weights, [0.0] * m, 0.0, lower, [True] * m)


def _dense(B: Any, weights: Any, rank: int | None, made_of: Any, most: int) -> DenseRowSpace:
    """By LAPACK, with the rows that `_pivoted` would choose."""
    squares = (made_of * made_of) @ weights
    usual = 0 if rank is None else rank
    least = np.full(min(*B.shape, most), UNSURE if rank is None else EXTRA)
    least[:usual] = RESOLVED
    scale = squares + SHORT**2 * squares.sum()
    return DenseRowSpace.of(B, weights, (squares, scale), least, usual)


def ordered(B: Any, weights: Any) -> RowSpace:
    """The space of rows that are taken in their order."""
    rows = [B[i] for i in range(B.shape[0])]
    squares = [(weights * b) @ b for b in rows]
    floor = VANISHED**2 * sum(squares[1:], squares[0])
    P: list[Any] = []
    inverse: list[Any] = []
    lower, kept = [], []
    for x, square in zip(rows, squares, strict=True):
        x, coefficients = across(x, P, inverse, weights)
        length = (weights * x) @ x
        kept.append(length > RESOLVED**2 * square + floor)
        inverse.append(1.0 / np.where(kept[-1], length, HUGE))
        P.append(x)
        lower.append(coefficients)
    return RowSpace(P, inverse, weights, squares, _not_all(kept), lower, kept)


def _pivoted(B: Any, weights: Any, rank: int | None, made_of: Any, most: int) -> PivotedRowSpace:
    m, n = B.shape
    rows = [B[i] for i in range(m)]
    squares = [(weights * made_of[i]) @ made_of[i] for i in range(m)]
    floor = SHORT**2 * sum(squares[1:], squares[0])
    sizes = [1.0 / (square + floor) for square in squares]
    P: list[Any] = []
    inverse: list[Any] = []
    columns, kept = [], []
    for k in range(min(m, n, most)):
        best, x = _farthest(rows, weights, sizes)
        x, _ = across(x, P, inverse, weights)
        least = UNSURE if rank is None else RESOLVED if k < rank else EXTRA
        kept.append(best > least**2)
        inverse.append(1.0 / np.where(kept[-1], (weights * x) @ x, HUGE))
        P.append(x)
        along = [((weights * x) @ b) * inverse[-1] for b in rows]
        rows = [b - c * x for b, c in zip(rows, along, strict=True)]
        columns.append(np.stack(along))
    L = np.stack(columns).T
    # a column of zeros takes no part
    idle = np.stack([np.where(each, 0.0, 1.0) for each in kept])
    lost = _not_all(kept[:rank] if rank else [])
    return PivotedRowSpace(P, inverse, weights, squares, lost, L, ldl(L.T @ L + np.diag(idle)))


def across(x: Any, P: list[Any], inverse: list[Any], weights: Any) -> tuple[Any, list[Any]]:
    """What x (n,) has beside the span of orthogonal vectors P, and its coordinates in it."""
    total: list[Any] = []
    for p, scale in zip(P, inverse, strict=True):
        total.append(((weights * p) @ x) * scale)
        x = x - total[-1] * p
    return x, total


def _farthest(rows: list[Any], weights: Any, sizes: list[Any]) -> tuple[Any, Any]:
    """(square beside its usual size, row) of the row for which that is largest."""
    best, chosen = sizes[0] * ((weights * rows[0]) @ rows[0]), rows[0]
    for row, size in zip(rows[1:], sizes[1:], strict=True):
        found = size * ((weights * row) @ row)
        longer = found > best
        best, chosen = np.where(longer, found, best), np.where(longer, row, chosen)
    return best, chosen


def _not_all(kept: list[Any]) -> Any:
    """Whether one of them is false, as a number 0 or 1."""
    found: Any = 1.0
    for each in kept:
        found = found * np.where(each, 1.0, 0.0)
    return 1.0 - found
