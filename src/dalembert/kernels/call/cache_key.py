"""Keys of compiled code, which include a digest of the sources, and code loaded by its key.

An interpreter may be open while the package is upgraded. What it has imported is then no longer
what the files say, and it may still import the rest. No file is read at import for that; instead
every file must have been last touched before it (its ctime, which cannot be set). Where one was
touched later, nothing that this process compiles is read from or stored in the cache on disk.

Reading 150 files takes longer than all else before a first call, so the cache stores the digest of
files that have not been touched since. File systems that keep whole seconds only (images, archives
that are mounted) say too little for that: there they are read.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec

from dalembert.errors import CompileError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call import cache
from dalembert.kernels.llvm.load import Loaded, load, pack
from dalembert.kernels.llvm.target import Target
from dalembert.version import IMPORTED_NS

File = tuple[str, int, int, int]
"""Path, ctime in nanoseconds, length and inode of a file."""
_SECOND = 10**9
_DIGESTS_KEY = f"hashes of sources, 1\n{__file__}"
_new: dict[str, tuple[str, str]] = {}


@functools.cache
def source_digest(package: str = "dalembert.kernels") -> str:
    """Digest of the sources of a package, which is part of the keys of compiled code.

    Unique to this process where the sources changed after they were imported, or the cache is off.
    """
    if cache.directory() is None:
        return _unique_digest()
    files = _files(package)
    if any(ctime >= IMPORTED_NS for _, ctime, _, _ in files):
        return _unique_digest()
    state = hashlib.sha256(repr(files).encode()).hexdigest()
    known, digest = _stored_digests().get(package, ("", ""))
    if known != state:
        digest = _hash(files, _folders(package))
        if _files(package) != files:  # touched while they were read
            return _unique_digest()
        if all(ctime % _SECOND for _, ctime, _, _ in files):
            _new[package] = state, digest
    return digest


def store_digests() -> None:
    """Store digests that were computed here for the next process."""
    if _new:
        known = {**_stored_digests(), **_new}
        _new.clear()
        cache.put(
            _DIGESTS_KEY, "\n".join(" ".join((p, *pair)) for p, pair in known.items()).encode()
        )


@functools.cache
def _stored_digests() -> dict[str, tuple[str, str]]:
    """By package, the state of the files and their digest as stored by earlier processes."""
    stored = (cache.get(_DIGESTS_KEY) or b"").decode(errors="replace")
    rows = [line.split(" ") for line in stored.splitlines()]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def _unique_digest() -> str:
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
    files = []
    for folder in _folders(package):
        for entry in _source_files(folder):
            status = entry.stat()
            files.append((entry.path, status.st_ctime_ns, status.st_size, status.st_ino))
    return sorted(files)


def _source_files(folder: str) -> Iterator[os.DirEntry[str]]:
    """Files in Python and in LLVM assembly."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _source_files(entry.path)
            elif entry.name.endswith((".py", ".ll")):
                yield entry


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CompileError(f"{package} is not an installed package")
    return list(spec.submodule_search_locations)


def cache_key(parts: Sequence[str], target: Target) -> str:
    """The key of code in the cache: these parts, the machine, LLVM and the sources of the kernels."""
    import llvmlite

    return "\n".join((*parts, repr(target), llvmlite.__version__, source_digest()))


def load_or_compile(
    key: str,
    symbols: Sequence[str],
    compile_code: Callable[[], bytes],
    known: Mapping[str, int] | None = None,
    is_complete: bool = False,
) -> Loaded:
    """The functions under `key`, which must contain everything that `compile_code()` depends on.

    `known` are addresses of functions they call besides the libraries of this process. An entry that
    cannot be linked is compiled anew and replaced. Code that was compiled while the package's files
    changed is not stored, as the key may name other sources than those that ran, unless the key
    `is_complete`: contains all that is compiled.
    """
    with llvm_lock:
        loaded, code = None, cache.get(key)
        with suppress(CompileError):
            loaded = None if code is None else load(code, symbols, known)
        if loaded is None:
            code = compile_code()
            loaded = load(code, symbols, known)
            if cache.directory() is not None and (
                is_complete or all(ctime < IMPORTED_NS for _, ctime, _, _ in _files("dalembert"))
            ):
                cache.put(key, code)
        store_digests()
        return loaded


def load_or_compile_ir(
    key_parts: Sequence[str],
    symbols: Sequence[str],
    write: Callable[[], str],
    target: Target,
    known: Mapping[str, int] | None = None,
) -> Loaded:
    """Functions in LLVM assembly; `key_parts` contain all that determines what `write` returns."""

    def compile_code() -> bytes:
        from dalembert.kernels.llvm.codegen import compile_module, complete_module

        return pack([compile_module(complete_module(write(), target), target)])

    key = cache_key((*symbols, *key_parts), target)
    return load_or_compile(key, symbols, compile_code, known)
