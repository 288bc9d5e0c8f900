"""Checkpoints: a folder with one file per chunk of a run, each written whole or not at all.

Every chunk is sealed: a checksum over its numbers, its place in the run, the run's identity and the
seal of the chunk before. A chunk that was altered, exchanged or taken from another run is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import SimulationError
from dalembert.files import require_regular, whole

FORMAT = 3
HEADER = "run.json"
SEAL = "seal"
DAMAGED = (
    *(ValueError, OSError, KeyError, EOFError, TypeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # locked, or packed in another way
)


class SimulationWarning(UserWarning):
    """A run ended early or lost a convenience; its result says the same."""


class Checkpoint:
    """The chunks of one run on disk; a folder of another run is refused."""

    def __init__(self, folder: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.identity = {"format": FORMAT, **identity}
        self.broken = False
        self._seals: dict[int, str] = {-1: self._text(self.identity)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            header = self.folder / HEADER
            if header.exists():
                require_regular(header)
                self._compare(json.loads(header.read_text()))
            else:
                self._write(header, self._text(self.identity).encode())
        except OSError as error:
            raise SimulationError(
                f"checkpoint folder {str(self.folder)!r} cannot be used: {error.strerror}"
            ) from None
        except ValueError:  # not JSON, or not text at all
            raise SimulationError(
                f"{self.folder / HEADER} is not a checkpoint of this package; name another folder"
            ) from None

    @staticmethod
    def _text(identity: Mapping[str, Any]) -> str:
        return json.dumps(identity, indent=1)

    def _compare(self, found: Any) -> None:
        if not isinstance(found, Mapping):
            raise ValueError("a header is a table")
        for key, mine in self.identity.items():
            if found.get(key) != mine:
                raise SimulationError(
                    f"checkpoint folder {str(self.folder)!r} holds another run: {key} was "
                    f"{found.get(key)!r}, now {mine!r}; name another folder, or delete it"
                )

    def load(self, chunk: int) -> dict[str, np.ndarray] | None:
        """The arrays of a chunk, or None where the run did not get so far."""
        path = self._path(chunk)
        if not path.exists():
            return None
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            sealed = str(arrays.pop(SEAL))
        except DAMAGED as error:
            raise SimulationError(f"{path} cannot be read: {error}; delete it to go on") from None
        if sealed != self._seal(chunk, arrays):
            raise SimulationError(
                f"{path} is not what this run has written there: it was changed, exchanged or comes "
                "from another run; delete it and all later ones to go on"
            )
        return arrays

    def save(self, chunk: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a chunk; where the disk refuses, the run goes on in memory and says so once."""
        if self.broken:
            return
        path = self._path(chunk)
        sealed = {**arrays, SEAL: np.array(self._seal(chunk, arrays))}
        try:
            with whole(path) as part, open(part, "wb") as stream:
                np.savez(stream, **dict[str, Any](sealed))
        except OSError as error:
            self.broken = True
            warnings.warn(
                f"no more checkpoints in {str(self.folder)!r}: {error.strerror}; the run goes on, "
                "its result stays in memory",
                SimulationWarning,
                stacklevel=2,
            )

    def _seal(self, chunk: int, arrays: Mapping[str, np.ndarray]) -> str:
        """The checksum of a chunk that follows the ones sealed so far."""
        found = hashlib.sha256(f"{self._seals[chunk - 1]} {chunk}".encode())
        for name in sorted(arrays):
            value = np.ascontiguousarray(arrays[name])
            found.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
        self._seals[chunk] = found.hexdigest()
        return self._seals[chunk]

    def _path(self, chunk: int) -> Path:
        return self.folder / f"{chunk:06d}.npz"

    @staticmethod
    def _write(path: Path, text: bytes) -> None:
        with whole(path) as part:
            part.write_bytes(text)
