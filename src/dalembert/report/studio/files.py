"""Files of the studio: the edited file of the command line, and the files of each browser tab."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from pathlib import Path, PurePosixPath
from threading import Event, Lock

from dalembert.errors import ImportFileError
from dalembert.files import atomic_file
from dalembert.importers.safe_parsing import read_file
from dalembert.text import is_plain, short


@dataclass
class EditedFile:
    """A file by its resolved path: a link stays a link when it is written to.

    `original` are its bytes before the first save here; `written` is the stamp of the last save.
    """

    path: Path
    original: bytes | None = None
    written: str = ""

    def read(self) -> tuple[str, str]:
        """Its text with plain line ends, and a stamp of its bytes."""
        data = read_file(self.path)
        text = _decoded(data, self.path).replace("\r\n", "\n").replace("\r", "\n")
        return text, sha256(data).hexdigest()

    def save(self, text: str, stamp: str) -> str:
        """Write the text whole or not at all, its lines with the ends they had; the new stamp.

        It is an error if the file is not the one that was stamped.
        """
        before = self._unchanged(stamp)
        try:
            data = _with_line_ends(text, _decoded(before, self.path)).encode("utf-8")
        except UnicodeEncodeError:
            raise ImportFileError("the text has characters that UTF-8 cannot encode") from None
        if stamp != self.written:
            self.original = before
        return self._write(data, stamp)

    def restore(self, stamp: str) -> str:
        """Put the file back as it was before it was written here; the new stamp.

        It is an error if the file is not the one that was stamped, or was never written here.
        """
        if self.original is None:
            raise ImportFileError("has not been written to since the studio began", self.path.name)
        self._unchanged(stamp)
        return self._write(self.original, stamp)

    def _write(self, data: bytes, stamp: str) -> str:
        try:
            with atomic_file(self.path, last=lambda: self._unchanged(stamp)) as part:
                part.write_bytes(data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ImportFileError(f"cannot be written: {reason}", str(self.path)) from None
        self.written = sha256(data).hexdigest()
        return self.written

    def _unchanged(self, stamp: str) -> bytes:
        data = read_file(self.path)
        if sha256(data).hexdigest() != stamp:
            raise ImportFileError(
                "has changed on disk since it was opened here; nothing was written. Save your text "
                "under another name, then open the file again",
                self.path.name,
            )
        return data


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ImportFileError("is not a text file in UTF-8", str(path)) from None


def _with_line_ends(text: str, before: str) -> str:
    """The text with the line ends of `before`; additional lines have the most frequent end.

    Lines before the first that differs are counted from the beginning, the others from the end.
    """
    pieces = re.split("(\r\n|\r|\n)", before)
    old, ends, new = pieces[::2], pieces[1::2], text.split("\n")
    usual = Counter(ends).most_common(1)[0][0] if ends else "\n"
    pairs = zip(old, new, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    head = ends[: min(same, len(new) - 1)]
    rest = len(new) - 1 - len(head)
    tail = ends[max(len(head), len(ends) - rest) :]
    ends = [*head, *[usual] * (rest - len(tail)), *tail, ""]
    return "".join(line + end for line, end in zip(new, ends, strict=True))


MAX_FILE = 96 * 2**20  # bytes, as for meshes that are read from disk
MAX_TOTAL = 256 * 2**20  # bytes of one tab
MAX_FILES = 1000
MAX_NAME, MAX_DEPTH = 240, 12
MAX_TABS = 16
TAB = re.compile(r"[0-9a-f]{16,64}")


def safe_name(name: object) -> PurePosixPath:
    """The relative path of a name; one that leaves its folder is an error.

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
    """One page of the studio: its folder, the sizes of its files, and its present request."""

    folder: Path
    sizes: dict[PurePosixPath, int] = field(default_factory=dict)
    cancelled: Event = field(default_factory=Event)  # set when its request is superseded
    lock: Lock = field(default_factory=Lock)

    def put(self, name: object, data: bytes) -> Path:
        """Store a file under its name; return its path."""
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
            target = self.folder.joinpath(*path.parts)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ImportFileError(f"{short(str(path))} cannot be kept: {reason}") from None
            self.sizes[path] = len(data)
        return target

    def clear(self) -> None:
        """Remove all files: others are dropped instead of them."""
        with self.lock:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            self.sizes.clear()

    def next_request(self) -> Event:
        """An event that cancels the new request; the one before is cancelled."""
        with self.lock:
            self.cancelled.set()
            self.cancelled = Event()
            return self.cancelled


class Tabs:
    """The tabs by the number each has chosen itself; the one used longest ago is closed."""

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
            old = list(self.tabs)[:-MAX_TABS]
        for other in old:
            self.close(other)
        return tab

    def close(self, number: object) -> None:
        """Cancel its request and remove its files."""
        with self.lock:
            tab = self.tabs.pop(number, None) if isinstance(number, str) else None
        if tab is not None:
            tab.next_request()
            shutil.rmtree(tab.folder, ignore_errors=True)
