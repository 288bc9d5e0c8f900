"""Rows in blocks, those of different blocks never depending on each other: a basis for every block.

Which of redundant rows are taken is decided among the rows of a block alone, and each block is made
orthogonal by itself, so that the zeros between blocks stay zeros. What the bases P of the blocks have
in common is the small K = P W Pᵀ, which is factored. That squares the condition of one block beside
another, which is that of the metric and grows at no singular posture: within a block none is squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linalg.ldl import AnyLDL, ldl
from dalembert.linalg.row_space import Basis, PivotedRowSpace, RowSpace, row_space

Blocks = Sequence[tuple[list[int], int]]  # rows of each, and how many of them are independent


@dataclass(frozen=True)
class BlockedRowSpace(Basis):
    """B = L P with a block of L for every block of rows; P is orthogonal within a block."""

    rows: list[list[int]]
    own: list[RowSpace | PivotedRowSpace]  # the space of every block
    joint: AnyLDL  # K
    idle: list[int]  # rows that hold nothing: zero but for rounding

    def back(self, y: Any) -> Any:
        """The shortest u (n,) or (n, k) with P W u = y: with y of `coordinates(r)`, B W u = r."""
        return np.stack(self.P).T @ self.joint.solve(y)

    def across(self, u: Any) -> Any:
        """What u (n,) has beside the span of the rows."""
        return u - self.back(np.stack(self.P) @ (self.weights * u))

    def coordinates(self, r: Any) -> tuple[Any, Any]:
        """(y with L y = r, what is left of r where rows depend on others), for r (m,) or (m, k)."""
        found = [
            space.coordinates(r[rows]) for space, rows in zip(self.own, self.rows, strict=True)
        ]
        left = [*(left for _, left in found), r[self.idle]]
        return np.concatenate([y for y, _ in found]), self._in_order(left)

    def solve(self, r: Any) -> tuple[Any, Any]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self.coordinates(r)
        z, found, start = self.joint.solve(y), [], 0
        for space in self.own:
            found.append(space.spread(z[start : start + len(space.P)]))
            start += len(space.P)
        return self._in_order([*found, np.zeros((len(self.idle), *r.shape[1:]))]), left

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
    P = [p for space in own for p in space.P]
    inverse = [x for space in own for x in space.inverse]
    joint = _joint(P, inverse, weights, [len(space.P) for space in own])
    squares = [square for space in own for square in space.squares]
    lost = 1.0 - np.prod(np.stack([1.0 - space.lost for space in own]))
    about = (P, inverse, weights, squares, lost)
    return BlockedRowSpace(*about, [rows for rows, _ in taken], own, joint, idle)


def _joint(P: list[Any], inverse: list[Any], weights: Any, sizes: list[int]) -> AnyLDL:
    """The factors of K = P W Pᵀ, P being orthogonal within blocks of these sizes.

    Rows that were not kept, being rounding, take no part: beside their huge pivot nothing counts.
    """
    block = np.repeat(np.arange(len(sizes)), sizes)
    between = (block[:, None] != block[None, :]).astype(float)
    rows = np.stack(P)
    squares = np.diag(np.stack([1.0 / each for each in inverse]))
    return ldl(between * (rows @ (weights.reshape(-1, 1) * rows.T)) + squares)
