"""The outcome of each state of a batch, or of each run, as a status; helpers for batches.

The helpers use only methods and operators that CuPy arrays have as well, so that nothing is copied.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import IntEnum
from math import isfinite
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.version import deprecated


class Status(IntEnum):
    """The outcome of a state or a run: `OK`, or why there is no result for it."""

    OK = 0
    SINGULAR = 1  # fewer rows are independent than usual
    OFF_POSITION = 2  # h(q, t) is not zero
    OFF_VELOCITY = 3  # A q̇ is not b
    NOT_FINITE = 4  # NaN or infinity among the inputs
    CONTRADICTION = 5  # no acceleration meets all constraints
    JAMMED = 6  # friction presses a contact harder than it brakes it (Painlevé)
    NOT_DRIVEN = 7  # the actuators cannot give this motion
    LOST = 8  # a run that overflowed, or could not be brought back to its constraints
    UNFINISHED = 9  # a run with too many steps, or steps too short, for its time


class Flagged(tuple[Any, ...]):
    """Results by position and by name, and `status` (...), entries of `Status`, as the last.

    >>> result = Flagged(("qd", "status"), (1.0, 0))
    >>> result.qd, Status(result.status).name
    (1.0, 'OK')
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Flagged:
        result = super().__new__(cls, values)
        result.names = tuple(names)
        return result

    def __getattr__(self, name: str) -> Any:
        names = self.__dict__.get("names", ())
        if name == "tries" and "attempts" in names:
            deprecated("`tries` is now `attempts`", gone="0.3.0")
            name = "attempts"
        if name in names:
            return self[names.index(name)]
        raise AttributeError(f"there is no {name!r}; there are: {', '.join(names)}")

    def __repr__(self) -> str:
        return f"Flagged({', '.join(f'{n}={x!r}' for n, x in zip(self.names, self, strict=True))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Flagged, (self.names, tuple(self))


def require_mode(errors: str) -> None:
    """Raise for a word that is neither "raise" nor "flag"."""
    if errors not in ("raise", "flag"):
        raise DalembertError(f'errors={errors!r} must be "raise" or "flag"')


def all_finite(x: np.ndarray) -> bool:
    """Whether every entry is finite: the sum tells, unless it overflows by itself.

    >>> all_finite(np.ones(3)), all_finite(np.array([1.0, np.nan]))
    (True, False)
    """
    return isfinite(float(x.sum())) or bool(finite_states(x).all())


def finite_states(x: np.ndarray, core: int = 1) -> np.ndarray:
    """Which states (...) of x (..., *core) have finite entries only.

    >>> finite_states(np.array([[1.0, 2.0], [np.inf, 0.0]]))
    array([ True, False])
    """
    with np.errstate(invalid="ignore"):
        same = x - x == 0.0
    finite: np.ndarray = same.all(axis=tuple(range(-core, 0))) if core else same
    return finite


def select(condition: np.ndarray, one: int, other: int | np.ndarray) -> np.ndarray:
    """Small whole numbers (...): `one` where the condition is true, `other` elsewhere.

    >>> select(np.array([True, False]), 3, 4)
    array([3, 4], dtype=int8)
    """
    return condition.astype(np.int8) * np.int8(one) + (~condition).astype(np.int8) * other


def nan_where(lost: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x (..., n), NaN for the states that are `lost` (...)."""
    valid = (~lost).astype(x.dtype)
    with np.errstate(invalid="ignore"):
        marked: np.ndarray = x + (valid / valid - valid)[..., None]
    return marked


def array_like(x: Any, reference: Any) -> np.ndarray:
    """x as an array of the same library as the reference."""
    if isinstance(reference, np.ndarray | np.generic | float):
        return np.asarray(x)
    array: np.ndarray = sys.modules[type(reference).__module__.partition(".")[0]].asarray(x)
    return array


def selected_states(x: Any, states: np.ndarray, core: int = 1) -> np.ndarray:
    """x (..., *core), broadcast over all states, at those (...) that are true: (k, *core)."""
    x = array_like(x, states)
    own = tuple(x.shape[x.ndim - core :])
    selected: np.ndarray = np.broadcast_to(x, (*states.shape, *own))[states]
    return selected


def on_host(x: Any) -> np.ndarray:
    """x as a NumPy array."""
    return np.asarray(x.get() if hasattr(x, "get") else x)
