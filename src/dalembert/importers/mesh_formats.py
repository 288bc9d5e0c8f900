"""The pieces of STL, OBJ and COLLADA files, from their bytes, which nobody has checked.

Written here and not taken from trimesh 5.2 with pycollada 0.9: these are 6.5 MB, take 0.4 s to import,
expand XML entities, spend 22 s on 2 kB of nodes that repeat each other, and refuse COLLADA without
<scene>.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.xml_read import read_file, shown
from dalembert.model.looks import Numbers
from dalembert.spatial.rotations import exp_so3

MAX_TEXT = 48 * 2**20  # bytes of a file that is text, which takes many times as much to read
MAX_MATERIALS = 2**20  # bytes of a .mtl
MAX_ELEMENTS, MAX_XML_DEPTH = 200_000, 256  # of COLLADA's XML
MAX_PIECES, MAX_NODES, MAX_DEPTH = 2000, 100_000, 64  # of its scene
HEAD = 84  # bytes of a comment and the count in a binary STL
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)
_FACES = ("triangles", "polylist", "polygons")


class Piece(NamedTuple):
    """A part of a mesh in one colour: points (n, 3) in m, triangles (k, 3) of their indices."""

    points: np.ndarray
    triangles: np.ndarray
    colour: Numbers | None = None


def read_stl(data: bytes, path: Path) -> list[Piece]:
    """One piece. Text files begin with "solid", and so do some binary ones."""
    count = int.from_bytes(data[80:HEAD], "little") if len(data) >= HEAD else 0
    whole = len(data) >= HEAD + count * _TRIANGLE.itemsize
    if data.lstrip()[:5].lower() == b"solid" and (not whole or b"facet" in data[:1000]):
        if len(data) > MAX_TEXT:
            raise ImportFileError(
                f"{shown(path.name)} has too much text; a binary STL may be larger"
            )
        words = [float(word) for found in _VERTEX.findall(data) for word in found]
        corners = np.array(words).reshape(-1, 3)
    else:
        # a file cut short still has the triangles before the cut
        count = min(count, max(0, len(data) - HEAD) // _TRIANGLE.itemsize)
        corners = np.frombuffer(data, _TRIANGLE, count, HEAD)["corners"].reshape(-1, 3)
    corners = corners[: len(corners) // 3 * 3].astype(float)
    return [Piece(corners, np.arange(len(corners)).reshape(-1, 3))]


def read_obj(data: bytes, path: Path) -> list[Piece]:
    """A piece for each colour; colours are those of the .mtl beside the file."""
    lines = data.replace(b"\\\n", b" ").splitlines()
    vertices = [line.split()[1:4] for line in lines if line.startswith((b"v ", b"v\t"))]
    points = np.array([[float(x) for x in vertex] for vertex in vertices]).reshape(-1, 3)
    colours = _materials(lines, path)
    faces: dict[str, list[tuple[int, int, int]]] = {}
    own = faces.setdefault("", [])
    seen = 0
    for line in lines:
        if line.startswith((b"v ", b"v\t")):
            seen += 1
        elif line.startswith((b"f ", b"f\t")):
            # 7/1/3 is vertex 7 with its texture and normal; −1 is the last vertex so far
            corners = [int(word.partition(b"/")[0]) for word in line.split()[1:]]
            corners = [k - 1 if k > 0 else seen + k for k in corners]
            own.extend((corners[0], b, c) for b, c in pairwise(corners[1:]))
        elif line.startswith(b"usemtl"):
            own = faces.setdefault(_name(line), [])
    return [
        Piece(points, np.array(found).reshape(-1, 3), colours.get(name))
        for name, found in faces.items()
        if found or name == ""
    ]


def _name(line: bytes) -> str:
    return line.decode(errors="replace").partition(" ")[2].strip()


def _materials(lines: list[bytes], path: Path) -> dict[str, Numbers]:
    """Diffuse colours by name, out of the libraries in the folder of the file itself."""
    found: dict[str, Numbers] = {}
    for line in lines:
        if not line.startswith(b"mtllib"):
            continue
        library = path.parent / Path(_name(line).replace("\\", "/")).name
        try:
            text = read_file(library, MAX_MATERIALS).decode(errors="replace")
        except ImportFileError:
            continue
        name = ""
        for key, rest in re.findall(r"^[ \t]*(newmtl|Kd)[ \t]+(.*?)\s*$", text, re.MULTILINE):
            if key == "newmtl":
                name = rest
            elif len(numbers := _numbers(rest)) == 3:
                found[name] = (*numbers, 1.0)
    return found


def _numbers(text: str) -> Numbers:
    try:
        return tuple(min(1.0, max(0.0, float(word))) for word in text.split()[:3])
    except ValueError:
        return ()


def read_dae(data: bytes, path: Path) -> list[Piece]:
    """A piece for each group of faces, in m, in the colours of their materials.

    As other readers of robots have it, the file's axes are those of the link, whichever it calls up.
    """
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
        for geometry in root.walk():
            if geometry.tag == "geometry":
                found += file.faces(geometry, scale, {})
    return found


class _File:
    """A file with its parts by id."""

    def __init__(self, root: Node) -> None:
        self.ids = {n.attributes["id"]: n for n in root.walk() if "id" in n.attributes}
        self.count = self.visited = 0

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
    numbers = source.one("float_array").numbers()
    strides = [int(n.attributes.get("stride", 3)) for n in source.walk() if n.tag == "accessor"]
    stride = max(3, strides[0] if strides else 3)
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def corners(group: Node) -> np.ndarray:
    """(k, 3) indices of positions: faces with more corners are fans."""
    inputs = list(group.all("input"))
    width = 1 + max(int(use.attributes.get("offset", 0)) for use in inputs)
    vertex = next(use for use in inputs if use.attributes.get("semantic") == "VERTEX")
    first = int(vertex.attributes.get("offset", 0))
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
            counts = group.one("vcount").numbers().astype(np.int64)
    index = flat[: len(flat) // width * width].reshape(-1, width)[:, first]
    return _fans(index, counts)


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
            axis, angle = part.numbers()[:3], np.deg2rad(part.numbers()[3])
            turn = np.eye(4)
            turn[:3, :3] = exp_so3(axis / max(float(np.linalg.norm(axis)), 1e-300) * angle)
            made = made @ turn
    return made


@dataclass(slots=True)
class Node:
    """An element: its tag, attributes, children, and its text in pieces."""

    tag: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Node]:
        """Children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Node:
        """The first child with this tag."""
        for child in self.all(tag):
            return child
        raise ValueError(f"<{self.tag}> without <{tag}>")

    def walk(self) -> Iterator[Node]:
        """This element and everything below it."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def numbers(self) -> np.ndarray:
        """The text as numbers (n,)."""
        return np.array(list(map(float, "".join(self.text).split())))


def parse(data: bytes, file: str) -> Node:
    """The root of a document without entities and without references to other files."""
    top = Node("", {})
    stack, count = [top], 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(stack) > MAX_XML_DEPTH:
            raise ImportFileError("it has too many elements, or too deep ones", file)
        node = Node(tag.rpartition(":")[2], attributes)
        stack[-1].children.append(node)
        stack.append(node)

    def refuse(*_: Any) -> NoReturn:
        raise ImportFileError("entities are refused", file)

    reader: Any = expat.ParserCreate()
    reader.buffer_text, reader.buffer_size = True, 2**20
    reader.StartElementHandler = start
    reader.EndElementHandler = lambda tag: stack.pop()
    reader.CharacterDataHandler = lambda text: stack[-1].text.append(text)
    reader.EntityDeclHandler = reader.ExternalEntityRefHandler = refuse
    reader.SkippedEntityHandler = refuse
    try:
        reader.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ImportFileError(f"this is not valid XML: {reason}", file, error.lineno) from None
    return top.children[0]
