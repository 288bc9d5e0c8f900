"""Rows in blocks, those of different blocks never depending on each other: chosen block by block.

Which of redundant rows are taken is decided among the rows of a block alone, so that the others' zeros
stay zeros; what the blocks span is then made orthogonal in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linalg.row_space import HUGE, Basis, PivotedRowSpace, RowSpace, ordered, row_space

Blocks = Sequence[tuple[list[int], int]]  # rows of each, and how many of them are independent


@dataclass(frozen=True)
class BlockedRowSpace(Basis):
    """B = L P with a block of L for every block of rows, and P = K Q, Q orthogonal."""

    rows: list[list[int]]
    own: list[Any]  # the space of every block
    joint: RowSpace  # of all their P
    idle: list[int]  # rows that hold nothing: zero but for rounding

    def coordinates(self, r: Any) -> tuple[Any, Any]:
        """(y with B W u = r for u = back(y), what is left of r where rows depend on others)."""
        y, left = self._within(r)
        return self.joint.coordinates(y)[0], left

    def solve(self, r: Any) -> tuple[Any, Any]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self._within(r)
        z, found, start = self.joint.solve(y)[0], [], 0
        for space in self.own:
            found.append(space.spread(z[start : start + len(space.P)]))
            start += len(space.P)
        return self._in_order([*found, np.zeros((len(self.idle), *r.shape[1:]))]), left

    def _within(self, r: Any) -> tuple[Any, Any]:
        """(Coordinates of r in P, what is left of r)."""
        found = [
            space.coordinates(r[rows]) for space, rows in zip(self.own, self.rows, strict=True)
        ]
        left = [*(left for _, left in found), r[self.idle]]
        return np.concatenate([y for y, _ in found]), self._in_order(left)

    def _in_order(self, parts: list[Any]) -> Any:
        """Entries of the blocks in the order of the rows."""
        every = [*(k for rows in self.rows for k in rows), *self.idle]
        kept = parts if self.idle else parts[:-1]
        return np.concatenate(kept)[np.argsort(every)]


def blocked_rows(B: Any, weights: Any, blocks: Blocks) -> BlockedRowSpace:
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
    # rows that were not kept are rounding, and take no part
    alive = [
        np.where(inverse > 2.0 / HUGE, 1.0, 0.0) * p
        for space in own
        for p, inverse in zip(space.P, space.inverse, strict=True)
    ]
    joint = ordered(np.stack(alive), weights)
    squares = [square for space in own for square in space.squares]
    lost = 1.0 - np.prod(np.stack([1.0 - space.lost for space in own]))
    about = (joint.P, joint.inverse, weights, squares, lost)
    return BlockedRowSpace(*about, [rows for rows, _ in taken], own, joint, idle)
