"""The file of the command line: read, and written back only if nobody else has changed it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dalembert.errors import ImportFileError
from dalembert.files import whole
from dalembert.importers.xml_read import read_file


@dataclass(frozen=True)
class Kept:
    """A file by its resolved path: a link stays a link when it is written to."""

    path: Path

    def read(self) -> tuple[str, str]:
        """Its text with plain line ends, and a stamp of what is on disk."""
        data = read_file(self.path)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise ImportFileError("is not a text file in UTF-8", str(self.path)) from None
        return text.replace("\r\n", "\n").replace("\r", "\n"), sha256(data).hexdigest()

    def save(self, text: str, stamp: str) -> str:
        """Write the text whole or not at all; the new stamp.

        It is an error if the file is not the one that was stamped.
        """
        before = self._unchanged(stamp)
        windows = b"\r\n" in before and before.count(b"\n") == before.count(b"\r\n")
        try:
            data = text.replace("\n", "\r\n" if windows else "\n").encode("utf-8")
        except UnicodeEncodeError:
            raise ImportFileError("the text has letters that no file can hold") from None
        try:
            with whole(self.path, last=lambda: self._unchanged(stamp)) as part:
                part.write_bytes(data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ImportFileError(f"cannot be written: {reason}", str(self.path)) from None
        return sha256(data).hexdigest()

    def _unchanged(self, stamp: str) -> bytes:
        data = read_file(self.path)
        if sha256(data).hexdigest() != stamp:
            raise ImportFileError(
                "has changed on disk since it was opened here; nothing was written. Save your text "
                "under another name, then open the file again",
                self.path.name,
            )
        return data
