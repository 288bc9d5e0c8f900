"""Whether what a fit leaves is noise, and whether it holds for times it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SettingError
from dalembert.identification.accumulate import Rows
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import estimate
from dalembert.identification.record import Record
from dalembert.identification.solving import METHODS, leftovers

if TYPE_CHECKING:
    import pandas

LAGS = 20


def autocorrelation(pieces: Sequence[np.ndarray], lags: int = LAGS) -> np.ndarray:
    """(lags + 1, n) of leftovers (m, n) over several stretches, about their common mean.

    >>> autocorrelation([np.array([[1.0], [-1.0]] * 50)], lags=2).round(2).ravel()
    array([ 1.  , -0.99,  0.98])
    """
    mean = np.concatenate(pieces).mean(axis=0)
    parts = [piece - mean for piece in pieces]
    size = sum((part**2).sum(axis=0) for part in parts)
    safe = np.where(size > 0.0, size, 1.0)
    found = [
        sum((part[k:] * part[: max(len(part) - k, 0)]).sum(axis=0) for part in parts)
        for k in range(lags + 1)
    ]
    return np.asarray(found) / safe


def whiteness(columns: Columns, records: Sequence[Record], x: np.ndarray) -> pandas.DataFrame:
    """Per equation: autocorrelation of leftovers at one sample, lags out of bounds, Ljung and Box's p.

    Of white leftovers 5 % of the lags are beyond ±1.96/√n, and p is anything from 0 to 1; a p near
    zero says that something which the model does not have is left.
    """
    import pandas
    from scipy.stats import chi2

    pieces = leftovers(columns, records, x)
    count = sum(len(piece) for piece in pieces)
    r = autocorrelation(pieces)[1:]
    later = np.arange(1, len(r) + 1)[:, None]
    Q = count * (count + 2.0) * (r**2 / np.maximum(count - later, 1)).sum(axis=0)
    table = {
        "next": r[0],
        "beyond": (np.abs(r) > 1.96 / np.sqrt(count)).mean(axis=0),
        "p": chi2.sf(Q, len(r)),
    }
    return pandas.DataFrame(table, index=pandas.Index(columns.rows, name="joint"))


def cross_validation(
    columns: Columns, base: Base, records: Sequence[Record], method: str, folds: int
) -> pandas.DataFrame:
    """RMS of what base parameters from all other times leave of each fold of time, per equation.

    The filtered rows are made once and fitted without each fold; `all` is over all folds, `fit` that
    of the fit to all rows, as it sees them.
    """
    import pandas

    rows = METHODS[method](columns, base, records)
    if not 2 <= folds <= len(rows.y) // 10:
        raise SettingError(f"folds={folds!r} must be 2 to {len(rows.y) // 10} for this log")
    prior = base.matrix @ np.asarray(columns.values)
    fold = np.arange(len(rows.y)) * folds // len(rows.y)
    table, squares = {}, []
    for k in range(folds):
        away = _chosen(rows, fold != k)
        left = _chosen(rows, fold == k).residuals(estimate(away, prior).beta)
        table[f"fold {k + 1}"] = np.sqrt((left**2).mean(axis=0))
        squares.append(left**2)
    table["all"] = np.sqrt(np.concatenate(squares).mean(axis=0))
    table["fit"] = np.sqrt((rows.residuals(estimate(rows, prior).beta) ** 2).mean(axis=0))
    return pandas.DataFrame(table, index=pandas.Index(columns.rows, name="joint"))


def _chosen(rows: Rows, which: np.ndarray) -> Rows:
    return replace(
        rows, W=tuple(W[which] for W in rows.W), y=rows.y[which], stretch=rows.stretch[which]
    )
