"""Compiled objects on disk, between one process and the next.

Entries are machine code that will run with the user's rights, so the directory must be the user's
own and writable by nobody else, and so must every entry. All access goes through one open
directory, never again through its path, and follows no symbolic link. An entry is

    magic, sha256 of the rest, length of the key, length of the payload, key, payload

and anything that differs from that, or belongs to another key, counts as absent: it is compiled
anew. The hash finds damage; against other users the ownership protects. Losing the cache costs
only time, so a full or read-only disk is no error.
"""

import contextlib
import hashlib
import os
import re
import secrets
import stat
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dalembert.errors import SettingError

MAGIC = b"dalembert-object-1\n"
USUAL_LIMIT = 512 * 2**20  # bytes
LARGEST_ENTRY = 128 * 2**20
_LENGTHS = struct.Struct("<QQ")
_HEADER = len(MAGIC) + 32 + _LENGTHS.size
_ENTRY = re.compile(r"dalembert-[0-9a-f]{64}\.o")
_TEMPORARY = re.compile(r"dalembert-[0-9a-f]{32}\.tmp")
_ABANDONED = 3600.0  # seconds after which a temporary file belongs to nobody
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_warned: set[str] = set()


class Entry(NamedTuple):
    """A file of the cache: its name, bytes, time of last use (s since 1970), whether it is whole."""

    name: str
    size: int
    used: float
    intact: bool


def directory() -> Path | None:
    """Where entries are kept: `$DALEMBERT_CACHE`, else the user's cache folder; None when off.

    `DALEMBERT_CACHE=off` turns the cache off. So does a process that runs with borrowed rights
    (setuid), whose environment is not to be trusted.
    """
    chosen = os.environ.get("DALEMBERT_CACHE", "")
    if chosen == "off" or not hasattr(os, "geteuid") or os.geteuid() != os.getuid():
        return None
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "dalembert"
    home = Path("~").expanduser()
    if not home.is_absolute():
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "dalembert"


def limit() -> int:
    """Bytes that all entries may have together: `$DALEMBERT_CACHE_LIMIT`, else 512 MiB.

    A number of bytes, or one with K, M, G or T (each 1024 times the one before): "2G", "800 MiB".
    """
    text = os.environ.get("DALEMBERT_CACHE_LIMIT", "").strip()
    if not text:
        return USUAL_LIMIT
    found = _SIZE.fullmatch(text)
    if found is None:
        raise SettingError(
            f"DALEMBERT_CACHE_LIMIT must be a size such as 2G, 800M or 0, got {text[:80]!r}"
        )
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def get(key: str) -> bytes | None:
    """The payload stored under `key`, if an undamaged entry of the user's own is there."""
    with _opened() as folder:
        if folder is None:
            return None
        try:
            return _decode(key, _read(folder, _name(key)))
        except OSError:
            return None


def put(key: str, payload: bytes) -> None:
    """Store `payload` under `key`: all of it or nothing, also against other processes."""
    with _opened(create=True) as folder:
        largest = limit()
        if folder is None or len(payload) > min(LARGEST_ENTRY, largest):
            return
        temporary = f"dalembert-{secrets.token_hex(16)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with contextlib.suppress(OSError):
                with open(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as stream:
                    stream.write(_encode(key, payload))
                os.replace(temporary, _name(key), src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            _remove(folder, temporary)  # nothing there unless it failed or was interrupted
        _prune(folder, largest)


def clear() -> None:
    """Remove all entries."""
    with _opened() as folder:
        if folder is not None:
            _prune(folder, 0, abandoned=0.0)


def entries() -> list[Entry]:
    """All entries, the one used last first; each is read and its hash compared."""
    with _opened() as folder:
        return [] if folder is None else sorted(_entries(folder), key=lambda one: -one.used)


def discard(names: Iterable[str]) -> None:
    """Remove the entries of these names."""
    with _opened() as folder:
        if folder is None:
            return
        for name in filter(_ENTRY.fullmatch, names):
            _remove(folder, name)


def _entries(folder: int) -> Iterator[Entry]:
    for name in os.listdir(folder):
        if not _ENTRY.fullmatch(name):
            continue
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            try:
                whole = _whole(_read(folder, name, used=False))
            except OSError:
                whole = False
            yield Entry(name, status.st_size, status.st_mtime, whole)


def _name(key: str) -> str:
    return f"dalembert-{hashlib.sha256(key.encode()).hexdigest()}.o"


def _read(folder: int, name: str, used: bool = True) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    file = os.open(name, flags, dir_fd=folder)
    try:
        if not _private(os.fstat(file), stat.S_ISREG):
            return b""
        if used:
            with contextlib.suppress(OSError):
                os.utime(file)  # the time of last use, by which _prune goes
        with open(file, "rb", closefd=False) as stream:
            return stream.read(2 * LARGEST_ENTRY)
    finally:
        os.close(file)


def _encode(key: str, payload: bytes) -> bytes:
    text = key.encode()
    rest = _LENGTHS.pack(len(text), len(payload)) + text + payload
    return MAGIC + hashlib.sha256(rest).digest() + rest


def _decode(key: str, entry: bytes) -> bytes | None:
    text = key.encode()
    payload = entry[_HEADER + len(text) :]
    mine = entry[_HEADER - _LENGTHS.size :].startswith(
        _LENGTHS.pack(len(text), len(payload)) + text
    )
    return payload if mine and _whole(entry) else None


def _whole(entry: bytes) -> bool:
    """Whether an entry has the hash it says."""
    digest, rest = entry[len(MAGIC) : len(MAGIC) + 32], memoryview(entry)[len(MAGIC) + 32 :]
    return entry.startswith(MAGIC) and hashlib.sha256(rest).digest() == digest


@contextlib.contextmanager
def _opened(create: bool = False) -> Iterator[int | None]:
    """The cache directory, open and found to be the user's own; None when there is none to use."""
    path = directory()
    folder = None if path is None else _open(path, create)
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


def _open(path: Path, create: bool) -> int | None:
    try:
        if create:
            os.makedirs(path, mode=0o700, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink():
            _refuse(path, "is a symbolic link")
        return None
    if _private(os.fstat(folder), stat.S_ISDIR):
        return folder
    os.close(folder)
    _refuse(path, "belongs to another user or can be written by others")
    return None


def _private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is of that kind, the user's own, and writable by nobody else."""
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not shared


def _refuse(path: Path, why: str) -> None:
    if str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"compiled kernels are not cached: {path} {why}; make it a directory of your own with "
            "mode 0700, or set DALEMBERT_CACHE to one (or to 'off')",
            RuntimeWarning,
            stacklevel=4,
        )


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _prune(folder: int, largest: int, abandoned: float = _ABANDONED) -> None:
    """Remove what has not been used for longest, until `largest` bytes are left."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                status = entry.stat(follow_symlinks=False)
                age = time.time() - status.st_mtime
                if _ENTRY.fullmatch(entry.name):
                    found.append((status.st_mtime, status.st_size, entry.name))
                elif _TEMPORARY.fullmatch(entry.name) and age >= abandoned:
                    _remove(folder, entry.name)
    total = 0
    for _, size, name in sorted(found, reverse=True):
        total += size
        if total > largest:
            _remove(folder, name)
