"""Rematerialisation: some values are computed a second time, so that fewer are alive at once.

Derivatives of forward dynamics need q̈ first, through M and its inverse, and then all velocities and
inertias again at that q̈. Kept in between, these are more values than a GPU has registers; computing
them again takes a tenth more operations. The program itself shows where to split it: everything that
depends on the torques passes through the few values of q̈. That is a minimum vertex cut between one
input and the results (Menger 1927), found by augmenting paths (Ford and Fulkerson 1956).

Forward dynamics of a tree is such a program by itself: inertias and forces are gathered limb by limb
towards the base, and once the base's acceleration is known, accelerations go outwards again. Only
expensive values of the inward pass are kept; poses are computed again in the outward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from dalembert.tracing.program import LEAVES, Op, Program, depth_first, port_slices, program

# of all operations: results of the first part may take so many more than its values
_MAX_EXTRA = 0.06
_EXPENSIVE = 100  # operations that a value takes, for it not to be computed again
_MAX_INSTRUCTIONS = 30_000  # instructions of a program that is looked at
_CHEAP = frozenset({Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.SQ})  # all others take long


@dataclass(frozen=True)
class SplitProgram:
    """A program in two parts; `cut` is the first instruction of the second one."""

    program: Program
    cut: int


def split_at_vertex_cut(source: Program) -> SplitProgram | None:
    """The program in two parts at its smallest vertex cut; values that both need are computed twice.

    The second part keeps the values of the cut, the results of the first part, and values that are
    expensive; all others it computes again. None where no input passes through such a cut.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x, y):
    ...     s = x[0] * x[1] + y
    ...     return s * s + x[0] * x[1], s * x[0]
    >>> split = split_at_vertex_cut(trace(function, {"x": (2,), "y": ()}))
    >>> split.cut, len(split.program)  # x0 x1 is computed twice
    (5, 9)
    """
    if len(source) > _MAX_INSTRUCTIONS:
        return None
    operands, results = source.operands.__getitem__, source.results.tolist()
    best: list[int] = []
    for entries in port_slices(source.inputs):
        cut = _minimum_cut(source, entries)
        if cut and (not best or len(depth_first(operands, cut)) > len(depth_first(operands, best))):
            best = cut
    if not best:
        return None
    # first what leads to the cut, with outputs that need few operations beyond it; then the rest
    before, known = set(best), set(depth_first(operands, best))
    for entries in port_slices(source.outputs):
        own = results[entries]
        if len(depth_first(operands, own, known)) <= _MAX_EXTRA * len(source):
            before.update(own)
    saved = {*best, *results} | _expensive_values(
        source, set(depth_first(operands, sorted(before)))
    )
    op, a = source.op.tolist(), source.a.tolist()
    saved |= {a[k] for k in results if op[k] == Op.NEG}  # a sign costs nothing
    # the last columns of all outputs first, as recursions finish them
    ends = [index[-1:] or (0,) for port in source.outputs for index in np.ndindex(port.shape)]
    after = [results[k] for k in sorted(range(len(ends)), key=lambda k: -ends[k][0])]
    return _emit_halves(source, sorted(before), after, saved)


def split_at_first_result(source: Program) -> SplitProgram | None:
    """The program in two parts at its first result, where that takes most of the operations.

    The first part computes values that the second one needs from the last results to the first, as
    limbs are gathered from their ends.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x):
    ...     s = x[0] * x[1]
    ...     a = (s + x[2]) * s
    ...     return a, a + s
    >>> split = split_at_first_result(trace(function, {"x": (3,)}))
    >>> split.cut, len(split.program)  # x0 x1 is computed twice
    (6, 10)
    """
    op, operands, results = source.op.tolist(), source.operands, source.results.tolist()
    first = set(depth_first(operands.__getitem__, [min(results)]))
    if len(source) > _MAX_INSTRUCTIONS or len(first) <= len(source) / 2:
        return None
    saved = {k for k in _expensive_values(source, first) if op[k] not in LEAVES}
    needed: dict[int, int] = {}  # of the second part, by the first result that needs it
    for index, k in enumerate(results):
        needed.setdefault(k, index)
    for i in reversed(range(len(source))):
        if i not in first and i in needed:
            for j in operands[i]:
                needed[j] = min(needed.get(j, needed[i]), needed[i])
    limbs = sorted(saved & needed.keys(), key=lambda k: (-needed[k], k))
    return _emit_halves(source, [*limbs, min(results)], results, {*results, *saved})


def _minimum_cut(source: Program, entries: slice) -> list[int]:
    """The fewest values that all paths from these inputs pass, each depending on all of the inputs.

    The ones nearest to the inputs, or [] where there are none or they are more than the inputs. Each
    value is two nodes, 2 i in and 2 i + 1 out, joined by an edge that one path may take.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    own = [
        1 << (a - entries.start) if op == Op.INPUT and entries.start <= a < entries.stop else 0
        for op, a, _ in source.rows
    ]
    support = source.gather(own)  # of every value, the inputs among these below it, as bits
    everything = reduce(or_, (support[k] for k in source.results.tolist()), 0)
    op, operands = source.op.tolist(), source.operands
    mixed = {i for i, x in enumerate(support) if x and x == everything and op[i] != Op.INPUT}
    ends = mixed.intersection(source.results.tolist())
    if not ends:
        return []
    start, end = 2 * len(op), 2 * len(op) + 1
    fed = {i for i in mixed if any(support[j] and j not in mixed for j in operands[i])}
    open_edges = [(start, 2 * i) for i in fed] + [(2 * i + 1, end) for i in ends]
    open_edges += [(2 * j + 1, 2 * i) for i in mixed for j in operands[i] if j in mixed]
    tails, heads = np.array([*open_edges, *((2 * i, 2 * i + 1) for i in mixed)]).T
    capacity = np.repeat([len(op), 1], [len(open_edges), len(mixed)])
    network = csr_array((capacity, (tails, heads)), shape=(end + 1, end + 1), dtype=np.int32)
    flow = maximum_flow(network, start, end)
    if flow.flow_value > entries.stop - entries.start:
        return []
    residual = csr_array(network - flow.flow)
    residual.eliminate_zeros()
    upstream = set(breadth_first_order(residual, start, return_predecessors=False).tolist())
    cut = {i for i in mixed if 2 * i in upstream and 2 * i + 1 not in upstream}
    return [] if cut & ends else sorted(cut)


def _emit_halves(
    source: Program, before: Sequence[int], after: Sequence[int], saved: set[int]
) -> SplitProgram:
    """First some values and their ancestors, then others, for which only `saved` values are known."""
    rows, operands = source.rows, source.operands.__getitem__
    instructions: list[tuple[int, int, int]] = []
    number = {-1: -1}

    def emit(roots: Sequence[int]) -> None:
        for k in depth_first(operands, roots, number):
            op, a, b = rows[k]
            number[k] = len(instructions)
            instructions.append((op, a, -1) if op in LEAVES else (op, number[a], number[b]))

    emit(before)
    cut = len(instructions)
    number = {k: i for k, i in number.items() if k in saved or k < 0}
    emit(after)
    ports = source.inputs, source.outputs
    results = [number[k] for k in source.results.tolist()]
    constants = source.constants.tolist()
    return SplitProgram(program(source.name, *ports, instructions, constants, results), cut)


def _expensive_values(source: Program, first: set[int]) -> set[int]:
    """Values of the first part that the second one needs and does not compute again."""
    op, operands = source.op.tolist(), source.operands
    crossing = {j for i, own in enumerate(operands) if i not in first for j in own} & first
    # per value, the operations of the first part that it takes, as bits
    below = source.gather(
        1 << i if i in first and code not in LEAVES else 0 for i, code in enumerate(op)
    )
    expensive = {k for k in crossing if below[k].bit_count() > _EXPENSIVE}
    return expensive | {k for k in first if op[k] not in _CHEAP}
