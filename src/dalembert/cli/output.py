"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

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


def say(screen: Console, *pieces: str | tuple[str, str], soft_wrap: bool = False) -> None:
    """Print one line of plain text; a piece with a style is (text, style)."""
    plain = [visible(x) if isinstance(x, str) else (visible(x[0]), x[1]) for x in pieces]
    screen.print(Text.assemble(*plain), soft_wrap=soft_wrap)


def literal(content: str | Text) -> Text:
    """A cell of a table: strings are shown as they are, only a `Text` has styles."""
    return Text(visible(content)) if isinstance(content, str) else content


def show(screen: Console, rows: Table) -> None:
    """Print a table whole: where it is wider than the screen, names and numbers are not cut."""
    fitted, screen.width = screen.width, WIDEST
    screen.width = max(fitted, screen.measure(rows).maximum)
    screen.print(rows)
    screen.width = fitted


def show_table(
    screen: Console,
    title: str | None,
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text] | None],
    left: int = 1,
    words: Collection[int] = (),
) -> None:
    """Print a whole table of these rows, None for a line across.

    The first `left` columns and those of `words` are left-aligned texts, the others numbers.
    """
    heading = None if title is None else Text(visible(title), style="bold")
    listing = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD)
    for k, head in enumerate(heads):
        justify: Literal["left", "right"] = "left" if k < left or k in words else "right"
        listing.add_column(literal(head), justify=justify, header_style="cyan")
    for row in rows:
        if row is None:
            listing.add_section()
        else:
            listing.add_row(*map(literal, row))
    show(screen, listing)


def show_array(
    screen: Console, title: str, array: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Print a matrix with names at its rows and columns."""
    largest = float(np.abs(array).max(initial=0.0))
    named = zip(rows, array, strict=True)
    cells = ([name, *(number(x, largest) for x in row)] for name, row in named)
    show_table(screen, title, ("", *columns), cells)


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


def print_json(data: Mapping[str, object] | Sequence[object]) -> None:
    """JSON with all digits, one line per entry; a number that is not finite becomes null."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    if isinstance(data, Mapping):
        first, last = "{}"
        lines = [f"{dumps(str(key))}: {dumps(_plain(value))}" for key, value in data.items()]
    else:
        first, last = "[]"
        lines = [dumps(_plain(value)) for value in data]
    print("\n".join([first, ",\n".join(f"  {line}" for line in lines), last]))


def _plain(data: object) -> object:
    if isinstance(data, np.ndarray | np.generic):
        data = data.tolist()
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
