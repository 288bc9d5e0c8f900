"""Progress bars for long work, on terminals only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, Timer
from typing import TYPE_CHECKING

from dalembert.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # s without a bar


@contextmanager
def progress_bar(title: str, enabled: bool = True) -> Iterator[Callable[[float], None]]:
    """A function to call with the share that is done; the bar appears after half a second.

    It appears whether or not a share has been reported. Inside another bar it is one more line of it.
    """
    if not enabled:
        yield lambda share: None
        return
    bar = _Bar(title)
    timer = Timer(PATIENCE, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.report
    finally:
        timer.cancel()
        bar.close()


class _Bar:
    """One line of the bars on the terminal, shown by a timer of its own."""

    def __init__(self, title: str) -> None:
        self.title, self.share, self.open = visible(title), 0.0, True
        self.line: tuple[Progress, TaskID] | None = None

    def show(self) -> None:
        with _screen.lock:
            if self.open and self.share < 1.0:
                bars = _screen.entered()
                self.line = bars, bars.add_task(self.title, total=1.0)
                self.report(self.share)

    def report(self, share: float) -> None:
        self.share = share
        if self.line is not None:
            self.line[0].update(self.line[1], completed=share)

    def close(self) -> None:
        with _screen.lock:
            self.open = False
            if self.line is not None:
                self.line[0].remove_task(self.line[1])
                _screen.left()


class _Screen:
    """The bars that rich shows on the terminal."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: the child of a fork has neither the threads nor the bars of its parent."""
        self.lock = RLock()
        self.lines = 0
        self.progress: Progress | None = None

    def entered(self) -> Progress:
        """One more line."""
        self.lines = max(self.lines, 0) + 1
        if self.progress is None:
            self.progress = _started()
        return self.progress

    def left(self) -> None:
        """One line less; nothing stays of the last."""
        self.lines -= 1
        if self.lines <= 0 and self.progress is not None:
            self.progress.stop()
            self.progress = None


_screen = _Screen()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_screen.forget)


@contextmanager
def counting(report: Callable[[float], None], end: float) -> Iterator[None]:
    """Count steps of work of unknown number: the share approaches `end`."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1
        if steps % _EVERY == 0:
            report(end * steps / (steps + _HALF))

    _counters.append(count)
    try:
        yield
    finally:
        _counters.pop()


def step() -> None:
    """Count one step, if inside `counting`."""
    if _counters:
        _counters[-1]()


_EVERY, _HALF = 200, 5000  # steps between two reports, and until half of the share
_counters: list[Callable[[], None]] = []


def _started() -> Progress:
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        bars.start()
    except LiveError:  # another bar is on this terminal
        bars.disable = True
    return bars


def on_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()
