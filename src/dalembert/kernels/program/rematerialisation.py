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

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.tracing.program import BINARY, LEAVES, Op, Program, program

# of all operations: results of the first part may take so many more than its values
_MAX_EXTRA = 0.06
_EXPENSIVE = 100  # operations that a value takes, for it not to be computed again
_MAX_INSTRUCTIONS = 30_000  # instructions of a program that is looked at
_CHEAP = frozenset({Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.SQ})  # all others take long
Rows = Sequence[tuple[int, int, int]]


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
    rows = source.rows
    start = 0
    best: list[int] = []
    for port in source.inputs:
        entries = range(start, start + port.size)
        start += port.size
        cut = _minimum_cut(rows, entries, source.results.tolist())
        if cut and (not best or len(_ancestors(rows, cut)) > len(_ancestors(rows, best))):
            best = cut
    if not best:
        return None
    # first what leads to the cut, with outputs that need few operations beyond it; then the rest
    results, below = source.results.tolist(), _ancestors(rows, best)
    before, start = set(best), 0
    for port in source.outputs:
        own = results[start : start + port.size]
        start += port.size
        if len(_ancestors(rows, own) - below) <= _MAX_EXTRA * len(rows):
            before.update(own)
    saved = {*best, *results} | _expensive_values(rows, _ancestors(rows, sorted(before)))
    saved |= {rows[k][1] for k in results if rows[k][0] == Op.NEG}  # a sign costs nothing
    # the last columns of all outputs first, as recursions finish them
    ends = [index[-1:] or (0,) for port in source.outputs for index in np.ndindex(port.shape)]
    after = [results[k] for k in sorted(range(len(ends)), key=lambda k: -ends[k][0])]
    return _emit_halves(source, rows, sorted(before), after, saved)


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
    rows = source.rows
    results = source.results.tolist()
    first = _ancestors(rows, [min(results)])
    if len(source) > _MAX_INSTRUCTIONS or len(first) <= len(rows) / 2:
        return None
    saved = {k for k in _expensive_values(rows, first) if rows[k][0] not in LEAVES}
    needed: dict[int, int] = {}  # of the second part, by the first result that needs it
    for index, k in enumerate(results):
        needed.setdefault(k, index)
    for i in range(len(rows) - 1, -1, -1):
        if i not in first and i in needed:
            for j in _operands(rows[i]):
                needed[j] = min(needed.get(j, needed[i]), needed[i])
    limbs = sorted(saved & needed.keys(), key=lambda k: (-needed[k], k))
    return _emit_halves(source, rows, [*limbs, min(results)], results, {*results, *saved})


def _operands(row: tuple[int, int, int]) -> tuple[int, ...]:
    op, a, b = row
    return () if op in LEAVES else (a, b) if op in BINARY else (a,)


def _ancestors(rows: Rows, values: Sequence[int]) -> set[int]:
    """Some values and all that they are computed from."""
    needed = set(values)
    for i in range(max(values), -1, -1):
        if i in needed:
            needed.update(_operands(rows[i]))
    return needed


def _minimum_cut(rows: Rows, entries: range, results: Sequence[int]) -> list[int]:
    """The fewest values that all paths from these inputs pass, each depending on all of the inputs.

    The ones nearest to the inputs, or [] where there are none or they are more than the inputs. Each
    value is two nodes, 2 i in and 2 i + 1 out, joined by an edge that one path may take.
    """
    support: list[int] = []  # of every value, the inputs among these that it depends on, as bits
    for row in rows:
        bits = 1 << (row[1] - entries.start) if row[0] == Op.INPUT and row[1] in entries else 0
        for j in _operands(row):
            bits |= support[j]
        support.append(bits)
    everything = 0
    for k in results:
        everything |= support[k]
    mixed = {i for i, x in enumerate(support) if x and x == everything and rows[i][0] != Op.INPUT}
    ends = mixed & set(results)
    if not ends:
        return []
    fed = {i for i in mixed if any(support[j] and j not in mixed for j in _operands(rows[i]))}
    net = _FlowNetwork(rows, mixed, fed, ends)
    paths = 0
    while net.augment():
        paths += 1
        if paths > len(entries):
            return []
    cut = {i for i in mixed if 2 * i in net.parent and 2 * i + 1 not in net.parent}
    return [] if cut & ends else sorted(cut)


class _FlowNetwork:
    """Paths from the first to the last of a set of values, no two through one value."""

    def __init__(self, rows: Rows, mixed: set[int], first: set[int], ends: set[int]) -> None:
        self.first, self.ends = first, ends
        self.before = {i: [j for j in _operands(rows[i]) if j in mixed] for i in mixed}
        self.after: dict[int, list[int]] = {i: [] for i in mixed}
        for i, operands in self.before.items():
            for j in operands:
                self.after[j].append(i)
        self.taken: set[tuple[int, int]] = set()
        self.parent: dict[int, int] = {}

    def augment(self) -> bool:
        """One more path, if there is one; `parent` then holds all that can be reached."""
        self.parent = {2 * i: -1 for i in self.first}
        queue = deque(self.parent)
        while queue:
            node = queue.popleft()
            if node % 2 and node // 2 in self.ends:
                while (before := self.parent[node]) >= 0:
                    if (node, before) in self.taken:
                        self.taken.discard((node, before))
                    else:
                        self.taken.add((before, node))
                    node = before
                return True
            i, is_out = divmod(node, 2)
            if is_out:
                neighbours = [2 * j for j in self.after[i]]
                neighbours += [2 * i] if (2 * i, node) in self.taken else []
            else:
                neighbours = [] if (node, node + 1) in self.taken else [node + 1]
                outs = (2 * j + 1 for j in self.before[i])
                neighbours += [out for out in outs if (out, node) in self.taken]
            for neighbour in neighbours:
                if neighbour not in self.parent:
                    self.parent[neighbour] = node
                    queue.append(neighbour)
        return False


def _emit_halves(
    source: Program, rows: Rows, before: Sequence[int], after: Sequence[int], saved: set[int]
) -> SplitProgram:
    """First some values and their ancestors, then others, for which only `saved` values are known."""
    instructions: list[tuple[int, int, int]] = []
    number = {-1: -1}

    def emit(roots: Sequence[int]) -> None:
        """Each value after everything it is computed from, depth first."""
        stack = list(reversed(roots))
        while stack:
            k = stack.pop()
            if k in number:
                continue
            missing = [j for j in reversed(_operands(rows[k])) if j not in number]
            if missing:
                stack += [k, *missing]
                continue
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


def _expensive_values(rows: Rows, first: set[int]) -> set[int]:
    """Values of the first part that the second one needs and does not compute again."""
    crossing = {j for i, row in enumerate(rows) if i not in first for j in _operands(row)} & first
    below: list[int] = []  # per value, the operations that it takes, as bits
    for i, row in enumerate(rows):
        bits = 0 if row[0] in LEAVES or i not in first else 1 << i
        for j in _operands(row) if i in first else ():
            bits |= below[j]
        below.append(bits)
    return {k for k in first if k >= 0 and rows[k][0] not in _CHEAP} | {
        k for k in crossing if below[k].bit_count() > _EXPENSIVE
    }
