"""Logs of any kind as records, and the part of them that is held out of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.accumulate import cut
from dalembert.identification.record import Record
from dalembert.simulation.log_rates import rates
from dalembert.systems.system import System


def records_of(system: System, log: Any, cutoff: float | None = None) -> tuple[Record, ...]:
    """Records of a Dataset, of a path to a file, of a Record, or of several of these."""
    if isinstance(log, Record):
        return (log,)
    if isinstance(log, str | PathLike):
        from dalembert.simulation.log import read_log

        log = read_log(log, system)
    if isinstance(log, Sequence):
        return tuple(record for each in log for record in records_of(system, each, cutoff))
    if not hasattr(log, "data_vars"):
        raise IdentificationError(
            f"a log is an xarray.Dataset (dl.read_log, dl.simulate), a path, or a list of them, "
            f"not {type(log).__name__}"
        )
    return _plain(system, log, cutoff)


def _plain(system: System, log: Any, cutoff: float | None) -> tuple[Record, ...]:
    """A Dataset with rates from its positions where it has none."""
    for name in ("q", "tau"):
        if name not in log:
            raise IdentificationError(f"the log has no {name!r}; dl.read_log gives it")
    t, q, tau = (np.asarray(log[name].values, dtype=float) for name in ("time", "q", "tau"))
    if "qd" in log and "qdd" in log:
        qd, qdd = (np.asarray(log[name].values, dtype=float) for name in ("qd", "qdd"))
    else:
        q, qd, qdd = rates(system, t, q, cutoff or 10.0)
    none = np.zeros(system.nv)
    return (Record(t, q, qd, qdd, tau, none, none),)


def split(
    system: System, records: tuple[Record, ...], held_out: Any, cutoff: float | None
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """(records to fit, records held out): the last part of the time, another log, or nothing."""
    if held_out is None:
        return records, ()
    if not isinstance(held_out, int | float | np.generic):
        return records, records_of(system, held_out, cutoff)
    share = float(held_out)
    if not 0.0 <= share < 1.0:
        raise SettingError(
            f"held_out={held_out!r} must be a share of the log, 0 to below 1, or a log"
        )
    left = round(share * sum(len(record.t) for record in records))
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
