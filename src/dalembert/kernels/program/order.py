"""In which order to compute the results of a program, so that few values wait in registers at a time.

Depth first from each result, values stand shortly before their use; what is left to choose is the order
of the results. Recursions over a chain make the last rows and columns of their matrices first: taken
in that order, a third fewer values of a wide program wait, and a third less is spilled to memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.tracing.program import BINARY, LEAVES, Op, Program, program

# beyond these `_cheapest` takes too long: its sets grow with the square of the instructions, and it
# compares all results with each other
_MOST, _MOST_RESULTS = 20_000, 600
_FAR = 400  # operations, in which as many vectors are touched as the first cache holds


def ordered(source: Program) -> Program:
    """The same instructions in the best of some orders of the results.

    As they stand, always the cheapest next, or from the last rows and columns of all outputs to the
    first. Solutions for many right sides, which are long, also column by column: then most values are
    used again before the first cache forgets them, a fifth more of the derivatives of a humanoid.
    """
    short = len(source) <= _MOST and len(source.results) <= _MOST_RESULTS
    orders = [_last_shells, _cheapest] if short else [_last_shells]
    if len({port.shape for port in source.outputs}) > 1:
        orders.append(_last_shares)
    matrices = len(source.outputs) > 1 and all(len(p.shape) == 2 for p in source.outputs)
    if matrices and len(source) > _MOST:
        orders.append(_last_columns)
    candidates = [source, *(_depth_first(source, order(source)) for order in orders)]
    return min(candidates, key=far_uses if matrices and len(source) > _MOST else waiting)


def waiting(source: Program) -> float:
    """How many values, on average over the instructions, are computed but still needed."""
    rows = source.rows
    last: dict[int, int] = {}
    for i, (op, a, b) in enumerate(rows):
        if op not in LEAVES:
            last[a] = i
            if op in BINARY:
                last[b] = i
    spans = [end - start for start, end in last.items() if rows[start][0] != Op.CONST]
    return sum(spans) / max(1, len(rows))


def far_uses(source: Program) -> int:
    """How many times a value is used so late that the first cache has lost it meanwhile."""
    at = np.flatnonzero(~np.isin(source.op, list(LEAVES)))
    place = np.arange(len(at))
    binary = source.b[at] >= 0
    values = np.concatenate([at, source.a[at], source.b[at][binary]])
    times = np.concatenate([place, place, place[binary]])
    kept = source.op[values] != Op.CONST
    order = np.lexsort((times[kept], values[kept]))
    values, times = values[kept][order], times[kept][order]
    return int(np.sum((values[1:] == values[:-1]) & (np.diff(times) > _FAR)))


def _last_columns(source: Program) -> list[int]:
    """Results by their column, then by their row, both falling."""
    places = [index for port in source.outputs for index in np.ndindex(port.shape)]
    return _falling(source, [(column, row) for row, column in places])


def _cheapest(source: Program) -> list[int]:
    """Results, always next the one with the fewest operations not done yet."""
    needs: list[int] = []  # per value, the set of values below it, as bits
    for i, (op, a, b) in enumerate(source.rows):
        below = 0 if op in LEAVES else needs[a] | (needs[b] if op in BINARY else 0)
        needs.append(below | (1 << i))
    left = list(dict.fromkeys(source.results.tolist()))
    order, done = [], 0
    while left:
        new = [(needs[k] & ~done).bit_count() for k in left]
        best = left.pop(int(np.argmin(new)))
        done |= needs[best]
        order.append(best)
    return order


def _last_shells(source: Program) -> list[int]:
    """Results by their largest index, then by their smallest, both falling."""
    places = [index for port in source.outputs for index in np.ndindex(port.shape)]
    return _falling(source, [(max(index, default=0), min(index, default=0)) for index in places])


def _last_shares(source: Program) -> list[int]:
    """The same by the share of its output that a result comes after: for outputs of unlike sizes."""
    places = [(i, p.shape) for p in source.outputs for i in np.ndindex(p.shape)]
    shares = [[k / n for k, n in zip(index, shape, strict=True)] for index, shape in places]
    return _falling(source, [(max(some, default=0.0), min(some, default=0.0)) for some in shares])


def _falling(source: Program, keys: Sequence[tuple[float, float]]) -> list[int]:
    """Results in the falling order of these keys."""
    order = sorted(range(len(keys)), key=lambda k: (-keys[k][0], -keys[k][1]))
    return [int(source.results[k]) for k in order]


def _depth_first(source: Program, roots: list[int]) -> Program:
    op, a, b = source.op.tolist(), source.a.tolist(), source.b.tolist()
    order: list[int] = []
    number = {-1: -1}
    stack = roots[::-1]
    while stack:
        k = stack.pop()
        if k in number:
            continue
        missing = [] if op[k] in LEAVES else [j for j in (b[k], a[k]) if j not in number]
        if missing:
            stack += [k, *missing]
        else:
            number[k] = len(order)
            order.append(k)
    instructions = [
        (op[k], a[k], -1) if op[k] in LEAVES else (op[k], number[a[k]], number[b[k]]) for k in order
    ]
    results = [number[k] for k in source.results.tolist()]
    constants = source.constants.tolist()
    return program(source.name, source.inputs, source.outputs, instructions, constants, results)
