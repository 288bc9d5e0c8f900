"""Files that are whole or not there: written beside their place, moved into it when all is written.

What is read is a regular file (`require_regular`): a pipe or a device might never end.

A file is on disk before it has its name; of a folder (`fill`) that is left to the operating system.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from dalembert.errors import DalembertError

ABANDONED = 86400.0  # seconds after which a part belongs to nobody


@contextmanager
def whole(path: Path, last: Callable[[], object] = lambda: None) -> Iterator[Path]:
    """A path beside `path`, ending in ".part", to be written in the block.

    It takes the place of `path` in one step when the block ends, with the rights of the file that was
    there; where anything fails, nothing is left of it and what was there before stays. Its name is
    nobody else's: of two writers of one path the last one's file stays, all of it. Only a process that
    is killed leaves it behind; who writes that path a day later removes it. A link stays a link, and
    what is no file (a pipe, a device) is written itself. `last` is called just before it takes its
    place, and may still refuse.

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
    part = _beside(path)
    try:
        if path.exists():  # what others may not read, they may not read meanwhile either
            os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
        yield part
        _synchronised(part)
        if path.exists():
            shutil.copymode(path, part)
        last()
        os.replace(part, path)
    except BaseException:
        _removed(part)
        raise


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """As `whole`, in a folder that is made; an error of the package where the disk refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as part:
            yield part
    except OSError as error:
        raise DalembertError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A path beside `path` for a new folder, to be filled in the block; see `whole`.

    A folder that was there is moved away just before and then removed: it cannot be replaced in one
    step, but under its name there is never half a folder. One that comes in between is an error.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder) / "store"
    ...     with whole_folder(place) as part:
    ...         part.mkdir()
    ...     place.is_dir(), part.exists()
    (True, False)
    """
    path = path.resolve() if path.is_symlink() else path
    part, old, there = _beside(path), _beside(path), path.exists()
    try:
        yield part
        if there:
            os.replace(path, old)
        try:
            os.replace(part, path)
        except BaseException:
            if old.exists():
                os.replace(old, path)
            raise
    finally:
        _removed(part)
        _removed(old)


def require_regular(path: Path, most: int | None = None) -> None:
    """An OSError unless `path` is a regular file, of at most `most` bytes.

    Nothing is opened: a named pipe would wait for a writer, and a device has no end.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if most is not None and status.st_size > most:
        size, limit = status.st_size / 2**30, most / 2**30
        raise OSError(errno.EFBIG, f"it has {size:.3g} GiB, and the limit is {limit:.3g} GiB")


def fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, by their paths in it."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def remove_abandoned(parts: Iterable[Path]) -> None:
    """Remove those that were last written so long ago that whoever wrote them is gone."""
    for part in parts:
        with suppress(OSError):  # another process was faster
            if time.time() - part.stat().st_mtime > ABANDONED:
                _removed(part)


def _beside(path: Path) -> Path:
    """A path in the same folder that nobody else has; short, as names have a longest length."""
    short = path.name[:40]
    left = re.compile(rf"{re.escape(short)}\.[0-9a-f]{{16}}\.part")
    with suppress(OSError):  # there is no such folder
        remove_abandoned(x for x in path.parent.iterdir() if left.fullmatch(x.name))
    return path.with_name(f"{short}.{secrets.token_hex(8)}.part")


def _removed(part: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    with suppress(OSError):
        part.unlink(missing_ok=True)


def _synchronised(path: Path) -> None:
    """Wait until a file is on disk: its name must not be there before its bytes."""
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
