"""Atomic writing of files and folders: written under a temporary name, then renamed.

Only regular files are read (`require_regular`): a pipe or a device might never end. A file is on disk
before it gets its name; for a folder (`write_files`) that is left to the operating system.
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

ABANDONED = 86400.0  # s after which a temporary file is removed


@contextmanager
def atomic_file(path: Path, last: Callable[[], object] = lambda: None) -> Iterator[Path]:
    """A path beside `path`, ending in ".part", to be written in the block.

    It replaces `path` in one step when the block ends, with the permissions of the old file; if
    anything fails, it is removed and the old file stays. Its name is unique: of two writers of one
    path the last one's complete file stays. Only a killed process leaves it behind, and a write to
    that path a day later removes it. A link stays a link, and a pipe or device is written directly.
    `last` is called just before the replacement, and may raise.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder) / "a.txt"
    ...     with atomic_file(place) as part:
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
        _synchronise(part)
        if path.exists():
            shutil.copymode(path, part)
        last()
        os.replace(part, path)
    except BaseException:
        _remove(part)
        raise


@contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """As `atomic_file`, creating the folder; an `OSError` becomes a `DalembertError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as part:
            yield part
    except OSError as error:
        raise DalembertError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A path beside `path` for a new folder, to be filled in the block; see `atomic_file`.

    A folder that was there is moved away just before and then removed: it cannot be replaced in one
    step, but under its name there is never half a folder. One that comes in between is an error.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder) / "store"
    ...     with atomic_folder(place) as part:
    ...         part.mkdir()
    ...     place.is_dir(), part.exists()
    (True, False)
    """
    path = path.resolve() if path.is_symlink() else path
    part, old, existed = _beside(path), _beside(path), path.exists()
    try:
        yield part
        if existed:
            os.replace(path, old)
        try:
            os.replace(part, path)
        except BaseException:
            if old.exists():
                os.replace(old, path)
            raise
    finally:
        _remove(part)
        _remove(old)


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


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, by their paths in it."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def remove_abandoned(parts: Iterable[Path]) -> None:
    """Remove those that were last written more than a day ago."""
    for part in parts:
        with suppress(OSError):  # another process was faster
            if time.time() - part.stat().st_mtime > ABANDONED:
                _remove(part)


def _beside(path: Path) -> Path:
    """A unique path in the same folder; short, as file names have a maximal length."""
    short = path.name[:40]
    left = re.compile(rf"{re.escape(short)}\.[0-9a-f]{{16}}\.part")
    with suppress(OSError):  # there is no such folder
        remove_abandoned(x for x in path.parent.iterdir() if left.fullmatch(x.name))
    return path.with_name(f"{short}.{secrets.token_hex(8)}.part")


def _remove(part: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    with suppress(OSError):
        part.unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    """Wait until a file is on disk: its name must not be there before its bytes."""
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
