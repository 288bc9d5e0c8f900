"""Single torques that are far off their neighbours are taken as not measured.

The leftover of a first fit is compared with its own running median (Hampel 1974): a model that is
wrong leaves something smooth, a sensor that fails for a sample or two leaves a spike. What is normal
noise is left alone, so nothing is lost where there are no outliers. Nor is what a prediction that is
a few samples early or late can leave, as where a joint turns about and its friction changes sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.identification.record import Record

WINDOW = 11  # samples of the running median
LITTLE = 1e-3  # of the sum of squared leftovers: spikes below that change nothing
ENOUGH = 20_000  # samples by which the level of noise is judged
FAR = 6.0  # robust standard deviations; normal noise goes beyond twice in 10⁹
PER_DEVIATION = 1.4826  # of the median of |normal noise|


def without_spikes(
    records: Sequence[Record], left: Sequence[np.ndarray]
) -> tuple[tuple[Record, ...], np.ndarray]:
    """(records whose spikes of torque are what is usual around them, how many there were (nv,)).

    `left` (n, nv) are the torques of each record less what a fit explains of them. Spikes that make
    up next to nothing of that are left where they are.
    """
    coarse = [record.rounding for record in records if record.rounding is not None]
    found = spikes_of(left, np.max(coarse, axis=0) if coarse else 0.0)
    spikes = [_beyond(s, r.tau - x) for r, s, x in zip(records, found, left, strict=True)]
    count = np.sum([np.count_nonzero(s, axis=0) for s in spikes], axis=0)
    share = sum(np.sum(s**2, axis=0) for s in spikes)
    matter = share > LITTLE * sum(np.sum(x**2, axis=0) for x in left)
    if not matter.any():
        return tuple(records), np.zeros_like(count)
    made = [replace(r, tau=r.tau - s * matter) for r, s in zip(records, spikes, strict=True)]
    return tuple(made), count * matter


def spikes_of(left: Sequence[np.ndarray], rounding: np.ndarray | float = 0.0) -> list[np.ndarray]:
    """By how much each leftover (n, nv) is off its running median where that is far, else 0.

    Torques of which few are not the same level jump by a step at times: a deviation of `rounding`
    (nv,) is usual.
    """
    most = FAR * np.maximum(_level(left), rounding)
    most = np.where(most > 0.0, most, np.inf)
    found = [np.zeros_like(x) for x in left]
    for x, spikes in zip(left, found, strict=True):
        for j in range(x.shape[1]):
            # suspects, few where all is well: far off the mean of those around them
            width = min(WINDOW, len(x))
            whole = len(x) // width * width
            means = np.repeat(x[:whole, j].reshape(-1, width).mean(axis=1), width)
            means = np.pad(means, (0, len(x) - whole), mode="edge")
            row = np.flatnonzero(np.abs(x[:, j] - means) > 0.5 * most[j])
            apart = x[row, j] - _median(x[:, j], row)
            spikes[row, j] = np.where(np.abs(apart) > most[j], apart, 0.0)
    return found


def _beyond(spikes: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The spikes (n, nv) that are larger than the change of the prediction within their window."""
    row, joint = np.nonzero(spikes)
    around = predicted[_window(row, len(predicted)), joint[:, None]]
    made = spikes.copy()
    made[row, joint] *= np.abs(spikes[row, joint]) > np.ptp(around, axis=1)
    return made


def _level(left: Sequence[np.ndarray]) -> np.ndarray:
    """(nv,) robust standard deviation of leftovers about their running medians, from some rows."""
    apart = []
    for x in left:
        row = np.linspace(0, len(x) - 1, min(len(x), ENOUGH)).astype(int)
        apart.append(np.stack([y[row] - _median(y, row) for y in x.T], axis=1))
    return np.asarray(PER_DEVIATION * np.median(np.abs(np.concatenate(apart)), axis=0))


def _median(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The median of x (n,) in the window about each of the rows; ends are mirrored."""
    return np.asarray(np.median(x[_window(rows, len(x))], axis=1))


def _window(rows: np.ndarray, count: int) -> np.ndarray:
    """(rows, WINDOW) samples about each of the rows; ends are mirrored."""
    at, last = np.abs(rows[:, None] + np.arange(WINDOW) - WINDOW // 2), count - 1
    return np.maximum(last - np.abs(last - at), 0)
