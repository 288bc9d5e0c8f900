"""Meshes that a robot's file names, opened for who draws it: STL, OBJ and COLLADA.

They are as untrusted as the robot's file: only below allowed folders, never from a network, bounded
in bytes, and numbers that are not finite take their triangles with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.mesh_formats import MAX_TEXT, Piece, read_dae, read_obj, read_stl
from dalembert.importers.mjcf_files import remedy
from dalembert.importers.xml_read import read_file, shown
from dalembert.model.looks import Look, Places

MAX_BYTES = 96 * 2**20  # of one file
FURTHEST = 1e4  # m from the origin: a point beyond is a mistake
UP = 8  # folders up from a robot's file in which its own package is looked for
_SCHEMES = ("package://", "model://", "file://")
_READERS = {".stl": read_stl, ".obj": read_obj, ".dae": read_dae}


def read_mesh(look: Look) -> list[Piece]:
    """The pieces of the mesh of a look, scaled; an `ImportFileError` says why there are none.

    A file with points but without triangles is the box around them.
    """
    path, name = find_mesh(look), shown(look.file)
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise ImportFileError(f"{shown(path.name)} is not drawn: STL, OBJ and DAE are")
    try:
        data = read_file(path, MAX_BYTES if ending == ".stl" else MAX_TEXT)
        pieces = _READERS[ending](data, path)
    except ImportFileError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
        raise ImportFileError(f"{name} is broken: {' '.join(str(error).split())[:120]}") from None
    scale = np.asarray(look.size, dtype=float)
    sound = [_sound(piece, scale) for piece in pieces]
    if any(len(piece.triangles) for piece in sound):
        return [piece for piece in sound if len(piece.triangles)]
    points = [piece.points for piece in sound if len(piece.points)]
    if not points:
        raise ImportFileError(f"{name} is broken: no triangle can be read")
    return [box_around(np.concatenate(points))]


def _sound(piece: Piece, scale: np.ndarray) -> Piece:
    """The piece scaled, with triangles of good points only; a mirror turns them over."""
    points = np.asarray(piece.points, dtype=float).reshape(-1, 3) * scale
    triangles = np.asarray(piece.triangles, dtype=np.int64).reshape(-1, 3)
    with np.errstate(invalid="ignore"):
        good = (np.abs(points) <= FURTHEST).all(axis=1)  # false for nan
    inside = ((triangles >= 0) & (triangles < len(points))).all(axis=1)
    triangles = triangles[inside]
    triangles = triangles[good[triangles].all(axis=1)]
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    if not len(triangles):
        points = points[good]
    return Piece(np.where(np.isfinite(points), points, 0.0), triangles, piece.colour)


def box_around(points: np.ndarray) -> Piece:
    """The box along the axes around points (n, 3)."""
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    return Piece(np.where(corners == 1, high, low), np.array(triangles))


def find_mesh(look: Look) -> Path:
    """The path of a mesh; one that is not there or not allowed is an error that says so."""
    name, places = look.file, look.places
    if "://" in name and not name.startswith(_SCHEMES):
        raise ImportFileError(f"{shown(name)} is not opened: nothing is fetched from a network")
    if places.home is None:
        raise ImportFileError(f"{shown(name)} is not opened: text has no folder to find files in")
    allowed = [Path(folder) for folder in places.allowed]
    try:
        for path, own in _candidates(name, places):
            path = path.resolve()
            if path.is_file():
                roots = [*allowed, own] if own is not None else allowed
                if any(path.is_relative_to(root) for root in roots):
                    return path
                said = remedy(path.parent, Path(places.home))
                raise ImportFileError(f"{shown(name)} lies outside the robot's folder; {said}")
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, ImportFileError):
            raise
        raise ImportFileError(f"{shown(name)} is not a path") from None
    raise ImportFileError(f"{shown(name)} is not there")


def _candidates(name: str, places: Places) -> Iterator[tuple[Path, Path | None]]:
    """Where a mesh may lie, with the package that the robot's own file is a part of.

    A folder above the robot's file that is called like the package and has a package.xml is that
    package; other packages are looked for beside the folders above.
    """
    scheme = next((scheme for scheme in _SCHEMES if name.startswith(scheme)), "")
    rest = name[len(scheme) :].replace("\\", "/")
    if scheme == "file://" or not scheme:
        for folder in places.folders:
            yield Path(folder) / rest, None
        return
    package, _, inner = rest.lstrip("/").partition("/")
    home = Path(places.home or "")
    for above in [home, *home.parents][:UP]:
        if above.name == package:
            yield above / inner, above if (above / "package.xml").is_file() else None
        yield above / package / inner, None
    yield home / inner, None
