"""Passes over programs: shared reciprocals, concatenation, and the order of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.tracing.program import (
    LEAVES,
    Op,
    Port,
    Program,
    depth_first,
    port_slices,
    program,
)


def reciprocals(source: Program) -> Program:
    """Quotients that share a divisor become products with its reciprocal, taken once.

    A division takes as long as ten products. The results change in the last place.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> quotient = reciprocals(trace(lambda x, d: x / d, {"x": (3,), "d": ()}))
    >>> int(np.sum(quotient.op == Op.DIV)), int(np.sum(quotient.op == Op.MUL))
    (1, 3)
    """
    rows = source.rows
    shared = Counter(b for op, _, b in rows if op == Op.DIV)
    instructions: list[tuple[int, int, int]] = []
    constants = source.constants.tolist()
    numbers: list[int] = []  # of the old values among the new
    inverses: dict[int, int] = {}
    one = -1

    def emit(op: int, a: int, b: int = -1) -> int:
        instructions.append((op, a, b))
        return len(instructions) - 1

    for op, a, b in rows:
        if op in LEAVES:
            numbers.append(emit(op, a))
        elif op == Op.DIV and shared[b] > 1:
            if one < 0:
                constants.append(1.0)
                one = emit(Op.CONST, len(constants) - 1)
            if b not in inverses:
                inverses[b] = emit(Op.DIV, one, numbers[b])
            factor = inverses[b]
            is_one = rows[a][0] == Op.CONST and source.constants[rows[a][1]] == 1.0
            numbers.append(factor if is_one else emit(Op.MUL, numbers[a], factor))
        else:
            numbers.append(emit(op, numbers[a], numbers[b] if b >= 0 else -1))
    results = [numbers[k] for k in source.results.tolist()]
    return program(source.name, source.inputs, source.outputs, instructions, constants, results)


class Share(NamedTuple):
    """A program, and which entries of all inputs and outputs of the whole its own are."""

    program: Program
    reads: np.ndarray
    writes: np.ndarray


def concatenate(
    name: str, inputs: Sequence[Port], outputs: Sequence[Port], shares: Sequence[Share]
) -> Program:
    """One program of the shares, one after the other; outputs that none of them writes are zero.

    >>> from dalembert.kernels.program.trace import trace
    >>> square = trace(lambda x: x * x, {"x": (1,)})
    >>> ports = [Port("x", (2,))], [Port("y", (3,))]
    >>> each = [Share(square, np.array([k]), np.array([k])) for k in range(2)]
    >>> from dalembert.tracing.interpreter import interpret
    >>> interpret(concatenate("squares", *ports, each), np.array([2.0, 3.0]))[0]
    array([4., 9., 0.])
    """
    rows, constants = [np.array([[Op.CONST, 0, -1]])], [np.zeros(1)]
    results = np.zeros(sum(port.size for port in outputs), dtype=int)
    start, known = 1, 1
    for part, reads, writes in shares:
        leaf = np.isin(part.op, list(LEAVES))
        a = np.where(leaf, part.a, part.a + start)
        a[part.op == Op.CONST] += known
        a[part.op == Op.INPUT] = reads[part.a[part.op == Op.INPUT]]
        b = np.where(part.b >= 0, part.b + start, -1)
        rows.append(np.stack([part.op, a, b], axis=1))
        constants.append(part.constants)
        results[writes] = part.results + start
        start, known = start + len(part), known + len(part.constants)
    every = np.concatenate(rows)
    ports = tuple(inputs), tuple(outputs)
    return program(name, *ports, every, np.concatenate(constants), results)


# beyond these `_cheapest_first` takes too long: its sets grow with the square of the instructions,
# and it compares all results with each other
_MAX_INSTRUCTIONS, _MAX_RESULTS = 20_000, 600
_DISTANT = 400  # operations, which access as many vectors as the L1 cache holds


def order_results(source: Program) -> Program:
    """The same instructions in the best of some orders of the results.

    Depth first from each result, values stand shortly before their use; what is left to choose is the
    order of the results. The candidates are: as they stand; always the cheapest next; or from the last
    rows and columns of all outputs to the first, as recursions over a chain finish their matrices: a
    third fewer values of a wide program are alive then, and a third less is spilled. Solutions for many
    right-hand sides, which are long, also column by column: then most values are used again before
    they leave the L1 cache, a fifth more of the derivatives of a humanoid.
    """
    is_long = len(source) > _MAX_INSTRUCTIONS
    entries = [(index, p.shape) for p in source.outputs for index in np.ndindex(p.shape)]
    keys = [[(max(index, default=0), min(index, default=0)) for index, _ in entries]]
    orders = [] if is_long or len(source.results) > _MAX_RESULTS else [_cheapest_first(source)]
    if len({port.shape for port in source.outputs}) > 1:
        # by the share of an output before a result
        shares = [[k / n for k, n in zip(*entry, strict=True)] for entry in entries]
        keys.append([(max(x, default=0.0), min(x, default=0.0)) for x in shares])
    by_column = is_long and len(source.outputs) > 1
    by_column = by_column and all(len(port.shape) == 2 for port in source.outputs)
    if by_column:
        keys.append([(index[1], index[0]) for index, _ in entries])
    results, operands = source.results.tolist(), source.operands.__getitem__
    first, *others = (
        [results[k] for k in sorted(range(len(key)), key=key.__getitem__, reverse=True)]
        for key in keys
    )
    orders = [depth_first(operands, order) for order in (first, *orders, *others)]
    candidates = [source, *(reordered(source, order) for order in orders)]
    return min(candidates, key=distant_uses if by_column else mean_alive)


def mean_alive(source: Program) -> float:
    """How many values, on average over the instructions, are computed but still needed."""
    op = source.op.tolist()
    spans = [end - k for k, end in source.last_uses.items() if op[k] != Op.CONST]
    return sum(spans) / max(1, len(source))


def distant_uses(source: Program) -> int:
    """How many times a value is used so late that it has left the L1 cache."""
    at = np.flatnonzero(~np.isin(source.op, list(LEAVES)))
    position = np.arange(len(at))
    binary = source.b[at] >= 0
    values = np.concatenate([at, source.a[at], source.b[at][binary]])
    times = np.concatenate([position, position, position[binary]])
    variable = source.op[values] != Op.CONST
    order = np.lexsort((times[variable], values[variable]))
    values, times = values[variable][order], times[variable][order]
    return int(np.sum((values[1:] == values[:-1]) & (np.diff(times) > _DISTANT)))


def _cheapest_first(source: Program) -> list[int]:
    """Results, always next the one with the fewest operations not done yet."""
    needs = source.gather(1 << i for i in range(len(source)))  # the values below each, as bits
    left = list(dict.fromkeys(source.results.tolist()))
    order, done = [], 0
    while left:
        new = [(needs[k] & ~done).bit_count() for k in left]
        best = left.pop(int(np.argmin(new)))
        done |= needs[best]
        order.append(best)
    return order


def reordered(source: Program, order: Sequence[int]) -> Program:
    """The instructions of these numbers, all that the results need, in this order."""
    number = np.full(len(source) + 1, -1)
    number[list(order)] = np.arange(len(order))
    op, a, b = (column[list(order)] for column in (source.op, source.a, source.b))
    leaf = np.isin(op, list(LEAVES))
    a = np.where(leaf, a, number[np.where(leaf, -1, a)])
    rows, ports = np.stack([op, a, number[b]], axis=1), (source.inputs, source.outputs)
    return program(source.name, *ports, rows, source.constants, number[source.results])


def selected(source: Program, names: Collection[str]) -> Program:
    """The program of the outputs of these names, without what only the others need.

    >>> from dalembert.kernels.program.trace import trace
    >>> both = trace(lambda x: {"y": x * x, "z": x / 3.0}, {"x": (1,)})
    >>> len(both), len(selected(both, ["z"])), selected(both, ["z"]).signature
    (4, 3, '(1)->(1)')
    """
    slices = zip(source.outputs, port_slices(source.outputs), strict=True)
    chosen = [(port, source.results[part]) for port, part in slices if port.name in names]
    outputs = tuple(port for port, _ in chosen)
    results = np.concatenate([own for _, own in chosen])
    whole = replace(source, outputs=outputs, results=results)
    return reordered(whole, depth_first(source.operands.__getitem__, results.tolist()))
