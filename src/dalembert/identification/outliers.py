"""Single torques that are far off their neighbours are taken as not measured.

The leftover of a first fit is compared with its own running median (Hampel 1974): a model that is
wrong leaves something smooth, a sensor that fails for a sample or two leaves a spike. What is normal
noise is left alone, so nothing is lost where there are no outliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.record import Record
from dalembert.identification.solving import leftovers, plain, solve

ROUNDS = 3  # of looking for spikes
WINDOW = 11  # samples of the running median
FAR = 6.0  # robust standard deviations; normal noise goes beyond twice in 10⁹
PER_DEVIATION = 1.4826  # of the median of |normal noise|


def cleaned(
    columns: Columns, base: Base, records: Sequence[Record]
) -> tuple[tuple[Record, ...], list[str]]:
    """(records with spikes of torque replaced by what is usual around them, what was done).

    Spikes spoil the fit by which they are seen, so they are looked for again after they are gone.
    """
    if not plain(columns):
        return tuple(records), []
    made, count = tuple(records), np.zeros(0)
    for _ in range(ROUNDS):
        _, x = solve(columns, base, made)
        spikes = spikes_of(leftovers(columns, records, x))
        before, count = count, np.sum([np.count_nonzero(s, axis=0) for s in spikes], axis=0)
        if not count.any():
            return tuple(records), []
        if np.array_equal(before, count):
            break
        made = tuple(replace(r, tau=r.tau - s) for r, s in zip(records, spikes, strict=True))
    total = sum(len(record.t) for record in records)
    named = [f"{n} of {name}" for n, name in zip(count, columns.rows, strict=True) if n]
    return made, [
        f"torques far off their neighbours taken as not measured, of {total} each: "
        f"{', '.join(named)}"
    ]


def spikes_of(left: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By how much each leftover (n, nv) is off its running median where that is far, else 0."""
    apart = [x - _median(x) for x in left]
    level = PER_DEVIATION * np.median(np.abs(np.concatenate(apart)), axis=0)
    most = np.where(level > 0.0, FAR * level, np.inf)
    return [np.where(np.abs(x) > most, x, 0.0) for x in apart]


def _median(x: np.ndarray) -> np.ndarray:
    from scipy.ndimage import median_filter

    return np.asarray(median_filter(x, size=(min(WINDOW, len(x)), 1), mode="mirror"))
