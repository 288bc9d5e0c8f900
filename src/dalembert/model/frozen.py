"""Numbers of a model are its own: copied when a model is made, and never written again."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic


def frozen(value: Any) -> Any:
    """A copy of a number or array that nobody else holds, read-only where it is an array.

    >>> given = np.array([0.0, 0.0, -9.81])
    >>> kept = frozen(given)
    >>> given[2] = 0.0
    >>> kept[2], kept.flags.writeable
    (np.float64(-9.81), False)
    """
    if is_symbolic(value):
        return value.reshape(*value.shape) if value.shape else value  # reshaping copies
    if np.ndim(value) == 0:
        return value.item() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, np.ndarray) and value.base is None and not value.flags.writeable:
        return value
    copy = np.array(value)
    copy.flags.writeable = False
    return copy


def freeze_fields(record: Any, *names: str) -> None:
    """Replace these fields of a frozen dataclass, while it is made, by copies of their own."""
    for name in names:
        object.__setattr__(record, name, frozen(getattr(record, name)))
