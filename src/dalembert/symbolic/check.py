"""Written forms compared with their programs at random numbers: no wrong equation is returned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy

from dalembert.errors import EquationError
from dalembert.symbolic.operations import entries_of
from dalembert.tracing.interpreter import interpret
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
    """The expression at arrays of numbers; `values` starts with the symbols and caches subexpressions.

    Quicker here than `sympy.lambdify`, which would print and compile text for a single use.
    """
    if expression in values:
        return values[expression]
    if expression.is_Number or expression.is_NumberSymbol:
        return np.asarray(float(expression))
    if expression.is_Symbol:
        raise EquationError(f"the symbol {expression} is neither an input nor a defined constant")
    arguments = [evaluate(a, values) for a in expression.args]
    if expression.is_Add:
        result = sum(arguments[1:], arguments[0])
    elif expression.is_Mul:
        result = math.prod(arguments[1:], start=arguments[0])
    elif expression.is_Pow:
        result = arguments[0] ** arguments[1]
    elif expression.func in _FUNCTIONS:
        result = _FUNCTIONS[expression.func](*arguments)
    else:
        symbols = sorted(expression.free_symbols, key=str)
        result = sympy.lambdify(symbols, expression, "numpy")(*(values[s] for s in symbols))
    values[expression] = result
    return result


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

    Points where the program has no value (the root of a negative number, say) are left out, and
    so are those near them, where its values are large.
    """
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0.05, 2.3, (DRAWN, port.size)) for port in program.inputs]
    shaped = [x.reshape(DRAWN, *p.shape) for x, p in zip(drawn, program.inputs, strict=True)]
    results = interpret(program, *shaped)
    finite = [np.isfinite(out.reshape(DRAWN, -1)).all(axis=1) for out in results]
    chosen = np.flatnonzero(np.logical_and.reduce(finite))
    # the smallest outputs have the least rounding: where a form is zero they are nothing else
    largest = np.max(
        [np.abs(x.reshape(DRAWN, -1)).max(axis=1, initial=0.0) for x in results], axis=0
    )
    chosen = chosen[np.argsort(largest[chosen], kind="stable")][:POINTS]
    if len(chosen) < LEAST:
        raise EquationError(f"{program.name} has no value at random numbers, so it is not checked")
    values: Values = {}
    for port, flat in zip(program.inputs, drawn, strict=True):
        values |= {s: flat[chosen, k] for k, s in enumerate(symbols[port.name])}
    values |= {s: rng.uniform(-2.0, 2.0, len(chosen)) for s in others if s not in values}
    names = [port.name for port in program.outputs]
    outputs = {name: out[chosen] for name, out in zip(names, results, strict=True)}
    constant = max(1.0, float(np.max(np.abs(program.constants), initial=0.0)))
    return Sample(program.name, values, outputs, ROUNDING * constant)


def require_agreement(
    sample: Sample,
    written: Mapping[str, Any],
    definitions: Mapping[sympy.Symbol, sympy.Expr] | None = None,
) -> None:
    """Raise unless every written form equals the output of its name, relative 1e-9."""
    values = dict(sample.symbols)
    for symbol, definition in (definitions or {}).items():
        values[symbol] = evaluate(definition, values)
    for name, form in written.items():
        reference = sample.outputs[name]
        shape = reference.shape[1:]
        flat = reference.reshape(len(reference), math.prod(shape))
        scale = max(float(np.max(np.abs(flat), initial=0.0)), np.finfo(float).tiny)
        for k, entry in enumerate(entries_of(form)):
            error = float(np.max(np.abs(evaluate(entry, values) - flat[:, k])))
            if not error <= max(RELATIVE * scale, sample.rounding):
                where = ", ".join(str(i + 1) for i in np.unravel_index(k, shape)) if shape else ""
                raise EquationError(
                    f"{sample.name}: the written form of {name}[{where}] differs from the program "
                    f"by {error / scale:.1e} of its size; it is withheld. "
                    'simplify="fast" may succeed; please report this model'
                )
