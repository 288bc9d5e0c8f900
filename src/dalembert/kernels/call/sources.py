"""Which code made a kernel: a hash of the sources, as they were when they were imported.

An interpreter may be open while the package is upgraded. What it has imported is then no longer
what the files say, and it may still import the rest. No file is read at import for that; instead
every file must have been last touched before it (its ctime, which cannot be set). Where one was
touched later, nothing that this process compiles is found or left in the cache on disk.

Reading 150 files takes longer than all else before a first call, so the cache remembers the hash of
files that have not been touched since. File systems that keep whole seconds only (images, archives
that are mounted) say too little for that: there they are read.
"""

import functools
import hashlib
import os
from collections.abc import Iterator
from importlib.util import find_spec

from dalembert.errors import CompileError
from dalembert.kernels.call import cache
from dalembert.version import IMPORTED_NS

File = tuple[str, int, int, int]
"""Path, ctime in nanoseconds, length and inode of a file."""
_SECOND = 10**9
_MEMORY = f"hashes of sources, 1\n{__file__}"
_new: dict[str, tuple[str, str]] = {}


@functools.cache
def source_digest(package: str = "dalembert.kernels") -> str:
    """Hash of the sources of a package, by which compiled code notices that they have changed.

    Where they changed after they were imported, and where the cache is off so that nobody asks, a
    word that no other process has.
    """
    if cache.directory() is None:
        return _unlike_any_other()
    files = _files(package)
    if not _before_import(files):
        return _unlike_any_other()
    seen = hashlib.sha256(repr(files).encode()).hexdigest()
    known, digest = _remembered().get(package, ("", ""))
    if known != seen:
        digest = _hash(files, _folders(package))
        if _files(package) != files:  # touched while they were read
            return _unlike_any_other()
        if all(ctime % _SECOND for _, ctime, _, _ in files):
            _new[package] = seen, digest
    return digest


def remember() -> None:
    """Leave what was read here for the next process, if anything was."""
    if _new:
        known = {**_remembered(), **_new}
        _new.clear()
        cache.put(_MEMORY, "\n".join(" ".join((p, *pair)) for p, pair in known.items()).encode())


def as_imported(package: str = "dalembert") -> bool:
    """Whether the sources of a package are still those that this process imports."""
    return _before_import(_files(package))


@functools.cache
def _remembered() -> dict[str, tuple[str, str]]:
    """What earlier processes saw and read of each package."""
    stored = (cache.get(_MEMORY) or b"").decode(errors="replace")
    rows = [line.split(" ") for line in stored.splitlines()]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def _before_import(files: list[File]) -> bool:
    return all(ctime < IMPORTED_NS for _, ctime, _, _ in files)


def _unlike_any_other() -> str:
    return f"changed {os.urandom(16).hex()}"


def _hash(files: list[File], folders: list[str]) -> str:
    digest = hashlib.sha256()
    for path, *_ in files:
        with open(path, "rb", buffering=0) as stream:
            text = stream.read()
        inside = next(path[len(folder) :] for folder in folders if path.startswith(folder))
        digest.update(f"{inside} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def _files(package: str) -> list[File]:
    """All sources of a package as they are now, in a fixed order."""
    found = []
    for folder in _folders(package):
        for entry in _python_files(folder):
            status = entry.stat()
            found.append((entry.path, status.st_ctime_ns, status.st_size, status.st_ino))
    return sorted(found)


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
