"""Checkpoints: a folder with one file per chunk of a run, each written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import SimulationError

FORMAT = 1
HEADER = "run.json"


class SimulationWarning(UserWarning):
    """A run ended early or lost a convenience; its result says the same."""


class Checkpoint:
    """The chunks of one run on disk; a folder of another run is refused."""

    def __init__(self, folder: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.identity = {"format": FORMAT, **identity}
        self.broken = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            header = self.folder / HEADER
            if header.exists():
                self._compare(json.loads(header.read_text()))
            else:
                self._write(header, json.dumps(self.identity, indent=1).encode())
        except OSError as error:
            raise SimulationError(
                f"checkpoint folder {str(self.folder)!r} cannot be used: {error.strerror}"
            ) from None
        except json.JSONDecodeError:
            raise SimulationError(
                f"{self.folder / HEADER} is not a checkpoint of this package; name another folder"
            ) from None

    def _compare(self, found: Mapping[str, Any]) -> None:
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
            with np.load(path, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (ValueError, OSError, KeyError) as error:
            raise SimulationError(f"{path} cannot be read: {error}; delete it to go on") from None

    def save(self, chunk: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a chunk; where the disk refuses, the run goes on in memory and says so once."""
        if self.broken:
            return
        path = self._path(chunk)
        part = path.with_suffix(".part")
        try:
            with open(part, "wb") as stream:
                np.savez(stream, **dict[str, Any](arrays))
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, path)
        except OSError as error:
            self.broken = True
            part.unlink(missing_ok=True)
            warnings.warn(
                f"no more checkpoints in {str(self.folder)!r}: {error.strerror}; the run goes on, "
                "its result stays in memory",
                SimulationWarning,
                stacklevel=2,
            )

    def _path(self, chunk: int) -> Path:
        return self.folder / f"{chunk:06d}.npz"

    @staticmethod
    def _write(path: Path, text: bytes) -> None:
        part = path.with_suffix(".part")
        part.write_bytes(text)
        os.replace(part, path)


def digest(*arrays: Any) -> str:
    """A short hash of numbers, to recognise the same run again."""
    found = hashlib.sha256()
    for array in arrays:
        value = np.asarray(array, dtype=float)
        found.update(f"{value.shape}".encode() + value.tobytes())
    return found.hexdigest()[:16]
