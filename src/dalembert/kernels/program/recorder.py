"""Tracing plain NumPy without CasADi: arrays of objects that write down what is done with them.

A formulation handles small arrays by the thousand; NumPy moves their entries about in C, and every
operation on an entry goes straight into the table that makes programs short (simplify.py). What
depends on no input stays a number. Where a function does what such arrays cannot, it says so with
`Unrecorded`, or with what NumPy raises, and is traced with CasADi instead (trace.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.kernels.program.interpret import MEANING
from dalembert.kernels.program.program import Op
from dalembert.kernels.program.reading import read
from dalembert.kernels.program.simplify import Signed, Table
from dalembert.progress import step


class Unrecorded(TypeError):
    """An operation that only CasADi can trace."""


class Entry:
    """One number that depends on the inputs, as NumPy finds it in an array of objects."""

    __slots__ = ("key", "table")
    is_symbols = True
    shape: tuple[int, ...] = ()
    ndim, size = 0, 1

    def __init__(self, table: Table, key: Signed) -> None:
        self.table, self.key = table, key

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return _apply(ufunc, method, inputs, more)

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        return _call(function, args, more)

    @property
    def T(self) -> Entry:
        return self

    def reshape(self, *shape: Any) -> Any:
        return _cell(self).reshape(*shape)

    def __neg__(self) -> Entry:
        number, sign = self.key
        return Entry(self.table, (number, -sign))

    def __pos__(self) -> Entry:
        return self

    def __bool__(self) -> bool:
        raise Unrecorded("what is done depends on the value of an input")

    __hash__ = object.__hash__


def _operator(make: Callable[[Table, Signed, Signed], Signed]) -> list[Callable[[Any, Any], Any]]:
    """An operator of entries, and the same with the entry on the right."""

    def forward(self: Entry, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy asks again, entry by entry
        table = self.table
        return _made(table, make(table, self.key, _key(table, other)))

    def backward(self: Entry, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        table = self.table
        return _made(table, make(table, _key(table, other), self.key))

    return [forward, backward]


def _by(op: Op) -> Callable[[Table, Signed, Signed], Signed]:
    return lambda table, x, y: table.binary(op, x, y)


_OPERATORS = {
    ("__add__", "__radd__"): Table.sum,
    ("__sub__", "__rsub__"): lambda table, x, y: table.sum(x, (y[0], -y[1])),
    ("__mul__", "__rmul__"): Table.product,
    ("__truediv__", "__rtruediv__"): _by(Op.DIV),
    ("__pow__", "__rpow__"): _by(Op.POW),
    ("__lt__", "__gt__"): _by(Op.LT),
    ("__le__", "__ge__"): _by(Op.LE),
    ("__eq__",): _by(Op.EQ),
    ("__ne__",): _by(Op.NE),
}
for _names, _make in _OPERATORS.items():
    for _name, _function in zip(_names, _operator(_make), strict=False):
        setattr(Entry, _name, _function)


class Symbols(np.ndarray):
    """An array of entries and numbers, so that NumPy asks here before it does anything."""

    is_symbols = True

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return _apply(ufunc, method, inputs, more)

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        return _call(function, args, more)


def record(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]]
) -> tuple[Table, Any]:
    """What the function returns, called by keyword, and the table of what it did."""
    table, arrays, start = Table(), {}, 0
    for name, shape in inputs.items():
        entries = [Entry(table, (table.node(Op.INPUT, start + k), 1)) for k in range(prod(shape))]
        arrays[name] = _array(entries, shape)
        start += len(entries)
    return table, function(**arrays)


def entries(table: Table, value: Any) -> list[Signed]:
    """The entries of an array, C order, as values of the table."""
    flat = np.asarray(_plain(value), dtype=object).ravel().tolist()
    return [_key(table, x) for x in flat]


def _array(entries: list[Any], shape: tuple[int, ...]) -> Any:
    filled = np.empty(len(entries), dtype=object)
    filled[:] = entries
    return filled.reshape(shape).view(Symbols)


def _cell(value: Any) -> Any:
    return _array([value], ())


def _key(table: Table, value: Any) -> Signed:
    if type(value) is Entry:
        return value.key
    return table.constant(float(value))


def _made(table: Table, key: Signed) -> Any:
    value = table.values[key[0]]
    return Entry(table, key) if value is None else key[1] * value


def _plain(value: Any) -> Any:
    """What NumPy's own functions take: arrays of objects in place of ours, also inside lists."""
    kind = type(value)
    if kind is Symbols:
        return value.view(np.ndarray)
    if kind is Entry:
        return _cell(value).view(np.ndarray)
    if kind in (list, tuple):
        return kind(map(_plain, value))
    return value


def _wrapped(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray and value.dtype == object:
        return value.view(Symbols)
    if kind in (list, tuple):
        return kind(map(_wrapped, value))
    return value


def _apply(ufunc: Any, method: str, inputs: tuple[Any, ...], more: dict[str, Any]) -> Any:
    step()
    if more.keys() & {"out", "where"}:  # NumPy would ask here again, without end
        raise Unrecorded(f"{ufunc.__name__} into an array, or where something holds")
    for x in inputs:
        if not isinstance(x, _KNOWN):
            raise Unrecorded(f"{ufunc.__name__} of {type(x).__name__}")
    plain = map(_plain, inputs)
    return _wrapped(getattr(_OWN.get(ufunc, ufunc), method)(*plain, **more))


def _call(function: Any, args: Any, more: dict[str, Any]) -> Any:
    if function is np.where and len(args) == 3:
        return _wrapped(_choose(*map(_plain, args)))
    if function.__module__ == "numpy.linalg":
        return _by_casadi(function, *args, **more)
    return _wrapped(function(*map(_plain, args), **{k: _plain(x) for k, x in more.items()}))


def _by_casadi(function: Any, array: Any) -> Any:
    """A function of one array that NumPy has for numbers only, in the operations of CasADi.

    Entries that are equal are so for CasADi too: inverses of symmetric matrices are simpler.
    """
    found = {x.key[0]: x for x in array.ravel().tolist() if type(x) is Entry}
    if not found:
        return function(np.asarray(array, dtype=float))
    letter = bridge.symbol("x", len(found))
    letters: dict[int, Any] = {number: letter[i] for i, number in enumerate(found)}
    table = next(iter(found.values())).table
    keys = entries(table, array)
    given = [s * letters.get(k, table.values[k] or 0.0) for k, s in keys]
    y = function(bridge.flat(given).reshape(*array.shape))
    made = read(bridge.columns_function([letter], [y]))
    results = table.replayed(made, [(k, 1) for k in letters])
    return _array([_made(table, key) for key in results], y.shape)


def _of_entries(op: Op, count: int) -> Any:
    """An operation as a ufunc of objects: noted down for entries, done at once for numbers."""
    meaning = MEANING[op]

    def apply(*args: Any) -> Any:
        found = [x for x in args if type(x) is Entry]
        if not found:
            return float(meaning(*map(np.float64, args)))
        table = found[0].table
        keys = [_key(table, x) for x in args]
        made = table.unary(op, *keys) if count == 1 else table.binary(op, *keys)
        return _made(table, made)

    return np.frompyfunc(apply, count, 1)


_KNOWN = (Entry, np.ndarray, float, int, np.number, list, tuple)
_UNARY: dict[Any, Op] = {
    **{np.sin: Op.SIN, np.cos: Op.COS, np.tan: Op.TAN, np.sqrt: Op.SQRT, np.absolute: Op.ABS},
    **{np.arcsin: Op.ASIN, np.arccos: Op.ACOS, np.arctan: Op.ATAN, np.sign: Op.SIGN},
    **{np.sinh: Op.SINH, np.cosh: Op.COSH, np.tanh: Op.TANH, np.exp: Op.EXP, np.log: Op.LOG},
    **{np.arcsinh: Op.ASINH, np.arccosh: Op.ACOSH, np.arctanh: Op.ATANH, np.fabs: Op.ABS},
    **{np.expm1: Op.EXPM1, np.log1p: Op.LOG1P, np.floor: Op.FLOOR, np.ceil: Op.CEIL},
    **{np.square: Op.SQ, np.logical_not: Op.NOT},
}
_TWO: dict[Any, Op] = {
    **{np.maximum: Op.MAX, np.minimum: Op.MIN, np.arctan2: Op.ATAN2, np.hypot: Op.HYPOT},
    **{np.copysign: Op.COPYSIGN, np.fmod: Op.FMOD},
    **{np.logical_and: Op.AND, np.logical_or: Op.OR, np.less: Op.LT, np.less_equal: Op.LE},
    **{np.equal: Op.EQ, np.not_equal: Op.NE},
}
_OWN: dict[Any, Any] = {
    **{ufunc: _of_entries(op, 1) for ufunc, op in _UNARY.items()},
    **{ufunc: _of_entries(op, 2) for ufunc, op in _TWO.items()},
}
_select, _not = _of_entries(Op.SELECT0, 2), _of_entries(Op.NOT, 1)
_OWN[np.greater] = lambda x, y: _OWN[np.less](y, x)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):  # a NaN that is chosen is meant
        return _select(condition, x) + _select(_not(condition), y)
