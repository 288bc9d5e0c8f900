"""Rows in blocks, those of different blocks never depending on each other: chosen block by block.

Which of redundant rows are taken is decided among the rows of a block alone, so that the others' zeros
stay zeros; what the blocks span is then made orthogonal in their order. A block without redundant
rows is taken as it is.
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
    own: list[PivotedRowSpace | None]  # the space of every block that has redundant rows
    joint: RowSpace  # of all their P, and of the rows that are taken as they are
    idle: list[int]  # rows that hold nothing: zero but for rounding

    def coordinates(self, r: Any) -> tuple[Any, Any]:
        """(y with B W u = r for u = back(y), what is left of r where rows depend on others)."""
        found = [
            (r[rows], None) if space is None else space.coordinates(r[rows])
            for space, rows in zip(self.own, self.rows, strict=True)
        ]
        y, beyond = self.joint.coordinates(np.concatenate([part for part, _ in found]))
        left = [
            more if left is None else left
            for (_, left), more in zip(found, self._cut(beyond), strict=True)
        ]
        return y, self._in_order([*left, r[self.idle]])

    def solve(self, r: Any) -> tuple[Any, Any]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self.coordinates(r)
        z = self._cut(self.joint.spread([a * b for a, b in zip(y, self.inverse, strict=True)]))
        found = [
            part if space is None else space.spread(part)
            for space, part in zip(self.own, z, strict=True)
        ]
        return self._in_order([*found, np.zeros((len(self.idle), *r.shape[1:]))]), left

    def _cut(self, y: Any) -> list[Any]:
        """Entries of the joint space, block by block."""
        parts, start = [], 0
        for space, rows in zip(self.own, self.rows, strict=True):
            stop = start + (len(rows) if space is None else len(space.P))
            parts.append(y[start:stop])
            start = stop
        return parts

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
    own: list[PivotedRowSpace | None] = [
        None if rank == len(rows) else row_space(B[rows], rank, weights, most=rank)  # type: ignore[misc]  # traced or small: never dense
        for rows, rank in taken
    ]
    spanned: list[Any] = []
    squares: list[Any] = []
    for space, (rows, _) in zip(own, taken, strict=True):
        spanned += [B[k] for k in rows] if space is None else _alive(space)
        squares += [(weights * B[k]) @ B[k] for k in rows] if space is None else space.squares
    joint = ordered(np.stack(spanned), weights)
    about = (joint.P, joint.inverse, weights, squares, joint.lost)
    return BlockedRowSpace(*about, [rows for rows, _ in taken], own, joint, idle)


def _alive(space: PivotedRowSpace) -> list[Any]:
    """The rows P of a space; those that were not kept are rounding, and take no part."""
    kept = [np.where(inverse > 2.0 / HUGE, 1.0, 0.0) for inverse in space.inverse]
    return [each * p for each, p in zip(kept, space.P, strict=True)]
