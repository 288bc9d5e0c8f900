"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dalembert.text import visible

PIPE_WIDTH, WIDEST = 120, 10_000


def console() -> Console:
    """Colour and the terminal's width on a terminal; plain and wide in a pipe."""
    fitted = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, markup=False, emoji=False, width=None if fitted else PIPE_WIDTH)


def say(screen: Console, *pieces: str | tuple[str, str], **options: Any) -> None:
    """Print one line of plain text; a piece with a style is (text, style)."""
    plain = [visible(x) if isinstance(x, str) else (visible(x[0]), x[1]) for x in pieces]
    screen.print(Text.assemble(*plain), **options)


class Words(Table):
    """A table whose strings are shown literally: only a `Text` has markup and styles."""

    def add_column(self, header: Any = "", *args: Any, **options: Any) -> None:
        super().add_column(_cell(header), *args, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*map(_cell, cells), **options)


def _cell(content: Any) -> Any:
    return Text(visible(content)) if isinstance(content, str) else content


def table(title: str | None, *columns: str, left: int = 1) -> Table:
    """An empty table; the first `left` columns are left-aligned texts, the others numbers."""
    heading = None if title is None else Text(visible(title), style="bold")
    rows = Words(title=heading, title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        rows.add_column(column, justify="left" if number < left else "right", header_style="cyan")
    return rows


def show(screen: Console, rows: Table) -> None:
    """Print a table whole: where it is wider than the screen, names and numbers are not cut."""
    fitted, screen.width = screen.width, WIDEST
    screen.width = max(fitted, screen.measure(rows).maximum)
    screen.print(rows)
    screen.width = fitted


def array_table(
    title: str, array: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> Table:
    """A matrix with names at its rows and columns."""
    listing = table(title, "", *columns)
    largest = float(np.abs(array).max(initial=0.0))
    for name, row in zip(rows, array, strict=True):
        listing.add_row(name, *(number(x, largest) for x in row))
    return listing


def number(x: float, largest: float = 0.0) -> str:
    """Six digits; rounding errors of larger neighbours are shown as zero.

    >>> number(0.12345678), number(6e-17, largest=1.0), number(-0.0)
    ('0.123457', '0', '0')
    """
    small = abs(x) <= 1e-14 * largest
    return f"{0.0 if small or x == 0.0 else x:.6g}"


def column(values: np.ndarray, units: Sequence[str] | None = None) -> list[str]:
    """The numbers of a column, each with its unit where they differ."""
    largest = float(np.abs(values).max(initial=0.0))
    texts = [number(x, largest) for x in values]
    if units is None:
        return texts
    return [f"{text} {unit}".rstrip() for text, unit in zip(texts, units, strict=True)]


def integer(x: float) -> str:
    """Rounded, with the thousands set apart."""
    return f"{round(x):,}"


def print_json(data: Any) -> None:
    """JSON with all digits, one line per entry; a number that is not finite becomes null."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    data = _plain(data)
    if isinstance(data, dict):
        lines = [f"{dumps(key)}: {dumps(value)}" for key, value in data.items()]
        first, last = "{}"
    else:
        lines = [dumps(value) for value in data]
        first, last = "[]"
    print("\n".join([first, ",\n".join(f"  {line}" for line in lines), last]))


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, np.generic):
        return _plain(data.item())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
