"""Derivatives of arrays of symbols, by forward and backward sweeps over their value table.

`LOCAL[op](t, x, y, f)` gives, for f = op(x, y), one linear map per operand: from a change of the
operand to the change of f, which is also the map from a weight of f to that of the operand. An
operation that is constant where it has a derivative (a comparison, `floor`) is not listed. Where a
function has a kink, its derivative is that of one side or the mean of both.

A forward sweep carries, for each value, its derivatives along the directions in which inputs change;
a backward sweep, for each value, the derivatives of weighted sums of the results. Derivatives are
values of the same table and share everything else in it.

In `jacobian`, `gradient` and the like, y is the array to differentiate, numbers included; x are
symbols made by `symbol`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import pi, sqrt

import numpy as np

from dalembert.tracing.arrays import (
    array,
    constant,
    cut,
    flat,
    of_keys,
    shape_of,
    symbols,
    table_with,
)
from dalembert.tracing.program import Op
from dalembert.tracing.scalars import scalar
from dalembert.tracing.table import Signed, Table

Map = Callable[[Signed], Signed]
Rule = Callable[[Table, Signed, Signed, Signed], tuple[Map | None, ...]]


Combination = Callable[[Table, Signed, Signed], Signed]


def _factor(factor: Combination, apply: Combination = Table.product) -> Rule:
    """A function of one operand: f′(x), from x and f."""

    def rule(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
        derivative = factor(t, x, f)
        return (lambda s: apply(t, derivative, s),)

    return rule


def _over(divisor: Combination) -> Rule:
    """The same where 1 / f′(x) is at hand."""
    return _factor(divisor, lambda t, inverse, s: t.binary(Op.DIV, s, inverse))


def _ratio(t: Table, x: Signed, y: Signed) -> Map:
    """The factor x / y."""
    return lambda s: t.product(t.binary(Op.DIV, x, y), s)


def _negative(x: Signed) -> Signed:
    return x[0], -x[1]


def _one_plus(t: Table, x: Signed, sign: int = 1) -> Signed:
    """1 ± x."""
    return t.sum(t.constant(1.0), (x[0], sign * x[1]))


def _square(t: Table, x: Signed) -> Signed:
    return t.product(x, x)


def _power(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map | None, ...]:
    """d(xʸ) = y xʸ⁻¹ dx + ln x xʸ dy."""
    below = t.binary(Op.POW, x, t.sum(y, t.constant(-1.0)))
    derivative = t.product(y, below)
    return (
        lambda s: t.product(derivative, s),
        lambda s: t.product(t.product(t.unary(Op.LOG, x), f), s),
    )


def _atan2(t: Table, y: Signed, x: Signed, f: Signed) -> tuple[Map, ...]:
    """d atan2(y, x) = (x dy − y dx) / (x² + y²)."""
    length = t.sum(_square(t, x), _square(t, y))
    against = _ratio(t, y, length)
    return _ratio(t, x, length), lambda s: _negative(against(s))


def _chosen(comparison: Callable[[Table, Signed, Signed], tuple[Signed, Signed]]) -> Rule:
    """MIN and MAX: the operand that is taken, half of each where they are equal."""

    def rule(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
        first, second = comparison(t, x, y)
        both = t.sum(first, second)
        return _ratio(t, first, both), _ratio(t, second, both)

    return rule


def _modulo(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
    """x − n y with a whole number n of the quotient."""
    return (
        lambda s: s,
        lambda s: _negative(t.product(t.binary(Op.DIV, t.sum(x, _negative(f)), y), s)),
    )


def _copysign(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map | None, ...]:
    """|x| with the sign of y: −1 where the sign is turned."""
    sign = t.product(t.unary(Op.SIGN, x), t.binary(Op.COPYSIGN, t.constant(1.0), y))
    return (lambda s: t.product(sign, s)), None


LOCAL: dict[int, Rule] = {
    Op.NEG: lambda t, x, y, f: (_negative,),
    Op.ADD: lambda t, x, y, f: ((lambda s: s), (lambda s: s)),
    Op.SUB: lambda t, x, y, f: ((lambda s: s), _negative),
    Op.MUL: lambda t, x, y, f: ((lambda s: t.product(y, s)), (lambda s: t.product(x, s))),
    # d(x/y) = (dx − f dy) / y: the quotient s/y is shared by both
    Op.DIV: lambda t, x, y, f: (
        lambda s: t.binary(Op.DIV, s, y),
        lambda s: _negative(t.product(f, t.binary(Op.DIV, s, y))),
    ),
    Op.SQ: _factor(lambda t, x, f: t.sum(x, x)),
    Op.SQRT: _over(lambda t, x, f: t.sum(f, f)),
    Op.SIN: _factor(lambda t, x, f: t.unary(Op.COS, x)),
    Op.COS: _factor(lambda t, x, f: _negative(t.unary(Op.SIN, x))),
    Op.TAN: _factor(lambda t, x, f: _one_plus(t, _square(t, f))),
    Op.ASIN: _over(lambda t, x, f: t.unary(Op.SQRT, _one_plus(t, _square(t, x), -1))),
    Op.ACOS: _over(lambda t, x, f: _negative(t.unary(Op.SQRT, _one_plus(t, _square(t, x), -1)))),
    Op.ATAN: _over(lambda t, x, f: _one_plus(t, _square(t, x))),
    Op.ATAN2: _atan2,
    Op.SINH: _factor(lambda t, x, f: t.unary(Op.COSH, x)),
    Op.COSH: _factor(lambda t, x, f: t.unary(Op.SINH, x)),
    Op.TANH: _factor(lambda t, x, f: _one_plus(t, _square(t, f), -1)),
    Op.ASINH: _over(lambda t, x, f: t.unary(Op.SQRT, _one_plus(t, _square(t, x)))),
    Op.ACOSH: _over(lambda t, x, f: t.unary(Op.SQRT, t.sum(_square(t, x), t.constant(-1.0)))),
    Op.ATANH: _over(lambda t, x, f: _one_plus(t, _square(t, x), -1)),
    Op.EXP: _factor(lambda t, x, f: f),
    Op.EXPM1: _factor(lambda t, x, f: t.unary(Op.EXP, x)),
    Op.LOG: _over(lambda t, x, f: x),
    Op.LOG1P: _over(lambda t, x, f: _one_plus(t, x)),
    Op.POW: _power,
    Op.HYPOT: lambda t, x, y, f: (_ratio(t, x, f), _ratio(t, y, f)),
    Op.ERF: _factor(
        lambda t, x, f: t.product(
            t.constant(2.0 / sqrt(pi)), t.unary(Op.EXP, _negative(_square(t, x)))
        )
    ),
    Op.ABS: _factor(lambda t, x, f: t.unary(Op.SIGN, x)),
    Op.FMOD: _modulo,
    Op.REMAINDER: _modulo,
    Op.COPYSIGN: _copysign,
    Op.MIN: _chosen(lambda t, x, y: (t.binary(Op.LE, x, y), t.binary(Op.LE, y, x))),
    Op.MAX: _chosen(lambda t, x, y: (t.binary(Op.LE, y, x), t.binary(Op.LE, x, y))),
    Op.SELECT0: lambda t, c, y, f: (None, lambda s: t.binary(Op.SELECT0, c, s)),
}


Sparse = dict[int, Signed]  # by direction, or by weighted sum


def forward(
    table: Table, results: Sequence[Signed], inputs: Sequence[int], seeds: Sequence[Sparse]
) -> list[Sparse]:
    """Derivative of each result along each direction, where input k changes by `seeds[k]`."""
    rates: dict[int, Sparse] = dict(zip(inputs, seeds, strict=True))
    for k in active(table, results, inputs):
        op, a, b = table.nodes[k]
        rule = LOCAL.get(op)
        if rule is None:
            continue
        rate: Sparse = {}
        for operand, change in zip((a, b), rule(table, (a, 1), (b, 1), (k, 1)), strict=False):
            if change is not None:
                for d, seed in rates.get(operand, {}).items():
                    _add(table, rate, d, change(seed))
        if rate:
            rates[k] = rate
    return [{d: (v, s * sign) for d, (v, s) in rates.get(x, {}).items()} for x, sign in results]


def backward(
    table: Table, results: Sequence[Signed], inputs: Sequence[int], weights: Sequence[Sparse]
) -> list[Sparse]:
    """Derivatives of weighted sums by each input, where result k has the weights `weights[k]`."""
    order = active(table, results, inputs)
    needed = {*order, *inputs}
    bars: dict[int, Sparse] = {}
    for (x, sign), weight in zip(results, weights, strict=True):
        if x in needed:
            for d, (v, s) in weight.items():
                _add(table, bars.setdefault(x, {}), d, (v, s * sign))
    for k in reversed(order):
        op, a, b = table.nodes[k]
        rule = LOCAL.get(op)
        bar = bars.get(k)
        if rule is None or not bar:
            continue
        for operand, change in zip((a, b), rule(table, (a, 1), (b, 1), (k, 1)), strict=False):
            if change is not None and operand in needed:
                own = bars.setdefault(operand, {})
                for d, seed in bar.items():
                    _add(table, own, d, change(seed))
    return [bars.get(x, {}) for x in inputs]


def _add(table: Table, row: Sparse, key: int, value: Signed) -> None:
    """row[key] += value, without entries that are zero."""
    if key in row:
        value = table.sum(row[key], value)
    if table.values[value[0]] == 0.0:
        row.pop(key, None)
    else:
        row[key] = value


def active(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[int]:
    """The values between inputs and results: those that depend on an input, inputs left out."""
    varies = set(inputs)
    order = []
    for k in table.below(x for x, _ in results):
        if k in varies:
            continue
        op, a, b = table.nodes[k]
        if op > 1 and (a in varies or b in varies):  # no leaf
            varies.add(k)
            order.append(k)
    return order


def sparse_jacobian(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[Sparse]:
    """Partial derivatives of each result with respect to the inputs, by position of the input.

    Swept forward or backward, whichever takes fewer operations; where an estimate does not tell,
    both are written and counted.
    """
    ahead, back = _costs(table, results, inputs)
    start = len(table.nodes)
    candidates = []
    if ahead <= _CLEAR * back:
        one = table.constant(1.0)
        candidates.append(forward(table, results, inputs, [{k: one} for k in range(len(inputs))]))
    if back <= _CLEAR * ahead:
        candidates.append(backward_rows(table, results, inputs))
    return min(
        candidates,
        key=lambda rows: sum(
            k >= start for k in table.below(x for row in rows for x, _ in row.values())
        ),
    )


_CLEAR = 3  # times the other's cost at which a sweep is not tried


def backward_rows(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[Sparse]:
    one = table.constant(1.0)
    columns = backward(table, results, inputs, [{k: one} for k in range(len(results))])
    rows: list[Sparse] = [{} for _ in results]
    for column, weights in enumerate(columns):
        for row, value in weights.items():
            rows[row][column] = value
    return rows


def _costs(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> tuple[int, int]:
    """Derivatives carried forward and backward: pairs of a value with an input, or with a result."""
    order = active(table, results, inputs)
    above = {x: 1 << k for k, x in enumerate(inputs)}  # inputs that a value depends on, as bits
    below: dict[int, int] = {}  # results that depend on a value
    for k, (x, _) in enumerate(results):
        below[x] = below.get(x, 0) | (1 << k)
    ahead = back = 0
    for k in order:
        _, a, b = table.nodes[k]
        above[k] = above.get(a, 0) | above.get(b, 0)
        ahead += above[k].bit_count()
    for k in reversed(order):
        _, a, b = table.nodes[k]
        bits = below.get(k, 0)
        back += bits.bit_count()
        for operand in (a, b):
            if operand in above:
                below[operand] = below.get(operand, 0) | bits
    return ahead, back


def jacobian(y: object, x: object) -> np.ndarray:
    """∂y/∂x (*y.shape, *x.shape).

    >>> from dalembert.tracing import symbol
    >>> x = symbol("x", 2)
    >>> jacobian(x[0] * x[1], x)
    [x_1 x_0]
    """
    table, (results, inputs) = table_with(y, x)
    rows = sparse_jacobian(table, results, [k for k, _ in inputs])
    return _dense(table, rows, len(inputs), (*shape_of(y), *shape_of(x)))


def gradient(y: object, x: object) -> np.ndarray:
    """∂y/∂x of the shape of x, y a number.

    >>> from dalembert.tracing import symbol
    >>> x = symbol("x", 2)
    >>> gradient(x[0] * x[1], x)
    [x_1 x_0]
    """
    return transposed(y, x, np.ones(shape_of(y)))


def hessian(y: object, x: object) -> np.ndarray:
    """∂²y/∂x² (n, n), symmetric, of a number y and a vector x (n,)."""
    second = jacobian(gradient(y, x), x)
    below = symbols(np.tril(second, -1))
    result: np.ndarray = symbols(np.tril(second)) + below.T
    return result


def directional(y: object, x: object, direction: object) -> np.ndarray:
    """(∂y/∂x) d of the shape of y, for a direction d of the shape of x: dy/dt for ẋ = d.

    >>> from dalembert.tracing import symbol
    >>> x, v = symbol("x", 2), symbol("v", 2)
    >>> directional(x[0] * x[1], x, v)
    ((x_1*v_0)+(x_0*v_1))
    """
    table, (results, inputs, changes) = table_with(y, x, direction)
    seeds = [_single(table, change) for change in changes]
    rates = forward(table, results, [k for k, _ in inputs], seeds)
    return _dense(table, rates, 1, shape_of(y))


def transposed(y: object, x: object, force: object) -> np.ndarray:
    """(∂y/∂x)ᵀ f of the shape of x, for f of the shape of y: what f on y does along x."""
    table, (results, inputs, forces) = table_with(y, x, force)
    weights = [_single(table, weight) for weight in forces]
    bars = backward(table, results, [k for k, _ in inputs], weights)
    return _dense(table, bars, 1, shape_of(x))


def at(
    results: Sequence[object], symbols: Iterable[object], values: Iterable[object]
) -> tuple[np.ndarray, ...]:
    """The arrays with `values` (numbers or symbols) in place of symbols; numbers where none is left.

    >>> from dalembert.tracing import symbol
    >>> x, y = symbol("x", 2), symbol("y")
    >>> at([y * x, x], [x], [np.array([1.0, 2.0])])[1]
    array([1., 2.])
    """
    table, (inputs, replacements, *rows) = table_with(flat(symbols), flat(values), *results)
    mapping = {k: value for (k, _), value in zip(inputs, replacements, strict=True)}
    keys = table.substituted([key for row in rows for key in row], mapping)
    arrays = cut(of_keys(table, keys, (len(keys),)), map(shape_of, results))
    numbers = map(constant, arrays)
    return tuple(x if y is None else y for x, y in zip(arrays, numbers, strict=True))


def depends_on(y: object, x: object) -> bool:
    """Whether any of the symbols x is met in y."""
    table, (results, inputs) = table_with(y, x)
    return not {k for k, _ in inputs}.isdisjoint(table.below(k for k, _ in results))


def _single(table: Table, value: Signed) -> Sparse:
    """One direction, or none where the value is zero."""
    return {} if table.values[value[0]] == 0.0 else {0: value}


def _dense(table: Table, rows: Sequence[Sparse], width: int, shape: tuple[int, ...]) -> np.ndarray:
    entries: list[object] = [0.0] * (len(rows) * width)
    for i, row in enumerate(rows):
        for j, key in row.items():
            entries[i * width + j] = scalar(table, key)
    return array(entries, shape)
