"""The fit of a log: spikes of torque taken out, friction made to rise as it does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.identification.accumulate import cut
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.outliers import without_spikes
from dalembert.identification.record import Record
from dalembert.identification.solving import Solved, leftovers, plain, solve
from dalembert.identification.tuning import choose_widths

ENOUGH = 30_000  # samples by which friction, and what is usual, is decided
ROUNDS = 3  # of looking for spikes: they spoil the fit by which they are seen


def refined(
    columns: Columns, base: Base, records: Sequence[Record], method: str, robust: bool
) -> tuple[Solved, list[str]]:
    """(the fit, what was done to the torques for it).

    A part of a long log decides on friction and on what is usual; then all of it is fitted once.
    """
    clean = robust and plain(columns)
    some = beginning(records)
    found, left = _usual(columns, base, some, method, clean)
    columns = choose_widths(found, left)
    made, said = tuple(records), list[str]()
    if clean:
        made, count = without_spikes(records, leftovers(columns, records, found.x))
        said = _said(count, columns.rows, sum(len(record.t) for record in records))
    if found.columns is columns and found.records == made:
        return found, said
    return solve(columns, base, made, method), said


def _usual(
    columns: Columns, base: Base, records: Sequence[Record], method: str, clean: bool
) -> tuple[Solved, list[np.ndarray]]:
    """(a fit, what it leaves), with spikes of torque out of the way where they are to be."""
    found = solve(columns, base, records, method)
    left, before = leftovers(columns, records, found.x), np.zeros(0)
    for _ in range(ROUNDS if clean else 0):
        made, count = without_spikes(records, left)
        if not count.any() or np.array_equal(count, before):
            break
        found, before = solve(columns, base, made, method), count
        left = leftovers(columns, records, found.x)
    return found, leftovers(columns, found.records, found.x) if before.any() else left


def beginning(records: Sequence[Record]) -> tuple[Record, ...]:
    """The first records, up to `ENOUGH` samples in all."""
    found: list[Record] = []
    left = ENOUGH
    for record in records:
        if left > 0:
            found.append(record if len(record.t) <= left else cut(record, slice(0, left)))
            left -= len(record.t)
    return tuple(found)


def _said(count: np.ndarray, names: Sequence[str], total: int) -> list[str]:
    named = [f"{n} of {name}" for n, name in zip(count, names, strict=True) if n]
    said = "torques far off their neighbours taken as not measured, of "
    return [f"{said}{total} each: {', '.join(named)}"] if named else []
