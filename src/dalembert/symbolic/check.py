"""Written forms against the program they came from, at random numbers: no wrong equation leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

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


def random_inputs(program: Program, seed: int = 0) -> list[np.ndarray]:
    """Positive numbers of order one for every input, at several points."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.3, 2.3, (POINTS, *port.shape)) for port in program.inputs]


def require_agreement(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]],
    written: Mapping[str, Any],
    definitions: Mapping[sympy.Symbol, sympy.Expr],
) -> None:
    """Raise unless every written output equals the program's, relative 1e-9, at random points."""
    arrays = random_inputs(program)
    expected = interpret(program, *arrays)
    values: Values = {}
    for port, array in zip(program.inputs, arrays, strict=True):
        flat = array.reshape(POINTS, port.size)
        values |= {s: flat[:, k] for k, s in enumerate(symbols[port.name])}
    for symbol, definition in definitions.items():
        values[symbol] = evaluate(definition, values)
    for port, reference in zip(program.outputs, expected, strict=True):
        entries = _entries(written[port.name])
        flat = reference.reshape(POINTS, port.size)
        scale = max(float(np.max(np.abs(flat), initial=0.0)), np.finfo(float).tiny)
        for k, entry in enumerate(entries):
            error = np.max(np.abs(evaluate(entry, values) - flat[:, k]))
            if not error <= RELATIVE * scale:
                where = np.unravel_index(k, port.shape) if port.shape else ()
                index = ", ".join(str(i + 1) for i in where)
                raise EquationError(
                    f"{program.name}: the written form of {port.name}[{index}] differs from the "
                    f"program by {error / scale:.1e} of its size; it is withheld. "
                    'simplify="fast" may succeed; please report this model'
                )


def _entries(value: Any) -> list[sympy.Expr]:
    if isinstance(value, sympy.MatrixBase):
        return list(value)
    if isinstance(value, sympy.NDimArray):
        return list(sympy.flatten(value))
    return [value]
