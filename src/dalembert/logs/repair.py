"""Rows of a table with their times: missing, repeated and stale rows are refused or repaired.

Every repair is described in a line of text, `Rows.notes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.logs.columns import Columns
from dalembert.logs.tables import LARGEST, Table, require_finite

EPOCH = 1e6  # s: later times are stamps of a clock
TICKS = {"ns": (1e17, 1e-9), "µs": (1e14, 1e-6), "ms": (1e11, 1e-3)}  # stamps of this century
MAX_GAP = 5  # consecutive missing numbers of a column that are interpolated
COARSE_CLOCK = 0.2  # share of repeated stamps, with other numbers, from which the clock is coarse
LOOKAHEAD = 6  # rows by which the speed of a motion is estimated


class Rows(NamedTuple):
    """Columns in use over time."""

    t: np.ndarray  # (rows,) s
    start: float  # s, first stamp of a clock, already subtracted
    columns: dict[int, np.ndarray]  # by index in the table, as recorded
    row_label: Callable[[int], str]  # position of a row for messages
    notes: list[str]


def table_rows(table: Table, columns: Columns, dt: float | None, gaps: str | None) -> Rows:
    """The rows of a table; `gaps` is "refuse", "repair", or None: repair where there are torques."""
    if gaps not in (None, "refuse", "repair"):
        raise SettingError(f"gaps={gaps!r} must be 'refuse' or 'repair'")
    is_repaired = gaps == "repair" or (gaps is None and bool(columns.entries["tau"]))
    used = [column for own in columns.entries.values() for column in own.values()]
    used += [*columns.following.values(), *([] if columns.time is None else [columns.time])]
    used.sort()  # in the order of the table
    for column in used:
        if column.index in table.invalid:
            raise TrajectoryError(table.invalid[column.index])
    if not is_repaired:
        values = table.values[:, [c.index for c in used]]
        require_finite([c.name for c in used], values, table.row_label)
    t, start, notes = _times(table, columns, dt)
    positions = [own.index for own in columns.entries["q"].values()]
    others = [c for c in used if columns.time is None or c.index != columns.time.index]
    others.sort(key=lambda c: c.index not in positions)  # positions first
    x = table.values[:, [c.index for c in others]]
    if not is_repaired:
        late = np.diff(t) <= 0.0
        if late.any():
            assert columns.time is not None  # rows dt apart increase
            stamps, row = table.values[:, columns.time.index], int(np.argmax(late)) + 1
            raise TrajectoryError(
                f"{table.row_label(row)}, column {columns.time.name!r}: time {stamps[row]:.9g} does "
                f"not come after {stamps[row - 1]:.9g}"
            )
        by_index = {c.index: x[:, k] for k, c in enumerate(others)}
        return Rows(t, start, by_index, table.row_label, notes)
    huge = (np.abs(x) > LARGEST) & np.isfinite(x)
    if huge.any():
        row, k = np.argwhere(huge)[0]
        raise TrajectoryError(f"{table.row_label(row)}, column {others[k].name!r} is {x[row, k]}")
    repaired = repair(t, x, len(positions))
    if not len(repaired.t):
        raise TrajectoryError("no row has a time and a number for every joint")
    by_index = {c.index: repaired.x[:, k] for k, c in enumerate(others)}
    notes += repaired.notes
    return Rows(repaired.t, start, by_index, lambda k: table.row_label(repaired.rows[k]), notes)


def trim(rows: Rows, start: float | None, stop: float | None) -> Rows:
    """Rows from `start` to `stop`, s, of the log's time."""
    if start is None and stop is None:
        return rows
    keep = rows.t >= (-np.inf if start is None else float(start))
    keep &= rows.t <= (np.inf if stop is None else float(stop))
    if not keep.any():
        times = f"{rows.t[0]:.6g} to {rows.t[-1]:.6g} s"
        raise TrajectoryError(f"no row is between start={start} and stop={stop}; times are {times}")
    t, indices = rows.t[keep], np.flatnonzero(keep)
    columns = {index: x[keep] for index, x in rows.columns.items()}
    note = f"{len(t)} of {len(keep)} rows taken, from {t[0]:.6g} to {t[-1]:.6g} s"
    return Rows(t, rows.start, columns, lambda k: rows.row_label(indices[k]), [*rows.notes, note])


def _times(table: Table, columns: Columns, dt: float | None) -> tuple[np.ndarray, float, list[str]]:
    """(times (rows,), first stamp where they are of a clock, notes)."""
    if columns.time is None:
        if dt is None:
            raise TrajectoryError("no column is called 'time'; add one, or give dt= (--dt), s")
        if not (np.isfinite(dt) and dt > 0.0):
            raise TrajectoryError(f"dt={dt!r} must be a positive number of seconds")
        return dt * np.arange(len(table.values)), 0.0, []
    t, factor, notes = table.values[:, columns.time.index], columns.time.factor, []
    finite = t[np.isfinite(t)]
    first = float(finite[0]) if len(finite) else 0.0
    if not columns.has_time_unit:
        for unit, (least, seconds) in TICKS.items():
            if first > least:
                notes.append(f"stamps of {first:.4g} are {unit} of a clock")
                factor = seconds
                break
    start = first if abs(first) * factor > EPOCH else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        return (t - start) * factor, start * factor, notes


class RepairedRows(NamedTuple):
    """Finite numbers at increasing times."""

    t: np.ndarray  # (n,)
    x: np.ndarray  # (n, k)
    rows: np.ndarray  # (n,) indices of the original rows
    notes: list[str]

    def select(self, keep: np.ndarray) -> RepairedRows:
        """The rows with `keep` (n,) True."""
        return RepairedRows(self.t[keep], self.x[keep], self.rows[keep], self.notes)


def repair(t: np.ndarray, x: np.ndarray, positions: int = 0) -> RepairedRows:
    """Rows t (n,), x (n, k) without unusable ones; the first columns are `positions`.

    Rows without a time are dropped, and so are rows that repeat the previous one while the motion
    went on. Up to five consecutive missing numbers of a column are interpolated, and rows that miss
    more are dropped. Of rows with the same time the first stays, unless the clock is coarse: then
    rows are spread evenly over its tick. Time that runs backward raises TrajectoryError.
    """
    rows, has_time = RepairedRows(t, x, np.arange(len(t)), []), np.isfinite(t)
    if not has_time.all():
        rows = rows.select(has_time)
        rows.notes.append(f"{np.sum(~has_time)} rows without a time left out")
    backward = np.diff(rows.t) < 0.0
    if backward.any():
        row = int(np.argmax(backward)) + 1
        where = f"{rows.t[row - 1]:.9g} to {rows.t[row]:.9g} s at row {row + 1} of {len(rows.t)}"
        raise TrajectoryError(
            f"time jumps back from {where}, {np.sum(backward)} such jumps in all; sort the rows, or "
            "cut the log where its clock was set anew"
        )
    rows = _drop_stale(_increasing_times(rows), positions)
    missing = ~np.isfinite(rows.x)
    if not missing.any():
        return rows
    filled, count = rows.x.copy(), 0
    for k in np.flatnonzero(missing.any(axis=0)):
        short = missing[:, k] & (_run_lengths(missing[:, k]) <= MAX_GAP)
        known = ~missing[:, k]
        if not known.any():
            continue
        ends = np.flatnonzero(known)[[0, -1]]
        short[: ends[0]] = short[ends[1] :] = False  # no extrapolation
        filled[short, k] = np.interp(rows.t[short], rows.t[known], rows.x[known, k])
        count += int(short.sum())
    if count:
        rows.notes.append(f"{count} missing numbers interpolated, at most {MAX_GAP} in a row")
    complete = np.isfinite(filled).all(axis=1)
    if not complete.all():
        rows.notes.append(f"{np.sum(~complete)} rows with missing numbers left out")
    return rows._replace(x=filled).select(complete)


def _increasing_times(rows: RepairedRows) -> RepairedRows:
    """Rows at strictly increasing times."""
    t, x = rows.t, rows.x
    repeats = np.append(False, np.diff(t) == 0.0)
    if not repeats.any():
        return rows
    differs = repeats.copy()
    differs[1:] &= (x[1:] != x[:-1]).any(axis=1) & np.isfinite(x[1:]).all(axis=1)
    ticks = np.unique(t) if np.mean(differs) > COARSE_CLOCK else t[:0]
    if len(ticks) > 2:
        tick = float(np.median(np.diff(ticks)))
        rows.notes.append(
            f"{np.sum(repeats)} of {len(t)} stamps repeat the one before, though the rows differ: "
            f"the clock ticks every {tick:.6g} s, rows are spread evenly over its ticks"
        )
        index = np.arange(len(t))
        even = np.polynomial.Polynomial.fit(index, t, 1)(index)
        if np.abs(t - even).max() < 1.5 * tick:
            return rows._replace(t=even)
        tick_of_row = np.searchsorted(ticks, t)
        within = index - np.flatnonzero(~repeats)[tick_of_row]
        return rows._replace(t=t + tick * within / np.bincount(tick_of_row)[tick_of_row])
    first = np.sum(repeats[1 : 1 + int(np.argmin(np.append(repeats[1:], False)))])
    start = f", {first} of them at the start" if first else ""
    rows.notes.append(f"{np.sum(repeats)} rows with the time of the row before left out{start}")
    return rows.select(~repeats)


def _drop_stale(rows: RepairedRows, positions: int) -> RepairedRows:
    """Rows without copies of the previous row that hide a motion.

    After a run of m equal rows a motion that went on jumps by m + 1 of the steps that follow; one
    that rests begins slowly, or moves by steps of its encoder.
    """
    x, q = rows.x, rows.x[:, :positions]
    equal = np.append(False, (x[1:] == x[:-1]).all(axis=1))
    if not positions or not equal.any():
        return rows
    ends = np.flatnonzero(equal & ~np.append(equal[1:], True))  # last rows of runs, not of the log
    run = _run_lengths(equal)[ends]
    after = np.minimum(ends + 1 + LOOKAHEAD, len(x) - 1)
    steps = np.nan_to_num(np.abs(np.diff(q, axis=0)))
    least = np.where(steps > 0.0, steps, np.inf).min(axis=0, initial=np.inf)
    jump = np.abs(q[ends + 1] - q[ends])
    speed = np.abs(q[after] - q[ends + 1]) / np.maximum(after - ends - 1, 1)[:, None]
    scale = np.maximum(steps.mean(axis=0), 1e-300)
    hides_motion = (jump / scale).sum(axis=1) > 0.6 * (run + 1) * (speed / scale).sum(axis=1)
    hides_motion &= (jump > 3.0 * least).any(axis=1)
    stale = np.zeros(len(x), bool)
    for end, length in zip(ends[hides_motion], run[hides_motion], strict=True):
        stale[end - length + 1 : end + 1] = True
    if len(x) > 1 and stale[1]:
        stale[0] = True  # which of the first rows is true is not known
    if stale.any():
        copies = f"{np.sum(stale)} rows that hold the numbers of the row before"
        rows.notes.append(f"{copies} while the motion went on left out")
        rows = rows.select(~stale)
    return rows


def _run_lengths(flags: np.ndarray) -> np.ndarray:
    """(n,) length of the run of equal flags that each belongs to."""
    starts = np.flatnonzero(np.append(True, flags[1:] != flags[:-1]))
    lengths = np.diff(np.append(starts, len(flags)))
    return np.repeat(lengths, lengths)
