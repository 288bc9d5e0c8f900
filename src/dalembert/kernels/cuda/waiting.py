"""Which values of a long program wait outside of registers, and when they go and come back.

A compiler spills to the memory of the device what finds no register, and chooses badly among thousands
of values. Here whoever is needed last goes first (Belady 1966), to where `places` puts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from dalembert.tracing.program import BINARY, LEAVES, Op, Program, program

TURNS = (Op.SIN, Op.COS)
_NEVER = 1 << 60
Rows = list[tuple[int, int, int]]


class Do(Enum):
    """What happens to a value: it is computed, put away, or fetched again."""

    COMPUTE = auto()
    SAVE = auto()
    LOAD = auto()


Step = tuple[Do, int]


def operands(row: tuple[int, int, int]) -> tuple[int, ...]:
    """The different values that an instruction reads."""
    op, a, b = row
    if op in LEAVES:
        return ()
    return (a, b) if op in BINARY and a != b else (a,)


def steps(
    source: Program, most: int, cut: int | None = None, kept: Collection[int] = ()
) -> list[Step]:
    """All of a program with at most `most` values in registers; constants are not counted.

    From instruction `cut` on nothing is in registers, so that the compiler cannot keep what is
    computed again. Values of `kept` are in memory anyway, and are not put away.
    """
    return list(_Registers(source, most, set(kept)).walk(cut))


def alive(source: Program) -> int:
    """How many values are needed at once, at most."""
    rows = source.rows
    last = {j: i for i, row in enumerate(rows) for j in operands(row)}
    ending: dict[int, int] = {}
    for j, i in last.items():
        ending[i] = ending.get(i, 0) + (rows[j][0] != Op.CONST)
    now = most = 0
    for i, row in enumerate(rows):
        now += row[0] != Op.CONST and i in last
        most = max(most, now)
        now -= ending.get(i, 0)
    return most


def angles_first(source: Program, cut: int | None) -> tuple[Program, int, int | None]:
    """Sines and cosines of inputs at the beginning, how many instructions that is, and the cut."""
    rows = source.rows
    turns = {k for k, (op, a, _) in enumerate(rows) if op in TURNS and rows[a][0] == Op.INPUT}
    front = sorted(turns | {rows[k][1] for k in turns})
    moved = set(front)
    order = [*front, *(k for k in range(len(rows)) if k not in moved)]
    number = {k: i for i, k in enumerate(order)} | {-1: -1}
    instructions = [
        (op, a, -1) if op in LEAVES else (op, number[a], number[b])
        for op, a, b in (rows[k] for k in order)
    ]
    results = [number[k] for k in source.results.tolist()]
    ports = source.inputs, source.outputs
    made = program(source.name, *ports, instructions, source.constants, results)
    return made, len(front), cut and cut + sum(k >= cut for k in front)


@dataclass
class _Registers:
    source: Program
    most: int
    saved: set[int]
    held: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rows = self.source.rows
        self.uses: list[list[int]] = [[] for _ in self.rows]  # to come, the next one last
        for i in reversed(range(len(self.rows))):
            for j in operands(self.rows[i]):
                self.uses[j].append(i)

    def walk(self, cut: int | None) -> Iterator[Step]:
        for i, row in enumerate(self.rows):
            if i == cut:
                yield from self._empty()
            if row[0] == Op.CONST:
                continue
            needed = [j for j in operands(row) if self.rows[j][0] != Op.CONST]
            for j in needed:
                if j not in self.held:
                    yield from self._room(needed)
                    self.held.add(j)
                    yield Do.LOAD, j
            for j in operands(row):
                self.uses[j].pop()
                if not self.uses[j]:
                    self.held.discard(j)
            if self.uses[i]:
                yield from self._room(needed)
                self.held.add(i)
            yield Do.COMPUTE, i

    def _room(self, needed: Collection[int]) -> Iterator[Step]:
        """Until one more fits, whoever is needed last goes; of equals, who is in memory already."""
        while len(self.held) >= self.most:
            free = (j for j in self.held if j not in needed)
            yield from self._leave(max(free, key=lambda j: (self._next(j), j in self.saved, j)))

    def _empty(self) -> Iterator[Step]:
        for j in sorted(self.held):
            yield from self._leave(j)

    def _leave(self, j: int) -> Iterator[Step]:
        self.held.discard(j)
        if j not in self.saved and self._next(j) < _NEVER:
            self.saved.add(j)
            yield Do.SAVE, j

    def _next(self, j: int) -> int:
        return self.uses[j][-1] if self.uses[j] else _NEVER
