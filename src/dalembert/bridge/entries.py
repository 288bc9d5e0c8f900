"""NumPy's functions on arrays of entries that have no value yet, whoever writes down what is done.

An array of entries is an array of objects, so that NumPy itself moves, views and assigns them; what
it computes with them goes through `apply` and `call`. A kind of entry says how its few `PRIMITIVE`
operations are written down, and everything else is spelled in these (ufuncs.py), or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.bridge.functions_of_entries import BY_CASADI, OWN_CALLS, REFUSED, by_casadi
from dalembert.bridge.primitives import (
    NO_VALUE,
    Unknown,
    Unrecorded,
    give_methods,
    give_operators,
    is_truth,
    numbers_of,
)
from dalembert.bridge.ufuncs import OWN
from dalembert.progress import step


class Entry(Unknown):
    """One number that has no value yet, as NumPy finds it in an array of objects."""

    __slots__ = ()
    is_symbols = True
    shape: tuple[int, ...] = ()
    ndim, size = 0, 1

    @staticmethod
    def by_casadi(function: Any, args: tuple[Any, ...]) -> Any:
        """A function of `numpy.linalg` in the operations of CasADi; here of numbers only."""
        return function(*(np.asarray(plain(x), dtype=float) for x in args))

    def select(self, x: Any, y: Any) -> Any:
        """x where this is not 0, else y, both numbers."""
        raise NotImplementedError

    def chosen(self, x: Any, y: Any) -> Any:
        """x where this holds, else y; true or false where both are."""
        if not (is_truth(x) and is_truth(y)):
            return self.select(x, y)
        own: Any = self
        given = np.logical_and(np.logical_not(own), y)
        return np.logical_or(np.logical_and(own, x), given)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return apply(ufunc, method, inputs, more)

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        return call(function, args, more)

    def reshape(self, *shape: Any) -> Any:
        return cell(self).reshape(*shape)

    def conjugate(self) -> Any:
        return self

    T, __pos__ = property(conjugate), conjugate

    def __round__(self, digits: int | None = None) -> Any:
        return np.round(cell(self), digits or 0)

    def _no_value(self) -> Any:
        raise Unrecorded(NO_VALUE)

    __float__ = __int__ = __index__ = __complex__ = __bool__ = _no_value
    __hash__ = object.__hash__


class Symbols(np.ndarray):
    """An array of entries and numbers, so that NumPy asks here before it does anything."""

    is_symbols = True

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return apply(ufunc, method, inputs, more)

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        return call(function, args, more)

    def astype(self, dtype: Any, *args: Any, **more: Any) -> Any:
        """The same entries; of booleans the numbers 0 and 1, of numbers whether they are not 0."""
        kind = np.dtype(dtype)
        if kind.kind == "O":
            return super().astype(dtype, *args, **more)
        if kind == np.float64 or (kind.kind in "iu" and all(map(is_truth, self.ravel().tolist()))):
            return wrapped(counted(self))
        if kind.kind == "b":
            return apply(np.not_equal, "__call__", (self, 0.0), {})
        raise Unrecorded(f"astype({kind}) of symbols, which are float64")

    def __round__(self, digits: int | None = None) -> Any:
        return np.round(self, digits or 0)

    def _order(self, *args: Any, **more: Any) -> Any:
        raise Unrecorded("which entry is the largest, or comes first, depends on values")

    argmax = argmin = argsort = sort = argpartition = partition = searchsorted = _order


def array(entries: list[Any], shape: tuple[int, ...]) -> Any:
    """Entries and numbers in C order as an array of this shape."""
    filled = np.empty(len(entries), dtype=object)
    filled[:] = entries
    return filled.reshape(shape).view(Symbols)


def symbols(value: Any) -> Any:
    """An array, list, entry or number as an array of entries."""
    return np.asarray(plain(value), dtype=object).view(Symbols)


def cell(value: Any) -> Any:
    """One entry or number as an array ()."""
    return array([value], ())


give_methods(Entry, cell, lambda found: found)
give_operators(
    Entry,
    {"abs": np.absolute, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "mod": np.remainder}
    | {"floordiv": np.floor_divide, "divmod": np.divmod, "invert": np.invert}
    | {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
    lambda ufunc, args: apply(ufunc, "__call__", args, {}),
)
PLAIN: dict[type, Callable[[Any], Any]] = {
    Symbols: lambda value: value.view(np.ndarray),
    list: lambda value: list(map(_inner, value)),
    tuple: lambda value: tuple(map(_inner, value)),
}
"""What NumPy's own functions take in place of each type that holds entries."""


def plain(value: Any) -> Any:
    """Arrays of objects in place of ours, also inside lists."""
    made = PLAIN.get(type(value))
    return value if made is None else made(value)


def _inner(value: Any) -> Any:
    """The same inside a list, where NumPy takes an entry as such and not in an array ()."""
    made = plain(value)
    return made.item() if isinstance(made, np.ndarray) and made.ndim == 0 else made


def wrapped(value: Any) -> Any:
    """Arrays of objects as ours, also inside lists."""
    kind = type(value)
    if kind is np.ndarray and value.dtype == object:
        return value.view(Symbols)
    if kind in (list, tuple):
        return kind(map(wrapped, value))
    return value


def counted(value: Any) -> Any:
    """Booleans as the numbers 0 and 1, as where NumPy adds up many of them."""
    return numbers_of(plain(value))


_KNOWN = (Entry, np.ndarray, float, int, np.number, np.bool_, list, tuple)


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """What a ufunc, or one of its methods, makes of arrays of entries."""
    step()
    for x in inputs:
        if not isinstance(x, _KNOWN) and type(x) not in PLAIN and method != "at":
            raise Unrecorded(f"np.{ufunc.__name__} of symbols and {type(x).__name__}")
    if method == "__call__" and not more:
        return wrapped(_own(ufunc)(*map(plain, inputs)))
    more = {k: x for k, x in more.items() if x is not None or k == "axis"}
    dtype = more.pop("dtype", object)
    if dtype not in (object, float, np.dtype(object), np.dtype(float)):
        raise Unrecorded(f"np.{ufunc.__name__} of symbols in {np.dtype(dtype)}: they are float64")
    more = {k: x for k, x in more.items() if k not in ("casting", "order", "subok")}
    into = more.pop("out", None)
    into = into[0] if isinstance(into, tuple) and len(into) == 1 else into
    if method == "__call__":
        made = _where(ufunc, inputs, more, into)
    else:
        made = _over(ufunc, method, [plain(x) for x in inputs], more)
    return made if into is None else _written(ufunc, made, into)


def _own(ufunc: Any) -> Any:
    """The ufunc as one of objects."""
    found = OWN.get(ufunc)
    if found is None:
        raise Unrecorded(f"np.{ufunc.__name__} of symbols has no compiled form")
    return found


def _where(ufunc: Any, inputs: tuple[Any, ...], more: dict[str, Any], into: Any) -> Any:
    """The ufunc of whole arrays, where something holds; elsewhere what stands there."""
    holds = more.pop("where", True)
    made = wrapped(_own(ufunc)(*map(plain, inputs), **{k: plain(x) for k, x in more.items()}))
    if holds is True:
        return made
    if into is None:
        raise Unrecorded(f"np.{ufunc.__name__}(where=) without out=: elsewhere it has no value")
    return call(np.where, (holds, made, into), {})


# what does not change the result of a reduction; that of the last four is the one given
_START: dict[Any, Any] = {np.add: 0.0, np.multiply: 1.0, np.logical_and: True, np.logical_or: False}
_START |= {np.subtract: None, np.divide: None, np.hypot: 0.0, np.logical_xor: False}
_LARGEST = (np.maximum, np.minimum, np.fmax, np.fmin)


def _over(ufunc: Any, method: str, inputs: list[Any], more: dict[str, Any]) -> Any:
    """reduce, accumulate, outer, at: along an axis, of pairs, or at places."""
    if method in ("reduce", "accumulate", "reduceat"):
        if ufunc not in (*_START, *_LARGEST):
            raise Unrecorded(f"np.{ufunc.__name__}.{method} of symbols has no compiled form")
        logical = ufunc in (np.logical_and, np.logical_or, np.logical_xor)
        inputs[0] = _own(np.not_equal)(inputs[0], 0.0) if logical else inputs[0]
        inputs[0] = counted(inputs[0]) if ufunc in (np.add, np.multiply) else inputs[0]
    if method == "reduce":
        return _reduced(ufunc, inputs[0], more)
    own = _own(ufunc)
    return wrapped(getattr(own, method)(*inputs, **{k: plain(x) for k, x in more.items()}))


def _reduced(ufunc: Any, a: Any, more: dict[str, Any]) -> Any:
    """Along some axes, which become one: a ufunc of objects takes no more."""
    given = more.get("initial")
    neutral = given if ufunc in _LARGEST else _START[ufunc]
    if more.get("where", True) is not True:
        if neutral is None:
            raise Unrecorded(f"np.{ufunc.__name__} of symbols with where= needs initial=")
        a = plain(call(np.where, (more["where"], a, neutral), {}))
    a = np.asarray(a, dtype=object)
    axis = more.get("axis", 0)
    axes = range(a.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    others = [k for k in range(a.ndim) if k not in axes]
    rows = a.transpose(*others, *axes).reshape(*(a.shape[k] for k in others), -1)
    start = neutral if given is None and not rows.shape[-1] else given
    if ufunc is np.hypot and given is None:
        start = 0.0  # of one number its size
    found = _own(ufunc).reduce(rows, axis=-1, **({} if start is None else {"initial": start}))
    return wrapped(np.expand_dims(found, tuple(axes)) if more.get("keepdims") else found)


def _written(ufunc: Any, made: Any, into: Any) -> Any:
    """The result in an array that is there already."""
    if isinstance(into, tuple):
        return tuple(_written(ufunc, *pair) for pair in zip(made, into, strict=True))
    if type(into) not in PLAIN and np.dtype(getattr(into, "dtype", float)).kind != "O":
        raise Unrecorded(
            f"np.{ufunc.__name__} of symbols into an array of numbers: write y = y + x, not y += x, "
            "or make the array with np.zeros_like(q)"
        )
    into[...] = made
    return into


def call(function: Any, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """What a function of NumPy that is no ufunc makes of arrays of entries."""
    name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
    if function in REFUSED:
        raise Unrecorded(f"{name} of symbols has no compiled form")
    if function in BY_CASADI:
        return by_casadi(function, _kind([args, more]), args, more)
    own = OWN_CALLS.get(function)
    try:
        if own is not None:
            return wrapped(own(*args, **more))
        inner = getattr(function, "_implementation", function)  # which asks nobody again
        with np.errstate(all="ignore"):  # flags that CasADi raises while it compares constants
            return wrapped(inner(*map(plain, args), **{k: plain(x) for k, x in more.items()}))
    except Unrecorded as error:
        raise Unrecorded(f"{name}: {error}") from None
    except (TypeError, AttributeError) as error:
        raise Unrecorded(f"{name} of symbols: {error}") from error


def _kind(values: Any) -> type[Entry]:
    """The kind of the entries in arrays, lists and arguments by name."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Entry):
            return type(value)
        inside = plain(value)
        if isinstance(inside, np.ndarray) and inside.dtype == object:
            inside = inside.ravel().tolist()
        if isinstance(inside, list | tuple | dict):
            found = _kind(inside)
            if found is not Entry:
                return found
    return Entry
