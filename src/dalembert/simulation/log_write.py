"""Motions into files: the table that `read_log` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SimulationError
from dalembert.files import whole
from dalembert.progress import on_terminal, progress_bar
from dalembert.text import csv_cell

if TYPE_CHECKING:
    import xarray

CHUNK = 50_000  # rows written at a time
PREFIXES = {"q": "", "qd": "qd_", "qdd": "qdd_", "tau": "tau_"}


def write_log(run: xarray.Dataset, path: Path) -> None:
    """Times and q, q̇, q̈, τ where the run has them, all digits, as CSV with names and units."""
    head = header(run)
    columns = [run.time.values, *(run[name].values for name in PREFIXES if name in run)]
    write_table(path, head, np.column_stack(columns), ["%.16g"] * len(head))


def header(run: xarray.Dataset, rates: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of a run's times and of q, q̇, q̈, τ where it has them, with units.

    `rates` are names of the velocities, where they are not those of the coordinates.
    """
    head = ["time [s]"]
    for name, before in PREFIXES.items():
        if name in run:
            head += headings(run[name], before, None if name == "q" else rates)
    return head


def headings(field: xarray.DataArray, before: str, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of a vector over time, with the units they have."""
    names = [str(x) for x in field[field.dims[-1]].values] if names is None else names
    units = str(field.attrs["units"]).split(", ")
    units = units if len(units) == len(names) else units * len(names)
    told = [f" [{unit}]" if unit not in ("", "1") else "" for unit in units]
    return [f"{before}{name}{unit}" for name, unit in zip(names, told, strict=True)]


def write_table(path: Path, head: Sequence[str], rows: np.ndarray, forms: Sequence[str]) -> None:
    """A line of names, then rows (n, columns), each column in its form, ``%.16g`` say."""
    try:
        with whole(path) as part, part.open("w", encoding="utf-8") as file:
            file.write(",".join(map(csv_cell, head)) + "\n")
            with progress_bar("writing", on_terminal()) as report:
                for start in range(0, len(rows), CHUNK):
                    np.savetxt(file, rows[start : start + CHUNK], fmt=list(forms), delimiter=",")
                    report(start / len(rows))
    except OSError as error:
        raise SimulationError(f"{path} cannot be written: {error.strerror or error}") from None
