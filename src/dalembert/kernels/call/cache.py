"""Compiled objects on disk, between one process and the next.

Entries are machine code that will run with the user's rights, so the directory must be the user's
own and writable by nobody else, and so must every entry. No symbolic link is followed, and no lock is
taken: an entry is written to a temporary name and then renamed, which every system does atomically.
An entry is

    magic, sha256 of the rest, length of the key, length of the payload, key, payload

and anything that differs from that, or belongs to another key, counts as absent: it is compiled
anew. The hash detects damage; against other users the ownership protects. Losing the cache costs
only time, so a full or read-only disk is no error.

Where the system can open a directory (POSIX), files are reached through that descriptor, so that
nobody exchanges the directory between two uses, and owner and mode are checked. Windows has neither:
there files are reached by their paths, and the folder is private because it lies in the user's profile.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import operator
import os
import re
import stat
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.errors import SettingError

HAS_DIR_FD = os.open in os.supports_dir_fd  # whether directories can be held open

# what Windows has no name for is not asked for there; what POSIX has no name for, likewise
_ALWAYS = ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
_FLAGS = {
    "read": ("O_RDONLY", "O_NONBLOCK", *_ALWAYS),
    "write": ("O_WRONLY", "O_CREAT", "O_EXCL", *_ALWAYS),
    "folder": ("O_RDONLY", "O_DIRECTORY", *_ALWAYS),
}


def user_cache_folder() -> Path | None:
    """The folder for caches of this user's programs on this system."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if os.path.isabs(local) else None
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen)
    home = Path("~").expanduser()
    if not home.is_absolute():
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether a file is of that kind, owned by the user, and not writable by others."""
    if getattr(status, "st_reparse_tag", 0):  # a junction or a link of Windows
        return False
    shared = HAS_DIR_FD and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return is_kind(status.st_mode) and mine and not shared


class Folder:
    """An open folder; OSError where there is none, or only a link to one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, _flags("folder")) if HAS_DIR_FD else None
        self.status = os.lstat(path) if self._descriptor is None else os.fstat(self._descriptor)
        # device and inode, which identify the folder under any path
        self.number = self.status.st_dev, self.status.st_ino

    def close(self) -> None:
        """Close the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def open(self, name: str, purpose: str) -> int:
        """A descriptor of a file, to "read" it, or to "write" a new one that only the user may read."""
        return os.open(self._reachable(name), _flags(purpose), 0o600, **self._within("dir_fd"))

    def replace(self, name: str, by: str) -> None:
        """Rename `by` to this name, atomically."""
        within = self._within("src_dir_fd", "dst_dir_fd")
        os.replace(self._reachable(by), self._reachable(name), **within)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._reachable(name), **self._within("dir_fd"))

    def touch(self, name: str, file: int) -> None:
        """Set the time of last use of an open file to now."""
        os.utime(file if os.utime in os.supports_fd else self._reachable(name))

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Names and stat results of all files; those that disappear meanwhile are left out."""
        with os.scandir(self._path if self._descriptor is None else self._descriptor) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _reachable(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._path, name)

    def _within(self, *keywords: str) -> dict[str, Any]:
        return {} if self._descriptor is None else dict.fromkeys(keywords, self._descriptor)


def _flags(purpose: str) -> int:
    return functools.reduce(operator.or_, (getattr(os, name, 0) for name in _FLAGS[purpose]))


MAGIC = b"dalembert-object-1\n"
USUAL_LIMIT = 512 * 2**20  # bytes
LARGEST_ENTRY = 128 * 2**20
_LENGTHS = struct.Struct("<QQ")
_HEADER = len(MAGIC) + 32 + _LENGTHS.size
_ENTRY = re.compile(r"dalembert-[0-9a-f]{64}\.o")
_TEMPORARY = re.compile(r"dalembert-[0-9a-f]{32}\.tmp")
_MANY_ENTRIES = 1000  # entries from which on not all are looked at for each new one
_PRUNED_SHARE = 16  # of a full cache of so many, that is made free at once
_WRITERS = 8  # processes that may fill what was found free without looking again
_MAX_UNSEEN = 8  # entries that a process adds without looking again, however much was free
_ABANDONED = 3600.0  # seconds after which a temporary file belongs to nobody
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_warned: set[str] = set()
# (bytes, entries) that a process may add to a folder, by their numbers: a forked one looks for itself
_free: dict[tuple[int, ...], tuple[int, int]] = {}


class Entry(NamedTuple):
    """A file of the cache: its name, bytes, time of last use (s since 1970), whether it is whole."""

    name: str
    size: int
    used: float
    intact: bool


def directory() -> Path | None:
    """Folder of the entries: `$DALEMBERT_CACHE`, else the user's cache folder; None when off.

    `DALEMBERT_CACHE=off` turns the cache off. So does a process that runs with borrowed rights
    (setuid), whose environment is not to be trusted.
    """
    chosen = os.environ.get("DALEMBERT_CACHE", "")
    is_setuid = hasattr(os, "geteuid") and os.geteuid() != os.getuid()
    if chosen == "off" or is_setuid:
        return None
    if chosen:
        return Path(chosen).absolute()
    usual = user_cache_folder()
    return None if usual is None else usual / "dalembert"


def limit() -> int:
    """Bytes that all entries may have together: `$DALEMBERT_CACHE_LIMIT`, else 512 MiB.

    A number of bytes, or one with K, M, G or T (each 1024 times the one before): "2G", "800 MiB".
    """
    text = os.environ.get("DALEMBERT_CACHE_LIMIT", "").strip()
    if not text:
        return USUAL_LIMIT
    match = _SIZE.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise SettingError(
            f"DALEMBERT_CACHE_LIMIT must be a size such as 2G, 800M or 0, got {text[:80]!r}"
        )
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


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
        # whether so many bytes were free when this process last looked at all entries
        key_of_space = (os.getpid(), *folder.number)
        free, unseen = _free.get(key_of_space, (0, 0))
        _free[key_of_space] = free - len(entry), unseen - 1
        if free <= len(entry) or unseen <= 0:
            _prune(folder, largest)


def clear() -> None:
    """Remove all entries."""
    with _opened() as folder:
        if folder is not None:
            _prune(folder, 0, abandoned=0.0)


def entries() -> list[Entry]:
    """All entries, the one used last first; each is read and its hash compared."""
    result: list[Entry] = []
    with _opened() as folder:
        for name, status in () if folder is None else folder.files():
            if folder is None or not _ENTRY.fullmatch(name):
                continue
            try:
                intact = _is_intact(_read(folder, name, used=False))
            except FileNotFoundError:  # another process was faster
                continue
            except OSError:
                intact = False
            result.append(Entry(name, status.st_size, status.st_mtime, intact))
    return sorted(result, key=lambda entry: -entry.used)


def discard(names: Iterable[str]) -> None:
    """Remove the entries of these names."""
    with _opened() as folder:
        if folder is None:
            return
        for name in filter(_ENTRY.fullmatch, names):
            _remove(folder, name)


def _name(key: str) -> str:
    return f"dalembert-{hashlib.sha256(key.encode()).hexdigest()}.o"


def _read(folder: Folder, name: str, used: bool = True) -> bytes:
    file = folder.open(name, "read")
    try:
        if not is_private(os.fstat(file), stat.S_ISREG):
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
    payload = entry[_HEADER + len(key.encode()) :]
    return payload if entry == _encode(key, payload) else None


def _is_intact(entry: bytes) -> bool:
    """Whether an entry matches its hash."""
    digest, rest = entry[len(MAGIC) : len(MAGIC) + 32], memoryview(entry)[len(MAGIC) + 32 :]
    return entry.startswith(MAGIC) and hashlib.sha256(rest).digest() == digest


@contextlib.contextmanager
def _opened(create: bool = False) -> Iterator[Folder | None]:
    """The cache directory, open and found to be the user's own; None when there is none to use."""
    path = directory()
    folder = None if path is None else _open(path, create)
    with contextlib.nullcontext() if folder is None else contextlib.closing(folder):
        yield folder


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
    if is_private(folder.status, stat.S_ISDIR):
        return folder
    folder.close()
    _refuse(path, "belongs to another user or can be written by others")
    return None


def _refuse(path: Path, reason: str) -> None:
    if str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"compiled kernels are not cached: {path} {reason}; make it a directory of your own with "
            "mode 0700, or set DALEMBERT_CACHE to one (or to 'off')",
            RuntimeWarning,
            stacklevel=4,
        )


def _remove(folder: Folder, name: str) -> None:
    with contextlib.suppress(OSError):
        folder.remove(name)


def _prune(folder: Folder, largest: int, abandoned: float = _ABANDONED) -> None:
    """Remove what has not been used for longest, until `largest` bytes are left."""
    entries = []
    with contextlib.suppress(OSError):
        for name, status in folder.files():
            if _ENTRY.fullmatch(name):
                entries.append((status.st_mtime, status.st_size, name))
            elif _TEMPORARY.fullmatch(name) and time.time() - status.st_mtime >= abandoned:
                _remove(folder, name)
    many, total = len(entries) > _MANY_ENTRIES, sum(size for _, size, _ in entries)
    if total > largest:
        left = largest - largest // _PRUNED_SHARE * many
        for _, size, name in sorted(entries):
            if total <= left:
                break
            _remove(folder, name)
            total -= size
    free = ((largest - total) // _WRITERS, _MAX_UNSEEN) if many else (0, 0)
    _free[os.getpid(), *folder.number] = free
