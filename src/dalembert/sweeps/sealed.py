"""A Zarr store that is read only, and whose every file is checked against its list when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zarr.storage import LocalStore

from dalembert.errors import SimulationError
from dalembert.sweeps.seals import Seals


class Sealed(LocalStore):
    """Files below a folder; what no list names is not there, see `Seals.has`."""

    def __init__(self, root: Path, *, read_only: bool = True, seals: Seals) -> None:
        super().__init__(root, read_only=read_only)
        self.seals = seals

    def with_read_only(self, read_only: bool = True) -> Sealed:
        """The same store: it is never written."""
        return self

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """The bytes of a file as they were written, or None; an error that names a changed one."""
        with self._said(key):
            found = await super().get(key, prototype)
        there = self.seals.has(key, None if found is None else found.to_bytes())
        if there and byte_range is not None:
            return await super().get(key, prototype, byte_range)
        return found if there else None

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        """As `get`, for versions of Zarr that read without waiting."""
        with self._said(key):
            found = super().get_sync(key, prototype=prototype)
        there = self.seals.has(key, None if found is None else found.to_bytes())
        if there and byte_range is not None:
            return super().get_sync(key, prototype=prototype, byte_range=byte_range)
        return found if there else None

    @contextmanager
    def _said(self, key: str) -> Iterator[None]:
        """A disk that refuses is an error of ours, which names the file."""
        path = self.root / key
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would wait for ever
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
        """Whether a list names the file, and it is there."""
        return await self.get(key) is not None
