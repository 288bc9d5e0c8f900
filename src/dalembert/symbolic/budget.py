"""A time budget for rewriting, with progress on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from dalembert.errors import EquationError
from dalembert.text import visible

SHOW_AFTER = 0.5  # seconds before a progress bar appears


class Budget:
    """Says whether there is time left, and shows how far things are.

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
