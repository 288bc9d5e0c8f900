"""Programs that compute some values a second time, so that fewer of them wait.

Derivatives of forward dynamics need q̈ first, by way of M and its inverse, and then all velocities and
inertias again at that q̈. Kept between the two, these are more than the registers of a GPU hold; a
tenth more operations computes them anew. Where to forget shows in the program itself: all that depends
on the torques passes through the few values of q̈. That is a smallest vertex cut between one input and
the results (Menger 1927), found by augmenting paths (Ford and Fulkerson 1956).

Forward dynamics of a tree is such a program by itself: inertias and forces are gathered limb by limb
towards the base, and where the base's acceleration is there, accelerations go outwards again. Of the
way in only what took long is kept; poses are computed anew on the way out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.tracing.program import BINARY, LEAVES, Op, Program, program

_FEW = 0.06  # of all operations: results of the first part may take so many more than its values
_LONG = 100  # operations that a value takes, for it to be kept
_MOST = 30_000  # instructions of a program that is looked at
_CHEAP = frozenset({Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.SQ})  # all others take long
Rows = Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class Halves:
    """A program in two parts; `cut` is the first instruction of the second one."""

    program: Program
    cut: int


def in_halves(source: Program) -> Halves | None:
    """The program in two parts at its narrowest place, with what both need computed in both.

    The second part has the values at that place, the results of the first part, and what took long to
    compute; all else it computes itself. None where no input passes through such a place.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x, y):
    ...     s = x[0] * x[1] + y
    ...     return s * s + x[0] * x[1], s * x[0]
    >>> made = in_halves(trace(function, {"x": (2,), "y": ()}))
    >>> made.cut, len(made.program)  # x0 x1 is computed twice
    (5, 9)
    """
    if len(source) > _MOST:
        return None
    rows = source.rows
    start = 0
    best: list[int] = []
    for port in source.inputs:
        entries = range(start, start + port.size)
        start += port.size
        found = _narrowest(rows, entries, source.results.tolist())
        if found and (not best or _before(rows, found) > _before(rows, best)):
            best = found
    return _forgetting(source, rows, best) if best else None


def out_and_back(source: Program) -> Halves | None:
    """The program in two parts at its first result, where that takes most of the operations.

    The first part goes through what the second one needs from the last results to the first: as limbs
    are gathered from their ends.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x):
    ...     s = x[0] * x[1]
    ...     a = (s + x[2]) * s
    ...     return a, a + s
    >>> made = out_and_back(trace(function, {"x": (3,)}))
    >>> made.cut, len(made.program)  # x0 x1 is computed twice
    (6, 10)
    """
    rows = source.rows
    results = source.results.tolist()
    first = _below(rows, [min(results)])
    if len(source) > _MOST or len(first) <= len(rows) / 2:
        return None
    kept = {k for k in _dear(rows, first) if rows[k][0] not in LEAVES}
    needed = _served(source, rows, first)
    limbs = sorted(kept & needed.keys(), key=lambda k: (-needed[k], k))
    return _halved(source, rows, [*limbs, min(results)], results, {*results, *kept})


def last_columns(source: Program) -> list[int]:
    """Places of all results, the last columns of all outputs first: as recursions finish them."""
    ends = [index[-1:] or (0,) for port in source.outputs for index in np.ndindex(port.shape)]
    return sorted(range(len(ends)), key=lambda k: -ends[k][0])


def _operands(row: tuple[int, int, int]) -> tuple[int, ...]:
    op, a, b = row
    return () if op in LEAVES else (a, b) if op in BINARY else (a,)


def _before(rows: Rows, values: Sequence[int]) -> int:
    """How many operations it takes to compute some values."""
    return len(_below(rows, values))


def _below(rows: Rows, values: Sequence[int]) -> set[int]:
    """Some values and all that they are computed from."""
    needed = set(values)
    for i in range(max(values), -1, -1):
        if i in needed:
            needed.update(_operands(rows[i]))
    return needed


def _along(source: Program, rows: Rows, below: set[int]) -> set[int]:
    """Results of those outputs that come with some values: that take few operations beyond theirs."""
    found: set[int] = set()
    start = 0
    for port in source.outputs:
        own = source.results[start : start + port.size].tolist()
        start += port.size
        if len(_below(rows, own) - below) <= _FEW * len(rows):
            found.update(own)
    return found


def _narrowest(rows: Rows, entries: range, results: Sequence[int]) -> list[int]:
    """The fewest values that all paths from these inputs pass, each of which depends on all of them.

    The ones nearest to the inputs, or [] where there are none or they are more than the inputs. Each
    value is two nodes, 2 i in and 2 i + 1 out, joined by an edge that one path may take.
    """
    support = _support(rows, entries)
    everything = 0
    for k in results:
        everything |= support[k]
    mixed = {i for i, x in enumerate(support) if x and x == everything and rows[i][0] != Op.INPUT}
    ends = mixed & set(results)
    if not ends:
        return []
    fed = {i for i in mixed if any(support[j] and j not in mixed for j in _operands(rows[i]))}
    net = _Net(rows, mixed, fed, ends)
    paths = 0
    while net.augment():
        paths += 1
        if paths > len(entries):
            return []
    found = {i for i in mixed if 2 * i in net.parent and 2 * i + 1 not in net.parent}
    return [] if found & ends else sorted(found)


def _support(rows: Rows, entries: range) -> list[int]:
    """For every value the inputs among these that it depends on, as bits."""
    support: list[int] = []
    for row in rows:
        bits = 0
        for j in _operands(row):
            bits |= support[j]
        if row[0] == Op.INPUT and row[1] in entries:
            bits = 1 << (row[1] - entries.start)
        support.append(bits)
    return support


class _Net:
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
                self._take(node)
                return True
            for n in self._onward(node):
                if n not in self.parent:
                    self.parent[n] = node
                    queue.append(n)
        return False

    def _onward(self, node: int) -> list[int]:
        i, out = divmod(node, 2)
        if out:
            back = [2 * i] if (2 * i, node) in self.taken else []
            return [*(2 * j for j in self.after[i]), *back]
        back = [2 * j + 1 for j in self.before[i] if (2 * j + 1, node) in self.taken]
        return back if (node, node + 1) in self.taken else [node + 1, *back]

    def _take(self, node: int) -> None:
        while (before := self.parent[node]) >= 0:
            if (node, before) in self.taken:
                self.taken.discard((node, before))
            else:
                self.taken.add((before, node))
            node = before


def _forgetting(source: Program, rows: Rows, found: Sequence[int]) -> Halves:
    """First what leads to the values found, and results that come with it; then the rest."""
    results = source.results.tolist()
    before = sorted({*found, *_along(source, rows, _below(rows, found))})
    kept = {*found, *results} | _dear(rows, _below(rows, before))
    kept |= {rows[k][1] for k in results if rows[k][0] == Op.NEG}  # signs are anywhere
    after = [results[place] for place in last_columns(source)]
    return _halved(source, rows, before, after, kept)


def _halved(
    source: Program, rows: Rows, before: Sequence[int], after: Sequence[int], kept: set[int]
) -> Halves:
    """First some values with all that they take, then others, for which only `kept` ones are known."""
    made = _Made(rows)
    for k in before:
        made.need(k)
    cut = len(made.instructions)
    made.number = {k: i for k, i in made.number.items() if k in kept or k < 0}
    for k in after:
        made.need(k)
    ports = source.inputs, source.outputs
    numbers = [made.number[k] for k in source.results.tolist()]
    constants = source.constants.tolist()
    return Halves(program(source.name, *ports, made.instructions, constants, numbers), cut)


def _dear(rows: Rows, first: set[int]) -> set[int]:
    """Values of the first part that the second one needs and does not compute again."""
    crossing = {j for i, row in enumerate(rows) if i not in first for j in _operands(row)} & first
    below: list[int] = []  # per value, the operations that it takes, as bits
    for i, row in enumerate(rows):
        bits = 0 if row[0] in LEAVES or i not in first else 1 << i
        for j in _operands(row) if i in first else ():
            bits |= below[j]
        below.append(bits)
    return {k for k in first if k >= 0 and rows[k][0] not in _CHEAP} | {
        k for k in crossing if below[k].bit_count() > _LONG
    }


def _served(source: Program, rows: Rows, first: set[int]) -> dict[int, int]:
    """For every value that the second part uses, the place of the first result that needs it."""
    found: dict[int, int] = {}
    for place, k in enumerate(source.results.tolist()):
        found.setdefault(k, place)
    for i in range(len(rows) - 1, -1, -1):
        if i in first or i not in found:
            continue
        for j in _operands(rows[i]):
            found[j] = min(found.get(j, found[i]), found[i])
    return found


class _Made:
    """Instructions in depth-first order, and the number of every old value among them."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.instructions = rows, list[tuple[int, int, int]]()
        self.number = {-1: -1}

    def need(self, root: int) -> None:
        """Put everything that a value takes, and it."""
        stack = [root]
        while stack:
            k = stack.pop()
            if k in self.number:
                continue
            missing = [j for j in reversed(_operands(self.rows[k])) if j not in self.number]
            if missing:
                stack += [k, *missing]
                continue
            op, a, b = self.rows[k]
            self.number[k] = len(self.instructions)
            put = (op, a, -1) if op in LEAVES else (op, self.number[a], self.number[b])
            self.instructions.append(put)
