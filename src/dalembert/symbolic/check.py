"""Written forms against the program they came from, at random numbers: no wrong equation leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy

from dalembert.errors import EquationError
from dalembert.symbolic.operations import entries_of
from dalembert.tracing.interpret import interpret
from dalembert.tracing.program import Program

RELATIVE = 1e-9  # of the largest number of the output
ROUNDING = 1e-13  # of the largest number in the program: what stands where zero should
DRAWN, POINTS, LEAST = 64, 8, 3  # points tried, used, and needed
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
        return np.asarray(float(expression))
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
    rounding: float = ROUNDING


def sample(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]],
    others: Sequence[sympy.Symbol] = (),
) -> Sample:
    """Interpret the program at random numbers of order one; `others` get numbers as well.

    Points where the program has no value (the root of a negative number, say) are left out.
    """
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0.05, 2.3, (DRAWN, port.size)) for port in program.inputs]
    shaped = [x.reshape(DRAWN, *p.shape) for x, p in zip(drawn, program.inputs, strict=True)]
    results = interpret(program, *shaped)
    finite = [np.isfinite(out.reshape(DRAWN, -1)).all(axis=1) for out in results]
    chosen = np.flatnonzero(np.logical_and.reduce(finite))[:POINTS]
    if len(chosen) < LEAST:
        raise EquationError(f"{program.name} has no value at random numbers, so it is not checked")
    values: Values = {}
    for port, flat in zip(program.inputs, drawn, strict=True):
        values |= {s: flat[chosen, k] for k, s in enumerate(symbols[port.name])}
    values |= {s: rng.uniform(-2.0, 2.0, len(chosen)) for s in others if s not in values}
    names = [port.name for port in program.outputs]
    outputs = {name: out[chosen] for name, out in zip(names, results, strict=True)}
    largest = max(1.0, float(np.max(np.abs(program.constants), initial=0.0)))
    return Sample(program.name, values, outputs, ROUNDING * largest)


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
        flat = reference.reshape(len(reference), math.prod(shape))
        scale = max(float(np.max(np.abs(flat), initial=0.0)), np.finfo(float).tiny)
        for k, entry in enumerate(entries_of(form)):
            error = float(np.max(np.abs(evaluate(entry, values) - flat[:, k])))
            if not error <= max(RELATIVE * scale, found.rounding):
                where = ", ".join(str(i + 1) for i in np.unravel_index(k, shape)) if shape else ""
                raise EquationError(
                    f"{found.name}: the written form of {name}[{where}] differs from the program "
                    f"by {error / scale:.1e} of its size; it is withheld. "
                    'simplify="fast" may succeed; please report this model'
                )
