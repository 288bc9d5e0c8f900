"""What a traced solution is judged by: its largest entry, and NaN where a test fails."""

from __future__ import annotations

from typing import Any

import numpy as np


def largest(x: Any) -> Any:
    """max |x_i| over all entries.

    >>> float(largest(np.array([[1.0, -3.0], [2.0, 0.0]])))
    3.0
    """
    flat = x.ravel()
    if isinstance(flat, np.ndarray):
        return np.abs(flat).max()
    found = np.abs(flat[0])
    for i in range(1, flat.shape[0]):
        found = np.maximum(found, np.abs(flat[i]))
    return found


def flagged(ok: Any, *values: Any) -> tuple[Any, ...]:
    """The values where `ok` holds, NaN where it does not.

    >>> flagged(np.array(False), np.ones(2))
    (array([nan, nan]),)
    """
    mark = np.where(ok, 1.0, np.nan)
    return tuple(mark * value for value in values)
