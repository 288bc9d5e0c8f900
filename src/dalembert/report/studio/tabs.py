"""The files of each tab, by the names they were dropped with, in a folder that no name leaves."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Event, Lock

from dalembert.errors import ImportFileError
from dalembert.text import is_plain, short

MAX_FILE = 96 * 2**20  # bytes, as for meshes that are read from disk
MAX_TOTAL = 256 * 2**20  # bytes of one tab
MAX_FILES = 1000
MAX_NAME, MAX_DEPTH = 240, 12
MAX_TABS = 16
TAB = re.compile(r"[0-9a-f]{16,64}")


def safe_name(name: object) -> PurePosixPath:
    """The relative path that a name says; one that leaves its folder is an error.

    >>> safe_name("meshes/arm.stl")
    PurePosixPath('meshes/arm.stl')
    """
    if not isinstance(name, str) or not name or not is_plain(name):
        raise ImportFileError(f"{short(name)} is no name of a file")
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if path.is_absolute() or not parts or any(part == ".." or ":" in part for part in parts):
        raise ImportFileError(
            f"{short(name)} leaves its folder; drop files and folders as they are"
        )
    if len(name.encode()) > MAX_NAME or len(parts) > MAX_DEPTH:
        raise ImportFileError(f"{short(name)} is too long a name, or in too many folders")
    return path


@dataclass
class Tab:
    """One page of the studio: its folder, the sizes of its files, and what it waits for."""

    folder: Path
    sizes: dict[PurePosixPath, int] = field(default_factory=dict)
    wanted: Event = field(default_factory=Event)  # set when its request is not wanted any more
    lock: Lock = field(default_factory=Lock)

    def put(self, name: object, data: bytes) -> Path:
        """Keep a file under its name; the path it has now."""
        path = safe_name(name)
        with self.lock:
            others = sum(size for other, size in self.sizes.items() if other != path)
            if len(data) > MAX_FILE or others + len(data) > MAX_TOTAL:
                raise ImportFileError(
                    f"{short(str(path))} is too large: the studio takes {MAX_FILE >> 20} MB in one "
                    f"file and {MAX_TOTAL >> 20} MB in all"
                )
            if path not in self.sizes and len(self.sizes) >= MAX_FILES:
                raise ImportFileError(f"more than {MAX_FILES:,} files; drop only those it needs")
            place = self.folder.joinpath(*path.parts)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ImportFileError(f"{short(str(path))} cannot be kept: {reason}") from None
            self.sizes[path] = len(data)
        return place

    def clear(self) -> None:
        """Forget all files: others are dropped in their place."""
        with self.lock:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            self.sizes.clear()

    def next_request(self) -> Event:
        """An event for a new request; the one before is not wanted any more."""
        with self.lock:
            self.wanted.set()
            self.wanted = Event()
            return self.wanted


class Tabs:
    """The tabs by the number each has given itself; the one used longest ago gives way."""

    def __init__(self, root: Path) -> None:
        self.root, self.lock = root, Lock()
        self.tabs: dict[str, Tab] = {}

    def get(self, number: object) -> Tab:
        """The tab of that number, made when it is new."""
        if not isinstance(number, str) or not TAB.fullmatch(number):
            raise ImportFileError("a tab is named by 16 to 64 hexadecimal digits")
        with self.lock:
            tab = self.tabs.pop(number, None)
            if tab is None:
                folder = self.root / number
                folder.mkdir(mode=0o700, exist_ok=True)
                tab = Tab(folder)
            self.tabs[number] = tab
            old = [] if len(self.tabs) <= MAX_TABS else [next(iter(self.tabs))]
        for other in old:
            self.close(other)
        return tab

    def close(self, number: object) -> None:
        """End what it waits for and remove its files."""
        with self.lock:
            tab = self.tabs.pop(number, None) if isinstance(number, str) else None
        if tab is not None:
            tab.next_request()
            shutil.rmtree(tab.folder, ignore_errors=True)
