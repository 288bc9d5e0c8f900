"""The fit of a log: spikes of torque taken out, friction made to rise as it does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.outliers import without_spikes
from dalembert.identification.record import Record
from dalembert.identification.solving import Solved, leftovers, plain, solve
from dalembert.identification.tuning import choose_widths

ROUNDS = 3  # of looking for spikes: they spoil the fit by which they are seen


def refined(
    columns: Columns, base: Base, records: Sequence[Record], method: str, robust: bool
) -> tuple[Solved, list[str]]:
    """(the fit, what was done to the torques for it)."""
    found = solve(columns, base, records, method)
    left = leftovers(columns, records, found.x)
    said: list[str] = []
    if robust and plain(columns):
        found, left, said = _without_spikes(found, base, left, method)
    wider = choose_widths(found, left)
    if wider is not columns:
        found = solve(wider, base, found.records, method)
    return found, said


def _without_spikes(
    found: Solved, base: Base, left: list[np.ndarray], method: str
) -> tuple[Solved, list[np.ndarray], list[str]]:
    records, columns, before = found.records, found.columns, np.zeros(0)
    for _ in range(ROUNDS):
        made, count = without_spikes(records, left)
        if not count.any():
            return found, left, []
        if np.array_equal(count, before):
            break
        found, before = solve(columns, base, made, method), count
        left = leftovers(columns, records, found.x)
    left = leftovers(columns, found.records, found.x)
    total = sum(len(record.t) for record in records)
    named = [f"{n} of {name}" for n, name in zip(count, columns.rows, strict=True) if n]
    said = "torques far off their neighbours taken as not measured, of "
    return found, left, [f"{said}{total} each: {', '.join(named)}"]
