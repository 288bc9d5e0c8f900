"""The linear algebra of constraint rows: rank, null space, independent rows, A x = b, and h(q) = 0.

All decisions about constraint rows are made here, on numbers, from singular values σ of rows without
units: each over the size of the motions it is a difference of (`constraints.geometry.weighed`), or over
its own length where those are unknown (`unit`). One policy decides:

- σ ≤ `ROUNDING`: nothing is left but rounding; the row holds nothing.
- σ ≤ `RANK`: dependent, where no rank is known. Closing to `CLOSED` beside a singular configuration
  leaves an error of its root in q, so that σ of a row that is lost is seldom below 1e-10.
- σ ≤ `DEPENDENT`: dependent but for the digits of the data, if the mechanism moves as if the row were
  not there and is parted by no more than `PARTED`. 1.5708 for π/2, twice, is below.
- σ > `CLEAR` of balanced rows: independent. Among closed robots of published files the smallest is
  0.13; a rod of a metre that is another's double but for a centimetre has 0.01.
- In between the rank is ambiguous: callers raise an error with the singular values.
- Where the rank r of nearly all configurations is known, the first r count until rounding, and more of
  them only beyond `EXTRA`.
- h is closed at `CLOSED`. What redundant rows leave open is theirs up to `OPEN`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linalg.row_space import EXTRA, RESOLVED

ROUNDING = 1e-12
RANK = 1e-8
DEPENDENT = 2e-5
CLEAR = 0.02
CLOSED = 1e-12  # m or rad
OPEN = 1e-6  # m or rad, at the reference configuration
PARTED = 2e-5  # m or rad, along the motion
# of a row's length beside the largest: rounding, 1e-16 of it, then stays below the tolerance
SHORT = 1e-4
SHARED = 1e-6  # of an entry: below it, at a configuration assembled to digits of a file, it is zero
LIFTED = 0.01  # the shortest row or column that is balanced against the others

ITERATIONS = 60
SLOW, PATIENCE = 0.9, 6  # a residual that falls by less, so many times on end, will not vanish
LARGEST_STEP = 0.5  # rad or m
RELATIVE = 1e-9  # of a singular value of ∂h/∂q beside the largest: rows that others imply

Residual = Callable[[np.ndarray], tuple[np.ndarray, Any]]
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Pivots(NamedTuple):
    """Which rows are independent, and the coordinates they determine, in elimination order."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def key(self) -> str:
        """As text, for the name of a compiled variant."""
        return "|".join(",".join(map(str, part)) for part in self)

    @staticmethod
    def parse(text: str) -> Pivots:
        """The pivots a key stands for."""
        return Pivots(
            *(tuple(map(int, part.split(","))) if part else () for part in text.split("|"))
        )


def floored(size: np.ndarray) -> np.ndarray:
    """Sizes (rows,) of rows, none of them so far below the largest that rounding would count."""
    sizes: np.ndarray = np.maximum(size, SHORT * size.max(initial=0.0) or 1.0)
    return sizes


def unit(A: np.ndarray) -> np.ndarray:
    """A with rows of unit length, where nothing is known of what they are made of."""
    rows: np.ndarray = A / floored(np.linalg.norm(A, axis=1))[:, None]
    return rows


def balanced(B: np.ndarray) -> np.ndarray:
    """B with rows and columns of about equal length: small ones are no sign of dependence."""
    for _ in range(20):
        for axis in (1, 0):
            size = np.linalg.norm(B, axis=axis, keepdims=True)
            B = B / np.maximum(size, LIFTED * size.max(initial=0.0) or 1.0)
    return B


def singular_values(B: np.ndarray) -> np.ndarray:
    """σ (min(rows, n),) of B, falling."""
    return np.linalg.svd(B, compute_uv=False)


def left_singular(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(U (rows, rows), σ): columns of U beyond the rank are combinations of rows that vanish."""
    return np.linalg.svd(B)[:2]


def count(sizes: np.ndarray, usual: int | None = None, least: float = RANK) -> int:
    """Number of singular values that count; `usual` is the rank at nearly all configurations."""
    if usual is None:
        return int((sizes > least).sum())
    return int(max((sizes[:usual] > least).sum(), (sizes > EXTRA).sum()))


def rank(B: np.ndarray, usual: int | None = None) -> int:
    """Numerical rank of rows without units.

    >>> rank(np.array([[0.6, 0.8], [0.6, 0.8 + 1e-12]]))
    1
    """
    return count(singular_values(B), usual)


def null_space(B: np.ndarray, usual: int | None = None, least: float = RANK) -> np.ndarray:
    """Orthonormal (n, m) with B N = 0; the `usual` rank is kept until rounding is all there is.

    >>> np.abs(null_space(np.array([[0.0, 2.0]])))
    array([[1.],
           [0.]])
    """
    if not B.size:
        return np.eye(B.shape[1])
    _, sizes, Vt = np.linalg.svd(B)
    return Vt[count(sizes, usual, least if usual is None else RESOLVED) :].T


def least_squares(
    A: np.ndarray, b: np.ndarray, least: float = RELATIVE
) -> tuple[np.ndarray, np.ndarray]:
    """(x (n,) of least norm that brings A x nearest to b, A x − b): zero where A x = b is consistent.

    Singular values below `least` of the largest are left out.
    """
    x = np.linalg.lstsq(A, b, rcond=least)[0]
    return x, A @ x - b


def pivots(B: np.ndarray, independent: Collection[int] = (), usual: int | None = None) -> Pivots:
    """Independent rows and the coordinates they determine, by complete pivoting.

    `B` are rows without units; `independent` are columns to keep free as far as the rank allows;
    `usual` is the rank at nearly all configurations, once it is known.
    """
    remaining = B.copy()
    allowed = np.ones(B.shape[1], dtype=bool)
    allowed[list(independent)] = False
    rows: list[int] = []
    columns: list[int] = []
    least = RANK if usual is None else RESOLVED
    for _ in range(count(singular_values(B), usual, least)):
        size = np.abs(remaining) * allowed
        if size.max(initial=0.0) <= RANK:  # the preferred free columns are not free
            allowed[:] = True
            size = np.abs(remaining)
        i, j = np.unravel_index(size.argmax(), size.shape)
        rows.append(int(i))
        columns.append(int(j))
        remaining = remaining - np.outer(remaining[:, j], remaining[i]) / remaining[i, j]
        remaining[i], remaining[:, j] = 0.0, 0.0
    return Pivots(tuple(rows), tuple(columns))


def weakest(B: np.ndarray, chosen: Pivots) -> float:
    """The smallest pivot of these rows and columns, in this order, of rows B without units."""
    remaining, smallest = B[list(chosen.rows)], np.inf
    for k, column in enumerate(chosen.columns):
        pivot = remaining[k, column]
        if not abs(pivot) > 0.0:
            return 0.0
        smallest = min(smallest, abs(pivot))
        remaining = remaining - np.outer(
            remaining[:, column] * (np.arange(len(remaining)) > k), remaining[k] / pivot
        )
    return float(smallest)


def blocks(rows: Sequence[np.ndarray]) -> tuple[tuple[int, ...], ...]:
    """Rows in groups of which none shares a column with another, from B at several configurations."""
    from scipy.sparse.csgraph import connected_components

    shared = (np.max([np.abs(B) for B in rows], axis=0) > SHARED).astype(int)
    number, labels = connected_components(shared @ shared.T, directed=False)
    return tuple(tuple(np.flatnonzero(labels == k).tolist()) for k in range(number))


def close(
    q: np.ndarray,
    residual: Residual,
    move: Move,
    least: float = RELATIVE,
    step_of: Callable[[np.ndarray, Any], np.ndarray] | None = None,
    largest_step: float = LARGEST_STEP,
    enough: float = 1e-15,
) -> tuple[np.ndarray, float]:
    """(q, largest |h|) by Newton's method, closed where that is at most `CLOSED`.

    Each step is the one of least norm, halved until |h| falls. `residual` gives h (k,) and ∂h/∂q
    (k, n) along the velocities, `move` takes q along one of them. Singular values of ∂h/∂q below
    `least` of the largest are left out. With `step_of`, it makes the step (n,) out of what
    `residual` gives: in another metric, or by another solver. No step is taken once |h| is `enough`.

    >>> circle = lambda q: (np.array([q @ q - 1.0]), 2.0 * q[None])
    >>> q, left = close(np.array([3.0, 4.0]), circle, np.add)
    >>> q, left <= CLOSED
    (array([0.6, 0.8]), True)
    """
    h, jacobian = residual(q)
    size, slow_steps = np.abs(h).max(initial=0.0), 0
    for _ in range(ITERATIONS):
        if not np.isfinite(size) or size <= enough or slow_steps >= PATIENCE:
            break
        if step_of is not None:
            step = step_of(h, jacobian)
        elif np.isfinite(jacobian).all():
            step = -least_squares(jacobian, h, least)[0]
        else:  # as of a root at zero: another start has a direction
            break
        step = step * min(1.0, largest_step / max(np.abs(step).max(), 1e-300))
        for _ in range(10):
            trial = move(q, step)
            after, jacobian_after = residual(trial)
            if np.linalg.norm(after) < np.linalg.norm(h):
                break
            step = 0.5 * step
        else:
            break
        slow_steps = slow_steps + 1 if np.linalg.norm(after) > SLOW * np.linalg.norm(h) else 0
        q, h, jacobian, size = trial, after, jacobian_after, np.abs(after).max()
    return q, float(size)
