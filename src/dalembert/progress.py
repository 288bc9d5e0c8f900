"""A progress bar for long work, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dalembert.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 0.5  # s without a bar


@contextmanager
def progress_bar(title: str, shown: bool = True) -> Iterator[Callable[[float], None]]:
    """A function to call with the share that is done; the bar appears after half a second.

    Inside another bar, or where it is not to be shown, it stays silent.
    """
    start = time.monotonic()
    bar: Progress | None = None

    def report(share: float) -> None:
        nonlocal bar
        late = shown and time.monotonic() - start > PATIENCE
        if bar is None and late and share < 1.0:
            bar = _started(title)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=share)

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()


@contextmanager
def counting(report: Callable[[float], None], end: float) -> Iterator[None]:
    """While steps of work are counted whose number nobody knows, the share creeps towards `end`."""
    _counts.append(_Count(report, end))
    try:
        yield
    finally:
        _counts.pop()


def step() -> None:
    """One more step of such work, where somebody counts."""
    if _counts:
        _counts[-1].step()


class _Count:
    def __init__(self, report: Callable[[float], None], end: float) -> None:
        self.report, self.end, self.steps = report, end, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps % _EVERY == 0:
            self.report(self.end * self.steps / (self.steps + _HALF))


_EVERY, _HALF = 200, 5000  # steps between two reports, and until half of the way
_counts: list[_Count] = []


def _started(title: str) -> Progress:
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
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(visible(title), total=1.0)
    try:
        bar.start()
    except LiveError:  # somebody else's bar is on this terminal
        bar.disable = True
    return bar


def on_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stderr.isatty()
