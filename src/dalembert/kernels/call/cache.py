"""Compiled objects on disk, between one process and the next.

Entries are machine code that will run with the user's rights, so the directory must be the user's
own and writable by nobody else, and so must every entry (folder.py). No symbolic link is followed, and
no lock is taken: an entry is written beside its name and then given it, which every system does at
once. An entry is

    magic, sha256 of the rest, length of the key, length of the payload, key, payload

and anything that differs from that, or belongs to another key, counts as absent: it is compiled
anew. The hash finds damage; against other users the ownership protects. Losing the cache costs
only time, so a full or read-only disk is no error.
"""

import contextlib
import hashlib
import math
import os
import re
import stat
import struct
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dalembert.errors import SettingError
from dalembert.kernels.call.folder import Folder, borrowed, caches, private

MAGIC = b"dalembert-object-1\n"
USUAL_LIMIT = 512 * 2**20  # bytes
LARGEST_ENTRY = 128 * 2**20
_LENGTHS = struct.Struct("<QQ")
_HEADER = len(MAGIC) + 32 + _LENGTHS.size
_ENTRY = re.compile(r"dalembert-[0-9a-f]{64}\.o")
_TEMPORARY = re.compile(r"dalembert-[0-9a-f]{32}\.tmp")
_MANY = 1000  # entries from which on not all are looked at for each new one
_SHARE = 16  # of a full cache of so many, that is made free at once
_WRITERS = 8  # processes that may fill what was found free without looking again
_UNSEEN = 8  # entries that a process adds without looking again, however much was free
_ABANDONED = 3600.0  # seconds after which a temporary file belongs to nobody
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_warned: set[str] = set()
# (bytes, entries) that a process may add to a folder, by their numbers: a forked one looks for itself
_room: dict[tuple[int, ...], tuple[int, int]] = {}


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
    if chosen == "off" or borrowed():
        return None
    if chosen:
        return Path(chosen).absolute()
    usual = caches()
    return None if usual is None else usual / "dalembert"


def limit() -> int:
    """Bytes that all entries may have together: `$DALEMBERT_CACHE_LIMIT`, else 512 MiB.

    A number of bytes, or one with K, M, G or T (each 1024 times the one before): "2G", "800 MiB".
    """
    text = os.environ.get("DALEMBERT_CACHE_LIMIT", "").strip()
    if not text:
        return USUAL_LIMIT
    found = _SIZE.fullmatch(text)
    if found is None or not math.isfinite(float(found[1])):
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
        entry, temporary = _encode(key, payload), f"dalembert-{os.urandom(16).hex()}.tmp"
        try:
            with contextlib.suppress(OSError):
                with open(folder.open(temporary, "write"), "wb") as stream:
                    stream.write(entry)
                folder.replace(_name(key), by=temporary)
        finally:
            _remove(folder, temporary)  # nothing there unless it failed or was interrupted
        if not _fits(folder, len(entry)):
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


def _entries(folder: Folder) -> Iterator[Entry]:
    for name, status in folder.files():
        if not _ENTRY.fullmatch(name):
            continue
        try:
            whole = _whole(_read(folder, name, used=False))
        except FileNotFoundError:  # another process was faster
            continue
        except OSError:
            whole = False
        yield Entry(name, status.st_size, status.st_mtime, whole)


def _name(key: str) -> str:
    return f"dalembert-{hashlib.sha256(key.encode()).hexdigest()}.o"


def _read(folder: Folder, name: str, used: bool = True) -> bytes:
    file = folder.open(name, "read")
    try:
        if not private(os.fstat(file), stat.S_ISREG):
            return b""
        if used:
            with contextlib.suppress(OSError):
                folder.touch(name, file)  # the time of last use, by which _prune goes
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
def _opened(create: bool = False) -> Iterator[Folder | None]:
    """The cache directory, open and found to be the user's own; None when there is none to use."""
    path = directory()
    folder = None if path is None else _open(path, create)
    try:
        yield folder
    finally:
        if folder is not None:
            folder.close()


def _open(path: Path, create: bool) -> Folder | None:
    try:
        if create:
            os.makedirs(path, mode=0o700, exist_ok=True)
        folder = Folder(path)
    except OSError:
        if path.is_symlink():
            _refuse(path, "is a symbolic link")
        elif path.exists() and not path.is_dir():
            _refuse(path, "is no directory")
        return None
    if private(folder.status, stat.S_ISDIR):
        return folder
    folder.close()
    _refuse(path, "belongs to another user or can be written by others")
    return None


def _refuse(path: Path, why: str) -> None:
    if str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"compiled kernels are not cached: {path} {why}; make it a directory of your own with "
            "mode 0700, or set DALEMBERT_CACHE to one (or to 'off')",
            RuntimeWarning,
            stacklevel=4,
        )


def _remove(folder: Folder, name: str) -> None:
    with contextlib.suppress(OSError):
        folder.remove(name)


def _fits(folder: Folder, size: int) -> bool:
    """Whether so many bytes are known to have been free when this process last looked at all."""
    place = (os.getpid(), *folder.number)
    free, unseen = _room.get(place, (0, 0))
    _room[place] = free - size, unseen - 1
    return free > size and unseen > 0


def _prune(folder: Folder, largest: int, abandoned: float = _ABANDONED) -> None:
    """Remove what has not been used for longest, until `largest` bytes are left."""
    found = []
    with contextlib.suppress(OSError):
        for name, status in folder.files():
            if _ENTRY.fullmatch(name):
                found.append((status.st_mtime, status.st_size, name))
            elif _TEMPORARY.fullmatch(name) and time.time() - status.st_mtime >= abandoned:
                _remove(folder, name)
    many, total = len(found) > _MANY, sum(size for _, size, _ in found)
    if total > largest:
        left = largest - largest // _SHARE * many
        for _, size, name in sorted(found):
            if total <= left:
                break
            _remove(folder, name)
            total -= size
    free = ((largest - total) // _WRITERS, _UNSEEN) if many else (0, 0)
    _room[os.getpid(), *folder.number] = free
