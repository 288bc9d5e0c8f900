"""A progress bar for long runs, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 0.5  # s without a bar


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A function to call with the share that is done; the bar appears after half a second."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(title), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=1.0)
    start, shown = time.monotonic(), False

    def report(share: float) -> None:
        nonlocal shown
        if not shown and time.monotonic() - start > PATIENCE and share < 1.0:
            bar.start()
            shown = True
        if shown:
            bar.update(task, completed=share)

    try:
        yield report
    finally:
        bar.stop()


def on_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stderr.isatty()
