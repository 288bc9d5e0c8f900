"""By what a run is known again: digests of numbers, of functions and of the laws of controllers.

A digest is the same in another process: it is made of bytes of code and of numbers, never of names
alone, addresses or hashes.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

LENGTH = 16  # characters kept
DEEP = 8  # how far functions are followed into what they use
MOST = 2000  # values that are entered


def digest(*arrays: Any) -> str:
    """A short hash of numbers."""
    found = hashlib.sha256()
    for array in arrays:
        value = np.asarray(array, dtype=float)
        found.update(f"{value.shape}".encode() + value.tobytes())
    return found.hexdigest()[:LENGTH]


def function_digest(function: Any) -> str:
    """A short hash of what a function does: its code, defaults, and what it uses from outside.

    >>> one, two = (lambda t, k=k: k * t for k in (1.0, 2.0))
    >>> function_digest(one) == function_digest(two)
    False
    """
    text = repr(_Reader().facts(function, DEEP))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


class _Reader:
    """Values as nested tuples of text; what was met before is not entered again."""

    def __init__(self) -> None:
        self.met: dict[int, tuple[int, Any]] = {}  # number and object, which keeps its id its own

    def facts(self, value: Any, deep: int) -> Any:
        """What stands for a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return type(value).__name__, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            content = hashlib.sha256(value.tobytes()).hexdigest()
            return "array", value.dtype.str, value.shape, content
        if id(value) in self.met:
            return "met", self.met[id(value)][0]
        if deep == 0 or len(self.met) >= MOST:
            return type(value).__qualname__
        self.met[id(value)] = len(self.met), value
        return self._entered(value, deep - 1)

    def _entered(self, value: Any, deep: int) -> Any:
        if isinstance(value, types.CodeType):
            consts = [self.facts(x, deep + 1) for x in value.co_consts]
            return "code", value.co_code.hex(), value.co_names, value.co_varnames, consts
        if isinstance(value, list | tuple):
            return type(value).__name__, [self.facts(x, deep) for x in value]
        if isinstance(value, set | frozenset):
            return "set", sorted(map(repr, value))
        if isinstance(value, Mapping):
            return "map", [(self.facts(k, deep), self.facts(x, deep)) for k, x in value.items()]
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        if isinstance(value, types.MethodType):
            return "method", self.facts(value.__func__, deep), self.facts(value.__self__, deep)
        if isinstance(value, partial):
            given = (value.func, value.args, value.keywords)
            return "partial", [self.facts(part, deep) for part in given]
        if isinstance(value, types.FunctionType):
            return "function", [self.facts(part, deep) for part in _parts(value)]
        return self._object(value, deep)

    def _object(self, value: Any, deep: int) -> Any:
        """Systems by their content, other objects by class and attributes."""
        if isinstance(value, type):
            return "class", value.__module__, value.__qualname__
        content = getattr(getattr(value, "description", None), "content", None)
        if isinstance(content, str):
            return "system", content
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        code = getattr(type(value).__call__, "__code__", None) if callable(value) else None
        if hasattr(value, "__array__") and code is None:
            return "array of", kind, self.facts(np.asarray(value), deep)
        slots = (name for owner in type(value).__mro__ for name in getattr(owner, "__slots__", ()))
        state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        state |= getattr(value, "__dict__", {})
        return "object", kind, self.facts(code, deep), self.facts(dict(state), deep)


def _parts(function: types.FunctionType) -> list[Any]:
    """Code, defaults, what it closes over, and the globals it names."""
    cells = [_cell(cell) for cell in function.__closure__ or ()]
    known = function.__globals__
    uses = {name: known[name] for name in sorted(_names(function.__code__)) if name in known}
    return [function.__code__, function.__defaults__, function.__kwdefaults__, cells, uses]


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet, such as a function's own
        return None


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)
