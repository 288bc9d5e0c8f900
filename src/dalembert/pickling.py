"""Pickling: an object is sent as its data, with functions by name or by value.

Derived objects (traced functions, machine code) are not sent; the receiving process makes them again
or loads them from the cache on disk.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property, partial
from pickle import PicklingError
from types import FunctionType
from typing import Any, Self


class Portable:
    """An object that pickles as its data; derived objects are made again.

    A function without an importable name (a lambda, or a nested one) is sent by value, for which
    `cloudpickle` must be installed.
    """

    def _data(self) -> dict[str, Any]:
        """Its attributes, without cached properties."""
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    def __getstate__(self) -> dict[str, Any]:
        label = getattr(self, "label", None) or getattr(self, "name", None)
        packer = _Packer(f"{type(self).__name__} {label!r}" if label else type(self).__name__)
        return {name: packer.packed(value) for name, value in self._data().items()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def __copy__(self) -> Self:
        copy = object.__new__(type(self))
        copy.__setstate__(self._data())
        return copy


class _Packer:
    """Wraps the functions inside a value that have no importable name."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.met: dict[FunctionType, _ByValue] = {}  # one that occurs again is sent once

    def packed(self, value: Any) -> Any:
        """The value to pickle instead of `value`."""
        if type(value) in (list, tuple):
            return type(value)(map(self.packed, value))
        if type(value) is dict:
            return {key: self.packed(x) for key, x in value.items()}
        if isinstance(value, partial):
            return partial(self.packed(value.func), *self.packed(value.args), **value.keywords)
        if isinstance(value, FunctionType) and not _is_importable(value):
            return self.met.setdefault(value, _ByValue(value, self.holder))
        if type(value).__module__.startswith("casadi") and type(value).__name__ == "SX":
            raise PicklingError(
                f"{self.holder} holds an expression of CasADi symbols, which only this process "
                "knows; give a function of the coordinates instead"
            )
        return value


class _ByValue:
    """A function pickled by value; unpickling gives the function itself."""

    def __init__(self, function: FunctionType, holder: str) -> None:
        self.function, self.holder = function, holder

    def __deepcopy__(self, memo: Any) -> FunctionType:
        return self.function  # inside one process a function is as good as its copy

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            import cloudpickle
        except ImportError:
            raise PicklingError(
                f"{self.holder} holds the function {self.function.__qualname__}, which another process "
                "cannot find by its name: define it at the top level of a module, or "
                "pip install cloudpickle, by which it goes by value"
            ) from None
        return cloudpickle.loads, (cloudpickle.dumps(self.function),)


def _is_importable(function: FunctionType) -> bool:
    """Whether its module has it under its name."""
    value: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        value = getattr(value, part, None)
    return value is function
