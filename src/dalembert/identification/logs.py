"""Logs of any kind as records, and the part of them that is held out of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.accumulate import cut
from dalembert.identification.preparing import prepare
from dalembert.identification.record import Record
from dalembert.systems.system import System

ENOUGH = 30_000  # samples by which a filter is chosen
STILL = 5.0  # deviations of its noise: a velocity that never is larger is none


def logs_of(system: System, log: Any) -> tuple[Any, ...]:
    """Datasets or Records of whatever was given: one of them, a path, or several of these."""
    if isinstance(log, str | PathLike):
        from dalembert.simulation.log import read_log

        return (read_log(log, system),)
    if isinstance(log, list | tuple):
        return tuple(each for one in log for each in logs_of(system, one))
    if not isinstance(log, Record) and not hasattr(log, "data_vars"):
        raise IdentificationError(
            f"a log is an xarray.Dataset (dl.read_log, dl.simulate), a path, or a list of them, "
            f"not {type(log).__name__}"
        )
    return (log,)


def records_of(
    system: System, log: Any, cutoff: float | None = None, delay: float = 0.0
) -> tuple[Record, ...]:
    """Records of logs of any kind; `cutoff`, Hz, and `delay`, s, of those that are none yet."""
    found: list[Record] = []
    for one in logs_of(system, log):
        found += [one] if isinstance(one, Record) else prepare(system, one, cutoff, delay)
    return tuple(found)


def part_of(logs: Sequence[Any], held_out: Any) -> tuple[Any, ...]:
    """The beginning of one log, none of it held out: enough to choose a filter by."""
    rows = np.array([_rows(log) for log in logs])
    share = float(held_out) if is_share(held_out) and held_out is not None else 0.0
    fitted = np.clip((1.0 - share) * rows.sum() - (np.cumsum(rows) - rows), 0, rows).astype(int)
    most = int(np.argmax(fitted))
    part = slice(0, min(ENOUGH, int(fitted[most])))
    log = logs[most]
    return (cut(log, part) if isinstance(log, Record) else log.isel(time=part),)


def _rows(log: Any) -> int:
    return len(log.t) if isinstance(log, Record) else int(log.sizes["time"])


def is_share(held_out: Any) -> bool:
    """Whether it is a number or nothing, not another log."""
    return held_out is None or isinstance(held_out, int | float | np.generic)


def require_share(held_out: Any) -> None:
    """An error unless it is a share of a log, another log, or nothing."""
    if held_out is not None and is_share(held_out) and not 0.0 <= float(held_out) < 1.0:
        raise SettingError(
            f"held_out={held_out!r} must be a share of the log, 0 to below 1, or a log"
        )


def split(
    system: System,
    records: tuple[Record, ...],
    held_out: Any,
    cutoff: float | None = None,
    delay: float = 0.0,
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """(records to fit, records held out): the last part of the time, another log, or nothing."""
    require_share(held_out)
    if held_out is None:
        return records, ()
    if not is_share(held_out):
        return records, records_of(system, held_out, cutoff, delay)
    left = round(float(held_out) * sum(len(record.t) for record in records))
    fitted: list[Record] = list(records)
    held: list[Record] = []
    while left > 0 and fitted:
        last = fitted.pop()
        if len(last.t) > left:
            fitted.append(cut(last, slice(None, -left)))
            last = cut(last, slice(-left, None))
        held.insert(0, last)
        left -= len(last.t)
    return tuple(fitted), tuple(held)


def still_joints(system: System, records: Sequence[Record]) -> tuple[str, ...]:
    """Velocities that are nothing but noise in every record."""
    names, moved = system.dynamics.velocities, np.zeros(system.nv, dtype=bool)
    for record in records:
        moved |= np.abs(record.qd).max(axis=0) > STILL * record.rate_noise
    return tuple(name for name, moves in zip(names, moved, strict=True) if not moves)


def at_rest(records: Sequence[Record], joints: Sequence[int]) -> tuple[Record, ...]:
    """The records with the noise of these joints' motion taken away: they stand where they are."""
    if not joints:
        return tuple(records)
    made = []
    for record in records:
        q, qd, qdd = (np.array(x) for x in (record.q, record.qd, record.qdd))
        q[:, joints], qd[:, joints], qdd[:, joints] = q[:, joints].mean(axis=0), 0.0, 0.0
        made.append(replace(record, q=q, qd=qd, qdd=qdd))
    return tuple(made)


def without_dither(system: System, *parts: tuple[Record, ...]) -> tuple[tuple[Record, ...], ...]:
    """Records to fit and those held out, with joints at rest that the first never move."""
    if system.nq != system.nv:
        return parts
    still = still_joints(system, parts[0])
    joints = [k for k, name in enumerate(system.dynamics.velocities) if name in still]
    return tuple(at_rest(part, joints) for part in parts)
