"""By what a run is known again: digests of numbers, of functions and of the laws of controllers.

A digest is the same in another process: it is made of bytes of code and of numbers, never of names
alone, addresses or hashes.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

LENGTH = 16  # characters kept
DEEP = 6  # how far functions are followed into what they use


def digest(*arrays: Any) -> str:
    """A short hash of numbers."""
    found = hashlib.sha256()
    for array in arrays:
        value = np.asarray(array, dtype=float)
        found.update(f"{value.shape}".encode() + value.tobytes())
    return found.hexdigest()[:LENGTH]


def function_digest(function: Any) -> str:
    """A short hash of what a function does: its code, defaults, and what it closes over.

    >>> one, two = (lambda t, k=k: k * t for k in (1.0, 2.0))
    >>> function_digest(one) == function_digest(two)
    False
    """
    found = hashlib.sha256()
    found.update(repr(_facts(function, DEEP)).encode())
    return found.hexdigest()[:LENGTH]


def _facts(value: Any, deep: int) -> Any:
    """Nested tuples of text that stand for a value."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray | np.generic):
        return "array", value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if deep == 0:
        return type(value).__qualname__
    if isinstance(value, types.CodeType):
        return _code(value, deep)
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(_facts(x, deep - 1) for x in value)
    if isinstance(value, set | frozenset):
        return "set", tuple(sorted(repr(_facts(x, deep - 1)) for x in value))
    if isinstance(value, Mapping):
        pairs = ((repr(_facts(k, deep - 1)), _facts(x, deep - 1)) for k, x in value.items())
        return "map", tuple(sorted(pairs, key=lambda pair: pair[0]))
    return _object(value, deep)


def _code(code: types.CodeType, deep: int) -> Any:
    consts = tuple(_facts(x, deep) for x in code.co_consts)
    return "code", code.co_code.hex(), code.co_names, code.co_varnames, consts


def _object(value: Any, deep: int) -> Any:
    """Functions by their code, systems by their content, other objects by class and attributes."""
    if isinstance(value, types.ModuleType):
        return "module", value.__name__
    if isinstance(value, types.MethodType):
        return "method", _facts(value.__func__, deep), _facts(value.__self__, deep - 1)
    if isinstance(value, types.FunctionType):
        cells = [_cell(cell) for cell in value.__closure__ or ()]
        uses = {n: value.__globals__[n] for n in _names(value.__code__) if n in value.__globals__}
        parts = (value.__code__, value.__defaults__, value.__kwdefaults__, cells, uses)
        return "function", tuple(_facts(part, deep - 1) for part in parts)
    if isinstance(value, type):
        return "class", value.__module__, value.__qualname__
    content = getattr(getattr(value, "description", None), "content", None)
    if isinstance(content, str):
        return "system", content
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    code = getattr(type(value).__call__, "__code__", None) if callable(value) else None
    state = {k: x for k, x in getattr(value, "__dict__", {}).items() if not k.startswith("__")}
    return "object", kind, _facts(code, deep - 1), _facts(state, deep - 1)


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet, such as a function's own
        return None


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)
