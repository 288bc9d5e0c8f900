"""Modules compiled side by side, on threads that are gone when the work is done.

LLVM works outside Python's lock, and each module has a context of its own. The caller holds the lock
of LLVM until all threads are done, so that a fork elsewhere waits for them; where the caller is
interrupted, no thread begins another module, and those that they have begun are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread

from dalembert.kernels.llvm.early import started


def side_by_side(
    written: Sequence[Callable[[], str]],
    compiled: Callable[[str], bytes],
    threads: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> list[bytes]:
    """`compiled(text())` for every text, in their order, on as many threads as are of use.

    Texts are written one at a time, for Python runs one thread at a time; meanwhile others compile.

    >>> side_by_side([lambda: "one", lambda: "two"], lambda text: text.encode(), threads=2)
    [b'one', b'two']
    """
    work = _Work(written, compiled, progress)
    helpers = [Thread(target=work.help) for _ in range(min(threads, len(written)) - 1)]
    try:
        for helper in helpers:
            started(helper)
        work.run()
    finally:
        work.stopped = True
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    return work.finished()


class _Work:
    """What is to be compiled, and what is done of it."""

    def __init__(
        self,
        written: Sequence[Callable[[], str]],
        compiled: Callable[[str], bytes],
        progress: Callable[[float], None],
    ) -> None:
        self.written, self.compiled, self.progress = written, compiled, progress
        self.next, self.stopped = 0, False
        self.objects: dict[int, bytes] = {}
        self.errors: list[BaseException] = []
        self.lock = Lock()

    def run(self) -> None:
        """Compile one module after the other until none is left."""
        while True:
            with self.lock:
                place = self.next
                if self.stopped or place >= len(self.written):
                    return
                self.next += 1
                text = self.written[place]()
            code = self.compiled(text)
            with self.lock:
                self.objects[place] = code
                self.progress(len(self.objects) / len(self.written))

    def help(self) -> None:
        """The same on another thread, whose errors are the caller's."""
        try:
            self.run()
        except BaseException as error:
            self.stopped = True
            self.errors.append(error)

    def finished(self) -> list[bytes]:
        """All objects, in the order of their texts."""
        if self.errors:
            raise self.errors[0]
        return [self.objects[place] for place in range(len(self.written))]
