"""Rows of a table with their times: refused where something is missing, or repaired and said.

Rows that are missing, repeated or stamped too coarsely are repaired, and nothing is made up in silence:
what was done comes back as lines of text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.simulation.log_columns import Columns
from dalembert.simulation.log_table import LARGEST, Table, refuse_gaps

EPOCH = 1e6  # s: later than that, times are stamps of a clock
TICKS = {"ns": (1e17, 1e-9), "µs": (1e14, 1e-6), "ms": (1e11, 1e-3)}  # stamps of this century
BRIDGED = 5  # rows in a row that a column may miss and still be interpolated
COARSE = 0.2  # share of repeated stamps, with other numbers, from which the clock is too coarse
AHEAD = 6  # rows by which the pace of a motion is told


class Rows(NamedTuple):
    """Columns in use over time."""

    t: np.ndarray  # (rows,) s
    start: float  # s, the first stamp of a clock, already taken off
    columns: dict[int, np.ndarray]  # by place in the table, as recorded
    row: Callable[[int], str]  # where a row was, in words
    said: list[str]


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
        late = np.diff(t) <= 0.0
        if late.any():
            assert found.time is not None  # rows dt apart are never late
            stamps, row = table.values[:, found.time.place], int(np.argmax(late)) + 1
            raise TrajectoryError(
                f"{table.row(row)}, column {found.time.name!r}: time {stamps[row]:.9g} does not "
                f"come after {stamps[row - 1]:.9g}"
            )
        columns = {c.place: x[:, k] for k, c in enumerate(others)}
        return Rows(t, start, columns, table.row, said)
    huge = (np.abs(x) > LARGEST) & np.isfinite(x)
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
    keep = rows.t >= (-np.inf if start is None else float(start))
    keep &= rows.t <= (np.inf if stop is None else float(stop))
    if not keep.any():
        raise TrajectoryError(
            f"no row is between start={start} and stop={stop} s; times go from {rows.t[0]:.6g} to "
            f"{rows.t[-1]:.6g} s"
        )
    t, places = rows.t[keep], np.flatnonzero(keep)
    columns = {place: x[keep] for place, x in rows.columns.items()}
    told = f"{len(t)} of {len(keep)} rows taken, from {t[0]:.6g} to {t[-1]:.6g} s"
    return Rows(t, rows.start, columns, lambda k: rows.row(places[k]), [*rows.said, told])


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


class Repaired(NamedTuple):
    """Finite numbers at times that increase, and how they came about."""

    t: np.ndarray  # (n,)
    x: np.ndarray  # (n, k)
    rows: np.ndarray  # (n,) which of the rows that were given
    said: list[str]


def repaired(t: np.ndarray, x: np.ndarray, positions: int = 0) -> Repaired:
    """Rows t (n,), x (n, k) without what cannot be used; the first columns are `positions`.

    Rows without a time are dropped, and so are rows that repeat the last one while the motion went
    on. Up to five missing numbers of a column in a row are interpolated, and rows that miss more are
    dropped. Of rows with the same time the first stays, unless the clock is coarse: then rows spread
    evenly over its tick. Time that runs backward is an error.
    """
    made, timed = Repaired(t, x, np.arange(len(t)), []), np.isfinite(t)
    if not timed.all():
        made = _kept(made, timed, x)
        made.said.append(f"{np.sum(~timed)} rows without a time left out")
    back = np.diff(made.t) < 0.0
    if back.any():
        row = int(np.argmax(back)) + 1
        raise TrajectoryError(
            f"time jumps back from {made.t[row - 1]:.9g} to {made.t[row]:.9g} s at row {row + 1} of "
            f"{len(made.t)}, {np.sum(back)} such jumps in all; sort the rows, or cut the log where "
            "its clock was set anew"
        )
    return _without_gaps(_without_stale(_without_repeats(made), positions))


def _kept(made: Repaired, keep: np.ndarray, x: np.ndarray) -> Repaired:
    return Repaired(made.t[keep], x[keep], made.rows[keep], made.said)


def _without_repeats(made: Repaired) -> Repaired:
    """Rows at times that increase strictly."""
    t, x, said = made.t, made.x, made.said
    again = np.append(False, np.diff(t) == 0.0)
    if not again.any():
        return made
    other = again.copy()
    other[1:] &= (x[1:] != x[:-1]).any(axis=1) & np.isfinite(x[1:]).all(axis=1)
    if np.mean(other) > COARSE:
        ticks, place, count = np.unique(t, return_inverse=True, return_counts=True)
        if len(ticks) > 2:
            tick = float(np.median(np.diff(ticks)))
            said.append(
                f"{np.sum(again)} of {len(t)} stamps repeat the one before, though the rows differ: "
                f"the clock ticks every {tick:.6g} s, rows are spread evenly over its ticks"
            )
            rows = np.arange(len(t))
            even = np.polynomial.Polynomial.fit(rows, t, 1)(rows)
            if np.abs(t - even).max() < 1.5 * tick:
                return made._replace(t=even)
            within = rows - np.flatnonzero(~again)[place]
            return made._replace(t=t + tick * within / count[place])
    first = np.sum(again[1 : 1 + int(np.argmin(np.append(again[1:], False)))])
    start = f", {first} of them at the start" if first else ""
    said.append(f"{np.sum(again)} rows with the time of the row before left out{start}")
    return _kept(made, ~again, x)


def _without_stale(made: Repaired, positions: int) -> Repaired:
    """Rows without copies of the row before them that hide a motion.

    After a run of m equal rows a motion that went on jumps by m + 1 of the steps that follow; one
    that rests begins slowly, or moves by steps of its encoder.
    """
    x, q = made.x, made.x[:, :positions]
    equal = np.append(False, (x[1:] == x[:-1]).all(axis=1))
    if not positions or not equal.any():
        return made
    ends = np.flatnonzero(equal & ~np.append(equal[1:], True))  # last rows of runs, not of the log
    run = _run_lengths(equal)[ends]
    after = np.minimum(ends + 1 + AHEAD, len(x) - 1)
    steps = np.nan_to_num(np.abs(np.diff(q, axis=0)))
    least = np.where(steps > 0.0, steps, np.inf).min(axis=0, initial=np.inf)
    jump = np.abs(q[ends + 1] - q[ends])
    pace = np.abs(q[after] - q[ends + 1]) / np.maximum(after - ends - 1, 1)[:, None]
    scale = np.maximum(steps.mean(axis=0), 1e-300)
    hidden = (jump / scale).sum(axis=1) > 0.6 * (run + 1) * (pace / scale).sum(axis=1)
    hidden &= (jump > 3.0 * least).any(axis=1)
    stale = np.zeros(len(x), bool)
    for end, length in zip(ends[hidden], run[hidden], strict=True):
        stale[end - length + 1 : end + 1] = True
    if len(x) > 1 and stale[1]:
        stale[0] = True  # nobody knows which of the first rows was true
    if stale.any():
        made.said.append(
            f"{np.sum(stale)} rows that hold the numbers of the row before while the motion went on "
            "left out"
        )
        made = _kept(made, ~stale, x)
    return made


def _without_gaps(made: Repaired) -> Repaired:
    """Rows of finite numbers: short gaps of a column interpolated, rows that miss more dropped."""
    t, x, said = made.t, made.x, made.said
    missing = ~np.isfinite(x)
    if not missing.any():
        return made
    filled, bridged = x.copy(), 0
    for k in np.flatnonzero(missing.any(axis=0)):
        short = missing[:, k] & (_run_lengths(missing[:, k]) <= BRIDGED)
        known = ~missing[:, k]
        if not known.any():
            continue
        ends = np.flatnonzero(known)[[0, -1]]
        short[: ends[0]] = short[ends[1] :] = False  # nothing is known beyond the first and last
        filled[short, k] = np.interp(t[short], t[known], x[known, k])
        bridged += int(short.sum())
    if bridged:
        said.append(f"{bridged} missing numbers interpolated, at most {BRIDGED} in a row")
    whole = np.isfinite(filled).all(axis=1)
    if not whole.all():
        said.append(f"{np.sum(~whole)} rows with missing numbers left out")
    return _kept(made, whole, filled)


def _run_lengths(flags: np.ndarray) -> np.ndarray:
    """(n,) how long the run of equal flags is that each belongs to."""
    starts = np.flatnonzero(np.append(True, flags[1:] != flags[:-1]))
    lengths = np.diff(np.append(starts, len(flags)))
    return np.repeat(lengths, lengths)
