"""Immutable dataclasses: arrays are copied when an object is made, and read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.tracing import is_symbolic


class Frozen:
    """A frozen dataclass whose arrays and mappings nobody can change, also after unpickling."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # every class of it is a dataclass
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


def frozen(value: Any) -> Any:
    """A read-only copy of an array or mapping, the number in a 0-d one; anything else as it is.

    >>> gravity = np.array([0.0, 0.0, -9.81])
    >>> copy = frozen(gravity)
    >>> gravity[2] = 0.0
    >>> copy[2], copy.flags.writeable
    (np.float64(-9.81), False)
    """
    if is_symbolic(value) and not isinstance(value, np.ndarray):
        return value  # a scalar, which cannot be written into
    if isinstance(value, Mapping):
        return MappingProxyType(dict(value))
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if value.ndim == 0 and not is_symbolic(value):
        return value.item()
    if value.base is None and not value.flags.writeable:
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy
