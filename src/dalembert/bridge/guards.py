"""What CasADi's arrays of symbols may do by themselves.

They follow NumPy in part, and where they do not, give other numbers without a word: `np.rint` rounds
halves away from zero, `np.sum` forgets `where=`, a row is a copy and no view. `guard` leaves to them
what was compared with NumPy, function by function; everything else is done by NumPy itself, on an
array of entries (cells.py), and views are followed (views.py).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dalembert.bridge import entries, views
from dalembert.bridge.cells import Cell, apart, back, by_numpy, is_mixed, joined
from dalembert.bridge.cells import functions as made_by
from dalembert.bridge.primitives import (
    METHODS,
    NO_VALUE,
    PRIMITIVE,
    TRUTHS,
    Unrecorded,
    give_methods,
)

_JOINS = {np.concatenate, np.stack, np.vstack, np.hstack}
_MOVED = {np.reshape: "reshape", np.transpose: "transpose", np.ravel: "ravel"}  # as methods
_LINEAR = {np.dot, np.linalg.inv, np.linalg.solve, np.linalg.det}
_OWN_METHODS = {"reshape", "transpose", "ravel", "squeeze", "flatten"}
TRUSTED = frozenset({*_JOINS, np.where, *_LINEAR})
"""Functions that CasADi's arrays have right, without keywords but `axis`."""
_PRODUCTS = frozenset({np.matmul, np.greater, np.greater_equal, np.positive})
_ELEMENTARY = PRIMITIVE | _PRODUCTS
_TRUTHS = TRUTHS | {np.greater, np.greater_equal}


def guard() -> None:
    """Let CasADi's arrays of symbols do as NumPy does, or refuse."""
    from casadi import casadi

    kind: Any = casadi.ArrayInterfaceSX
    entries.PLAIN[kind] = lambda value: views.lent(value, apart)
    _guard_functions(kind)
    _guard_places(kind)
    _guard_views(kind)
    _guard_operators(kind)
    _guard_changes(kind)
    base: Any = casadi.ArrayInterface
    own = base._as_array
    held = (list, tuple, np.ndarray, entries.Entry)  # not CasADi's own matrices
    base._as_array = staticmethod(lambda x: own(joined(x) if isinstance(x, held) else x))
    base.__init__ = _of_numbers_alone(base.__init__)
    kind.__float__ = lambda self: Cell(self._scalar())._known()
    kind.__int__ = lambda self: int(float(self))
    kind.__bool__ = lambda self: bool(float(self))


def _of_numbers_alone(own: Any) -> Any:
    """The making of CasADi's arrays, which takes an object that it does not know for NaN."""

    def make(self: Any, value: Any, ndim: Any = None) -> None:
        listed = isinstance(value, list | tuple | np.ndarray)
        if listed and np.asarray(value).dtype.kind not in "biuf":
            raise Unrecorded(f"an array of numbers from {type(value).__name__}: {value}")
        own(self, value, ndim)

    return make


def _guard_functions(kind: Any) -> None:
    """Functions of NumPy: CasADi's where they are trusted, NumPy's own on entries elsewhere."""
    ufuncs, functions = kind.__array_ufunc__, kind.__array_function__
    made_by.append(functions)

    def apply(self: Any, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        if method == "__call__" and not more and ufunc in _ELEMENTARY and _regular(inputs):
            found = ufuncs(self, ufunc, method, *inputs)
            if found is not NotImplemented:
                found._truth = ufunc in _TRUTHS
                return found
        return by_numpy(entries.apply, ufunc, method, inputs, more)

    def call(self: Any, function: Any, types: Any, args: Any, more: Any) -> Any:
        given = args[0] if function in _JOINS and args else args
        known = isinstance(given, list | tuple) and not more.keys() - {"axis"}
        if known and function in TRUSTED and _regular(given):
            found = functions(self, function, types, args, more)
            if found is not NotImplemented:
                return found
        if function in _MOVED and not more and isinstance(args[0], kind):
            return getattr(args[0], _MOVED[function])(*args[1:])
        return by_numpy(entries.call, function, args, more, moved=function in _MOVED)

    def objects(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) != object:
            raise Unrecorded(NO_VALUE)
        made = apart(self).view(np.ndarray)
        if not copy:  # np.asarray would be the array itself
            made.flags.writeable = False
        return made

    kind.__array_ufunc__, kind.__array_function__, kind.__array__ = apply, call, objects
    give_methods(kind, lambda self: self, lambda found: found)
    for name in (*METHODS, "put"):
        setattr(kind, name, getattr(kind, name) if name in _OWN_METHODS else _method(name))
    for name in ("sum", "mean", "prod", "max", "min", "all", "any", "var", "std", "ptp"):
        setattr(kind, name, _reduction(getattr(kind, name), name))


def _method(name: str) -> Any:
    """A method of NumPy's arrays, on entries."""

    def called(self: Any, *args: Any, **more: Any) -> Any:
        def run() -> Any:
            return getattr(entries.symbols(self), name)(*args, **more)

        return by_numpy(run)

    return called


def _reduction(own: Any, name: str) -> Any:
    """A method of CasADi's where nothing but one axis is given, else NumPy's."""

    def reduced(self: Any, *args: Any, **more: Any) -> Any:
        if not args and not more:
            return own(self)
        return by_numpy(lambda: getattr(entries.symbols(self), name)(*args, **more))

    return reduced


def _regular(values: Any) -> bool:
    """Whether none of the arrays is one of entries, and none of the lists holds symbols."""
    return not any(
        isinstance(x, entries.Entry)
        or getattr(x, "_truth", False)
        or is_mixed(x)
        or (isinstance(x, list | tuple) and is_mixed(np.asarray(entries.plain(x))))
        for x in values
    )


def _guard_places(kind: Any) -> None:
    """Indices: those CasADi has, else NumPy's; parts are views."""
    get = kind.__getitem__

    def known(index: Any) -> tuple[Any, ...]:
        each = index if isinstance(index, tuple) else (index,)
        if any(getattr(type(k), "is_symbols", False) or type(k) is kind for k in each):
            raise Unrecorded("a mask of symbols, of which nobody knows what holds: use np.where")
        return each

    def item(self: Any, index: Any) -> Any:
        each = known(index)
        simple = len(self.shape) < 3 and all(isinstance(k, int | np.integer | slice) for k in each)
        if not simple or len(each) > len(self.shape):
            return by_numpy(lambda: entries.symbols(self)[index])
        found = get(self, index)
        found._truth = getattr(self, "_truth", False)
        if any(isinstance(k, slice) for k in each) or len(each) < len(self.shape):
            return views.part(found, self, lambda: views.places(self)[index])
        return found

    def assign(self: Any, index: Any, value: Any) -> None:
        known(index)
        given = value if hasattr(value, "to_casadi") else joined(value)
        truth = getattr(given, "_truth", False) or getattr(given, "dtype", float) == np.bool_
        if getattr(self, "_truth", False) and not truth:
            raise Unrecorded("an assignment of numbers into an array of booleans")
        views.write(self, index, given)

    kind.__getitem__, kind.__setitem__ = item, assign


def _guard_views(kind: Any) -> None:
    """Arrays that are others in another shape or order, and copies."""
    from dalembert.bridge.arrays import copied

    def set_value(self: Any, value: Any) -> None:
        self.__dict__["_v"] = value

    def moved(own: Any, name: str) -> Any:
        def called(self: Any, *args: Any, **more: Any) -> Any:
            found = own(self, *args, **more)
            if name in ("reshape", "ravel") and views.whole(self).ndim > 1:
                return views.part(found, self, None, views.UNSURE)
            at = views.places(self) if name in ("reshape", "ravel") else None
            if at is not None and not np.may_share_memory(at, getattr(at, name)(*args, **more)):
                return found
            return views.part(found, self, lambda: getattr(views.places(self), name)(*args, **more))

        return called

    turned = moved(kind.T.fget, "transpose")
    for name in ("reshape", "transpose", "ravel", "squeeze"):
        setattr(kind, name, moved(getattr(kind, name), name))
    kind.T, kind._v = property(turned), property(views.value, set_value)
    kind.flat = property(
        lambda self: views.part(self.flatten(), self, lambda: views.places(self).reshape(-1))
    )
    kind.__pos__ = kind.__copy__ = copied
    kind.__deepcopy__ = lambda self, memo: copied(self)


def _guard_changes(kind: Any) -> None:
    """Operators that change an array; a single number is another one afterwards, as in Python."""

    def changing(sign: Any) -> Any:
        def changed(self: Any, other: Any) -> Any:
            made = sign(self, other)
            if not self.shape and views.whole(self) is self:
                return made
            if made.shape != self.shape:
                raise ValueError(f"an array {made.shape} into one of shape {self.shape}")
            self[...] = made
            return self

        return changed

    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    for name in (*names, "and_", "or_", "xor"):
        setattr(kind, f"__i{name.strip('_')}__", changing(getattr(operator, name)))


def _guard_operators(kind: Any) -> None:
    """Comparisons give booleans, which are added and multiplied otherwise; bits are theirs alone."""
    signs = {"add": np.add, "mul": np.multiply, "sub": np.subtract, "matmul": np.matmul}
    bits: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    bits |= {"invert": np.invert, "divmod": np.divmod}

    def marked(own: Any) -> Any:
        def compared(self: Any, other: Any) -> Any:
            found = own(self, other)
            found._truth = True
            return found

        return compared

    def sign(own: Any, ufunc: Any) -> Any:
        def combined(self: Any, other: Any) -> Any:
            if getattr(self, "_truth", False):
                return back(entries.apply(ufunc, "__call__", (self, other), {}))
            return own(self, other)

        return combined

    def bit(ufunc: Any) -> Any:
        return lambda self, *other: back(entries.apply(ufunc, "__call__", (self, *other), {}))

    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(kind, f"__{name}__", marked(getattr(kind, f"__{name}__")))
    for name, ufunc in signs.items():
        setattr(kind, f"__{name}__", sign(getattr(kind, f"__{name}__"), ufunc))
    for name, ufunc in bits.items():
        setattr(kind, f"__{name}__", bit(ufunc))
    for name, ufunc in {"floordiv": np.floor_divide, "mod": np.remainder}.items():
        setattr(kind, f"__{name}__", bit(ufunc))
        setattr(kind, f"__r{name}__", lambda self, other, f=ufunc: f(other, self))
    own = kind.__neg__
    kind.__neg__ = lambda self: back(-apart(self)) if getattr(self, "_truth", False) else own(self)
