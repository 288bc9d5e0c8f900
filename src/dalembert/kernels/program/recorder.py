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
from dalembert.bridge import entries as surface
from dalembert.bridge.primitives import TRUTHS, Truth
from dalembert.kernels.program.program import Op
from dalembert.kernels.program.reading import read
from dalembert.kernels.program.simplify import Signed, Table


class Entry(surface.Entry):
    """One number that depends on the inputs: a value of a table."""

    __slots__ = ("key", "table")

    def __init__(self, table: Table, key: Signed) -> None:
        self.table, self.key = table, key

    @staticmethod
    def operation(ufunc: Any, args: tuple[Any, ...]) -> Any:
        table = next(x.table for x in args if isinstance(x, Entry))
        keys = [_key(table, x) for x in args]
        op = _OPS[ufunc]
        made = table.unary(op, *keys) if len(keys) == 1 else table.binary(op, *keys)
        return _made(table, made, ufunc in TRUTHS)

    @staticmethod
    def by_casadi(function: Any, args: tuple[Any, ...]) -> Any:
        return _by_casadi(function, args)

    def select(self, x: Any, y: Any) -> Any:
        """x where this is not 0, else y."""
        table = self.table
        no = table.unary(Op.NOT, self.key)
        chosen = table.binary(Op.SELECT0, self.key, _key(table, x))
        return _made(table, table.sum(chosen, table.binary(Op.SELECT0, no, _key(table, y))))

    def __neg__(self) -> Entry:
        number, sign = self.key
        return Entry(self.table, (number, -sign))

    __hash__ = object.__hash__


def _operator(
    make: Callable[[Table, Signed, Signed], Signed], truth: bool
) -> list[Callable[[Any, Any], Any]]:
    """An operator of entries, and the same with the entry on the right."""

    def forward(self: Entry, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy asks again, entry by entry
        table = self.table
        return _made(table, make(table, self.key, _key(table, other)), truth)

    def backward(self: Entry, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        table = self.table
        return _made(table, make(table, _key(table, other), self.key), truth)

    return [forward, backward]


def _by(op: Op) -> Callable[[Table, Signed, Signed], Signed]:
    return lambda table, x, y: table.binary(op, x, y)


_Makes = dict[tuple[str, ...], Callable[[Table, Signed, Signed], Signed]]
_OPERATORS: _Makes = {
    ("__add__", "__radd__"): Table.sum,
    ("__sub__", "__rsub__"): lambda table, x, y: table.sum(x, (y[0], -y[1])),
    ("__mul__", "__rmul__"): Table.product,
    ("__truediv__", "__rtruediv__"): _by(Op.DIV),
    ("__pow__", "__rpow__"): _by(Op.POW),
}
_COMPARISONS: _Makes = {
    ("__lt__", "__gt__"): _by(Op.LT),
    ("__le__", "__ge__"): _by(Op.LE),
    ("__eq__",): _by(Op.EQ),
    ("__ne__",): _by(Op.NE),
}
for _names, _make in {**_OPERATORS, **_COMPARISONS}.items():
    for _name, _function in zip(_names, _operator(_make, _names in _COMPARISONS), strict=False):
        setattr(Entry, _name, _function)


class TruthEntry(Truth, Entry):
    """One that is true or false."""

    __slots__ = ()

    def as_number(self) -> Entry:
        return Entry(self.table, self.key)

    __hash__ = object.__hash__


for _kind in (Entry, TruthEntry):
    surface.PLAIN[_kind] = lambda value: surface.cell(value).view(np.ndarray)


def record(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]]
) -> tuple[Table, Any]:
    """What the function returns, called by keyword, and the table of what it did."""
    table, arrays, start = Table(), {}, 0
    for name, shape in inputs.items():
        entries = [Entry(table, (table.node(Op.INPUT, start + k), 1)) for k in range(prod(shape))]
        arrays[name] = surface.array(entries, shape)
        start += len(entries)
    return table, function(**arrays)


def entries(table: Table, value: Any) -> list[Signed]:
    """The entries of an array, C order, as values of the table."""
    flat = np.asarray(surface.plain(value), dtype=object).ravel().tolist()
    return [_key(table, x) for x in flat]


def _key(table: Table, value: Any) -> Signed:
    if isinstance(value, Entry):
        return value.key
    return table.constant(float(value))


def _made(table: Table, key: Signed, truth: bool = False) -> Any:
    value = table.values[key[0]]
    if value is None:
        return TruthEntry(table, key) if truth else Entry(table, key)
    return np.bool_(value) if truth else key[1] * value


def _by_casadi(function: Any, args: tuple[Any, ...]) -> Any:
    """A function of arrays that NumPy has for numbers only, in the operations of CasADi.

    Entries that are equal are so for CasADi too: inverses of symmetric matrices are simpler.
    """
    arrays = [surface.symbols(x) for x in args]
    listed = [x for array in arrays for x in array.ravel().tolist()]
    found = {x.key[0]: x for x in listed if isinstance(x, Entry)}
    if not found:
        return function(*(np.asarray(x, dtype=float) for x in arrays))
    letter = bridge.symbol("x", len(found))
    letters: dict[int, Any] = {number: letter[i] for i, number in enumerate(found)}
    table = next(iter(found.values())).table
    given = []
    for array in arrays:
        keys = entries(table, array)
        spelled = [s * letters.get(k, table.values[k] or 0.0) for k, s in keys]
        given.append(bridge.flat(spelled).reshape(*array.shape))
    y = function(*given)
    made = read(bridge.columns_function([letter], [y]))
    results = table.replayed(made, [(k, 1) for k in letters])
    return surface.array([_made(table, key) for key in results], y.shape)


_OPS: dict[Any, Op] = {
    **{np.sin: Op.SIN, np.cos: Op.COS, np.tan: Op.TAN, np.sqrt: Op.SQRT, np.absolute: Op.ABS},
    **{np.arcsin: Op.ASIN, np.arccos: Op.ACOS, np.arctan: Op.ATAN, np.sign: Op.SIGN},
    **{np.sinh: Op.SINH, np.cosh: Op.COSH, np.tanh: Op.TANH, np.exp: Op.EXP, np.log: Op.LOG},
    **{np.arcsinh: Op.ASINH, np.arccosh: Op.ACOSH, np.arctanh: Op.ATANH},
    **{np.expm1: Op.EXPM1, np.log1p: Op.LOG1P, np.floor: Op.FLOOR, np.ceil: Op.CEIL},
    **{np.square: Op.SQ, np.logical_not: Op.NOT, np.negative: Op.NEG},
    **{np.maximum: Op.MAX, np.minimum: Op.MIN, np.arctan2: Op.ATAN2, np.hypot: Op.HYPOT},
    **{np.copysign: Op.COPYSIGN, np.fmod: Op.FMOD, np.power: Op.POW, np.divide: Op.DIV},
    **{np.logical_and: Op.AND, np.logical_or: Op.OR, np.less: Op.LT, np.less_equal: Op.LE},
    **{np.equal: Op.EQ, np.not_equal: Op.NE},
    **{np.add: Op.ADD, np.subtract: Op.SUB, np.multiply: Op.MUL},
}
