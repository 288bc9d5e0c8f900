"""A table of numbers from a text file: one line of names, then rows; what is wrong has a place."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.text import short

DELIMITERS = (",", ";", "\t")
LARGEST = 1e60  # beyond which squares would overflow where nobody knows their line any more
FIRST = 2  # the line of the first row; line 1 holds the names


def read_table(path: str | PathLike[str]) -> tuple[list[str], np.ndarray]:
    """(names, numbers (rows, columns)) of a file; cells that are empty are NaN.

    Separated by commas, semicolons, tabs or blanks, whichever the line of names has.
    """
    where = Path(path)
    try:
        data = where.read_bytes()  # once: it may be a pipe
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TrajectoryError(f"{where} cannot be read: {reason}") from None
    names, delimiter = _header(where, data)
    try:
        values = _rows(data, names, delimiter, float)
    except (ValueError, Warning) as error:
        raise _located(where, data, names, delimiter, error) from None
    filled = ~np.isnan(values).all(axis=1)
    last = int(np.flatnonzero(filled)[-1]) + 1 if filled.any() else 0  # blank lines at the end
    if not last:
        raise TrajectoryError(f"{where} has no rows below its names")
    used = [k for k, name in enumerate(names) if name or not np.isnan(values[:, k]).all()]
    return [names[k] for k in used], values[:last, used]  # a comma too many makes an empty column


def refuse_gaps(names: Sequence[str], values: np.ndarray) -> None:
    """An error at the first number (rows, columns) that is missing, not finite, or no quantity."""
    bad = ~(np.abs(values) <= LARGEST)  # NaN among them
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = values[row, column]
        what = "is empty or not a number" if np.isnan(found) else f"is {found}"
        raise TrajectoryError(f"line {row + FIRST}, column {names[column]!r} {what}")


def _header(path: Path, data: bytes) -> tuple[list[str], str]:
    try:
        line = data.partition(b"\n")[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TrajectoryError(f"{path} cannot be read: it is not text") from None
    line = line.lstrip("#%").strip("\r\n ")
    delimiter = max(DELIMITERS, key=line.count)
    if not line.count(delimiter) and len(line.split()) > 1:
        return line.split(), r"\s+"
    names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    if not names or not any(names) or any(map(_is_number, names)):
        raise TrajectoryError(
            f"{path}, line 1 must name the columns, 'time' and the joints; it is {short(line)}"
        )
    return names, delimiter


def _rows(data: bytes, names: Sequence[str], delimiter: str, kind: Any) -> np.ndarray:
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # of rows cut short
        table = pandas.read_csv(
            BytesIO(data),
            sep=delimiter,
            header=None,
            names=range(len(names)),
            skiprows=1,
            dtype=kind,
            index_col=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **({"keep_default_na": False} if kind is str else {}),
        )
    return table.to_numpy()


def _located(
    path: Path, data: bytes, names: Sequence[str], delimiter: str, error: Exception
) -> Exception:
    """What is wrong, at its line and column: a cell that is no number, or too many cells."""
    try:
        cells = _rows(data, names, delimiter, str)
    except (ValueError, Warning):
        said = "rows have more cells" if isinstance(error, Warning) else _shortened(error)
        return TrajectoryError(f"{path}: {said}; line 1 has {len(names)} names")
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            text = str(cell).strip()
            if text and not _is_number(text):
                hint = "; write decimals with a point" if "," in text else ""
                return TrajectoryError(
                    f"{path}, line {row + FIRST}, column {names[column]!r}: {short(text)} is not a "
                    f"number{hint}"
                )
    return TrajectoryError(f"{path}: {_shortened(error)}")


def _shortened(error: Exception) -> str:
    return str(error).strip().replace("\n", " ")[:200]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
