"""Checksum manifests of a sweep's store: length and SHA-256 of every file.

Zarr has no checksums, and a missing file reads as a fill value. So the store lists its first files
(labels, sizes, units) in ``status/files.json``, and those of a chunk, with the reasons of its failures,
in ``status/chunk-00000003.json``, which is written last and marks the chunk as done. A manifest has a
checksum of its own, with its name and the study: one that was changed or exchanged counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from dalembert.errors import SimulationError
from dalembert.files import atomic_file

FOLDER = "status"  # the folder of an array, in which Zarr ignores files of other names
FIRST = "files"

Files = dict[str, list[Any]]  # length and SHA-256 by the path below the store


def file_checksums(files: Mapping[str, bytes]) -> Files:
    """The entries of a manifest for these files."""
    return {key: [len(data), sha256(data).hexdigest()] for key, data in files.items()}


def chunk_name(chunk: int) -> str:
    """The name of a chunk's manifest."""
    return f"chunk-{chunk:08d}"


class ChecksumManifest:
    """The manifests of one store; `study` is the identity in its attributes."""

    def __init__(self, top: Path, study: str) -> None:
        self.top, self.study = top, study
        self._known: dict[str, dict[str, Any]] = {}

    def write(self, name: str, files: Files, reasons: Mapping[int, str] | None = None) -> None:
        """Write a manifest, whole or not at all."""
        texts = {str(k): text for k, text in (reasons or {}).items()}
        manifest = {"files": files, "reasons": texts}
        with atomic_file(self.top / FOLDER / f"{name}.json") as part:
            part.write_text(json.dumps({**manifest, "seal": self._checksum(name, manifest)}))

    def read(self, name: str) -> dict[str, Any] | None:
        """A manifest with its "files" and "reasons"; None where it is missing or was changed."""
        if name in self._known:
            return self._known[name]
        try:
            data = (self.top / FOLDER / f"{name}.json").read_bytes()
            manifest: dict[str, Any] = json.loads(data)
            checksum = manifest.pop("seal")
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if checksum != self._checksum(name, manifest):
            return None
        self._known[name] = manifest
        return manifest

    def is_complete(self, index: int) -> bool:
        """Whether a chunk has a manifest, and all of its files their lengths."""
        manifest = self.read(chunk_name(index))
        if manifest is None:
            return False
        sizes = {self.top / key: size for key, (size, _) in manifest["files"].items()}
        return all(path.is_file() and path.stat().st_size == n for path, n in sizes.items())

    @cached_property
    def first(self) -> Files:
        """The first files of the store; an error where one of them is missing or was changed."""
        manifest = self.read(FIRST)
        if manifest is None:
            raise SimulationError(
                f"{str(self.top)!r}: {FOLDER}/{FIRST}.json is lost or changed; name another store"
            )
        files: Files = manifest["files"]
        for key in files:
            path = self.top / key
            _require(self.top, key, path.read_bytes() if path.is_file() else None, files[key])
        return files

    def has(self, key: str, data: bytes | None) -> bool:
        """Whether a manifest lists the file; an error where its bytes were changed."""
        if key in self.first:
            _require(self.top, key, data, self.first[key])
            return True
        number = key.rpartition("/")[2].partition(".")[0]
        manifest = self.read(chunk_name(int(number))) if number.isdecimal() else None
        if manifest is None or key not in manifest["files"]:
            return False  # of a chunk that is not done, or no file of the store
        _require(self.top, key, data, manifest["files"][key], int(number))
        return True

    def reasons(self) -> dict[int, str]:
        """Reasons of failures by the numbers of the runs."""
        reasons: dict[int, str] = {}
        for path in sorted((self.top / FOLDER).glob("chunk-*.json")):
            manifest = self.read(path.stem) or {"reasons": {}}
            reasons |= {int(k): text for k, text in manifest["reasons"].items()}
        return reasons

    def _checksum(self, name: str, manifest: Any) -> str:
        return sha256(json.dumps([self.study, name, manifest]).encode()).hexdigest()


def _require(top: Path, key: str, data: bytes | None, expected: list[Any], chunk: int = -1) -> None:
    """An error that names the file unless it has the bytes that were written."""
    if data is not None and [len(data), sha256(data).hexdigest()] == expected:
        return
    lost = "is lost" if data is None else "has changed on disk since it was written"
    remedy = "name another store"
    if chunk >= 0:
        remedy = f"delete {FOLDER}/{chunk_name(chunk)}.json, and the same sweep computes it again"
        key = f"{key} (chunk {chunk})"
    raise SimulationError(f"{str(top)!r}: {key} {lost}; {remedy}")
