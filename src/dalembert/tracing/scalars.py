"""One number that has no value yet: a value of a table, which records what is done with it.

NumPy finds such scalars as the entries of arrays of objects; arithmetic with what depends on no
symbol is done at once, so that a result is a number wherever it can be one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.interpreter import TRUTHS, UFUNCS
from dalembert.tracing.program import Op
from dalembert.tracing.table import Signed, Symbol, Table, winner

NO_VALUE = (
    "a symbol has no value yet: use NumPy's functions (np.sin, not math.sin), np.where in place of "
    "a branch on it, and np.stack, np.array or np.zeros_like(q) for arrays of symbols, in place of "
    "np.zeros"
)


SYMPY = (
    "SymPy's {} does not mix with the arrays that a function is called with: use NumPy's functions and "
    "dalembert.Parameter for named numbers, or give a SymPy expression in place of the function"
)


class Unrecorded(CompileError, TypeError):
    """Something that cannot be done before there are numbers."""


class Scalar:
    """A number that depends on symbols; `table` and `key` say how."""

    __slots__ = ("key", "table")
    is_symbols = True
    shape: tuple[int, ...] = ()
    ndim, size = 0, 1

    def __init__(self, table: Table, key: Signed) -> None:
        self.table, self.key = table, key

    def _no_value(self) -> Any:
        raise Unrecorded(NO_VALUE)

    def _sympy_(self) -> Any:  # which SymPy asks for before it makes something of an object
        raise Unrecorded(SYMPY.format("arithmetic"))

    __float__ = __int__ = __index__ = __complex__ = __bool__ = _no_value
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        number, sign = self.key
        return Scalar(self.table, (number, -sign))

    def conjugate(self) -> Any:
        return self

    T, __pos__ = property(conjugate), conjugate

    def __repr__(self) -> str:
        return text(self)

    def __reduce__(self) -> Any:
        raise TypeError("symbols do not pickle: they have an identity in this process only")


class Boolean(Scalar):
    """A scalar that is true or false; it behaves as entries of NumPy's arrays of booleans do."""

    __slots__ = ()

    def as_number(self) -> Scalar:
        """0 or 1."""
        return Scalar(self.table, self.key)

    def __neg__(self) -> Any:
        raise Unrecorded("the negative of a boolean, which NumPy refuses: use np.logical_not")


def is_truth(value: Any) -> bool:
    """Whether it is true or false, and not a number."""
    return isinstance(value, Boolean | bool | np.bool_)


def number_of(value: Any) -> Any:
    """0 or 1 for what is true or false; numbers as they are."""
    if isinstance(value, Boolean):
        return value.as_number()
    return float(value) if is_truth(value) else value


def operand(value: Any) -> Any:
    """The other operand of a scalar, as a scalar or a number; named parameters become symbols."""
    if isinstance(value, Scalar):
        return value
    if not isinstance(value, float | int | np.generic):
        if hasattr(type(value), "symbol"):
            return value.symbol().item()
        if str(type(value).__module__).startswith("sympy") and not value.is_number:
            raise Unrecorded(SYMPY.format(value))
    return float(value)


def keys_of(table: Table, values: list[Any]) -> list[Signed]:
    """Scalars and numbers as values of a table, into which others' are copied."""
    keys: list[Any] = [None] * len(values)
    strangers: dict[Table, list[int]] = {}
    for k, x in enumerate(values):
        if not isinstance(x, Scalar):
            keys[k] = table.constant(float(x))
        elif x.table is table:
            keys[k] = x.key
        else:
            strangers.setdefault(x.table, []).append(k)
    for source, places in strangers.items():
        copies = table.imported(source, [values[k].key for k in places])
        for k, key in zip(places, copies, strict=True):
            keys[k] = key
    return keys


def table_of(values: list[Any]) -> Table:
    """The table in which these scalars and numbers meet."""
    tables = dict.fromkeys(x.table for x in values if isinstance(x, Scalar))  # in their order
    return winner(tables) if tables else Table()


def scalar(table: Table, key: Signed, is_boolean: bool = False) -> Any:
    """A value of a table as a scalar; as a number where it is constant."""
    value = table.values[key[0]]
    if value is None:
        return Boolean(table, key) if is_boolean else Scalar(table, key)
    return np.bool_(value) if is_boolean else key[1] * value


def operation(ufunc: Any, args: tuple[Any, ...]) -> Any:
    """A primitive operation on scalars and numbers, at least one of them a scalar."""
    operands = [operand(x) for x in args]
    table = table_of(operands)
    keys = keys_of(table, operands)
    op = PRIMITIVE[ufunc]
    result = table.unary(op, *keys) if len(keys) == 1 else table.binary(op, *keys)
    return scalar(table, result, op in TRUTHS)


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; true or false where both are."""
    if not isinstance(condition, Scalar):
        return x if condition else y
    if is_truth(x) and is_truth(y):
        otherwise = operation_or_value(np.logical_and, operation(np.logical_not, (condition,)), y)
        return operation_or_value(
            np.logical_or, operation_or_value(np.logical_and, condition, x), otherwise
        )
    operands = [condition, operand(x), operand(y)]
    table = table_of(operands)
    holds, first, second = keys_of(table, operands)
    fails = table.unary(Op.NOT, holds)
    chosen = table.binary(Op.SELECT0, holds, first)
    return scalar(table, table.sum(chosen, table.binary(Op.SELECT0, fails, second)))


def operation_or_value(ufunc: Any, *args: Any) -> Any:
    """The operation, done at once where all are numbers."""
    return operation(ufunc, args) if any(isinstance(x, Scalar) for x in args) else ufunc(*args)


Maker = Callable[[Table, Signed, Signed], Signed]


def _operators(make: Maker, is_boolean: bool) -> tuple[Any, Any]:
    """A binary operator of scalars, and the same with the scalar on the right."""

    def forward(self: Scalar, other: Any) -> Any:
        if isinstance(other, Scalar):
            if self.table is other.table:
                table = self.table
                return scalar(table, make(table, self.key, other.key), is_boolean)
            table = table_of([self, other])
            return scalar(table, make(table, *keys_of(table, [self, other])), is_boolean)
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy asks again, entry by entry
        value = operand(other)
        if isinstance(value, Scalar):
            return forward(self, value)
        table = self.table
        return scalar(table, make(table, self.key, table.constant(value)), is_boolean)

    def backward(self: Scalar, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value = operand(other)
        if isinstance(value, Scalar):  # Python asks a boolean on the right first
            return forward(value, self)
        table = self.table
        return scalar(table, make(table, table.constant(value), self.key), is_boolean)

    return forward, backward


def _by(op: Op) -> Maker:
    return lambda table, x, y: table.binary(op, x, y)


_ARITHMETIC: dict[str, Maker] = {
    "add": Table.sum,
    "sub": lambda table, x, y: table.sum(x, (y[0], -y[1])),
    "mul": Table.product,
    "truediv": _by(Op.DIV),
    "pow": _by(Op.POW),
}
for _name, _make in _ARITHMETIC.items():
    _forward, _backward = _operators(_make, False)
    setattr(Scalar, f"__{_name}__", _forward)
    setattr(Scalar, f"__r{_name}__", _backward)
_COMPARISONS: dict[str, Maker] = {
    **{"lt": _by(Op.LT), "le": _by(Op.LE), "eq": _by(Op.EQ), "ne": _by(Op.NE)},
    "gt": lambda table, x, y: table.binary(Op.LT, y, x),
    "ge": lambda table, x, y: table.binary(Op.LE, y, x),
}
for _name, _make in _COMPARISONS.items():
    setattr(Scalar, f"__{_name}__", _operators(_make, True)[0])


def _boolean_operator(name: str, ufunc: Any | None, refusal: str = "") -> Any:
    """Sums and products of booleans are "or" and "and", as in NumPy; differences are refused."""
    of_numbers = getattr(Scalar, name)

    def operator(self: Boolean, other: Any) -> Any:
        if not is_truth(other):
            return of_numbers(self, other)
        if ufunc is None:
            raise Unrecorded(refusal)
        return operation(ufunc, (self, other))

    return operator


_DIFFERENCE = "the difference of booleans, which NumPy refuses: use np.logical_xor"
for _name, _ufunc in {"add": np.logical_or, "mul": np.logical_and, "sub": None}.items():
    for _side in ("", "r"):
        _method = _boolean_operator(f"__{_side}{_name}__", _ufunc, _DIFFERENCE)
        setattr(Boolean, f"__{_side}{_name}__", _method)

PRIMITIVE: dict[Any, Op] = {ufunc: op for op, ufunc in UFUNCS.items()}


_LIMIT = 200  # characters of an expression that are shown
_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/", Op.LT: "<", Op.LE: "<=", Op.EQ: "=="}
_INFIX |= {Op.NE: "!=", Op.AND: "and", Op.OR: "or", Op.POW: "**"}


def text(x: Scalar) -> str:
    """The expression as one would write it, shortened where it is long."""
    names_shown = _text(x.table, x.key, _LIMIT)
    return names_shown if len(names_shown) <= _LIMIT else names_shown[:_LIMIT] + "…"


def _text(table: Table, key: Signed, depth: int) -> str:
    number, sign = key
    op, a, b = table.nodes[number]
    if sign < 0:
        return f"-{_text(table, (number, 1), depth - 1)}"
    if op == Op.CONST:
        return f"{table.constants[a]:g}"
    if op == Op.INPUT:
        return a.name if isinstance(a, Symbol) else f"input{a}"
    if depth <= 0:
        return "…"
    first = _text(table, (a, 1), depth // 2)
    if op in _INFIX:
        return f"({first}{_INFIX[Op(op)]}{_text(table, (b, 1), depth // 2)})"
    if b >= 0:
        first += f", {_text(table, (b, 1), depth // 2)}"
    return f"{Op(op).name.lower()}({first})"
