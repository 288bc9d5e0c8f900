"""Checks of traced solutions: the largest entry, and NaN where a condition fails."""

from __future__ import annotations

from typing import Any

import numpy as np


def largest(x: np.ndarray) -> Any:
    """max |x_i| over all entries.

    >>> float(largest(np.array([[1.0, -3.0], [2.0, 0.0]])))
    3.0
    """
    return np.abs(x.ravel()).max()


def flagged(ok: np.ndarray | float | bool, *values: Any) -> tuple[Any, ...]:
    """The values where `ok` holds, NaN where it does not.

    >>> flagged(np.array(False), np.ones(2))
    (array([nan, nan]),)
    """
    mark = np.where(ok, 1.0, np.nan)
    return tuple(mark * value for value in values)
