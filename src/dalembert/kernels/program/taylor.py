"""What a program means on Taylor series: its outputs around a point, exact to the order kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels.program.interpret import MEANING
from dalembert.kernels.program.program import BINARY, Op, Program
from dalembert.kernels.program.series import Algebra, algebra

Coefficients = Callable[[float, int], Sequence[float]]  # of f at x, to an order


def taylor(program: Program, point: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """The outputs (size, *shape) as series about `point`, which holds all inputs one after another.

    The variables are the inputs the program reads, in their order: `variables` says which.

    >>> from dalembert.kernels.program.trace import trace
    >>> p = trace(lambda x: np.exp(x[1]) / x[1], {"x": (2,)})
    >>> variables(p).tolist(), taylor(p, np.array([0.0, 1.0]), 2)[0] / np.e
    ([1], array([1. , 0. , 0.5]))
    """
    used = variables(program).tolist()
    series = algebra(len(used), order)
    values: list[np.ndarray] = []
    for op, a, b in zip(program.op.tolist(), program.a.tolist(), program.b.tolist(), strict=True):
        if op == Op.CONST:
            values.append(series.constant(program.constants[a]))
        elif op == Op.INPUT:
            values.append(series.variable(used.index(a), point[a]))
        else:
            operands = [values[a], values[b]] if op in BINARY else [values[a]]
            values.append(_applied(Op(op), series, operands))
    found, start = [], 0
    for port in program.outputs:
        entries = [values[k] for k in program.results[start : start + port.size]]
        stacked = np.stack(entries, axis=1) if entries else np.zeros((series.size, 0))
        found.append(stacked.reshape(series.size, *port.shape))
        start += port.size
    return tuple(found)


def variables(program: Program) -> np.ndarray:
    """Positions of the inputs that the program reads, over all inputs concatenated."""
    return np.unique(program.a[program.op == Op.INPUT])


def _applied(op: Op, series: Algebra, operands: list[np.ndarray]) -> np.ndarray:
    if op in ARITHMETIC:
        return ARITHMETIC[op](series, *operands)
    if op in SCALAR:
        (a,) = operands
        return series.composed(SCALAR[op](float(a[0]), series.order), a)
    if op in PIECEWISE or not any(a[1:].any() for a in operands):
        # constant on each piece: the value at the point holds around it
        return series.constant(MEANING[op](*(a[0] for a in operands)))
    raise CompileError(f"the operation {op.name} has no Taylor series here")


def _power(series: Algebra, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    exponent = float(b[0])
    if b[1:].any():  # aᵇ = exp(b log a)
        log = series.composed(SCALAR[Op.LOG](float(a[0]), series.order), a)
        return _applied(Op.EXP, series, [series.product(b, log)])
    return series.composed(_powers(float(a[0]), exponent, series.order), a)


def _powers(x: float, exponent: float, order: int) -> list[float]:
    """Coefficients of (x + t)^p: binomial(p, k) x^(p − k)."""
    found, factor = [], 1.0
    for k in range(order + 1):
        # a whole power has no terms above its own, where x^(p − k) would be 0 / 0 at x = 0
        with np.errstate(all="ignore"):
            found.append(float(factor * np.float64(x) ** (exponent - k)) if factor else 0.0)
        factor *= (exponent - k) / (k + 1)
    return found


def _divided(series: Algebra, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return series.product(a, series.composed(_powers(float(b[0]), -1.0, series.order), b))


def _absolute(series: Algebra, a: np.ndarray) -> np.ndarray:
    return np.sign(a[0]) * a if a[0] else _kink(a, "ABS")


def _kink(a: np.ndarray, name: str) -> np.ndarray:
    if a.any():
        raise CompileError(f"{name} has a kink at this point, so no Taylor series")
    return a


def _chosen(series: Algebra, a: np.ndarray, b: np.ndarray, least: bool) -> np.ndarray:
    if a[0] == b[0]:
        _kink(a - b, "MIN" if least else "MAX")
    return a if (a[0] < b[0]) == least else b


def _angle(series: Algebra, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """atan2 by the arctangent of y/x or of x/y, whichever is small; its value is put right."""
    steep = abs(y[0]) > abs(x[0])
    ratio = _divided(series, x, y) if steep else _divided(series, y, x)
    found = _applied(Op.ATAN, series, [ratio])
    found = -found if steep else found
    found[0] = np.arctan2(y[0], x[0])
    return found


def _hypotenuse(series: Algebra, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _applied(Op.SQRT, series, [series.product(a, a) + series.product(b, b)])


ARITHMETIC: dict[Op, Callable[..., np.ndarray]] = {
    Op.NEG: lambda series, a: -a,
    Op.ADD: lambda series, a, b: a + b,
    Op.SUB: lambda series, a, b: a - b,
    Op.MUL: lambda series, a, b: series.product(a, b),
    Op.SQ: lambda series, a: series.product(a, a),
    Op.DIV: _divided,
    Op.POW: _power,
    Op.TAN: lambda series, a: _divided(
        series, _applied(Op.SIN, series, [a]), _applied(Op.COS, series, [a])
    ),
    Op.TANH: lambda series, a: _divided(
        series, _applied(Op.SINH, series, [a]), _applied(Op.COSH, series, [a])
    ),
    Op.ATAN2: _angle,
    Op.HYPOT: _hypotenuse,
    Op.ABS: _absolute,
    Op.MIN: lambda series, a, b: _chosen(series, a, b, True),
    Op.MAX: lambda series, a, b: _chosen(series, a, b, False),
    Op.SELECT0: lambda series, a, b: b if a[0] else series.constant(0.0),
}

PIECEWISE = frozenset(
    {Op.SIGN, Op.FLOOR, Op.CEIL, Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.AND, Op.OR}
)


def _derivatives(function: Callable[[float, int], float]) -> Coefficients:
    """Coefficients f⁽ᵏ⁾(x)/k! from a rule for the k-th derivative."""
    return lambda x, order: [function(x, k) / math.factorial(k) for k in range(order + 1)]


def _integrated(op: Op, slope: Callable[[Algebra, np.ndarray], np.ndarray]) -> Coefficients:
    """Coefficients of f from its derivative, written in series of one variable."""

    def coefficients(x: float, order: int) -> list[float]:
        single = algebra(1, order)
        rate: Any = slope(single, single.variable(0, x))
        rest = [float(rate[k] / (k + 1)) for k in range(order)]
        return [float(MEANING[op](np.float64(x))), *rest]

    return coefficients


def _root(p: float, sign: float, one: float) -> Callable[[Algebra, np.ndarray], np.ndarray]:
    """(one + sign x²)ᵖ."""

    def slope(series: Algebra, x: np.ndarray) -> np.ndarray:
        inside = series.constant(one) + sign * series.product(x, x)
        return series.composed(_powers(float(inside[0]), p, series.order), inside)

    return slope


def _bell(series: Algebra, x: np.ndarray) -> np.ndarray:
    """2/√π exp(−x²)."""
    return 2 / math.sqrt(math.pi) * _applied(Op.EXP, series, [-series.product(x, x)])


SCALAR: dict[Op, Coefficients] = {
    Op.SQRT: lambda x, order: _powers(x, 0.5, order),
    Op.EXP: _derivatives(lambda x, k: math.exp(x)),
    Op.EXPM1: _derivatives(lambda x, k: math.exp(x) if k else math.expm1(x)),
    Op.SIN: _derivatives(lambda x, k: (math.sin, math.cos)[k % 2](x) * (1, 1, -1, -1)[k % 4]),
    Op.COS: _derivatives(lambda x, k: (math.cos, math.sin)[k % 2](x) * (1, -1, -1, 1)[k % 4]),
    Op.SINH: _derivatives(lambda x, k: (math.sinh, math.cosh)[k % 2](x)),
    Op.COSH: _derivatives(lambda x, k: (math.cosh, math.sinh)[k % 2](x)),
    Op.LOG: _integrated(Op.LOG, lambda s, x: s.composed(_powers(x[0], -1.0, s.order), x)),
    Op.LOG1P: _integrated(Op.LOG1P, lambda s, x: s.composed(_powers(1.0 + x[0], -1.0, s.order), x)),
    Op.ASIN: _integrated(Op.ASIN, _root(-0.5, -1.0, 1.0)),
    Op.ACOS: _integrated(Op.ACOS, lambda s, x: -_root(-0.5, -1.0, 1.0)(s, x)),
    Op.ATAN: _integrated(Op.ATAN, _root(-1.0, 1.0, 1.0)),
    Op.ASINH: _integrated(Op.ASINH, _root(-0.5, 1.0, 1.0)),
    Op.ACOSH: _integrated(Op.ACOSH, _root(-0.5, 1.0, -1.0)),
    Op.ATANH: _integrated(Op.ATANH, _root(-1.0, -1.0, 1.0)),
    Op.ERF: _integrated(Op.ERF, _bell),
}
