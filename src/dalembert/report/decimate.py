"""Meshes made small enough for a page: points of a cell of a grid become one.

Of all points for a cell, the one nearest to the planes of the triangles that met there (the least
sum of squared distances, weighted by area) keeps edges sharp: Lindstrom, Out-of-core simplification
of large polygonal models, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.importers.meshes import Piece, box_around

SHIFT = 21  # bits of a whole number, three of which are one
STEPS = 9  # of the search for the width of cells
FLAT = 0.03  # of the largest curvature: less than this, and a direction is left where it is


def within_budget(pieces: Sequence[Piece], budget: int) -> list[Piece]:
    """The pieces with at most so many triangles in all, cells as fine as that allows.

    A piece of the size of a cell becomes the box around it, a smaller one has no triangle left.
    """
    welded = [weld(piece) for piece in pieces]
    if sum(len(piece.triangles) for piece in welded) <= budget:
        return welded
    extents = [np.ptp(piece.points, axis=0).max() for piece in welded if len(piece.points)]
    facing = [_facing(piece) for piece in welded]
    fine, coarse = 1e-4 * max(extents), max(extents)
    for _ in range(STEPS):
        width = float(np.sqrt(fine * coarse))
        made = [
            clustered(piece, side, width, measured=True)
            for piece, side in zip(welded, facing, strict=True)
        ]
        count = sum(len(piece.triangles) for piece in made)
        fine, coarse = (width, coarse) if count > budget else (fine, width)
    return [clustered(piece, side, coarse) for piece, side in zip(welded, facing, strict=True)]


def weld(piece: Piece) -> Piece:
    """The piece with every point once, without triangles that are a line or a point."""
    low = piece.points.min(axis=0, initial=np.inf)
    span = max(float(np.ptp(piece.points, axis=0).max()), 1e-300) if len(piece.points) else 1.0
    # an even number of steps: the middle of what is symmetric does not lie between two of them
    key = _packed(np.round((piece.points - low) / span * (2**SHIFT - 2)).astype(np.int64))
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    triangles = _proper(index.reshape(-1)[piece.triangles])
    return _used(piece._replace(points=piece.points[first], triangles=triangles))


def _packed(rows: np.ndarray) -> np.ndarray:
    """Three whole numbers below 2²¹ as one: sorting one is faster than sorting rows."""
    return (rows[:, 0] << 2 * SHIFT) | (rows[:, 1] << SHIFT) | rows[:, 2]


def clustered(piece: Piece, facing: np.ndarray, width: float, measured: bool = False) -> Piece:
    """The piece with one point for each cell of this width, m, and side that it faces (n,).

    Where it is only `measured`, points stay as they were.
    """
    if not len(piece.triangles):
        return piece
    triangles, cell, count = _triangles(piece, facing, width)
    if len(triangles) < 4:
        large = np.ptp(piece.points, axis=0).max() > 0.5 * width
        box = box_around(piece.points)
        return box._replace(colour=piece.colour, triangles=box.triangles[: 12 * large])
    if measured:
        return piece._replace(triangles=triangles)
    return _used(Piece(_representatives(piece, cell, count, width), triangles, piece.colour))


def _triangles(
    piece: Piece, facing: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Triangles (k, 3) between cells, the cell of each point, and the number of cells."""
    low = piece.points.min(axis=0, initial=0.0)
    grid = np.floor((piece.points - low) / width).astype(np.int64)
    sides = grid.max(axis=0, initial=0) + 1
    key = (grid[:, 0] * sides[1] + grid[:, 1]) * sides[2] + grid[:, 2]
    # the inside and the outside of a thin shell stay apart
    key = 6 * key + facing
    found, cell = np.unique(key, return_inverse=True)
    cell = cell.reshape(-1)
    return _proper(cell[piece.triangles]), cell, len(found)


def _facing(piece: Piece) -> np.ndarray:
    """(n,) from 0 to 5: the axis to which the surface at each point is turned most."""
    weighted = _areas(piece)
    normals = np.zeros_like(piece.points)
    for k in range(3):
        for j in range(3):
            count = len(piece.points)
            normals[:, j] += np.bincount(piece.triangles[:, k], weighted[:, j], count)
    axis = np.argmax(np.abs(normals), axis=1)
    return 2 * axis + (np.take_along_axis(normals, axis[:, None], axis=1)[:, 0] < 0.0)


def _areas(piece: Piece) -> np.ndarray:
    """(k, 3) normals of triangles, as long as their areas."""
    a, b, c = piece.points[piece.triangles].swapaxes(0, 1)
    return 0.5 * np.cross(b - a, c - a)


def _proper(triangles: np.ndarray) -> np.ndarray:
    """Triangles with three different corners, each of them once."""
    a, b, c = triangles.T
    kept = triangles[(a != b) & (b != c) & (c != a)]
    # turned so that the least index comes first, two that are the same are equal rows
    first = np.argmin(kept, axis=1)[:, None]
    turned = np.take_along_axis(kept, (first + np.arange(3)) % 3, axis=1)
    if turned.max(initial=0) >= 2**SHIFT:
        return np.unique(turned, axis=0)
    return turned[np.unique(_packed(turned), return_index=True)[1]]


def _representatives(piece: Piece, cell: np.ndarray, count: int, width: float) -> np.ndarray:
    """(count, 3) for each cell: argmin Σ a (n·(x − p))², within the cell's reach of its mean."""
    normals = _areas(piece)
    area = np.linalg.norm(normals, axis=1)
    n = normals / np.maximum(area, 1e-300)[:, None]
    outer = (area[:, None, None] * n[:, :, None] * n[:, None, :]).reshape(-1, 9)
    offset = area * np.einsum("ki,ki->k", n, piece.points[piece.triangles[:, 0]])
    A, b = np.zeros((count, 9)), np.zeros((count, 3))
    for k in range(3):
        owner = cell[piece.triangles[:, k]]
        for j in range(9):
            A[:, j] += np.bincount(owner, outer[:, j], count)
        for j in range(3):
            b[:, j] += np.bincount(owner, offset * n[:, j], count)
    sizes = np.maximum(np.bincount(cell, minlength=count), 1)[:, None]
    mean = np.stack([np.bincount(cell, piece.points[:, j], count) for j in range(3)], 1) / sizes
    values, axes = np.linalg.eigh(A.reshape(-1, 3, 3))
    rest = np.einsum("cij,ci->cj", axes, b - np.einsum("cij,cj->ci", A.reshape(-1, 3, 3), mean))
    curved = values > FLAT * np.maximum(values[:, 2:], 1e-300)
    step = np.einsum("cij,cj->ci", axes, np.where(curved, rest / np.where(curved, values, 1.0), 0))
    far = np.linalg.norm(step, axis=1, keepdims=True) > 0.7 * width
    return mean + np.where(far, 0.0, step)


def _used(piece: Piece) -> Piece:
    """The piece without points that no triangle has."""
    used, index = np.unique(piece.triangles, return_inverse=True)
    return piece._replace(points=piece.points[used], triangles=index.reshape(-1, 3))
