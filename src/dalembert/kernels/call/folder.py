"""A folder of the user's own, opened once: files in it are reached through it, not through its path.

Where the system lets a directory be held open (POSIX), that is done, so that nobody exchanges it
between two uses, and owner and mode say whose it is. Windows knows neither: there files are reached by
their paths, and the folder is private because it lies in the user's profile, which by default is theirs
alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HELD = os.open in os.supports_dir_fd  # whether directories can be held open

# what Windows has no name for is not asked for there; what POSIX has no name for, likewise
_ALWAYS = ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
_FLAGS = {
    "read": ("O_RDONLY", "O_NONBLOCK", *_ALWAYS),
    "write": ("O_WRONLY", "O_CREAT", "O_EXCL", *_ALWAYS),
    "folder": ("O_RDONLY", "O_DIRECTORY", *_ALWAYS),
}


def caches() -> Path | None:
    """Where programs of this user keep what can be made again, by the system's own custom."""
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


def borrowed() -> bool:
    """Whether this process runs with somebody else's rights (setuid)."""
    return hasattr(os, "geteuid") and os.geteuid() != os.getuid()


def private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is of that kind, the user's own, and writable by nobody else."""
    if getattr(status, "st_reparse_tag", 0):  # a junction or a link of Windows
        return False
    shared = HELD and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return is_kind(status.st_mode) and mine and not shared


class Folder:
    """An open folder; OSError where there is none, or only a link to one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = os.open(path, _flags("folder")) if HELD else None
        self.status = os.lstat(path) if self._held is None else os.fstat(self._held)

    @property
    def number(self) -> tuple[int, int]:
        """What tells it from all others, under whatever path."""
        return self.status.st_dev, self.status.st_ino

    def close(self) -> None:
        """Let go of it."""
        if self._held is not None:
            os.close(self._held)

    def open(self, name: str, purpose: str) -> int:
        """A descriptor of a file, to "read" it, or to "write" a new one that only the user may read."""
        return os.open(self._place(name), _flags(purpose), 0o600, **self._within("dir_fd"))

    def replace(self, name: str, by: str) -> None:
        """Let `by` have this name, at once for whoever looks."""
        within = self._within("src_dir_fd", "dst_dir_fd")
        os.replace(self._place(by), self._place(name), **within)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._place(name), **self._within("dir_fd"))

    def touch(self, name: str, file: int) -> None:
        """Let an open file have been used just now."""
        os.utime(file if os.utime in os.supports_fd else self._place(name))

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """All that is there, with sizes and times; what goes away meanwhile is left out."""
        with os.scandir(self._path if self._held is None else self._held) as found:
            for entry in found:
                with contextlib.suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _place(self, name: str) -> str:
        return name if self._held is not None else os.path.join(self._path, name)

    def _within(self, *keywords: str) -> dict[str, Any]:
        return {} if self._held is None else dict.fromkeys(keywords, self._held)


def _flags(purpose: str) -> int:
    flags = 0
    for name in _FLAGS[purpose]:
        flags |= getattr(os, name, 0)
    return flags
