"""COLLADA: geometries placed by the nodes of a scene, with the colours of their materials.

As other readers of robots have it, the file's axes are those of the link, whichever it calls up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.mesh_dae_xml import Node, parse
from dalembert.importers.meshes import Piece
from dalembert.model.looks import Numbers
from dalembert.spatial.rotations import exp_so3

MAX_PIECES, MAX_NODES, MAX_DEPTH = 2000, 100_000, 64
_FACES = ("triangles", "polylist", "polygons")


def read_dae(data: bytes, path: Path) -> list[Piece]:
    """A piece for each group of faces, in m."""
    root = parse(data, path.name)
    file = _File(root)
    unit = next((node for node in root.walk() if node.tag == "unit"), None)
    metre = float(unit.attributes.get("meter", 1.0)) if unit is not None else 1.0
    scale = np.diag([metre, metre, metre, 1.0])
    scenes = [node for node in root.walk() if node.tag == "visual_scene"]
    found: list[Piece] = []
    for scene in scenes[:1]:
        for node in scene.all("node"):
            found += file.pieces(node, scale, 0)
    if not scenes:
        for geometry in file.geometries():
            found += file.faces(geometry, scale, {})
    return found


class _File:
    """A file with its parts by id."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.ids = {n.attributes["id"]: n for n in root.walk() if "id" in n.attributes}
        self.count = self.visited = 0

    def geometries(self) -> list[Node]:
        return [node for node in self.root.walk() if node.tag == "geometry"]

    def named(self, reference: str) -> Node | None:
        return self.ids.get(reference.removeprefix("#"))

    def pieces(self, node: Node, above: np.ndarray, depth: int) -> Iterator[Piece]:
        """What a node shows and what is below it."""
        self.visited += 1
        if depth > MAX_DEPTH or self.visited > MAX_NODES:
            raise ImportFileError(
                "its nodes are nested too deep, in a circle, or repeated too often"
            )
        here = above @ placement(node)
        for part in node.children:
            target = self.named(part.attributes.get("url", ""))
            if part.tag == "instance_geometry" and target is not None:
                yield from self.faces(target, here, self.bound(part))
            elif part.tag == "instance_node" and target is not None:
                yield from self.pieces(target, here, depth + 1)
            elif part.tag == "node":
                yield from self.pieces(part, here, depth + 1)

    def bound(self, instance: Node) -> dict[str, Numbers]:
        """Colours by the symbols that groups of faces use."""
        found = {}
        for use in instance.walk():
            if use.tag == "instance_material":
                colour = self.colour(use.attributes.get("target", ""))
                if colour is not None:
                    found[use.attributes.get("symbol", "")] = colour
        return found

    def colour(self, reference: str) -> Numbers | None:
        """The diffuse colour of a material."""
        material = self.named(reference)
        effects = material.walk() if material is not None else ()
        for use in effects:
            effect = self.named(use.attributes.get("url", ""))
            if use.tag == "instance_effect" and effect is not None:
                for part in effect.walk():
                    if part.tag == "diffuse":
                        for colour in part.all("color"):
                            numbers = [min(1.0, max(0.0, float(x))) for x in colour.numbers()]
                            return (*numbers[:3], 1.0) if len(numbers) >= 3 else None
        return None

    def faces(
        self, geometry: Node, place: np.ndarray, colours: dict[str, Numbers]
    ) -> Iterator[Piece]:
        """The groups of faces of a geometry, placed."""
        for mesh in geometry.all("mesh"):
            for group in mesh.children:
                if group.tag not in _FACES:
                    continue
                self.count += 1
                if self.count > MAX_PIECES:
                    raise ImportFileError(f"more than {MAX_PIECES} groups of faces")
                points = self.points(group)
                symbol = group.attributes.get("material", "")
                colour = colours.get(symbol) or self.colour(symbol)
                flipped = bool(np.linalg.det(place[:3, :3]) < 0.0)
                moved = points @ place[:3, :3].T + place[:3, 3]
                triangles = corners(group)
                yield Piece(moved, triangles[:, ::-1] if flipped else triangles, colour)

    def points(self, group: Node) -> np.ndarray:
        """(n, 3) positions that the indices of a group mean."""
        for use in group.all("input"):
            if use.attributes.get("semantic") != "VERTEX":
                continue
            vertices = self.named(use.attributes.get("source", ""))
            for inner in vertices.all("input") if vertices is not None else ():
                if inner.attributes.get("semantic") == "POSITION":
                    source = self.named(inner.attributes.get("source", ""))
                    if source is not None:
                        return _array(source)
        raise ValueError("faces without positions")


def _array(source: Node) -> np.ndarray:
    numbers = next(source.all("float_array")).numbers()
    strides = [int(n.attributes.get("stride", 3)) for n in source.walk() if n.tag == "accessor"]
    stride = max(3, strides[0] if strides else 3)
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def corners(group: Node) -> np.ndarray:
    """(k, 3) indices of positions: faces with more corners are fans."""
    inputs = list(group.all("input"))
    width = 1 + max(int(use.attributes.get("offset", 0)) for use in inputs)
    first = next(int(u.attributes.get("offset", 0)) for u in inputs if _is_vertex(u))
    polygons = [p.numbers().astype(np.int64) for p in group.all("p")]
    if not polygons:
        return np.zeros((0, 3), dtype=np.int64)
    if group.tag == "polygons":
        counts = np.array([len(p) // width for p in polygons])
        flat = np.concatenate([p[: n * width] for p, n in zip(polygons, counts, strict=True)])
    else:
        flat = polygons[0]
        counts = np.full(len(flat) // (3 * width), 3)
        if group.tag == "polylist":
            counts = next(group.all("vcount")).numbers().astype(np.int64)
    index = flat[: len(flat) // width * width].reshape(-1, width)[:, first]
    return _fans(index, counts)


def _is_vertex(use: Node) -> bool:
    return use.attributes.get("semantic") == "VERTEX"


def _fans(index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(a, b, c), (a, c, d), … for each polygon of so many corners."""
    counts = counts[np.cumsum(counts) <= len(index)]
    starts = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(counts)), each)
    step = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    a = starts[polygon]
    return np.stack([index[a], index[a + step + 1], index[a + step + 2]], axis=1)


def placement(node: Node) -> np.ndarray:
    """(4, 4) of the transformations of a node, in their order."""
    made = np.eye(4)
    for part in node.children:
        if part.tag == "matrix":
            made = made @ part.numbers().reshape(4, 4)
        elif part.tag == "translate":
            step = np.eye(4)
            step[:3, 3] = part.numbers()
            made = made @ step
        elif part.tag == "scale":
            made = made @ np.diag([*part.numbers(), 1.0])
        elif part.tag == "rotate":
            made = made @ _turn(part.numbers())
    return made


def _turn(numbers: np.ndarray) -> np.ndarray:
    """A rotation about an axis by an angle in degrees."""
    axis, angle = numbers[:3], np.deg2rad(numbers[3])
    made = np.eye(4)
    made[:3, :3] = exp_so3(axis / max(float(np.linalg.norm(axis)), 1e-300) * angle)
    return made
