"""Steps of the operating system that fail on request: the k-th of all that touch a folder.

A step is an open, a write, a flush, a close, a rename, a synchronisation, a new folder, a removal or
a listing, of a path below the folder or relative to an open one, and the linking of machine code. It
fails with an error, or ends the process as `kill -9` does.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

DIES = 99  # exit code of a child that ends at a step
FAULTS: dict[str, Callable[[], BaseException]] = {
    "no space": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "input/output": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "no access": lambda: PermissionError(errno.EACCES, os.strerror(errno.EACCES)),
    "no memory": lambda: MemoryError("injected"),
}
# with a path first, and those with an open folder
BY_PATH = ("open", "replace", "rename", "mkdir", "unlink", "rmdir", "listdir", "scandir", "utime")
BY_NUMBER = ("fsync", "fdatasync")


class Shim:
    """Counts the steps in a folder and lets one of them fail."""

    def __init__(self, folder: Path, number: int, fault: str) -> None:
        self.folder, self.number, self.fault = str(folder), number, fault
        self.count, self.failed = 0, ""
        self._lock = threading.Lock()

    def step(self, what: str) -> None:
        """Called before every step."""
        with self._lock:
            self.count += 1
            if self.count != self.number:
                return
            self.failed = what
        if self.fault == "killed":
            os._exit(DIES)
        raise FAULTS[self.fault]()

    def inside(self, path: Any, options: Any) -> bool:
        """Whether a path is below the folder, or relative to an open one."""
        if any(options.get(key) is not None for key in ("dir_fd", "src_dir_fd")):
            return True
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.folder)

    def wrapped(self, function: Any, name: str) -> Any:
        """The function, a step where it touches the folder."""

        def call(*args: Any, **options: Any) -> Any:
            if self.inside(args[0] if args else None, options):
                self.step(name)
            return function(*args, **options)

        return call

    def opened(self, function: Any) -> Any:
        """`open`, whose files are made of steps too."""

        def call(path: Any, *args: Any, **options: Any) -> Any:
            mode = args[0] if args else options.get("mode", "r")
            numbered = isinstance(path, int) and set("wax+") & set(mode)
            if not (numbered or self.inside(path, {})):
                return function(path, *args, **options)
            self.step("open")
            stream = function(path, *args, **options)
            return self.stepped(stream) if set("wax+") & set(mode) else stream

        return call

    def stepped(self, stream: Any) -> Any:
        """A stream whose writes, flushes and closing are steps; a failed close still closes."""
        write, flush, close = stream.write, stream.flush, stream.close

        def written(data: Any) -> Any:
            self.step("write")
            return write(data)

        def closed() -> None:
            already = stream.closed
            close()
            if not already:
                self.step("close")

        return _Proxy(stream, {"write": written, "flush": self.wrapped(flush, "flush")}, closed)


class _Proxy:
    """A file with some methods exchanged."""

    def __init__(self, stream: Any, methods: dict[str, Any], closed: Callable[[], None]) -> None:
        self.__dict__.update(stream=stream, **methods)
        self.close = closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Any:
        return iter(self.stream)


@contextmanager
def failing(folder: Path, number: int, fault: str) -> Iterator[Shim]:
    """The `number`-th step in the folder fails while the block runs; 0 only counts them."""
    import llvmlite.binding as llvm

    shim = Shim(folder, number, fault)
    link = llvm.JITLibraryBuilder.link

    def linked(self: Any, *args: Any) -> Any:
        shim.step("link")
        return link(self, *args)

    patches = [patch.object(os, name, shim.wrapped(getattr(os, name), name)) for name in BY_PATH]
    for name in BY_NUMBER:
        patches.append(patch.object(os, name, _any(shim, getattr(os, name), name)))
    patches += [patch.object(home, "open", shim.opened(io.open)) for home in (builtins, io)]
    patches.append(patch.object(llvm.JITLibraryBuilder, "link", linked))
    for one in patches:
        one.start()
    try:
        yield shim
    finally:
        for one in patches:
            one.stop()


def _any(shim: Shim, function: Any, name: str) -> Any:
    def call(*args: Any) -> Any:
        shim.step(name)
        return function(*args)

    return call
