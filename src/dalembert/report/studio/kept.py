"""The file of the command line: read, written back if nobody else has changed it, put back."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from dalembert.errors import ImportFileError
from dalembert.files import whole
from dalembert.importers.xml_read import read_file


@dataclass
class Kept:
    """A file by its resolved path: a link stays a link when it is written to.

    `original` are its bytes as somebody else wrote them last, once they have been written over here;
    `written` is the stamp of what was written here last.
    """

    path: Path
    original: bytes | None = None
    written: str = ""

    def read(self) -> tuple[str, str]:
        """Its text with plain line ends, and a stamp of what is on disk."""
        data = read_file(self.path)
        return _decoded(data, self.path).replace("\r\n", "\n").replace("\r", "\n"), _stamp(data)

    def save(self, text: str, stamp: str) -> str:
        """Write the text whole or not at all, its lines with the ends they had; the new stamp.

        It is an error if the file is not the one that was stamped.
        """
        before = self._unchanged(stamp)
        try:
            data = _with_line_ends(text, _decoded(before, self.path)).encode("utf-8")
        except UnicodeEncodeError:
            raise ImportFileError("the text has letters that no file can hold") from None
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
            with whole(self.path, last=lambda: self._unchanged(stamp)) as part:
                part.write_bytes(data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ImportFileError(f"cannot be written: {reason}", str(self.path)) from None
        self.written = _stamp(data)
        return self.written

    def _unchanged(self, stamp: str) -> bytes:
        data = read_file(self.path)
        if _stamp(data) != stamp:
            raise ImportFileError(
                "has changed on disk since it was opened here; nothing was written. Save your text "
                "under another name, then open the file again",
                self.path.name,
            )
        return data


def _stamp(data: bytes) -> str:
    return sha256(data).hexdigest()


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ImportFileError("is not a text file in UTF-8", str(path)) from None


def _with_line_ends(text: str, before: str) -> str:
    """The text with the line ends of the one before; lines it has more have the most frequent end.

    Lines before the first that differs are counted from the beginning, the others from the end.
    """
    pieces = re.split("(\r\n|\r|\n)", before)
    old, ends, new = pieces[::2], pieces[1::2], text.split("\n")
    usual = Counter(ends).most_common(1)[0][0] if ends else "\n"
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    head = ends[: min(same, len(new) - 1)]
    rest = len(new) - 1 - len(head)
    tail = ends[max(len(head), len(ends) - rest) :]
    ends = [*head, *[usual] * (rest - len(tail)), *tail, ""]
    return "".join(line + end for line, end in zip(new, ends, strict=True))
