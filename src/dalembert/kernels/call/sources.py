"""Which code made a kernel: a hash of the sources, as they were when they were imported.

An interpreter may be open while the package is upgraded. What it has imported is then no longer
what the files say, and it may still import the rest. No file is read at import for that; instead
every file must have been last touched before it (its ctime, which cannot be set). Where one was
touched later, nothing that this process compiles is found or left in the cache on disk.
"""

import functools
import hashlib
import os
import secrets
from collections.abc import Iterator
from importlib.util import find_spec

from dalembert.errors import CompileError
from dalembert.version import IMPORTED_NS


@functools.cache
def source_digest(package: str = "dalembert.kernels") -> str:
    """Hash of the sources of a package, by which compiled code notices that they have changed.

    Where they changed after they were imported, a word that no other process has.
    """
    digest, changed = hashlib.sha256(), False
    for folder in _folders(package):
        for entry in sorted(_python_files(folder), key=lambda entry: entry.path):
            changed |= entry.stat().st_ctime_ns >= IMPORTED_NS
            with open(entry.path, "rb", buffering=0) as stream:
                text = stream.read()
            digest.update(f"{entry.path[len(folder) :]} {len(text)}\n".encode() + text)
    return f"changed {secrets.token_hex(16)}" if changed else digest.hexdigest()


def as_imported(package: str = "dalembert") -> bool:
    """Whether the sources of a package are still those that this process imports."""
    return all(
        entry.stat().st_ctime_ns < IMPORTED_NS
        for folder in _folders(package)
        for entry in _python_files(folder)
    )


def _python_files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _python_files(entry.path)
            elif entry.name.endswith(".py"):
                yield entry


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CompileError(f"{package} is not an installed package")
    return list(spec.submodule_search_locations)
