"""How a robot looks, as data for the viewer: shapes on bodies, and meshes small enough for a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.importers.meshes import Piece, box_around, read_mesh
from dalembert.model import Model
from dalembert.model.looks import Look, Numbers
from dalembert.report.decimate import within_budget
from dalembert.spatial.placement import Placement
from dalembert.spatial.quaternions import matrix_from_quaternion, quaternion_from_matrix

BUDGET = 30_000  # triangles of all meshes of a page
MOST = 4_000_000  # triangles that are read before they are made fewer
FINE = 65_535  # steps of a coordinate across its mesh
SENTENCES = 12  # about shapes that are not drawn


@dataclass
class Looks:
    """What the viewer draws of a robot's own shapes, and where that reaches."""

    shapes: list[dict[str, Any]] = field(default_factory=list)
    meshes: list[dict[str, Any]] = field(default_factory=list)
    bare: list[int] = field(default_factory=list)  # bodies drawn as skeletons: a shape is missing
    notes: list[str] = field(default_factory=list)  # sentences about what is drawn otherwise
    corners: dict[int, np.ndarray] = field(default_factory=dict)  # (n, 3) of each body's shapes

    def plain(self) -> dict[str, Any]:
        """For the page."""
        more = len(self.notes) - SENTENCES
        said = [*self.notes[:SENTENCES], *([f"And {more} more."] if more > 0 else [])]
        return {"shapes": self.shapes, "meshes": self.meshes, "bare": self.bare, "notes": said}


@dataclass
class _Drawn:
    """A look that has a place: its body, its pose there, and its pieces if it is a mesh."""

    look: Look
    body: int
    place: Placement
    pieces: list[int] | None = None  # indices into the meshes of the page


def looks_of(model: Model, budget: int = BUDGET) -> Looks | None:
    """The shapes of a model with numbers; None where its file shows none.

    Meshes are read here. One that cannot be read is not drawn, with a sentence that says why; a
    body without a shape, or of which one is missing, has its skeleton.
    """
    found = [one for look in model.notes.looks if (one := _placed(model, look)) is not None]
    if not found:
        return None
    made = Looks(notes=[f"Not drawn: {x.fault}." for x in model.notes.looks if x.fault])
    pieces = _read(found, made.notes)
    failed = {one.body for one in found if one.pieces == []}
    total = sum(len(piece.triangles) for piece in pieces)
    small = within_budget(pieces, budget) if pieces else []
    made.meshes = [packed(piece) for piece in small if len(piece.triangles)]
    number = np.cumsum([len(piece.triangles) > 0 for piece in small]) - 1
    for one in found:
        one.pieces = one.pieces and [k for k in one.pieces if len(small[k].triangles)]
    spans: dict[int, list[np.ndarray]] = {}
    for one in found:
        for shape, points in _shapes(one, small, number):
            made.shapes.append(shape)
            spans.setdefault(one.body, []).append(points)
    made.corners = {body: extremes(np.concatenate(points)) for body, points in spans.items()}
    heavy = [i for i, body in enumerate(model.bodies) if float(body.mass) > 0.0]
    made.bare = [i for i in heavy if i not in spans or i in failed]
    left = sum(len(piece.triangles) for piece in small)
    if left < total:
        made.notes.insert(0, f"Meshes of {total:,} triangles are drawn with {left:,}.")
    return made if made.shapes else None


def _placed(model: Model, look: Look) -> _Drawn | None:
    """Its body, and its pose in that body's frame; None for what cannot be drawn."""
    if not look.kind or (look.link is not None and look.link not in model.frames):
        return None
    position, turn = np.array(look.pose[:3]), np.array(look.pose[3:])
    length = float(np.linalg.norm(turn))
    turn = turn / length if length > 1e-9 else np.array([0.0, 0.0, 0.0, 1.0])
    own = Placement(np.asarray(matrix_from_quaternion(turn), float), position)
    if look.link is None:
        return _Drawn(look, -1, own)
    frame = model.frames[look.link]
    R, p = np.asarray(frame.rotation, float), np.asarray(frame.translation, float)
    return _Drawn(look, frame.body, Placement(R @ own.R, R @ own.p + p))


def _read(found: Sequence[_Drawn], notes: list[str]) -> list[Piece]:
    """The pieces of all meshes, each file at one scale once; failures become sentences."""
    pieces: list[Piece] = []
    known: dict[tuple[str, Numbers, Any], list[int]] = {}
    for one in found:
        look = one.look
        if look.kind != "mesh":
            continue
        key = (look.file, look.size, look.places)
        if key not in known:
            try:
                if sum(len(piece.triangles) for piece in pieces) > MOST:
                    raise DalembertError(f"{look.file!r} comes after {MOST:,} triangles")
                read = read_mesh(look)
            except DalembertError as error:
                read = []
                notes.append(f"Not drawn: {error}.")
            known[key] = list(range(len(pieces), len(pieces) + len(read)))
            pieces += read
        one.pieces = known[key]
    return pieces


def packed(piece: Piece) -> dict[str, Any]:
    """Positions in 16 bits across the box of the mesh, triangles as indices, both as base64."""
    low = piece.points.min(axis=0, initial=np.inf)
    span = np.maximum(np.ptp(piece.points, axis=0), 1e-9)
    steps = np.round((piece.points - low) / span * FINE).astype("<u2")
    index = piece.triangles.astype("<u2" if len(piece.points) <= FINE else "<u4")
    return {
        "low": [float(f"{x:.6g}") for x in low],
        "span": [float(f"{x:.6g}") for x in span],
        "points": b64encode(steps.tobytes()).decode(),
        "triangles": b64encode(index.tobytes()).decode(),
        "wide": index.dtype.itemsize == 4,
    }


def _shapes(
    one: _Drawn, meshes: Sequence[Piece], number: np.ndarray
) -> list[tuple[dict[str, Any], np.ndarray]]:
    """What the viewer gets of a look, each with points (n, 3) of its outside in the body's frame."""
    look, place = one.look, one.place
    turn = quaternion_from_matrix(place.R)
    pose = [float(f"{x:.6g}") for x in (*place.p, *np.asarray(turn, float))]
    shape = {"body": one.body, "pose": pose, "kind": look.kind, "colour": _colour(look.colour)}
    if one.pieces is None:
        half = _half(look)
        shape["size"] = [float(f"{x:.6g}") for x in look.size]
        return [(shape, box_around(np.stack([-half, half])).points @ place.R.T + place.p)]
    made = []
    for index in one.pieces:
        colour = _colour(meshes[index].colour or look.colour)
        points = extremes(meshes[index].points) @ place.R.T + place.p
        made.append(({**shape, "mesh": int(number[index]), "colour": colour}, points))
    return made


def _half(look: Look) -> np.ndarray:
    """Half the sides of the box around a shape."""
    size = np.abs(np.array(look.size))
    if look.kind in ("cylinder", "capsule"):
        cap = size[0] if look.kind == "capsule" else 0.0
        return np.array([size[0], size[0], 0.5 * size[1] + cap])
    return {"sphere": np.repeat(size, 3)[:3], "box": 0.5 * size}.get(look.kind, size)


def extremes(points: np.ndarray) -> np.ndarray:
    """Those of points (n, 3) that are furthest in some direction along axes and diagonals."""
    steps = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    return points[np.unique(np.argmax(points @ steps.T, axis=0))]


def _colour(colour: Numbers | None) -> list[float] | None:
    return None if colour is None else [round(min(1.0, max(0.0, x)), 3) for x in colour]
