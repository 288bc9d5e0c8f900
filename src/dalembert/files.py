"""Files that are whole or not there: written beside their place, moved into it when all is on disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path beside `path`, ending in ".part", to be written in the block.

    It takes the place of `path` in one step when the block ends, with the rights of the file that was
    there; where anything fails, nothing is left of it and what was there before stays. A process that
    is killed leaves it to the next one, which writes the same name. A link stays a link, and what is
    no file (a pipe, a device) is written itself.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder) / "a.txt"
    ...     with whole(place) as part:
    ...         _ = part.write_text("all of it")
    ...     place.read_text(), part.exists()
    ('all of it', False)
    """
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        _synchronised(part)
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _synchronised(path: Path) -> None:
    """Wait until a file is on disk: its name must not be there before its bytes."""
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
