"""A time budget for rewriting."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dalembert.errors import EquationError

GRACE = 3.0  # seconds after the time is over for what is written without factors


class TimeOver(BaseException):
    """The time and its grace are over; not caught by `except Exception` in SymPy."""


class Budget:
    """Tells whether time is left; `report` takes the share of the present work that is done.

    >>> Budget(None).exhausted(), Budget(0.0).exhausted()
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds >= 0:
            raise EquationError(f"timeout={seconds!r} must be a number of seconds, or None")
        self.seconds = seconds
        self.start = time.perf_counter()
        self.overrun = False
        self.report: Callable[[float], None] = lambda share: None

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


def _interruptible(frame: FrameType | None) -> bool:
    """Whether an exception raised here reaches the caller: destructors and callbacks lose it."""
    modules = []
    while frame is not None:
        modules.append(str(frame.f_globals.get("__name__", "")))
        if frame.f_code.co_name == "__del__" or modules[-1] == "weakref":
            return False
        frame = frame.f_back
    return bool(modules) and modules[0].partition(".")[0] in ("sympy", "dalembert")
