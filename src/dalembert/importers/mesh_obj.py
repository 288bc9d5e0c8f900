"""Wavefront OBJ: vertices, faces of any number of corners, and colours from the .mtl beside it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.meshes import Piece
from dalembert.importers.xml_read import read_file
from dalembert.model.looks import Numbers

MAX_MATERIALS = 2**20  # bytes of a .mtl


def read_obj(data: bytes, path: Path) -> list[Piece]:
    """A piece for each colour."""
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
