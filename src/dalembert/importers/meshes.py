"""Reading mesh files of a robot: STL, OBJ and COLLADA.

They are as untrusted as the robot's file: only below allowed folders, never from a network, bounded
in bytes; triangles with numbers that are not finite are dropped. Written here and not taken from
trimesh 5.2 with pycollada 0.9: these are 6.5 MB, take 0.4 s to import, expand XML entities, spend 22 s
on 2 kB of nodes that repeat each other, and refuse COLLADA without <scene>.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.file_access import remedy
from dalembert.importers.safe_parsing import Element, excerpt, parse_xml, read_file
from dalembert.model.notes import Numbers, SearchPaths, Visual
from dalembert.spatial.rotations import exp_so3
from dalembert.spatial.se3 import pose

MAX_BYTES = 96 * 2**20  # of one file
FURTHEST = 1e4  # m from the origin: a point beyond is a mistake
UP = 8  # folders up from a robot's file in which its own package is looked for
_SCHEMES = ("package://", "model://", "file://")
MAX_TEXT = 48 * 2**20  # bytes of a file that is text, which takes many times as much to read
MAX_MATERIALS = 2**20  # bytes of a .mtl
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
                f"{excerpt(path.name)} has too much text; a binary STL may be larger"
            )
        words = [float(word) for vertex in _VERTEX.findall(data) for word in vertex]
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
    colours = _materials(lines, path)
    vertices: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    own = faces.setdefault("", [])
    for line in lines:
        if line.startswith((b"v ", b"v\t")):
            vertices.append([float(x) for x in line.split()[1:4]])
        elif line.startswith((b"f ", b"f\t")):
            # 7/1/3 is vertex 7 with its texture and normal; −1 is the last vertex so far
            corners = [int(word.partition(b"/")[0]) for word in line.split()[1:]]
            corners = [k - 1 if k > 0 else len(vertices) + k for k in corners]
            own.extend((corners[0], b, c) for b, c in pairwise(corners[1:]))
        elif line.startswith(b"usemtl"):
            own = faces.setdefault(_name(line), [])
    points = np.array(vertices).reshape(-1, 3)
    return [
        Piece(points, np.array(triangles).reshape(-1, 3), colours.get(name))
        for name, triangles in faces.items()
        if triangles or name == ""
    ]


def _name(line: bytes) -> str:
    return line.decode(errors="replace").partition(" ")[2].strip()


def _materials(lines: list[bytes], path: Path) -> dict[str, Numbers]:
    """Diffuse colours by name, out of the libraries in the folder of the file itself."""
    colours: dict[str, Numbers] = {}
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
                continue
            with suppress(ValueError):
                red, green, blue = map(float, rest.split()[:3])
                colours[name] = _colour(red, green, blue)
    return colours


def _colour(*rgb: float) -> Numbers:
    """An opaque colour; numbers beyond the range from 0 to 1 are at its ends."""
    return (*(min(1.0, max(0.0, x)) for x in rgb), 1.0)


def read_dae(data: bytes, path: Path) -> list[Piece]:
    """A piece for each group of faces, in m, in the colours of their materials.

    As other readers of robots have it, the file's axes are those of the link, whichever it calls up.
    """
    root = parse_xml(data, path.name, MAX_TEXT)
    for element in root.walk():
        element.tag = element.tag.rpartition(":")[2]
    file = _File(root)
    metre = next((float(x.attributes.get("meter", 1.0)) for x in _inside(root, "unit")), 1.0)
    scale = np.diag([metre, metre, metre, 1.0])
    pieces: list[Piece] = []
    scene = next(_inside(root, "visual_scene"), None)
    for node in scene.all("node") if scene is not None else ():
        pieces += file.pieces(node, scale, 0)
    for geometry in _inside(root, "geometry") if scene is None else ():
        pieces += file.faces(geometry, scale, {})
    return pieces


def _inside(element: Element | None, tag: str) -> Iterator[Element]:
    """Elements with this tag in an element, if there is one, in document order."""
    return (x for x in element.walk() if x.tag == tag) if element is not None else iter(())


class _File:
    """A file with its parts by id."""

    def __init__(self, root: Element) -> None:
        self.ids = {n.attributes["id"]: n for n in root.walk() if "id" in n.attributes}
        self.count = self.visited = 0

    def named(self, reference: str) -> Element | None:
        return self.ids.get(reference.removeprefix("#"))

    def pieces(self, node: Element, above: np.ndarray, depth: int) -> Iterator[Piece]:
        """The pieces of a node and of everything below it."""
        self.visited += 1
        if depth > MAX_DEPTH or self.visited > MAX_NODES:
            raise ImportFileError(
                "its nodes are nested too deep, in a circle, or repeated too often"
            )
        here = above @ _transform(node)
        for part in node.children:
            target = self.named(part.attributes.get("url", ""))
            if part.tag == "instance_geometry" and target is not None:
                colours = {}  # by the symbols that groups of faces use
                for use in _inside(part, "instance_material"):
                    colour = self.colour(use.attributes.get("target", ""))
                    if colour is not None:
                        colours[use.attributes.get("symbol", "")] = colour
                yield from self.faces(target, here, colours)
            elif part.tag == "instance_node" and target is not None:
                yield from self.pieces(target, here, depth + 1)
            elif part.tag == "node":
                yield from self.pieces(part, here, depth + 1)

    def colour(self, reference: str) -> Numbers | None:
        """The diffuse colour of a material."""
        for use in _inside(self.named(reference), "instance_effect"):
            for diffuse in _inside(self.named(use.attributes.get("url", "")), "diffuse"):
                for colour in diffuse.all("color"):
                    rgb = _floats(colour)[:3].tolist()
                    return _colour(*rgb) if len(rgb) == 3 else None
        return None

    def faces(
        self, geometry: Element, above: np.ndarray, colours: dict[str, Numbers]
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
                flipped = bool(np.linalg.det(above[:3, :3]) < 0.0)
                placed = points @ above[:3, :3].T + above[:3, 3]
                triangles = _corners(group)
                yield Piece(placed, triangles[:, ::-1] if flipped else triangles, colour)

    def points(self, group: Element) -> np.ndarray:
        """(n, 3) positions that the indices of a group mean."""
        for vertices in self.sources(group, "VERTEX"):
            for source in self.sources(vertices, "POSITION"):
                numbers = _floats(source.one("float_array"))
                strides = [int(x.attributes.get("stride", 3)) for x in _inside(source, "accessor")]
                stride = max([3, *strides[:1]])
                count = len(numbers) // stride
                return numbers[: count * stride].reshape(-1, stride)[:, :3]
        raise ValueError("faces without positions")

    def sources(self, element: Element, semantic: str) -> Iterator[Element]:
        """What the inputs of this meaning refer to."""
        for use in element.all("input"):
            source = self.named(use.attributes.get("source", ""))
            if use.attributes.get("semantic") == semantic and source is not None:
                yield source


def _corners(group: Element) -> np.ndarray:
    """(k, 3) indices of positions: faces with more corners are fans."""
    inputs = list(group.all("input"))
    width = 1 + max(int(use.attributes.get("offset", 0)) for use in inputs)
    vertex = next(use for use in inputs if use.attributes.get("semantic") == "VERTEX")
    first = int(vertex.attributes.get("offset", 0))
    polygons = [_floats(p).astype(np.int64) for p in group.all("p")]
    if not polygons:
        return np.zeros((0, 3), dtype=np.int64)
    if group.tag == "polygons":
        counts = np.array([len(p) // width for p in polygons])
        flat = np.concatenate([p[: n * width] for p, n in zip(polygons, counts, strict=True)])
    else:
        flat = polygons[0]
        counts = np.full(len(flat) // (3 * width), 3)
        if group.tag == "polylist":
            counts = _floats(group.one("vcount")).astype(np.int64)
    index = flat[: len(flat) // width * width].reshape(-1, width)[:, first]
    # (a, b, c), (a, c, d), … for each polygon of so many corners
    counts = counts[np.cumsum(counts) <= len(index)]
    starts = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(counts)), each)
    step = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    a = starts[polygon]
    return np.stack([index[a], index[a + step + 1], index[a + step + 2]], axis=1)


def _transform(node: Element) -> np.ndarray:
    """(4, 4) of the transformations of a node, in their order."""
    transform = np.eye(4)
    for part in node.children:
        if part.tag == "matrix":
            transform = transform @ _floats(part).reshape(4, 4)
        elif part.tag == "translate":
            transform = transform @ pose(p=_floats(part))
        elif part.tag == "scale":
            transform = transform @ np.diag([*_floats(part), 1.0])
        elif part.tag == "rotate":
            *axis, angle = _floats(part)[:4]
            length = max(float(np.linalg.norm(axis)), 1e-300)
            transform = transform @ pose(exp_so3(np.array(axis) / length * np.deg2rad(angle)))
    return transform


def _floats(element: Element | None) -> np.ndarray:
    """The numbers (n,) between the tags."""
    if element is None:
        raise ValueError("a list of numbers is missing")
    return np.array([float(word) for word in element.text.split()])


_READERS = {".stl": read_stl, ".obj": read_obj, ".dae": read_dae}


def read_mesh(visual: Visual) -> list[Piece]:
    """The pieces of the mesh of a look, scaled; an `ImportFileError` says why there are none.

    A file with points but without triangles is the box around them.
    """
    path, name = find_mesh(visual), excerpt(visual.file)
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise ImportFileError(f"{excerpt(path.name)} is not drawn: STL, OBJ and DAE are")
    try:
        data = read_file(path, MAX_BYTES if ending == ".stl" else MAX_TEXT)
        pieces = _READERS[ending](data, path)
    except ImportFileError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise ImportFileError(f"{name} is broken: {' '.join(str(error).split())[:120]}") from None
    scale = np.asarray(visual.size, dtype=float)
    scaled, loose = [], []
    for piece in pieces:  # with triangles of good points only; a mirror turns them over
        points = np.asarray(piece.points, dtype=float).reshape(-1, 3) * scale
        triangles = np.asarray(piece.triangles, dtype=np.int64).reshape(-1, 3)
        with np.errstate(invalid="ignore"):
            good = (np.abs(points) <= FURTHEST).all(axis=1)  # false for nan
        triangles = triangles[((triangles >= 0) & (triangles < len(points))).all(axis=1)]
        triangles = triangles[good[triangles].all(axis=1)]
        if np.prod(scale) < 0.0:
            triangles = triangles[:, ::-1]
        if len(triangles):
            points = np.where(np.isfinite(points), points, 0.0)
            scaled.append(Piece(points, triangles, piece.colour))
        else:
            loose.append(points[good])
    if scaled:
        return scaled
    around = np.concatenate([np.zeros((0, 3)), *loose])
    if not len(around):
        raise ImportFileError(f"{name} is broken: no triangle can be read")
    return [box_around(around)]


def box_around(points: np.ndarray) -> Piece:
    """The box along the axes around points (n, 3)."""
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    return Piece(np.where(corners == 1, high, low), np.array(triangles))


def find_mesh(visual: Visual) -> Path:
    """The path of a mesh; one that is not there or not allowed is an error that says so."""
    name, paths = visual.file, visual.search_paths
    if "://" in name and not name.startswith(_SCHEMES):
        raise ImportFileError(f"{excerpt(name)} is not opened: nothing is fetched from a network")
    if paths.home is None:
        raise ImportFileError(f"{excerpt(name)} is not opened: text has no folder to find files in")
    allowed = [Path(folder) for folder in paths.allowed]
    try:
        for path, own in _candidates(name, paths):
            path = path.resolve()
            if path.is_file():
                roots = [*allowed, own] if own is not None else allowed
                if any(path.is_relative_to(root) for root in roots):
                    return path
                hint = remedy(path.parent, Path(paths.home))
                raise ImportFileError(f"{excerpt(name)} lies outside the robot's folder; {hint}")
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, ImportFileError):
            raise
        raise ImportFileError(f"{excerpt(name)} is not a path") from None
    raise ImportFileError(f"{excerpt(name)} is not there")


def _candidates(name: str, paths: SearchPaths) -> Iterator[tuple[Path, Path | None]]:
    """Where a mesh may lie, with the package that the robot's own file is a part of.

    A folder above the robot's file that is called like the package and has a package.xml is that
    package; other packages are looked for beside the folders above.
    """
    scheme = next((scheme for scheme in _SCHEMES if name.startswith(scheme)), "")
    rest = name[len(scheme) :].replace("\\", "/")
    if scheme == "file://" or not scheme:
        for folder in paths.folders:
            yield Path(folder) / rest, None
        return
    package, _, inner = rest.lstrip("/").partition("/")
    home = Path(paths.home or "")
    for above in [home, *home.parents][:UP]:
        if above.name == package:
            yield above / inner, above if (above / "package.xml").is_file() else None
        yield above / package / inner, None
    yield home / inner, None
