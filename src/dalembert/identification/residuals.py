"""Residuals of a model, their whiteness, and single outliers.

Outliers: the residual of a first fit is compared with its own running median (Hampel 1974). A wrong
model leaves something smooth, a sensor that fails for a sample or two a spike. Normal noise is not
changed, nor what a prediction that is a few samples early or late can leave, as where a joint turns
about and its friction changes sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.identification.least_squares import BLOCK
from dalembert.identification.record import Record
from dalembert.identification.regressor import Regressor
from dalembert.kernels import get_num_threads

if TYPE_CHECKING:
    import pandas

LAGS = 20
WINDOW = 11  # samples of the running median
NEGLIGIBLE = 1e-3  # of the sum of squared residuals: smaller spikes change nothing
ENOUGH = 20_000  # samples by which the level of noise is estimated
OUTLIER = 6.0  # robust standard deviations; normal noise exceeds them twice in 10⁹
PER_DEVIATION = 1.4826  # of the median of |normal noise|


def residuals(regressor: Regressor, records: Sequence[Record], x: np.ndarray) -> list[np.ndarray]:
    """Measured less predicted torque (n, equations) of each record; x (p,), or (p, models).

    Several models give (n, equations, models).
    """

    def residual(part: Record) -> np.ndarray:
        predicted = regressor.evaluate(part) @ x
        y = regressor.observations(part)
        return np.asarray((y[..., None] if x.ndim > 1 else y) - predicted)

    result = []
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for record in records:
            parts = (record.part(slice(k, k + BLOCK)) for k in range(0, len(record.t), BLOCK))
            result.append(np.concatenate(list(pool.map(residual, parts))))
    return result


def autocorrelation(parts: Sequence[np.ndarray], lags: int = LAGS) -> np.ndarray:
    """(lags + 1, n) of residuals (m, n) over several stretches, about their common mean.

    >>> autocorrelation([np.array([[1.0], [-1.0]] * 50)], lags=2).round(2).ravel()
    array([ 1.  , -0.99,  0.98])
    """
    mean = np.concatenate(parts).mean(axis=0)
    parts = [part - mean for part in parts]
    size = sum((part**2).sum(axis=0) for part in parts)
    sums = [
        sum((part[k:] * part[: max(len(part) - k, 0)]).sum(axis=0) for part in parts)
        for k in range(lags + 1)
    ]
    return np.asarray(sums) / np.where(size > 0.0, size, 1.0)


def whiteness(regressor: Regressor, records: Sequence[Record], x: np.ndarray) -> pandas.DataFrame:
    """Per equation: autocorrelation at one sample, share of lags out of bounds, Ljung and Box's p.

    Of white residuals 5 % of the lags are beyond ±1.96/√n, and p is anything from 0 to 1; a p near
    zero says that the residuals contain something which the model does not have.
    """
    import pandas
    from scipy.stats import chi2

    parts = residuals(regressor, records, x)
    count = sum(len(part) for part in parts)
    r = autocorrelation(parts)[1:]
    lag = np.arange(1, len(r) + 1)[:, None]
    Q = count * (count + 2.0) * (r**2 / np.maximum(count - lag, 1)).sum(axis=0)
    table = {
        "next": r[0],
        "beyond": (np.abs(r) > 1.96 / np.sqrt(count)).mean(axis=0),
        "p": chi2.sf(Q, len(r)),
    }
    return pandas.DataFrame(table, index=pandas.Index(regressor.rows, name="joint"))


def remove_spikes(
    records: Sequence[Record], left: Sequence[np.ndarray]
) -> tuple[tuple[Record, ...], np.ndarray]:
    """(records whose spikes of torque are replaced by the local median, number of spikes (nv,)).

    `left` (n, nv) are the residuals of each record. Spikes that are a negligible part of them stay.
    """
    deviations = [record.rounding for record in records if record.rounding is not None]
    spikes = find_spikes(left, np.max(deviations, axis=0) if deviations else 0.0)
    for record, x, own in zip(records, left, spikes, strict=True):
        # only those larger than the change of the prediction within their window
        row, joint = np.nonzero(own)
        around = (record.tau - x)[_window_rows(row, len(x)), joint[:, None]]
        own[row, joint] *= np.abs(own[row, joint]) > np.ptp(around, axis=1)
    count = np.sum([np.count_nonzero(s, axis=0) for s in spikes], axis=0)
    power = sum(np.sum(s**2, axis=0) for s in spikes)
    matter = power > NEGLIGIBLE * sum(np.sum(x**2, axis=0) for x in left)
    if not matter.any():
        return tuple(records), np.zeros_like(count)
    clean = [replace(r, tau=r.tau - s * matter) for r, s in zip(records, spikes, strict=True)]
    return tuple(clean), count * matter


def find_spikes(left: Sequence[np.ndarray], rounding: np.ndarray | float = 0.0) -> list[np.ndarray]:
    """Distance of each residual (n, nv) from its running median where that is an outlier, else 0.

    Torques of few levels jump by a step at times: a deviation of `rounding` (nv,) is normal.
    """
    distances = []  # of some residuals from their running medians
    for x in left:
        rows = np.linspace(0, len(x) - 1, min(len(x), ENOUGH)).astype(int)
        distances.append(x[rows] - np.median(x[_window_rows(rows, len(x))], axis=1))
    deviation = PER_DEVIATION * np.median(np.abs(np.concatenate(distances)), axis=0)
    limit = OUTLIER * np.maximum(deviation, rounding)
    limit = np.where(limit > 0.0, limit, np.inf)
    result = [np.zeros_like(x) for x in left]
    for x, spikes in zip(left, result, strict=True):
        for j in range(x.shape[1]):
            # candidates, usually few: far off the mean of those around them
            width = min(WINDOW, len(x))
            whole = len(x) // width * width
            means = np.repeat(x[:whole, j].reshape(-1, width).mean(axis=1), width)
            means = np.pad(means, (0, len(x) - whole), mode="edge")
            rows = np.flatnonzero(np.abs(x[:, j] - means) > 0.5 * limit[j])
            median = np.median(x[_window_rows(rows, len(x)), j], axis=1)
            distance = x[rows, j] - median
            spikes[rows, j] = np.where(np.abs(distance) > limit[j], distance, 0.0)
    return result


def _window_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """(rows, WINDOW) samples about each of the rows; ends are mirrored."""
    samples, last = np.abs(rows[:, None] + np.arange(WINDOW) - WINDOW // 2), count - 1
    return np.asarray(np.maximum(last - np.abs(last - samples), 0))
