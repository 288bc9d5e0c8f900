"""A read-only Zarr store that checks every file against its checksum manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zarr.storage import LocalStore

from dalembert.errors import SimulationError
from dalembert.sweeps.checksums import ChecksumManifest


class CheckedStore(LocalStore):
    """Files below a folder; those without a checksum do not exist, see `ChecksumManifest.has`."""

    def __init__(self, root: Path, *, read_only: bool = True, manifest: ChecksumManifest) -> None:
        super().__init__(root, read_only=read_only)
        self.manifest = manifest

    def with_read_only(self, read_only: bool = True) -> CheckedStore:
        """This store, which is never written."""
        return self

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """The bytes of a file, or None; an error if it was changed."""
        with self._errors(key):
            data = await super().get(key, prototype)
        if not self.manifest.has(key, None if data is None else data.to_bytes()):
            return None
        return data if byte_range is None else await super().get(key, prototype, byte_range)

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        """`get` for versions of Zarr that read synchronously."""
        with self._errors(key):
            data = super().get_sync(key, prototype=prototype)
        if not self.manifest.has(key, None if data is None else data.to_bytes()):
            return None
        part = {"prototype": prototype, "byte_range": byte_range}
        return data if byte_range is None else super().get_sync(key, **part)

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Errors of the disk as a `SimulationError` that names the file."""
        path = self.root / key
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would block
            raise SimulationError(f"{str(self.root)!r}: {key} is no file; name another store")
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise SimulationError(f"{str(self.root)!r}: {key} cannot be read: {reason}") from error

    async def get_partial_values(
        self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]
    ) -> list[Any]:
        """Parts of files, each checked as a whole."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether the file is listed and present."""
        return await self.get(key) is not None
