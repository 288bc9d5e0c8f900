"""Written forms against the program they came from, at random numbers: no wrong equation leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy

from dalembert.errors import EquationError
from dalembert.kernels.interpret import interpret
from dalembert.kernels.program import Program

RELATIVE = 1e-9  # of the largest number of the output
POINTS = 8
Values = dict[sympy.Expr, np.ndarray]

_FUNCTIONS = {
    sympy.sin: np.sin,
    sympy.cos: np.cos,
    sympy.tan: np.tan,
    sympy.exp: np.exp,
    sympy.log: np.log,
    sympy.Abs: np.abs,
}


def evaluate(expression: sympy.Expr, values: Values) -> np.ndarray:
    """The expression at arrays of numbers; `values` starts with the symbols and keeps what it met.

    Quicker here than `sympy.lambdify`, which would print and compile text for a single use.
    """
    if expression in values:
        return values[expression]
    if expression.is_Number or expression.is_NumberSymbol:
        return np.float64(float(expression))
    if expression.is_Symbol:
        raise EquationError(f"the symbol {expression} is neither an input nor a defined constant")
    found = _apply(expression, [evaluate(a, values) for a in expression.args], values)
    values[expression] = found
    return found


def _apply(expression: sympy.Expr, parts: list[np.ndarray], values: Values) -> np.ndarray:
    if expression.is_Add:
        return sum(parts[1:], parts[0])
    if expression.is_Mul:
        return math.prod(parts[1:], start=parts[0])
    if expression.is_Pow:
        return parts[0] ** parts[1]
    if expression.func in _FUNCTIONS:
        return _FUNCTIONS[expression.func](*parts)
    symbols = sorted(expression.free_symbols, key=str)
    compiled = sympy.lambdify(symbols, expression, "numpy")
    return compiled(*(values[s] for s in symbols))


class Sample(NamedTuple):
    """A program at random points: the values of its symbols and of its outputs."""

    name: str
    symbols: Values
    outputs: dict[str, np.ndarray]


def sample(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]],
    others: Sequence[sympy.Symbol] = (),
) -> Sample:
    """Interpret the program at positive numbers of order one; `others` get numbers as well."""
    rng = np.random.default_rng(0)
    values: Values = {}
    arrays = []
    for port in program.inputs:
        flat = rng.uniform(0.3, 2.3, (POINTS, port.size))
        values |= {s: flat[:, k] for k, s in enumerate(symbols[port.name])}
        arrays.append(flat.reshape(POINTS, *port.shape))
    values |= {s: rng.uniform(-2.0, 2.0, POINTS) for s in others if s not in values}
    names = [port.name for port in program.outputs]
    outputs = dict(zip(names, interpret(program, *arrays), strict=True))
    return Sample(program.name, values, outputs)


def require_agreement(
    found: Sample,
    written: Mapping[str, Any],
    definitions: Mapping[sympy.Symbol, sympy.Expr] | None = None,
) -> None:
    """Raise unless every written form equals the output of its name, relative 1e-9."""
    values = dict(found.symbols)
    for symbol, definition in (definitions or {}).items():
        values[symbol] = evaluate(definition, values)
    for name, form in written.items():
        reference = found.outputs[name]
        shape = reference.shape[1:]
        flat = reference.reshape(POINTS, math.prod(shape))
        scale = max(float(np.max(np.abs(flat), initial=0.0)), np.finfo(float).tiny)
        for k, entry in enumerate(_entries(form)):
            error = float(np.max(np.abs(evaluate(entry, values) - flat[:, k])))
            if not error <= RELATIVE * scale:
                where = ", ".join(str(i + 1) for i in np.unravel_index(k, shape)) if shape else ""
                raise EquationError(
                    f"{found.name}: the written form of {name}[{where}] differs from the program "
                    f"by {error / scale:.1e} of its size; it is withheld. "
                    'simplify="fast" may succeed; please report this model'
                )


def _entries(value: Any) -> list[sympy.Expr]:
    if isinstance(value, sympy.MatrixBase):
        return list(value)
    if isinstance(value, sympy.NDimArray):
        return value.reshape(len(value)).tolist()
    return [value]
