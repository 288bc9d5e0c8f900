"""Lists of what a store of a sweep has written: every file by its length and its SHA-256.

Zarr keeps no checksums, and what is not there reads as a fill value. So the store lists the files it
is made with (labels, sizes, units) in ``status/files.json``, those of a chunk, with the reasons of its
failures, in ``status/chunk-00000003.json``; that list is written last and says that the chunk is done.
A list is sealed with its name and the study: one that was changed or exchanged counts as not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from dalembert.errors import SimulationError
from dalembert.files import whole

FOLDER = "status"  # the folder of an array, in which Zarr minds no file of another name
FIRST = "files"

Files = dict[str, list[Any]]  # length and SHA-256 by the path below the store


def listed(files: Mapping[str, bytes]) -> Files:
    """What a list says of files."""
    return {key: [len(data), sha256(data).hexdigest()] for key, data in files.items()}


def name_of(chunk: int) -> str:
    """The name of a chunk's list."""
    return f"chunk-{chunk:08d}"


class Seals:
    """The lists of one store; `study` is what its attributes say that it holds."""

    def __init__(self, top: Path, study: str) -> None:
        self.top, self.study = top, study
        self._known: dict[str, dict[str, Any]] = {}

    def write(self, name: str, files: Files, reasons: Mapping[int, str] | None = None) -> None:
        """Write a list, whole or not at all."""
        told = {"files": files, "reasons": {str(k): text for k, text in (reasons or {}).items()}}
        with whole(self._path(name)) as part:
            part.write_text(json.dumps({**told, "seal": self._seal(name, told)}))

    def read(self, name: str) -> dict[str, Any] | None:
        """A list with its "files" and "reasons"; None where it is not there, or not as written."""
        if name in self._known:
            return self._known[name]
        try:
            told = json.loads(self._path(name).read_bytes())
            sealed = told.pop("seal")
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if sealed != self._seal(name, told):
            return None
        self._known[name] = told
        return told

    def chunk(self, index: int) -> dict[str, Any] | None:
        """The list of a chunk that is done, all of whose files are there with their lengths."""
        told = self.read(name_of(index))
        whole_files = told and all(_has(self.top / k, n) for k, (n, _) in told["files"].items())
        return told if whole_files else None

    @cached_property
    def first(self) -> Files:
        """Files that the store was made with; an error where one of them is not what it was."""
        told = self.read(FIRST)
        if told is None:
            raise SimulationError(
                f"{str(self.top)!r}: {FOLDER}/{FIRST}.json, the list of the store's files, is lost "
                "or changed; name another store"
            )
        files: Files = told["files"]
        for key in files:
            path = self.top / key
            _require(self.top, key, path.read_bytes() if path.is_file() else None, files[key])
        return files

    def has(self, key: str, data: bytes | None) -> bool:
        """Whether a file is one that was written; an error where its bytes are others."""
        if key in self.first:
            _require(self.top, key, data, self.first[key])
            return True
        number = key.rpartition("/")[2].partition(".")[0]
        told = self.read(name_of(int(number))) if number.isdecimal() else None
        if told is None or key not in told["files"]:
            return False  # of a chunk that is not done, or nobody's
        _require(self.top, key, data, told["files"][key], int(number))
        return True

    def reasons(self) -> dict[int, str]:
        """Why runs failed, by their numbers."""
        found: dict[int, str] = {}
        for path in sorted((self.top / FOLDER).glob("chunk-*.json")):
            told = self.read(path.stem) or {"reasons": {}}
            found |= {int(k): text for k, text in told["reasons"].items()}
        return found

    def _path(self, name: str) -> Path:
        return self.top / FOLDER / f"{name}.json"

    def _seal(self, name: str, told: Any) -> str:
        return sha256(json.dumps([self.study, name, told]).encode()).hexdigest()


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _require(top: Path, key: str, data: bytes | None, wanted: list[Any], chunk: int = -1) -> None:
    """An error that names the file unless it has the bytes that were written."""
    if data is not None and [len(data), sha256(data).hexdigest()] == wanted:
        return
    lost = "is lost" if data is None else "has changed on disk since it was written"
    remedy = "name another store"
    if chunk >= 0:
        remedy = f"delete {FOLDER}/{name_of(chunk)}.json, and the same sweep computes it again"
        key = f"{key} (chunk {chunk})"
    raise SimulationError(f"{str(top)!r}: {key} {lost}; {remedy}")
