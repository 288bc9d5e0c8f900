"""Visual geometry of a robot for the viewer: shapes on bodies, and meshes simplified to fit a page.

Meshes are simplified by vertex clustering: the points of a cell of a grid become one, the one nearest
to the planes of the triangles that met there (the least sum of squared distances, weighted by area),
which keeps edges sharp: Lindstrom, Out-of-core simplification of large polygonal models, 2000.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.importers.meshes import Piece, box_around, read_mesh
from dalembert.model import Model
from dalembert.model.notes import Numbers, Visual
from dalembert.spatial.quaternions import matrix_from_quaternion, quaternion_from_matrix
from dalembert.spatial.se3 import Placement

BUDGET = 30_000  # triangles of all meshes of a page
MAX_TRIANGLES = 4_000_000  # that are read before simplification
RESOLUTION = 65_535  # steps of a coordinate across its mesh
MAX_NOTES = 12  # about shapes that are not drawn


@dataclass
class Visuals:
    """Shapes and meshes of a robot for the viewer, and their extent."""

    shapes: list[dict[str, Any]] = field(default_factory=list)
    meshes: list[dict[str, Any]] = field(default_factory=list)
    bare: list[int] = field(default_factory=list)  # bodies drawn as skeletons: a shape is missing
    notes: list[str] = field(default_factory=list)  # sentences about what is drawn otherwise
    corners: dict[int, np.ndarray] = field(default_factory=dict)  # (n, 3) of each body's shapes

    def plain(self) -> dict[str, Any]:
        """For the page."""
        more = len(self.notes) - MAX_NOTES
        notes = [*self.notes[:MAX_NOTES], *([f"And {more} more."] if more > 0 else [])]
        return {"shapes": self.shapes, "meshes": self.meshes, "bare": self.bare, "notes": notes}


@dataclass
class _Shape:
    """A visual with its body, its pose in the body's frame, and its pieces if it is a mesh."""

    visual: Visual
    body: int
    pose: Placement
    pieces: list[int] | None = None  # indices into the meshes of the page


def visuals_of(model: Model, budget: int = BUDGET) -> Visuals | None:
    """The visuals of a model with numbers; None where its file has none.

    Meshes are read here. One that cannot be read is not drawn and a note says why; a body without a
    shape, or with one missing, is drawn as a skeleton.
    """
    shapes = [shape for v in model.notes.visuals if (shape := _placed(model, v)) is not None]
    if not shapes:
        return None
    result = Visuals(notes=[f"Not drawn: {x.fault}." for x in model.notes.visuals if x.fault])
    pieces = _read_meshes(shapes, result.notes)
    failed = {shape.body for shape in shapes if shape.pieces == []}
    small = within_budget(pieces, budget) if pieces else []
    result.meshes = [packed(piece) for piece in small if len(piece.triangles)]
    number = np.cumsum([len(piece.triangles) > 0 for piece in small]) - 1
    points: dict[int, list[np.ndarray]] = {}
    for shape in shapes:
        shape.pieces = shape.pieces and [k for k in shape.pieces if len(small[k].triangles)]
        visual, pose = shape.visual, shape.pose
        quaternion = np.asarray(quaternion_from_matrix(pose.R), float)
        data = {"body": shape.body, "pose": _rounded((*pose.p, *quaternion)), "kind": visual.kind}
        outsides = []  # points (n, 3) in the frame of the shape
        if shape.pieces is None:
            size, colour = np.abs(np.array(visual.size)), visual.colour
            half = {"sphere": np.repeat(size, 3)[:3], "box": 0.5 * size}.get(visual.kind, size)
            if visual.kind in ("cylinder", "capsule"):
                cap = size[0] if visual.kind == "capsule" else 0.0
                half = np.array([size[0], size[0], 0.5 * size[1] + cap])
            result.shapes.append({**data, "colour": colour, "size": _rounded(visual.size)})
            outsides.append(box_around(np.stack([-half, half])).points)
        for index in shape.pieces or ():
            colour = small[index].colour or visual.colour
            result.shapes.append({**data, "mesh": int(number[index]), "colour": colour})
            outsides.append(extremes(small[index].points))
        for outside in outsides:
            points.setdefault(shape.body, []).append(outside @ pose.R.T + pose.p)
    for drawn in result.shapes:
        if drawn["colour"] is not None:
            drawn["colour"] = [round(min(1.0, max(0.0, x)), 3) for x in drawn["colour"]]
    result.corners = {body: extremes(np.concatenate(p)) for body, p in points.items()}
    massive = [i for i, body in enumerate(model.bodies) if float(body.mass) > 0.0]
    result.bare = [i for i in massive if i not in points or i in failed]
    total, left = (sum(len(piece.triangles) for piece in several) for several in (pieces, small))
    if left < total:
        result.notes.insert(0, f"Meshes of {total:,} triangles are drawn with {left:,}.")
    return result if result.shapes else None


def _placed(model: Model, visual: Visual) -> _Shape | None:
    """The visual with its body and its pose in that body's frame; None if it cannot be drawn."""
    if not visual.kind or (visual.link is not None and visual.link not in model.frames):
        return None
    position, quaternion = np.array(visual.pose[:3]), np.array(visual.pose[3:])
    norm = float(np.linalg.norm(quaternion))
    quaternion = quaternion / norm if norm > 1e-9 else np.array([0.0, 0.0, 0.0, 1.0])
    own = Placement(np.asarray(matrix_from_quaternion(quaternion), float), position)
    if visual.link is None:
        return _Shape(visual, -1, own)
    frame = model.frames[visual.link]
    R, p = np.asarray(frame.rotation, float), np.asarray(frame.translation, float)
    return _Shape(visual, frame.body, Placement(R @ own.R, R @ own.p + p))


def _read_meshes(shapes: Sequence[_Shape], notes: list[str]) -> list[Piece]:
    """The pieces of all meshes, each file at one scale once; failures become notes."""
    pieces: list[Piece] = []
    known: dict[tuple[str, Numbers, Any], list[int]] = {}
    for shape in shapes:
        visual = shape.visual
        if visual.kind != "mesh":
            continue
        key = (visual.file, visual.size, visual.search_paths)
        if key not in known:
            try:
                if sum(len(piece.triangles) for piece in pieces) > MAX_TRIANGLES:
                    raise DalembertError(f"{visual.file!r} comes after {MAX_TRIANGLES:,} triangles")
                own = read_mesh(visual)
            except DalembertError as error:
                own = []
                notes.append(f"Not drawn: {error}.")
            known[key] = list(range(len(pieces), len(pieces) + len(own)))
            pieces += own
        shape.pieces = known[key]
    return pieces


def packed(piece: Piece) -> dict[str, Any]:
    """Positions in 16 bits across the box of the mesh, triangles as indices, both as base64."""
    low = piece.points.min(axis=0, initial=np.inf)
    span = np.maximum(np.ptp(piece.points, axis=0), 1e-9)
    steps = np.round((piece.points - low) / span * RESOLUTION).astype("<u2")
    index = piece.triangles.astype("<u2" if len(piece.points) <= RESOLUTION else "<u4")
    return {
        "low": _rounded(low),
        "span": _rounded(span),
        "points": b64encode(steps.tobytes()).decode(),
        "triangles": b64encode(index.tobytes()).decode(),
        "wide": index.dtype.itemsize == 4,
    }


def _rounded(values: Any) -> list[float]:
    return [float(f"{x:.6g}") for x in values]


def extremes(points: np.ndarray) -> np.ndarray:
    """Those of points (n, 3) that are furthest in some direction along axes and diagonals."""
    steps = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    chosen: np.ndarray = points[np.unique(np.argmax(points @ steps.T, axis=0))]
    return chosen


# mesh simplification

SHIFT = 21  # bits of a whole number, three of which are one
STEPS = 9  # of the search for the width of cells
FLAT = 0.03  # curvature, relative to the largest, below which a direction is left as it is


def within_budget(pieces: Sequence[Piece], budget: int) -> list[Piece]:
    """The pieces with at most `budget` triangles in all, cells as fine as that allows.

    A piece of the size of a cell becomes the box around it, a smaller one has no triangle left.
    """
    welded = [weld(piece) for piece in pieces]
    if sum(len(piece.triangles) for piece in welded) <= budget:
        return welded
    extents = [np.ptp(piece.points, axis=0).max() for piece in welded if len(piece.points)]
    # from 0 to 5: the axis to which the surface at each point is turned most
    facing = []
    for piece in welded:
        areas, normals = _area_vectors(piece), np.zeros_like(piece.points)
        for k, j in np.ndindex(3, 3):
            normals[:, j] += np.bincount(piece.triangles[:, k], areas[:, j], len(normals))
        axis = np.argmax(np.abs(normals), axis=1)
        largest = np.take_along_axis(normals, axis[:, None], axis=1)[:, 0]
        facing.append(2 * axis + (largest < 0.0))
    fine, coarse = 1e-4 * max(extents), max(extents)
    for _ in range(STEPS):
        width = float(np.sqrt(fine * coarse))
        count = sum(
            len(_clustered(piece, side, width, count_only=True).triangles)
            for piece, side in zip(welded, facing, strict=True)
        )
        fine, coarse = (width, coarse) if count > budget else (fine, width)
    return [_clustered(piece, side, coarse) for piece, side in zip(welded, facing, strict=True)]


def weld(piece: Piece) -> Piece:
    """The piece with every point once, without degenerate triangles."""
    low = piece.points.min(axis=0, initial=np.inf)
    span = max(float(np.ptp(piece.points, axis=0).max()), 1e-300) if len(piece.points) else 1.0
    # an even number of steps: the middle of a symmetric piece does not lie between two of them
    key = _one_integer(np.round((piece.points - low) / span * (2**SHIFT - 2)).astype(np.int64))
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    triangles = _proper(index.reshape(-1)[piece.triangles])
    return _without_unused(piece._replace(points=piece.points[first], triangles=triangles))


def _one_integer(rows: np.ndarray) -> np.ndarray:
    """Three whole numbers below 2²¹ as one: sorting one is faster than sorting rows."""
    integers: np.ndarray = (rows[:, 0] << 2 * SHIFT) | (rows[:, 1] << SHIFT) | rows[:, 2]
    return integers


def _clustered(piece: Piece, facing: np.ndarray, width: float, count_only: bool = False) -> Piece:
    """The piece with one point for each cell of this width, m, and side that it faces (n,).

    With `count_only` the points stay as they were.
    """
    if not len(piece.triangles):
        return piece
    low = piece.points.min(axis=0, initial=0.0)
    grid = np.floor((piece.points - low) / width).astype(np.int64)
    sides = grid.max(axis=0, initial=0) + 1
    key = (grid[:, 0] * sides[1] + grid[:, 1]) * sides[2] + grid[:, 2]
    # the inside and the outside of a thin shell stay apart
    cells, cell = np.unique(6 * key + facing, return_inverse=True)
    cell = cell.reshape(-1)
    triangles = _proper(cell[piece.triangles])
    if len(triangles) < 4:
        is_large = np.ptp(piece.points, axis=0).max() > 0.5 * width
        box = box_around(piece.points)
        return box._replace(colour=piece.colour, triangles=box.triangles[: 12 * is_large])
    if count_only:
        return piece._replace(triangles=triangles)
    points = _representatives(piece, cell, len(cells), width)
    return _without_unused(Piece(points, triangles, piece.colour))


def _area_vectors(piece: Piece) -> np.ndarray:
    """(k, 3) normals of triangles, as long as their areas."""
    a, b, c = piece.points[piece.triangles].swapaxes(0, 1)
    return 0.5 * np.cross(b - a, c - a)


def _proper(triangles: np.ndarray) -> np.ndarray:
    """Triangles with three different corners, each of them once."""
    a, b, c = triangles.T
    proper = triangles[(a != b) & (b != c) & (c != a)]
    # rotated so that the least index comes first: two equal triangles are equal rows
    first = np.argmin(proper, axis=1)[:, None]
    rotated = np.take_along_axis(proper, (first + np.arange(3)) % 3, axis=1)
    if rotated.max(initial=0) >= 2**SHIFT:
        return np.unique(rotated, axis=0)
    return rotated[np.unique(_one_integer(rotated), return_index=True)[1]]


def _representatives(piece: Piece, cell: np.ndarray, count: int, width: float) -> np.ndarray:
    """(count, 3) for each cell: argmin Σ a (n·(x − p))², if it is near the mean of its points."""
    from scipy.sparse import csr_array

    normals = _area_vectors(piece)
    area = np.linalg.norm(normals, axis=1)
    n = normals / np.maximum(area, 1e-300)[:, None]
    outer = (area[:, None, None] * n[:, :, None] * n[:, None, :]).reshape(-1, 9)
    offset = area * np.einsum("ki,ki->k", n, piece.points[piece.triangles[:, 0]])
    # sums over the corners of triangles that lie in a cell, and over its points
    corners = np.repeat(np.arange(len(piece.triangles)), 3)
    ones, shape = np.ones(len(corners)), (count, len(piece.triangles))
    at_corners = csr_array((ones, (cell[piece.triangles].ravel(), corners)), shape)
    A, b = (at_corners @ outer).reshape(-1, 3, 3), at_corners @ (offset[:, None] * n)
    mean = csr_array((np.ones(len(cell)), (cell, np.arange(len(cell))))) @ piece.points
    mean /= np.maximum(np.bincount(cell, minlength=count), 1)[:, None]
    values, axes = np.linalg.eigh(A)
    rest = np.einsum("cij,ci->cj", axes, b - np.einsum("cij,cj->ci", A, mean))
    curved = values > FLAT * np.maximum(values[:, 2:], 1e-300)
    step = np.einsum("cij,cj->ci", axes, np.where(curved, rest / np.where(curved, values, 1.0), 0))
    far = np.linalg.norm(step, axis=1, keepdims=True) > 0.7 * width
    nearest: np.ndarray = mean + np.where(far, 0.0, step)
    return nearest


def _without_unused(piece: Piece) -> Piece:
    """The piece without points that no triangle has."""
    used, index = np.unique(piece.triangles, return_inverse=True)
    return piece._replace(points=piece.points[used], triangles=index.reshape(-1, 3))
