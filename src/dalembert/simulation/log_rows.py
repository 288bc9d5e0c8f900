"""Rows of a table with their times: refused where something is missing, or repaired and said."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.simulation.log_columns import Columns
from dalembert.simulation.log_repair import repaired
from dalembert.simulation.log_table import LARGEST, Table, refuse_gaps

EPOCH = 1e6  # s: later than that, times are stamps of a clock
TICKS = {"ns": (1e17, 1e-9), "µs": (1e14, 1e-6), "ms": (1e11, 1e-3)}  # stamps of this century


class Rows(NamedTuple):
    """Columns in use over time."""

    t: np.ndarray  # (rows,) s
    start: float  # s, the first stamp of a clock, already taken off
    columns: dict[int, np.ndarray]  # by place in the table, as recorded
    row: Callable[[int], str]  # where a row was, in words
    said: list[str]

    def kept(self, keep: np.ndarray, said: str) -> Rows:
        """Some of the rows."""
        places = np.flatnonzero(keep)
        columns = {place: x[keep] for place, x in self.columns.items()}
        said_now = [*self.said, said]
        return Rows(self.t[keep], self.start, columns, lambda k: self.row(places[k]), said_now)


def rows_of(table: Table, found: Columns, dt: float | None, gaps: str | None) -> Rows:
    """The rows of a table; `gaps` "refuse", "repair", or None: repair where there are torques."""
    if gaps not in (None, "refuse", "repair"):
        raise SettingError(f"gaps={gaps!r} must be 'refuse' or 'repair'")
    repair = gaps == "repair" or (gaps is None and bool(found.entries["tau"]))
    used = found.used()
    table.refuse_faults([c.place for c in used])
    if not repair:
        refuse_gaps([c.name for c in used], table.values[:, [c.place for c in used]], table.row)
    t, start, said = _times(table, found, dt)
    first = [own.place for own in found.entries["q"].values()]
    others = [c for c in used if found.time is None or c.place != found.time.place]
    others.sort(key=lambda c: c.place not in first)  # positions first
    x = table.values[:, [c.place for c in others]]
    if not repair:
        _refuse_repeats(table, found, t)
        columns = {c.place: x[:, k] for k, c in enumerate(others)}
        return Rows(t, start, columns, table.row, said)
    huge = np.abs(x) > LARGEST
    huge &= np.isfinite(x)
    if huge.any():
        row, column = np.argwhere(huge)[0]
        name = others[column].name
        raise TrajectoryError(f"{table.row(row)}, column {name!r} is {x[row, column]}")
    made = repaired(t, x, len(first))
    if not len(made.t):
        raise TrajectoryError("no row has a time and a number for every joint")
    columns = {c.place: made.x[:, k] for k, c in enumerate(others)}
    return Rows(made.t, start, columns, lambda k: table.row(made.rows[k]), said + made.said)


def trimmed(rows: Rows, start: float | None, stop: float | None) -> Rows:
    """Rows from `start` to `stop`, s, of the log's time."""
    if start is None and stop is None:
        return rows
    first, last = (np.inf if x is None else float(x) for x in (start, stop))
    first = -np.inf if start is None else first
    keep = (rows.t >= first) & (rows.t <= last)
    if not keep.any():
        raise TrajectoryError(
            f"no row is between start={start} and stop={stop} s; times go from {rows.t[0]:.6g} to "
            f"{rows.t[-1]:.6g} s"
        )
    ends = f"{rows.t[keep][0]:.6g} to {rows.t[keep][-1]:.6g} s"
    return rows.kept(keep, f"{np.sum(keep)} of {len(keep)} rows taken, from {ends}")


def _times(table: Table, found: Columns, dt: float | None) -> tuple[np.ndarray, float, list[str]]:
    """(times (rows,), the first stamp where they are of a clock, what was done)."""
    if found.time is None:
        if dt is None:
            raise TrajectoryError("no column is called 'time'; add one, or give dt= (--dt), s")
        if not (np.isfinite(dt) and dt > 0.0):
            raise TrajectoryError(f"dt={dt!r} must be a positive number of seconds")
        return dt * np.arange(len(table.values)), 0.0, []
    t, factor, said = table.values[:, found.time.place], found.time.factor, []
    known = t[np.isfinite(t)]
    first = float(known[0]) if len(known) else 0.0
    if not found.time_stated:
        for unit, (least, seconds) in TICKS.items():
            if first > least:
                said.append(f"stamps of {first:.4g} are {unit} of a clock")
                factor = seconds
                break
    start = first if abs(first) * factor > EPOCH else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        return (t - start) * factor, start * factor, said


def _refuse_repeats(table: Table, found: Columns, t: np.ndarray) -> None:
    late = np.diff(t) <= 0.0
    if late.any():
        assert found.time is not None  # rows dt apart are never late
        stamps, row = table.values[:, found.time.place], int(np.argmax(late)) + 1
        raise TrajectoryError(
            f"{table.row(row)}, column {found.time.name!r}: time {stamps[row]:.9g} does not come "
            f"after {stamps[row - 1]:.9g}"
        )
