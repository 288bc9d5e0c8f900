"""Logs of any kind as records, and the part of them that is held out of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.accumulate import cut
from dalembert.identification.columns import may_be_passive
from dalembert.identification.preparing import arrays_of, prepare
from dalembert.identification.record import Record
from dalembert.simulation.log_units import in_si
from dalembert.systems.system import System

ENOUGH = 30_000  # samples by which a filter is chosen
STILL = 2e-3  # rad or m: less is no motion
NOISE = 5.0  # deviations of its noise: a velocity that never is larger is none


def logs_of(system: System, log: Any) -> tuple[Any, ...]:
    """Datasets or Records of whatever was given: one of them, a path, or several of these."""
    if isinstance(log, str | PathLike):
        from dalembert.simulation.log import read_log

        return (read_log(log, system),)
    if isinstance(log, list | tuple):
        return tuple(each for one in log for each in logs_of(system, one))
    if isinstance(log, Record):
        return (log,)
    if not hasattr(log, "data_vars"):
        raise IdentificationError(
            f"a log is an xarray.Dataset (dl.read_log, dl.simulate), a path, or a list of them, "
            f"not {type(log).__name__}"
        )
    made, kinds = system.dynamics, system.kinds
    q = dict(zip(made.coordinates, kinds.q, strict=True))
    v = dict(zip(made.velocities, kinds.v, strict=True))
    return (in_si(log, {"q": q, "qd": v, "tau": v}),)


def records_of(
    system: System, log: Any, cutoff: float | None = None, delay: float = 0.0
) -> tuple[Record, ...]:
    """Records of logs of any kind; `cutoff`, Hz, and `delay`, s, of those that are none yet."""
    found: list[Record] = []
    for one in logs_of(system, log):
        found += [one] if isinstance(one, Record) else prepare(system, one, cutoff, delay)
    return tuple(found)


def driven_in(system: System, logs: Sequence[Any]) -> np.ndarray:
    """(nv,) bool: joints that have a drive.

    Those of a serial arm all have one; a joint of a closed chain or of a floating robot does where a
    torque that is not always zero was recorded.
    """
    torques = [arrays_of(system, log)[2] for log in logs]
    recorded = np.any([np.nan_to_num(tau).any(axis=0) for tau in torques], axis=0)
    return np.asarray(recorded | (not may_be_passive(system)))


def moving_in(system: System, logs: Sequence[Any]) -> np.ndarray:
    """(nv,) bool: velocities along which some log moves."""
    moved = np.zeros(system.nv, dtype=bool)
    for log in logs:
        q = _whole(arrays_of(system, log)[1])
        moved |= np.ptp(system.difference(q[:1], q), axis=0) > STILL if len(q) else False
    return moved


def starts_of(system: System, logs: Sequence[Any]) -> np.ndarray:
    """(logs, nq) the first configuration of each log."""
    return np.concatenate([_whole(arrays_of(system, log)[1])[:1] for log in logs])


def _whole(q: np.ndarray) -> np.ndarray:
    return q[np.isfinite(q).all(axis=1)]


def part_of(logs: Sequence[Any], held_out: Any) -> tuple[Any, ...]:
    """The beginning of one log, none of it held out: enough to choose a filter by."""
    rows = np.array([len(log.t if isinstance(log, Record) else log.time) for log in logs])
    share = float(held_out) if is_share(held_out) and held_out is not None else 0.0
    fitted = np.clip((1.0 - share) * rows.sum() - (np.cumsum(rows) - rows), 0, rows).astype(int)
    most = int(np.argmax(fitted))
    part = slice(0, min(ENOUGH, int(fitted[most])))
    log = logs[most]
    return (cut(log, part) if isinstance(log, Record) else log.isel(time=part),)


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
        moved |= np.abs(record.qd).max(axis=0) > NOISE * record.rate_noise
    return tuple(name for name, moves in zip(names, moved, strict=True) if not moves)


def without_dither(system: System, *parts: tuple[Record, ...]) -> tuple[tuple[Record, ...], ...]:
    """Records to fit and those held out, with joints at rest that the first never move."""
    if system.nq != system.nv:
        return parts
    still = still_joints(system, parts[0])
    joints = [k for k, name in enumerate(system.dynamics.velocities) if name in still]
    if not joints:
        return parts

    def at_rest(record: Record) -> Record:
        """Without the noise of these joints' motion: they stand where they are."""
        q, qd, qdd = (np.array(x) for x in (record.q, record.qd, record.qdd))
        q[:, joints], qd[:, joints], qdd[:, joints] = q[:, joints].mean(axis=0), 0.0, 0.0
        return replace(record, q=q, qd=qd, qdd=qdd)

    return tuple(tuple(map(at_rest, part)) for part in parts)
