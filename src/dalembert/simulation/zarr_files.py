"""A dataset as the files of a Zarr store, made in memory.

Zarr writes from several threads, and where one of them fails the others go on: they would fill a
folder that was given up and removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray


def zarr_files(
    dataset: xarray.Dataset, more: Callable[[Any], Any] = lambda group: None, **options: Any
) -> dict[str, bytes]:
    """Contents by their paths in the store; `more` may add arrays to its group."""
    from zarr import open_group
    from zarr.storage import MemoryStore

    held: dict[str, Any] = {}
    store: Any = MemoryStore(held)
    dataset.to_zarr(store, mode="w", zarr_format=2, **options)  # quiet in every version of zarr
    more(open_group(store, mode="r+"))
    return {name: buffer.to_bytes() for name, buffer in held.items()}
