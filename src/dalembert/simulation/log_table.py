"""A table of numbers from a text file: one line of names, then rows; what is wrong has a place."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.simulation.log_clock import clock_seconds
from dalembert.text import short

DELIMITERS = (",", ";", "\t")
LARGEST = 1e60  # beyond which squares would overflow where nobody knows their line any more
MISSING = ("na", "n/a", "null", "none", "<na>", "#n/a")  # words for a number that is not there
REMARKS = 200  # lines above the names, at most
FIRST = 2  # the line of the first row; line 1 holds the names


class Table(NamedTuple):
    """Columns of numbers with names, from wherever they came; what is missing is NaN."""

    names: list[str]
    values: np.ndarray  # (rows, columns)
    source: str  # what errors call it
    faults: Mapping[int, str] = MappingProxyType({})  # of columns that hold something else
    word: str = "row"  # in messages
    first: int = 1  # the number of the first row

    def row(self, k: int) -> str:
        """Where row k is, in words."""
        return f"{self.word} {k + self.first}"

    def refuse_faults(self, used: Sequence[int]) -> None:
        """An error at the first column in use that holds something else than numbers."""
        for place in used:
            if place in self.faults:
                raise TrajectoryError(self.faults[place])


def read_table(path: str | PathLike[str]) -> tuple[list[str], np.ndarray]:
    """(names, numbers (rows, columns)) of a file; cells that are empty are NaN.

    Separated by commas, semicolons, tabs or blanks, whichever the line of names has.
    """
    table = read_csv(path)
    for fault in table.faults.values():
        raise TrajectoryError(f"{table.source}, {fault}")
    return table.names, table.values


class Head(NamedTuple):
    """How a text file begins."""

    names: list[str]
    delimiter: str
    skipped: int  # lines above the first row


def read_csv(path: str | PathLike[str], names: Sequence[str] | None = None) -> Table:
    """The table of a text file; columns that hold words are NaN, and their faults say where.

    Remarks behind # or % may stand above the names; `names` are for files that have none, or others.
    """
    where = Path(path)
    try:
        data = where.read_bytes()  # once: it may be a pipe
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TrajectoryError(f"{where} cannot be read: {reason}") from None
    head = _header(where, data, names)
    faults: dict[int, str] = {}
    try:
        values = _rows(data, head, float)
    except (ValueError, Warning) as error:
        values, faults = _with_words(where, data, head, error)
    filled = ~np.isnan(values).all(axis=1)
    last = int(np.flatnonzero(filled)[-1]) + 1 if filled.any() else 0  # blank lines at the end
    if not last and not faults:
        raise TrajectoryError(f"{where} has no rows below its names")
    # a comma too many makes an empty column
    empty = np.isnan(values).all(axis=0)
    used = [k for k, x in enumerate(head.names) if x or k in faults or not empty[k]]
    faults = {used.index(k): said for k, said in faults.items()}
    kept = [head.names[k] for k in used]
    return Table(kept, values[:last, used], str(where), faults, "line", head.skipped + 1)


def line(row: int) -> str:
    """Where a row of a text file is, in words."""
    return f"line {row + FIRST}"


def refuse_gaps(
    names: Sequence[str], values: np.ndarray, row_in_words: Callable[[int], str] = line
) -> None:
    """An error at the first number (rows, columns) that is missing, not finite, or no quantity."""
    bad = ~(np.abs(values) <= LARGEST)  # NaN among them
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = values[row, column]
        what = "is empty or not a number" if np.isnan(found) else f"is {found}"
        raise TrajectoryError(f"{row_in_words(row)}, column {names[column]!r} {what}")


def _header(path: Path, data: bytes, given: Sequence[str] | None) -> Head:
    """Names, from the file or given; remarks are lines behind # or % above something else than rows."""
    texts, skipped = _first_lines(path, data), 0
    while skipped < len(texts) - 1 and texts[skipped].startswith(("#", "%")):
        if all(map(_is_number, _cells(texts[skipped + 1])[0])):
            break  # the last line above the rows has the names
        skipped += 1
    text = texts[skipped].lstrip("#%").strip()
    names, delimiter = _cells(text)
    numbers = bool(names) and all(map(_is_number, names))
    if given is not None:
        if len(given) != len(names):
            raise TrajectoryError(
                f"{path} has {len(names)} columns, and columns= has {len(given)} names"
            )
        return Head([str(x) for x in given], delimiter, skipped + (0 if numbers else 1))
    if not names or not any(names) or any(map(_is_number, names)):
        raise TrajectoryError(
            f"{path}, line {skipped + 1} must name the columns, 'time' and the joints (or "
            f"columns=['time', …] does); it is {short(text)}"
        )
    return Head(names, delimiter, skipped + 1)


def _first_lines(path: Path, data: bytes) -> list[str]:
    try:
        found = [x.decode("utf-8-sig").strip("\r\n ") for x in data.split(b"\n", REMARKS)[:REMARKS]]
    except UnicodeDecodeError:
        raise TrajectoryError(f"{path} cannot be read: it is not text") from None
    return found


def _cells(text: str) -> tuple[list[str], str]:
    """(cells of a line, what separates them)."""
    delimiter = max(DELIMITERS, key=text.count)
    if not text.count(delimiter) and len(text.split()) > 1:
        return text.split(), r"\s+"
    cells = next(csv.reader([text], delimiter=delimiter), [])
    return [cell.strip() for cell in cells], delimiter


def _rows(data: bytes, head: Head, kind: Any) -> np.ndarray:
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # of rows cut short
        table = pandas.read_csv(
            BytesIO(data),
            sep=head.delimiter,
            header=None,
            names=range(len(head.names)),
            skiprows=head.skipped,
            dtype=kind,
            index_col=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **_exact(pandas.__version__),
            **({"keep_default_na": False} if kind is str else {}),
        )
    return table.to_numpy()


def _exact(version: str) -> dict[str, Any]:
    """What lets pandas read the nearest number; from 3.1 on it does, and asks not to be told.

    >>> _exact("3.0.6"), _exact("3.1.1")
    ({'float_precision': 'round_trip'}, {})
    """
    first, second = version.split(".")[:2]
    return {} if (int(first), int(second)) >= (3, 1) else {"float_precision": "round_trip"}


def _with_words(
    path: Path, data: bytes, head: Head, error: Exception
) -> tuple[np.ndarray, dict[int, str]]:
    """(numbers, faults by column): the first cell of each that is no number; too many are an error."""
    import pandas

    try:
        cells = pandas.DataFrame(_rows(data, head, str))
    except (ValueError, Warning):
        said = "rows have more cells" if isinstance(error, Warning) else _shortened(error)
        raise TrajectoryError(f"{path}: {said}; line 1 has {len(head.names)} names") from None
    values, faults, clocks = np.full(cells.shape, np.nan), {}, 0
    for k in range(cells.shape[1]):
        clock = clock_seconds(cells[k])
        if clock is not None:
            values[:, k], clocks = clock, clocks + 1
            continue
        values[:, k] = pandas.to_numeric(cells[k], errors="coerce")
        for row in np.flatnonzero(np.isnan(values[:, k])):
            text = str(cells[k][row]).strip()
            if text and not _is_number(text) and text.casefold() not in MISSING:
                hint = "; write decimals with a point" if "," in text else ""
                place = f"line {row + head.skipped + 1}, column {head.names[k]!r}"
                faults[k] = f"{place}: {short(text)} is not a number{hint}"
                break
    if not faults and not clocks:
        raise TrajectoryError(f"{path}: {_shortened(error)}")
    return values, faults


def _shortened(error: Exception) -> str:
    return str(error).strip().replace("\n", " ")[:200]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
