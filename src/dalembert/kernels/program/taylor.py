"""Truncated Taylor series in several variables, and what a program means on them.

`Algebra` computes with the coefficients of series; `taylor` gives a program's outputs around a point,
exact to the order kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.interpreter import MEANING
from dalembert.tracing.program import Op, Program, port_slices

CHUNK = 1 << 16  # products formed at a time: 0.5 MB for each entry of a matrix


@cache
def algebra(variables: int, order: int) -> Algebra:
    """The series of that order, with its tables made once."""
    return Algebra(variables, order)


class Algebra:
    """Arrays (size, ...) of coefficients: the first axis counts monomials, others are entries.

    >>> x, y = (algebra(2, 2).variable(k, 1.0) for k in range(2))  # 1 + t₀, 1 + t₁
    >>> algebra(2, 2).product(x, y)  # 1, t₀, t₁, t₀², t₀ t₁, t₁²
    array([1., 1., 1., 0., 1., 0.])
    """

    def __init__(self, variables: int, order: int) -> None:
        self.variables, self.order = variables, order
        self.words = [
            word
            for degree in range(order + 1)
            for word in combinations_with_replacement(range(variables), degree)
        ]
        self.size = len(self.words)
        self.degree = np.array([len(word) for word in self.words])

    def constant(self, value: Any) -> np.ndarray:
        """A number or array as a series."""
        series = np.zeros((self.size, *np.shape(value)))
        series[0] = value
        return series

    def variable(self, k: int, value: float) -> np.ndarray:
        """value + t_k."""
        series = self.constant(value)
        if self.order:
            series[1 + k] = 1.0
        return series

    @cached_property
    def _raised(self) -> np.ndarray:
        """(variables, size of one order less): where a monomial times t_k stands."""
        position = {word: k for k, word in enumerate(self.words)}
        lower = [word for word in self.words if len(word) < self.order]
        positions = [
            [position[tuple(sorted((*w, k)))] for w in lower] for k in range(self.variables)
        ]
        return np.array(positions, dtype=np.intp).reshape(self.variables, len(lower))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Monomials i, j with products within the order, sorted by product, and where each starts."""
        position = {word: k for k, word in enumerate(self.words)}
        times: list[np.ndarray] = [np.arange(self.size)]
        for word in self.words[1:]:
            size = comb(self.variables + self.order - len(word), self.variables)
            times.append(self._raised[word[-1], times[position[word[:-1]]][:size]])
        i = np.concatenate([np.arange(len(at)) for at in times])
        j = np.repeat(np.arange(self.size), [len(at) for at in times])
        product = np.concatenate(times)
        order = np.argsort(product, kind="stable")
        starts = np.searchsorted(product[order], np.arange(self.size + 1))
        return i[order], j[order], starts

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a b: numbers, or matrices (size, k, l) and (size, l, m), without what is above the order."""
        i, j, starts = self._pairs
        combine = np.multiply if a.ndim == 1 else np.matmul
        parts, first = [], 0
        while first < self.size:
            last = int(np.searchsorted(starts, starts[first] + CHUNK, side="right")) - 1
            last = min(max(last, first + 1), self.size)
            span = slice(starts[first], starts[last])
            terms = combine(a[i[span]], b[j[span]])
            parts.append(np.add.reduceat(terms, starts[first:last] - starts[first], axis=0))
            first = last
        return np.concatenate(parts)

    def gradient(self, a: np.ndarray) -> np.ndarray:
        """∂a/∂t (smaller size, ..., variables), a series of one order less."""
        lower = self._raised.shape[1]
        powers = [[word.count(k) + 1 for word in self.words[:lower]] for k in range(self.variables)]
        factor = np.array(powers, dtype=float).reshape(self.variables, lower, *[1] * (a.ndim - 1))
        return np.moveaxis(factor * a[self._raised], 0, -1)

    def composed(self, coefficients: Sequence[float], a: np.ndarray) -> np.ndarray:
        """f(a) by Horner's rule, f given by its Taylor coefficients (order + 1) at the value of a."""
        rest = a.copy()
        rest[0] = 0.0
        result = self.constant(coefficients[-1])
        for c in coefficients[-2::-1]:
            result = self.product(result, rest)
            result[0] += c
        return result


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
    for (op, a, _), operands in zip(program.rows, program.operands, strict=True):
        if op == Op.CONST:
            values.append(series.constant(program.constants[a]))
        elif op == Op.INPUT:
            values.append(series.variable(used.index(a), point[a]))
        else:
            values.append(_applied(Op(op), series, [values[j] for j in operands]))
    outputs = []
    for port, own in zip(program.outputs, port_slices(program.outputs), strict=True):
        entries = [values[k] for k in program.results[own]]
        stacked = np.stack(entries, axis=1) if entries else np.zeros((series.size, 0))
        outputs.append(stacked.reshape(series.size, *port.shape))
    return tuple(outputs)


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
    coefficients, factor = [], 1.0
    for k in range(order + 1):
        # a whole power has no terms above its own, where x^(p − k) would be 0 / 0 at x = 0
        with np.errstate(all="ignore"):
            coefficients.append(float(factor * np.float64(x) ** (exponent - k)) if factor else 0.0)
        factor *= (exponent - k) / (k + 1)
    return coefficients


def _divided(series: Algebra, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return series.product(a, series.composed(_powers(float(b[0]), -1.0, series.order), b))


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
    angle = _applied(Op.ATAN, series, [ratio])
    angle = -angle if steep else angle
    angle[0] = np.arctan2(y[0], x[0])
    return angle


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
    Op.HYPOT: lambda series, a, b: _applied(
        Op.SQRT, series, [series.product(a, a) + series.product(b, b)]
    ),
    Op.ABS: lambda series, a: np.sign(a[0]) * a if a[0] else _kink(a, "ABS"),
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


def _integrated(
    op: Op, derivative: Callable[[Algebra, np.ndarray], np.ndarray], x: float, order: int
) -> list[float]:
    """Coefficients of f from its derivative, written in series of one variable."""
    single = algebra(1, order)
    rate: Any = derivative(single, single.variable(0, x))
    rest = [float(rate[k] / (k + 1)) for k in range(order)]
    return [float(MEANING[op](np.float64(x))), *rest]


def _root(p: float, sign: float, one: float, series: Algebra, x: np.ndarray) -> np.ndarray:
    """(one + sign x²)ᵖ."""
    inside = series.constant(one) + sign * series.product(x, x)
    return series.composed(_powers(float(inside[0]), p, series.order), inside)


SCALAR: dict[Op, Coefficients] = {
    Op.SQRT: lambda x, order: _powers(x, 0.5, order),
    Op.EXP: _derivatives(lambda x, k: math.exp(x)),
    Op.EXPM1: _derivatives(lambda x, k: math.exp(x) if k else math.expm1(x)),
    Op.SIN: _derivatives(lambda x, k: (math.sin, math.cos)[k % 2](x) * (1, 1, -1, -1)[k % 4]),
    Op.COS: _derivatives(lambda x, k: (math.cos, math.sin)[k % 2](x) * (1, -1, -1, 1)[k % 4]),
    Op.SINH: _derivatives(lambda x, k: (math.sinh, math.cosh)[k % 2](x)),
    Op.COSH: _derivatives(lambda x, k: (math.cosh, math.sinh)[k % 2](x)),
}
_RATES: dict[Op, Callable[[Algebra, np.ndarray], np.ndarray]] = {  # derivatives
    Op.LOG: lambda s, x: s.composed(_powers(x[0], -1.0, s.order), x),
    Op.LOG1P: lambda s, x: s.composed(_powers(1.0 + x[0], -1.0, s.order), x),
    Op.ASIN: partial(_root, -0.5, -1.0, 1.0),
    Op.ACOS: lambda s, x: -_root(-0.5, -1.0, 1.0, s, x),
    Op.ATAN: partial(_root, -1.0, 1.0, 1.0),
    Op.ASINH: partial(_root, -0.5, 1.0, 1.0),
    Op.ACOSH: partial(_root, -0.5, 1.0, -1.0),
    Op.ATANH: partial(_root, -1.0, -1.0, 1.0),
    Op.ERF: lambda s, x: 2 / math.sqrt(math.pi) * _applied(Op.EXP, s, [-s.product(x, x)]),
}
SCALAR |= {op: partial(_integrated, op, rate) for op, rate in _RATES.items()}
