"""One number that has no value yet: a value of a table, which records what is done with it.

NumPy finds such scalars as the entries of arrays of objects; arithmetic with what depends on no
symbol is done at once, so that a result is a number wherever it can be one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.interpreter import TRUTHS, UFUNCS
from dalembert.tracing.program import Op
from dalembert.tracing.table import Signed, Symbol, Table

NO_VALUE = (
    "a symbol has no value yet: use NumPy's functions (np.sin, not math.sin), np.where in place of "
    "a branch on it, and np.stack, np.array or np.zeros_like(q) for arrays of symbols, in place of "
    "np.zeros"
)


SYMPY = (
    "SymPy's {} does not mix with the arrays that a function is called with: use NumPy's functions and "
    "dalembert.Parameter for named numbers, or give a SymPy expression in place of the function"
)


def is_symbolic(value: object) -> bool:
    """Whether it is an array of symbols, a scalar, or one of CasADi's.

    >>> from dalembert.tracing import symbol
    >>> is_symbolic(symbol("x")), is_symbolic(1.0)
    (True, False)
    """
    # plain arrays of numbers are asked about in every call
    return type(value) is not np.ndarray and (is_array(value) or is_casadi(value))


def is_array(value: object) -> bool:
    """Whether it is an array of symbols or a scalar of this package."""
    return bool(getattr(type(value), "is_symbols", False))


def is_casadi(value: object) -> bool:
    """Whether it is one of CasADi's matrices or arrays."""
    return str(type(value).__module__).startswith("casadi")  # SymPy has types without a module


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

    def _no_value(self) -> NoReturn:
        raise Unrecorded(NO_VALUE)

    def _sympy_(self) -> NoReturn:  # called by SymPy before it converts an object
        raise Unrecorded(SYMPY.format("arithmetic"))

    __float__ = __int__ = __index__ = __complex__ = __bool__ = _no_value
    __hash__ = object.__hash__

    def __neg__(self) -> Scalar:
        number, sign = self.key
        return Scalar(self.table, (number, -sign))

    def conjugate(self) -> Scalar:
        return self

    T, __pos__ = property(conjugate), conjugate

    def __repr__(self) -> str:
        text = _text(self.table, self.key, _LIMIT)
        return text if len(text) <= _LIMIT else text[:_LIMIT] + "…"

    def __reduce__(self) -> NoReturn:
        raise TypeError("symbols do not pickle: they have an identity in this process only")


Number = Scalar | float


class Boolean(Scalar):
    """A scalar that is true or false; it behaves as entries of NumPy's arrays of booleans do."""

    __slots__ = ()

    def __neg__(self) -> NoReturn:
        raise Unrecorded("the negative of a boolean, which NumPy refuses: use np.logical_not")


def is_truth(value: object) -> bool:
    """Whether it is true or false, and not a number."""
    return isinstance(value, Boolean | bool | np.bool_)


def number_of(value: Number | bool | np.bool_) -> Number:
    """0 or 1 for booleans; numbers as they are."""
    if isinstance(value, Boolean):
        return Scalar(value.table, value.key)
    return float(value) if isinstance(value, bool | np.bool_) else value


def operand(value: Any) -> Number:
    """The other operand of a scalar, as a scalar or a number; named parameters become symbols."""
    if isinstance(value, Scalar):
        return value
    if not isinstance(value, float | int | np.generic):
        if hasattr(type(value), "symbol"):
            symbol: Scalar = value.symbol().item()
            return symbol
        if str(type(value).__module__).startswith("sympy") and not value.is_number:
            raise Unrecorded(SYMPY.format(value))
    return float(value)


def keys_of(table: Table, values: Sequence[Number]) -> list[Signed]:
    """Scalars and numbers as values of a table, into which those of other tables are copied."""
    keys: list[Signed] = [(-1, 1)] * len(values)
    foreign: dict[Table, list[tuple[int, Signed]]] = {}
    for k, x in enumerate(values):
        if not isinstance(x, Scalar):
            keys[k] = table.constant(float(x))
        elif x.table is table:
            keys[k] = x.key
        else:
            foreign.setdefault(x.table, []).append((k, x.key))
    for source, entries in foreign.items():
        copies = table.imported(source, [key for _, key in entries])
        for (k, _), key in zip(entries, copies, strict=True):
            keys[k] = key
    return keys


def table_of(values: Sequence[Number]) -> Table:
    """The table in which these scalars and numbers meet: that of a trace, else the largest."""
    tables = dict.fromkeys(x.table for x in values if isinstance(x, Scalar))  # in their order
    if not tables:
        return Table()
    return max(tables, key=lambda table: (table.is_trace, len(table.nodes)))


def scalar(table: Table, key: Signed, is_boolean: bool = False) -> Number | np.bool_:
    """A value of a table as a scalar; as a number where it is constant."""
    value = table.values[key[0]]
    if value is None:
        return Boolean(table, key) if is_boolean else Scalar(table, key)
    return np.bool_(value) if is_boolean else key[1] * value


def operation(ufunc: np.ufunc, args: tuple[object, ...]) -> Number | np.bool_:
    """A primitive operation on scalars and numbers, at least one of them a scalar."""
    operands = [operand(x) for x in args]
    table = table_of(operands)
    keys = keys_of(table, operands)
    op = PRIMITIVE[ufunc]
    result = table.unary(op, *keys) if len(keys) == 1 else table.binary(op, *keys)
    return scalar(table, result, op in TRUTHS)


def choose(condition: object, x: Any, y: Any) -> Any:
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


def operation_or_value(ufunc: np.ufunc, *args: object) -> Any:
    """The operation, done at once where all are numbers."""
    return operation(ufunc, args) if any(isinstance(x, Scalar) for x in args) else ufunc(*args)


Rule = Callable[[Table, Signed, Signed], Signed]
Operator = Callable[[Scalar, object], Any]


def _operators(rule: Rule, is_boolean: bool) -> tuple[Operator, Operator]:
    """A binary operator of scalars, and the same with the scalar on the right."""

    def forward(self: Scalar, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy calls again, entry by entry
        table = self.table
        value = other if isinstance(other, Scalar) else operand(other)
        if not isinstance(value, Scalar):
            return scalar(table, rule(table, self.key, table.constant(value)), is_boolean)
        if value.table is table:
            return scalar(table, rule(table, self.key, value.key), is_boolean)
        table = table_of([self, value])
        return scalar(table, rule(table, *keys_of(table, [self, value])), is_boolean)

    def backward(self: Scalar, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value = operand(other)
        if isinstance(value, Scalar):  # Python calls a boolean on the right first
            return forward(value, self)
        table = self.table
        return scalar(table, rule(table, table.constant(value), self.key), is_boolean)

    return forward, backward


def _by(op: Op) -> Rule:
    return lambda table, x, y: table.binary(op, x, y)


_ARITHMETIC: dict[str, Rule] = {
    "add": Table.sum,
    "sub": lambda table, x, y: table.sum(x, (y[0], -y[1])),
    "mul": Table.product,
    "truediv": _by(Op.DIV),
    "pow": _by(Op.POW),
}
_COMPARISONS: dict[str, Rule] = {
    **{"lt": _by(Op.LT), "le": _by(Op.LE), "eq": _by(Op.EQ), "ne": _by(Op.NE)},
    "gt": lambda table, x, y: table.binary(Op.LT, y, x),
    "ge": lambda table, x, y: table.binary(Op.LE, y, x),
}
for _name, _rule in (_ARITHMETIC | _COMPARISONS).items():
    _forward, _backward = _operators(_rule, _name in _COMPARISONS)
    setattr(Scalar, f"__{_name}__", _forward)
    if _name in _ARITHMETIC:
        setattr(Scalar, f"__r{_name}__", _backward)


def _boolean_operator(name: str, ufunc: np.ufunc | None) -> Operator:
    """Sums and products of booleans are "or" and "and", as in NumPy; differences are refused."""
    of_numbers = getattr(Scalar, name)

    def operator(self: Scalar, other: object) -> Any:
        if not is_truth(other):
            return of_numbers(self, other)
        if ufunc is None:
            raise Unrecorded("the difference of booleans, which NumPy refuses: use np.logical_xor")
        return operation(ufunc, (self, other))

    return operator


for _name, _ufunc in {"add": np.logical_or, "mul": np.logical_and, "sub": None}.items():
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Boolean, _method, _boolean_operator(_method, _ufunc))

PRIMITIVE: dict[np.ufunc, Op] = {ufunc: op for op, ufunc in UFUNCS.items()}


_LIMIT = 200  # characters of an expression that are shown
_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/", Op.LT: "<", Op.LE: "<=", Op.EQ: "=="}
_INFIX |= {Op.NE: "!=", Op.AND: "and", Op.OR: "or", Op.POW: "**"}


def _text(table: Table, key: Signed, depth: int) -> str:
    """The expression as one would write it, shortened where it is long."""
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
