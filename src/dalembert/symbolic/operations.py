"""The meaning of every instruction of a program in SymPy, and the direct conversion of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dalembert.errors import EquationError
from dalembert.tracing.program import BINARY, Op, Program

# denominators of fractions that a textbook prints as such although their decimals end
_DENOMINATORS = frozenset({1, 2, 4, 8})
_LONGER = frozenset({16, 32, 64})  # with numerators of two digits
_LARGEST = 1000  # denominator of a fraction whose decimals do not end
_EXACT = 1_000_000  # the same where the value is that fraction, not only close to it
_ROUNDING = 8 * np.finfo(float).eps
_ELIMINATED = 1e-12  # relative error of numbers that went through an elimination


def exact(value: float) -> Fraction:
    """The simplest fraction that this number, known to a few units of rounding, can stand for.

    >>> exact(0.1 + 0.2), exact(1 / 12)
    (Fraction(3, 10), Fraction(1, 12))
    """
    if not np.isfinite(value):
        raise EquationError(f"expected finite numbers in the equations, got {value}")
    full = Fraction(value)
    near = full.limit_denominator(1_000_000)
    return near if abs(near - full) <= abs(full) * _ROUNDING else full


def number(value: Fraction) -> sympy.Expr:
    """An integer, a textbook's fraction, or a decimal of 14 digits, which rounding has not met.

    >>> number(Fraction(1, 27)), number(Fraction(3, 20)), number(Fraction(1.0 - 3e-14))
    (1/27, 0.150000000000000, 1)
    >>> number(Fraction(81, 16)), number(Fraction(1, 48) ** 3)
    (81/16, 1/110592)
    """
    if value.denominator <= _EXACT and 10**10 % value.denominator:
        return sympy.Rational(value.numerator, value.denominator)
    near = value.limit_denominator(_LARGEST)
    if abs(near - value) <= abs(value) * _ELIMINATED:
        ends = 10**10 % near.denominator == 0
        is_longer = near.denominator in _LONGER and abs(near.numerator) < 100
        if near.denominator in _DENOMINATORS or is_longer or not ends:
            return sympy.Rational(near.numerator, near.denominator)
        value = near
    return sympy.Float(float(f"{float(value):.14g}"))


def _truth(relation: type[sympy.Rel]) -> Callable[..., sympy.Expr]:
    """The relation as 1 where it holds, else 0."""
    return lambda a, b: sympy.Piecewise((1, relation(a, b)), (0, True))


_SAME_NAME = (
    *("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "exp", "log", "erf", "sign", "floor"),
)
_MEANING: dict[Op, Callable[..., sympy.Expr]] = {
    **{Op[name.upper()]: getattr(sympy, name) for name in _SAME_NAME},
    Op.NEG: lambda a: -a,
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.SQ: lambda a: a**2,
    Op.POW: lambda a, b: a**b,
    Op.EXPM1: lambda a: sympy.exp(a) - 1,
    Op.LOG1P: lambda a: sympy.log(1 + a),
    Op.HYPOT: lambda a, b: sympy.sqrt(a**2 + b**2),
    Op.ABS: sympy.Abs,
    Op.CEIL: sympy.ceiling,
    Op.MIN: sympy.Min,
    Op.MAX: sympy.Max,
    Op.LT: _truth(sympy.Lt),
    Op.LE: _truth(sympy.Le),
    Op.EQ: _truth(sympy.Eq),
    Op.NE: _truth(sympy.Ne),
    Op.NOT: lambda a: sympy.Piecewise((1, sympy.Eq(a, 0)), (0, True)),
    Op.SELECT0: lambda a, b: sympy.Piecewise((b, sympy.Ne(a, 0)), (0, True)),
}


def apply(op: Op, *arguments: sympy.Expr) -> sympy.Expr:
    """One instruction on SymPy expressions."""
    if op not in _MEANING:
        raise EquationError(f"the operation {op.name} has no form in SymPy")
    return _MEANING[op](*arguments)


def input_symbols(
    program: Program, symbols: Mapping[str, Sequence[sympy.Expr]] | None = None
) -> dict[str, tuple[sympy.Expr, ...]]:
    """A symbol for every entry of every input, in C order: from `symbols`, else `name1, name2, …`.

    >>> from dalembert.kernels.program.trace import trace
    >>> input_symbols(trace(lambda q, g: q * g, {"q": (2,), "g": ()}))
    {'q': (q1, q2), 'g': (g,)}
    """
    remaining = dict(symbols or {})
    result: dict[str, tuple[sympy.Expr, ...]] = {}
    for port in program.inputs:
        own = [port.name] if port.shape == () else [f"{port.name}{k + 1}" for k in range(port.size)]
        result[port.name] = tuple(remaining.pop(port.name, map(sympy.Symbol, own)))
        if len(result[port.name]) != port.size:
            count = len(result[port.name])
            raise EquationError(
                f"{program.name}: {port.name} needs {port.size} symbols, got {count}"
            )
    if remaining:
        raise EquationError(f"{program.name} has no input {next(iter(remaining))!r}")
    return result


def to_sympy(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]] | None = None,
    definitions: dict[sympy.Symbol, sympy.Expr] | None = None,
) -> dict[str, Any]:
    """Every output of a program as SymPy, instruction by instruction, nothing rewritten.

    A 0-d output is an expression, a vector a column `Matrix`, a matrix a `Matrix`, anything more
    an `ImmutableDenseNDimArray`. `symbols` maps input names to their symbols in C order. With
    `definitions`, every value used more than once gets a name w1, w2, …, defined there.

    >>> from dalembert.kernels.program.trace import trace
    >>> p = trace(lambda q: q[0] * np.cos(q[1]), {"q": (2,)})
    >>> to_sympy(p)["out"]
    q1*cos(q2)
    """
    flat = [s for port in input_symbols(program, symbols).values() for s in port]
    inner = ~np.isin(program.op, [Op.CONST, Op.INPUT])
    read = np.concatenate([program.a[inner], program.b[inner], program.results])
    uses = np.bincount(read[read >= 0], minlength=len(program))
    values: list[sympy.Expr] = []
    for op, a, b in program.rows:
        if op == Op.INPUT:
            values.append(flat[a])
        elif op == Op.CONST:
            # infinity, by which `np.fmin` detects NaN, becomes SymPy's
            value = float(program.constants[a])
            values.append(number(exact(value)) if np.isfinite(value) else sympy.sympify(value))
        else:
            arguments = (values[a], values[b]) if op in BINARY else (values[a],)
            values.append(apply(Op(op), *arguments))
            if definitions is not None and uses[len(values) - 1] > 1:
                name = sympy.Symbol(f"w{len(definitions) + 1}")
                definitions[name], values[-1] = values[-1], name
    return shaped(program, [values[k] for k in program.results.tolist()])


def shaped(program: Program, entries: Sequence[sympy.Expr]) -> dict[str, Any]:
    """The flat entries of all outputs as expressions, matrices and arrays."""
    outputs, start = {}, 0
    for port in program.outputs:
        own = [sympy.sympify(entry) for entry in entries[start : start + port.size]]
        outputs[port.name] = container(own, port.shape)
        start += port.size
    return outputs


def container(entries: Sequence[sympy.Expr], shape: tuple[int, ...]) -> Any:
    """Entries in C order as an expression, a `Matrix` or an array, by the number of dimensions."""
    if shape == ():
        return entries[0]
    if len(shape) <= 2:
        return sympy.ImmutableMatrix(shape[0], shape[1] if len(shape) == 2 else 1, list(entries))
    return sympy.ImmutableDenseNDimArray(list(entries), shape)


def entries_of(value: Any) -> list[sympy.Expr]:
    """All entries of an expression, a matrix or an array, in C order."""
    if isinstance(value, sympy.MatrixBase):
        return list(value)
    if isinstance(value, sympy.NDimArray):
        result: list[sympy.Expr] = value.reshape(len(value)).tolist()
        return result
    return [value]


def affine_forms(program: Program) -> list[np.ndarray]:
    """Every value as Σ a_i x_i + b over the inputs: (a_1, a_2, …, b), NaN where it is not.

    >>> from dalembert.kernels.program.trace import trace
    >>> affine_forms(trace(lambda q: q[0] + q[1], {"q": (2,)}))[-1]
    array([1, 1, 0], dtype=object)
    """
    units = np.eye(sum(port.size for port in program.inputs) + 1, dtype=int).astype(object)
    nothing = np.full(len(units), np.nan, dtype=object)
    forms: list[np.ndarray] = []
    for op, a, b in program.rows:
        form = nothing
        if op == Op.INPUT:
            form = units[a]
        elif op == Op.CONST and np.isfinite(program.constants[a]):
            form = exact(float(program.constants[a])) * units[-1]
        elif op == Op.NEG:
            form = -forms[a]
        elif op == Op.ADD:
            form = forms[a] + forms[b]
        elif op == Op.SUB:
            form = forms[a] - forms[b]
        elif op == Op.MUL and not forms[b][:-1].any():
            form = forms[a] * forms[b][-1]
        elif op == Op.MUL and not forms[a][:-1].any():
            form = forms[b] * forms[a][-1]
        forms.append(form)
    return forms


def symbols_in(entries: Iterable[sympy.Expr]) -> set[sympy.Symbol]:
    """All symbols; SymPy's own search visits a subexpression as often as it occurs."""
    visited: set[sympy.Basic] = set()
    remaining: list[sympy.Basic] = list(entries)
    while remaining:
        e = remaining.pop()
        if e not in visited:
            visited.add(e)
            remaining += e.args
    return {e for e in visited if e.is_Symbol}


def needed_definitions(
    entries: Iterable[sympy.Expr], definitions: Mapping[sympy.Symbol, sympy.Expr]
) -> dict[sympy.Symbol, sympy.Expr]:
    """Those definitions that these entries are written in, and those that these need."""
    symbols = symbols_in(entries) if definitions else set()
    needed = {}
    for symbol, definition in reversed(list(definitions.items())):
        if symbol in symbols:
            needed[symbol] = definition
            symbols |= symbols_in([definition])
    return dict(reversed(list(needed.items())))
