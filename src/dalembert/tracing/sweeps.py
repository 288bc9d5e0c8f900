"""Forward and backward sweeps over a value table: derivatives as values of the same table.

A forward sweep carries, for each value, its derivatives along the directions in which inputs change;
a backward sweep, for each value, the derivatives of weighted sums of the results. Both use the local
derivatives of `partials`, and what they write is shared with everything else in the table.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.tracing.partials import LOCAL
from dalembert.tracing.table import Signed, Table

Sparse = dict[int, Signed]  # by direction, or by weighted sum


def forward(
    table: Table, results: Sequence[Signed], inputs: Sequence[int], seeds: Sequence[Sparse]
) -> list[Sparse]:
    """How each result changes along each direction, where input k changes by `seeds[k]`."""
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
    """How each sum changes with each input, where result k counts by `weights[k]` in the sums."""
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


def jacobian(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[Sparse]:
    """Partial derivatives of each result with respect to the inputs, by position of the input.

    Swept forward or backward, whichever takes fewer operations; where an estimate does not tell,
    both are written and counted.
    """
    ahead, back = _costs(table, results, inputs)
    start = len(table.nodes)
    candidates = []
    if ahead <= _CLEAR * back:
        candidates.append(_by_columns(table, results, inputs))
    if back <= _CLEAR * ahead:
        candidates.append(_by_rows(table, results, inputs))
    return min(candidates, key=lambda rows: _operations_since(table, start, rows))


_CLEAR = 3  # times the other's cost at which a sweep is not tried


def _by_columns(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[Sparse]:
    one = table.constant(1.0)
    return forward(table, results, inputs, [{k: one} for k in range(len(inputs))])


def _by_rows(table: Table, results: Sequence[Signed], inputs: Sequence[int]) -> list[Sparse]:
    one = table.constant(1.0)
    columns = backward(table, results, inputs, [{k: one} for k in range(len(results))])
    rows: list[Sparse] = [{} for _ in results]
    for column, weights in enumerate(columns):
        for row, value in weights.items():
            rows[row][column] = value
    return rows


def _operations_since(table: Table, start: int, rows: Sequence[Sparse]) -> int:
    """How many values, of those written since a number, derivatives need."""
    return sum(k >= start for k in table.below(x for row in rows for x, _ in row.values()))


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
