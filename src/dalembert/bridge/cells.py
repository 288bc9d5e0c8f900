"""CasADi's symbols one by one, as entries of NumPy's arrays, and what CasADi's own arrays may do.

CasADi's arrays of symbols follow NumPy in part, and where they do not, give other numbers without a
word: `np.rint` rounds halves away from zero, `np.sum` forgets `where=`, a row is a copy and no view.
`guard` leaves to them what was compared with NumPy, function by function; everything else is done by
NumPy itself, on an array of entries.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from dalembert.bridge import entries
from dalembert.bridge.primitives import (
    NO_VALUE,
    PRIMITIVE,
    TRUTHS,
    Truth,
    Unrecorded,
    give_methods,
    give_operators,
    is_truth,
)

_JOINS = {np.concatenate, np.stack, np.vstack, np.hstack}
_MOVES = {*_JOINS, np.reshape, np.transpose, np.where}
_LINEAR = {np.dot, np.linalg.inv, np.linalg.solve, np.linalg.det}
_functions: list[Any] = []  # CasADi's own way to call functions of NumPy
TRUSTED = frozenset(_MOVES | _LINEAR)
"""Functions that CasADi's arrays have right, without keywords but `axis`."""
_PRODUCTS = frozenset({np.matmul, np.greater, np.greater_equal, np.positive})
_ELEMENTARY = PRIMITIVE | _PRODUCTS
_TRUTHS = TRUTHS | {np.greater, np.greater_equal}


class Cell(entries.Entry):
    """One of CasADi's symbols, or an expression of them."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value  # casadi.SX (1, 1)

    @staticmethod
    def operation(ufunc: Any, args: tuple[Any, ...]) -> Any:
        import casadi

        functions: Any = casadi.casadi
        made = functions._NUMPY_UFUNC_DISPATCH[ufunc.__name__](*map(_value, args))
        return (TruthCell if ufunc in TRUTHS else Cell)(made)

    @staticmethod
    def by_casadi(function: Any, args: tuple[Any, ...]) -> Any:
        given = [*map(joined, args)]
        array = next(x for x in given if not isinstance(x, np.ndarray))
        return apart(_functions[0](array, function, (), tuple(given), {}))

    def select(self, x: Any, y: Any) -> Any:
        import casadi

        return Cell(casadi.if_else(self.value, _value(x), _value(y)))

    def _known(self) -> float:
        """The value of a constant."""
        if not self.value.is_constant():
            raise Unrecorded(NO_VALUE)
        return float(self.value)

    __float__ = _known
    __hash__ = object.__hash__

    def __int__(self) -> int:
        return int(self._known())

    def __bool__(self) -> bool:
        return bool(self._known())

    def __neg__(self) -> Any:
        return Cell(-self.value)


_SIGNS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide}
_SIGNS |= {"pow": np.power, "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}
give_operators(Cell, _SIGNS, Cell.operation)


class TruthCell(Truth, Cell):
    """One that is true or false."""

    __slots__ = ()

    def as_number(self) -> Cell:
        return Cell(self.value)

    __hash__ = object.__hash__


for _kind in (Cell, TruthCell):
    entries.PLAIN[_kind] = lambda value: entries.cell(value).view(np.ndarray)


def _value(x: Any) -> Any:
    """An entry, a number, or CasADi's array of one symbol, as casadi.SX (1, 1)."""
    import casadi

    if isinstance(x, Cell):
        return x.value
    return x._scalar() if hasattr(x, "to_casadi") else casadi.SX(float(x))


def apart(array: Any) -> Any:
    """CasADi's array as an array of entries."""
    from dalembert.bridge.arrays import column

    values, kind = column(array), TruthCell if getattr(array, "_truth", False) else Cell
    return entries.array([kind(values[k]) for k in range(values.numel())], tuple(array.shape))


def joined(value: Any) -> Any:
    """An array of entries, or a list of them, as CasADi's array; numbers as they are."""
    import casadi

    from dalembert.bridge.arrays import array

    plain = np.asarray(entries.plain(value))
    if plain.dtype != object:
        return plain
    given = plain.ravel().tolist()
    listed = [_value(x) for x in given]
    made = array(casadi.vertcat(*listed) if listed else casadi.SX(0, 1), *plain.shape)
    made._truth = bool(given) and all(map(is_truth, given))
    return made


def _is_mixed(value: Any) -> bool:
    """Whether it is NumPy's own array of objects."""
    return isinstance(value, np.ndarray) and value.dtype == object


def _back(value: Any) -> Any:
    """What NumPy made of entries, as CasADi's arrays again."""
    if isinstance(value, list | tuple):
        return type(value)(map(_back, value))
    if isinstance(value, Cell):
        return joined(value)
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    if any(isinstance(x, Cell) or hasattr(x, "to_casadi") for x in value.ravel().tolist()):
        return joined(value)
    return value.astype(float).view(np.ndarray)


def guard() -> None:
    """Let CasADi's arrays of symbols do as NumPy does, or refuse."""
    from casadi import casadi

    kind: Any = casadi.ArrayInterfaceSX
    entries.PLAIN[kind] = lambda value: apart(value).view(np.ndarray)
    _guard_functions(kind)
    _guard_places(kind)
    _guard_operators(kind)
    base: Any = casadi.ArrayInterface
    own = base._as_array
    base._as_array = staticmethod(lambda x: own(x if hasattr(x, "to_casadi") else joined(x)))
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
    _functions.append(functions)

    def apply(self: Any, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        if method == "__call__" and not more and ufunc in _ELEMENTARY and _regular(inputs):
            found = ufuncs(self, ufunc, method, *inputs)
            if found is not NotImplemented:
                found._truth = ufunc in _TRUTHS
                return found
        return _back(entries.apply(ufunc, method, inputs, more))

    def call(self: Any, function: Any, types: Any, args: Any, more: Any) -> Any:
        given = args[0] if function in _JOINS and args else args
        known = isinstance(given, list | tuple) and not more.keys() - {"axis"}
        if known and function in TRUSTED and _regular(given):
            found = functions(self, function, types, args, more)
            if found is not NotImplemented:
                return found
        return _back(entries.call(function, args, more))

    def objects(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) != object:
            raise Unrecorded(NO_VALUE)
        return apart(self).view(np.ndarray)

    kind.__array_ufunc__, kind.__array_function__, kind.__array__ = apply, call, objects
    give_methods(kind, apart, _back)
    for name in ("sum", "mean", "prod", "max", "min", "all", "any", "var", "std", "ptp"):
        setattr(kind, name, _reduction(getattr(kind, name), name))


def _reduction(own: Any, name: str) -> Any:
    """A method of CasADi's where nothing but one axis is given, else NumPy's."""

    def reduced(self: Any, *args: Any, **more: Any) -> Any:
        if not args and not more:
            return own(self)
        return _back(getattr(apart(self), name)(*args, **more))

    return reduced


def _regular(values: Any) -> bool:
    """Whether none of the arrays is one of entries, and none of the lists holds symbols."""
    return not any(
        isinstance(x, entries.Entry)
        or getattr(x, "_truth", False)
        or _is_mixed(x)
        or (isinstance(x, list | tuple) and _is_mixed(np.asarray(entries.plain(x))))
        for x in values
    )


def _guard_places(kind: Any) -> None:
    """Indices: those CasADi has, else NumPy's; a part of an array is a copy here, and read-only."""
    get, put = kind.__getitem__, kind.__setitem__

    def item(self: Any, index: Any) -> Any:
        each = index if isinstance(index, tuple) else (index,)
        if any(getattr(type(k), "is_symbols", False) or type(k) is kind for k in each):
            raise Unrecorded("a mask of symbols, of which nobody knows what holds: use np.where")
        simple = len(self.shape) < 3 and all(isinstance(k, int | np.integer | slice) for k in each)
        if not simple or len(each) > len(self.shape):
            return _back(apart(self)[index])
        found = get(self, index)
        found._truth = getattr(self, "_truth", False)
        if any(isinstance(k, slice) for k in each) or len(each) < len(self.shape):
            found._part_of = self
            self.__dict__.setdefault("_parts", []).append(weakref.ref(found))
        return found

    def assign(self: Any, index: Any, value: Any) -> None:
        if hasattr(self, "_part_of") or any(
            part() is not None for part in self.__dict__.get("_parts", ())
        ):
            raise Unrecorded(
                "an assignment that would change two arrays, one being part of the other: assign "
                "to the whole array, or to a copy"
            )
        put(self, index, value)

    kind.__getitem__, kind.__setitem__ = item, assign


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
                return _back(entries.apply(ufunc, "__call__", (self, other), {}))
            return own(self, other)

        return combined

    def bit(ufunc: Any) -> Any:
        return lambda self, *other: _back(entries.apply(ufunc, "__call__", (self, *other), {}))

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
    kind.__neg__ = lambda self: _back(-apart(self)) if getattr(self, "_truth", False) else own(self)
