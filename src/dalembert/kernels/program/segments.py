"""Cutting a long program into parts: functions of their own, compiled one by one.

LLVM takes more than twice as long for a function of twice the length, and allots its registers no
better. So a long program is cut where few values are alive. What one part leaves for later ones waits
in a frame: one vector per slot, for the inputs, the outputs and whatever crosses a cut.

Where more values are alive than the first cache holds, shorter programs are cut too: LLVM moves loads
and stores of what waits far apart, and a chain of 50 links then runs a third slower than in parts.
Derivatives and mass matrices leave a result every few operations: in shorter parts they run up to a
fifth faster and compile in nine tenths of the time. Chains, whose values mostly cross the cuts, do not.
Running each part over several registers of states, to read its code once for all, gains nothing: code
comes from the second cache as fast as the arithmetic takes it, and the frames leave the first cache.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from dalembert.kernels.program.rewrite import reciprocals
from dalembert.tracing.program import LEAVES, Op, Port, Program, program

LONG = 18_000  # operations, and twelve times the results, of a program that is cut
LONGEST = 1500  # operations of one part
LEAVING = 500  # the same of programs with a result for every few operations
FEW = 50  # operations to a result, below which a program is of that kind
ALIVE = 512  # values at a time: 32 kB where a register has 64 bytes
_REACH = 0.2  # of a part's length, in which the narrowest place to cut is looked for
Rows = Sequence[tuple[int, int, int]]  # (operation, a, b) of every value


@dataclass(frozen=True)
class Part:
    """A piece of a program; its inputs are slots of the frame, and `places` those of its results."""

    program: Program
    places: tuple[int, ...]


@dataclass(frozen=True)
class StackFrame:
    """All parts in their order, and how many slots they share: inputs, outputs, what crosses."""

    parts: tuple[Part, ...]
    slots: int


def framed(
    source: Program,
    long: int = LONG,
    longest: int | None = None,
    results: Sequence[int] | None = None,
) -> StackFrame:
    """The program as one part where it is short, or else cut; of its results only these, or all.

    Parts have about `longest` operations; by default fewer where a result leaves every few of them.
    """
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    written = range(outputs) if results is None else results
    places = [inputs + k for k in written]
    order = _operations(source)
    rows = source.rows
    most = max(_alive(rows, order))
    short = len(order) + 12 * len(places) <= long and most <= ALIVE
    if longest is None:
        longest = LEAVING if len(order) < FEW * len(places) else LONGEST
    if short or len(order) <= longest:
        values = source.results[list(written)]
        whole = source if len(places) == outputs else replace(source, results=values)
        return StackFrame((Part(whole, tuple(places)),), inputs + outputs)
    # a pivot of M is divided by in most parts; LLVM inverts it once in each
    return _cut(reciprocals(source), longest, list(written))


def _cut(source: Program, longest: int, written: Sequence[int]) -> StackFrame:
    """The parts, of which those results are written."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    order, rows = _operations(source), source.rows
    part = _part_of(_alive(rows, order), order, longest)
    slot, slots = _slots(rows, source.results.tolist(), part, inputs)
    count = max(part.values()) + 1
    groups: list[list[int]] = [[] for _ in range(count)]
    for k in order:
        groups[part[k]].append(k)
    leaving: list[dict[int, list[int]]] = [{} for _ in range(count)]
    for place in written:
        k = int(source.results[place])
        leaving[part.get(k, 0)].setdefault(k, []).append(inputs + place)
    for k, place in slot.items():
        if place >= inputs + outputs:
            leaving[part[k]].setdefault(k, []).append(place)
    parts = [
        _part(source, rows, group, found, slot, slots)
        for group, found in zip(groups, leaving, strict=True)
    ]
    return StackFrame(tuple(parts), slots)


def _operations(source: Program) -> list[int]:
    """Numbers of all operations in their order, sine and cosine of an angle side by side."""
    op, a = source.op.tolist(), source.a.tolist()
    partner: dict[tuple[int, int], int] = {
        (op[k], a[k]): k for k in range(len(op)) if op[k] in (Op.SIN, Op.COS)
    }
    order: dict[int, None] = {}
    for k in range(len(op)):
        if op[k] in LEAVES or k in order:
            continue
        order[k] = None
        if op[k] in (Op.SIN, Op.COS):
            other = partner.get((Op.COS if op[k] == Op.SIN else Op.SIN, a[k]))
            if other is not None:
                order[other] = None
    return list(order)


def _part_of(alive: Sequence[int], order: Sequence[int], longest: int) -> dict[int, int]:
    """Which part each operation belongs to."""
    count = ceil(len(order) / longest)
    length = len(order) / count
    reach = int(_REACH * length)
    cuts = []
    for i in range(1, count):
        middle = round(i * length)
        window = range(middle - reach, middle + reach + 1)
        cuts.append(min(window, key=lambda c: (alive[c], abs(c - round(i * length)))))
    places = np.searchsorted(cuts, np.arange(len(order)), side="right")
    return dict(zip(order, places.tolist(), strict=True))


def _alive(rows: Rows, order: Sequence[int]) -> list[int]:
    """How many values are computed before each place in the order and used at it or after."""
    position = {k: i for i, k in enumerate(order)}
    last: dict[int, int] = {}
    for i, k in enumerate(order):
        for j in rows[k][1:]:
            if j in position:
                last[j] = i
    change = np.zeros(len(order) + 2, dtype=int)
    for k, end in last.items():
        change[position[k] + 1] += 1
        change[end + 1] -= 1
    return np.cumsum(change).tolist()


def _slots(
    rows: Rows, results: Sequence[int], part: dict[int, int], first_output: int
) -> tuple[dict[int, int], int]:
    """The slot of every value that another part needs, and the number of slots.

    A result is read where it was put; other slots are used again once nobody needs their value, the
    lowest first.
    """
    last: dict[int, int] = {}
    for k, own in part.items():
        for j in rows[k][1:]:
            if j in part and part[j] < own:
                last[j] = max(last.get(j, 0), own)
    slot: dict[int, int] = {}
    for place, k in enumerate(results, start=first_output):
        if k in last:
            slot.setdefault(k, place)
    slots = first_output + len(results)
    busy: list[tuple[int, int]] = []  # (last part that needs it, slot)
    free: list[int] = []
    for k in sorted((k for k in last if k not in slot), key=part.__getitem__):
        while busy and busy[0][0] < part[k]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free.append(slots)
            slots += 1
        slot[k] = heapq.heappop(free)
        heapq.heappush(busy, (last[k], slot[k]))
    return slot, slots


def _part(
    source: Program,
    rows: Rows,
    group: Sequence[int],
    found: dict[int, list[int]],
    slot: dict[int, int],
    slots: int,
) -> Part:
    inside = set(group)
    instructions: list[tuple[int, int, int]] = []
    number = {-1: -1}

    def need(k: int) -> int:
        if k not in number:
            number[k] = len(instructions)
            op, a, _ = rows[k]
            instructions.append((op, a, -1) if op in LEAVES else (Op.INPUT, slot[k], -1))
        return number[k]

    for k in group:
        op, *operands = rows[k]
        a, b = (need(j) if j not in inside else number[j] for j in operands)
        number[k] = len(instructions)
        instructions.append((op, a, b))
    results = [(need(k), place) for k, places in found.items() for place in places]
    values, places = [k for k, _ in results], tuple(place for _, place in results)
    ports = (Port("frame", (slots,)),), (Port("results", (len(values),)),)
    constants = source.constants.tolist()
    return Part(program(source.name, *ports, instructions, constants, values), places)
