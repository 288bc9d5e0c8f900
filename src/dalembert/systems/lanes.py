"""States of a batch told apart, whether their arrays are NumPy's or lie on a GPU.

Only methods and operators are used that CuPy's arrays have as well, so that nothing is copied.
"""

from __future__ import annotations

import sys
from math import isfinite
from typing import Any

import numpy as np

# dimensions of one state's value of an input; vectors otherwise
DIMENSIONS = {"t": 0, "tolerance": 0, "wrenches": 2}


def all_finite(x: Any) -> bool:
    """Whether every entry is finite: the sum tells, unless it overflows by itself.

    >>> all_finite(np.ones(3)), all_finite(np.array([1.0, np.nan]))
    (True, False)
    """
    return isfinite(float(x.sum())) or bool(finite(x).all())


def finite(x: Any, core: int = 1) -> Any:
    """Which states (...) of x (..., *core) have finite entries only.

    >>> finite(np.array([[1.0, 2.0], [np.inf, 0.0]]))
    array([ True, False])
    """
    with np.errstate(invalid="ignore"):
        same = x - x == 0.0
    return same.all(axis=tuple(range(-core, 0))) if core else same


def either(chosen: Any, one: Any, other: Any) -> Any:
    """Small whole numbers (...): `one` where `chosen` is true, `other` elsewhere.

    >>> either(np.array([True, False]), 3, 4)
    array([3, 4], dtype=int8)
    """
    return chosen.astype(np.int8) * np.int8(one) + (~chosen).astype(np.int8) * other


def without(x: Any, lost: Any) -> Any:
    """x (..., n), NaN for the states that are `lost` (...)."""
    kept = (~lost).astype(x.dtype)
    with np.errstate(invalid="ignore"):
        return x + (kept / kept - kept)[..., None]


def beside(x: Any, like: Any) -> Any:
    """x as an array of the library that `like` is of."""
    if isinstance(like, np.ndarray | np.generic | float):
        return np.asarray(x)
    return sys.modules[type(like).__module__.partition(".")[0]].asarray(x)


def chosen(x: Any, lanes: Any, core: int = 1) -> Any:
    """x (..., *core), spread over all states, at those `lanes` (...) that are true: (k, *core)."""
    x = beside(x, lanes)
    own = tuple(x.shape[x.ndim - core :])
    return np.broadcast_to(x, (*lanes.shape, *own))[lanes]


def on_host(x: Any) -> np.ndarray:
    """x as NumPy's."""
    return np.asarray(x.get() if hasattr(x, "get") else x)
