"""Single torques that are far off their neighbours are taken as not measured.

The leftover of a first fit is compared with its own running median (Hampel 1974): a model that is
wrong leaves something smooth, a sensor that fails for a sample or two leaves a spike. What is normal
noise is left alone, so nothing is lost where there are no outliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.identification.record import Record

WINDOW = 11  # samples of the running median
FAR = 6.0  # robust standard deviations; normal noise goes beyond twice in 10⁹
PER_DEVIATION = 1.4826  # of the median of |normal noise|


def without_spikes(
    records: Sequence[Record], left: Sequence[np.ndarray]
) -> tuple[tuple[Record, ...], np.ndarray]:
    """(records whose spikes of torque are what is usual around them, how many there were (nv,)).

    `left` (n, nv) are the torques of each record less what a fit explains of them.
    """
    spikes = spikes_of(left)
    count = np.sum([np.count_nonzero(s, axis=0) for s in spikes], axis=0)
    if not count.any():
        return tuple(records), count
    return tuple(replace(r, tau=r.tau - s) for r, s in zip(records, spikes, strict=True)), count


def spikes_of(left: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By how much each leftover (n, nv) is off its running median where that is far, else 0."""
    apart = [x - _median(x) for x in left]
    level = PER_DEVIATION * np.median(np.abs(np.concatenate(apart)), axis=0)
    most = np.where(level > 0.0, FAR * level, np.inf)
    return [np.where(np.abs(x) > most, x, 0.0) for x in apart]


def _median(x: np.ndarray) -> np.ndarray:
    from scipy.ndimage import median_filter

    return np.asarray(median_filter(x, size=(min(WINDOW, len(x)), 1), mode="mirror"))
