"""A time budget for rewriting, with progress on a terminal."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from dalembert.errors import EquationError
from dalembert.text import visible

SHOW_AFTER = 0.5  # seconds before a progress bar appears
GRACE = 3.0  # seconds after the time is over for what is written without factors


class TimeOver(BaseException):
    """The time and its grace are over; not caught by `except Exception` in SymPy."""


class Budget:
    """Tells whether time is left, and shows progress on a terminal.

    >>> with Budget(None) as budget:
    ...     budget.exhausted()
    False
    >>> Budget(0.0).exhausted()
    True
    """

    def __init__(self, seconds: float | None, progress: bool = False) -> None:
        if seconds is not None and not seconds >= 0:
            raise EquationError(f"timeout={seconds!r} must be a number of seconds, or None")
        self.seconds = seconds
        self.start = time.perf_counter()
        self.overrun = False
        self._show = progress and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def exhausted(self) -> bool:
        """True once the time is over; remembered in `overrun`."""
        if self.seconds is not None and time.perf_counter() - self.start >= self.seconds:
            self.overrun = True
        return self.overrun

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Raise `TimeOver` in the body once the time and its grace are over, also inside of SymPy.

        One call of SymPy may take hours (a common divisor of long polynomials) without a check. An
        exception is set in this thread, as Ctrl-C sets one, from another that waits.
        """
        if self.seconds is None:
            yield
            return
        thread, lock, finished = threading.get_ident(), threading.Lock(), threading.Event()
        left = self.seconds + GRACE - (time.perf_counter() - self.start)
        is_set = False

        def interrupt() -> None:
            nonlocal is_set
            pause = min(max(left, 0.0), threading.TIMEOUT_MAX)
            while not finished.wait(pause):
                self.overrun, pause = True, 0.005
                with lock:
                    if not finished.is_set() and _interruptible(sys._current_frames().get(thread)):
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(TimeOver)
                        )
                        is_set, pause = True, 0.5

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            yield
        except TimeOver:
            is_set = False
            raise
        finally:
            try:
                with lock:
                    finished.set()
                # An exception that was set and not yet raised arrives here. Taking it back instead
                # leaves CPython 3.11 checking for it at every call, endlessly under a profiler.
                for _ in range(1000 * is_set):
                    pass
            except TimeOver:
                finished.set()

    def report(self, what: str, done: int, total: int) -> None:
        """Show progress, on a terminal and only if the work takes noticeable time."""
        if not self._show or time.perf_counter() - self.start < SHOW_AFTER:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            words = TextColumn("{task.description}", markup=False)
            columns = (words, BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(visible(what), total=total)
        self._bar.update(self._task, description=visible(what), completed=done, total=total)

    def __enter__(self) -> Budget:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _interruptible(frame: FrameType | None) -> bool:
    """Whether an exception raised here reaches the caller: destructors and callbacks lose it."""
    modules = []
    while frame is not None:
        modules.append(str(frame.f_globals.get("__name__", "")))
        if frame.f_code.co_name == "__del__" or modules[-1] == "weakref":
            return False
        frame = frame.f_back
    return bool(modules) and modules[0].partition(".")[0] in ("sympy", "dalembert")
