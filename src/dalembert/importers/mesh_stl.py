"""STL: triangles one after the other, binary or as text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.meshes import MAX_TEXT, Piece
from dalembert.importers.xml_read import shown

_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)
HEAD = 84  # bytes of a comment and the count


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
