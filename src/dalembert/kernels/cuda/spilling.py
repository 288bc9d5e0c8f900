"""Kernels of programs with more live values than a thread has registers: explicit spilling.

A compiler spills to the device's memory what finds no register, and chooses badly among thousands of
values. Here the value whose next use is furthest away is spilled first (Belady 1966), to shared
memory, which is as near as the L1 cache, and only beyond its size to local memory. Tiles of results
are free until their entries are computed; only what does not fit there takes shared memory of its own.
If that is too little, the longest spans are spilled to local memory. One warp is a block, so that the
shared memory of a multiprocessor holds as many as possible. Results are copied out array by array,
each as soon as it is complete, and the next one reuses its tile.

Angles come first: sines and cosines of all inputs, computed again by the library where one of them is
beyond the range of the fast reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property

import numpy as np

from dalembert.kernels.c_source import Scalar, expression, named_ports
from dalembert.kernels.cuda.text import (
    LANES,
    SHARED_LIMIT,
    Access,
    CudaSource,
    Tile,
    kernel_text,
    require_tiles,
    sincos,
    tile_bytes,
)
from dalembert.kernels.program.passes import reordered
from dalembert.kernels.program.rematerialisation import split_at_first_result, split_at_vertex_cut
from dalembert.tracing.program import Op, Port, Program, port_slices

TRIGONOMETRIC = (Op.SIN, Op.COS)
_NEVER = 1 << 60
Span = tuple[int, int]  # from one step of the schedule to another, both included

# Values alive at once, up to which so many of them are in registers, for so many warps of a
# multiprocessor, as measured on an H200 (benchmarks/gpu/RESULTS.md); beyond, the last one
_OCCUPANCY = {
    "double": ((110, 72, 10), (1 << 30, 108, 8)),
    "float": ((200, 150, 11), (1 << 30, 205, 8)),
}
_ADDRESS_REGISTERS = 6  # values fewer where every result has an address of its own
# values alive at once that the compiler places better by itself; up to the second number so long
# as the operations per number of a state are few, for then memory is what limits the kernel
_LIGHT = {"double": (75, 110), "float": (150, 150)}
_COMPUTE_BOUND = 32
_WORTHWHILE = 0.85  # of the values at once, for which a program is split


class Action(Enum):
    """A step of a value: it is computed, spilled to memory, or loaded again."""

    COMPUTE = auto()
    SAVE = auto()
    LOAD = auto()


Step = tuple[Action, int]


def max_alive(source: Program) -> int:
    """The largest number of values that are alive at once; constants are not counted."""
    op = source.op.tolist()
    change = np.zeros(len(op) + 1, dtype=int)
    for k, end in source.last_uses.items():
        if op[k] != Op.CONST:
            change[k] += 1
            change[end + 1] -= 1
    return int(np.cumsum(change).max())


def trigonometry_first(source: Program, cut: int | None) -> tuple[Program, int, int | None]:
    """Move sines and cosines of inputs to the front; (program, their number, the cut moved along)."""
    rows = source.rows
    angles = {
        k for k, (op, a, _) in enumerate(rows) if op in TRIGONOMETRIC and rows[a][0] == Op.INPUT
    }
    front = sorted(angles | {rows[k][1] for k in angles})
    in_front = set(front)
    order = [*front, *(k for k in range(len(rows)) if k not in in_front)]
    moved = cut and cut + sum(k >= cut for k in front)
    return reordered(source, order), len(front), moved


def spill_schedule(source: Program, capacity: int, cut: int | None = None) -> list[Step]:
    """All of a program with at most `capacity` values in registers; constants are not counted.

    From instruction `cut` on nothing is in registers, so that the compiler cannot keep what is
    computed again.
    """
    rows = source.rows
    operands = [tuple(dict.fromkeys(own)) for own in source.operands]
    saved, registers = set[int](), set[int]()
    uses: list[list[int]] = [[] for _ in rows]  # to come, the next one last
    for i in reversed(range(len(rows))):
        for j in operands[i]:
            uses[j].append(i)
    steps: list[Step] = []

    def evict(j: int) -> None:
        registers.discard(j)
        if j not in saved and uses[j]:
            saved.add(j)
            steps.append((Action.SAVE, j))

    def occupy(k: int, needed: Collection[int]) -> None:
        """Evict the furthest next use until k fits; of equals, what is in memory already."""
        while len(registers) >= capacity:
            free = (j for j in registers if j not in needed)
            evict(max(free, key=lambda j: (uses[j][-1] if uses[j] else _NEVER, j in saved, j)))
        registers.add(k)

    for i, row in enumerate(rows):
        if i == cut:
            for j in sorted(registers):
                evict(j)
        if row[0] == Op.CONST:
            continue
        needed = [j for j in operands[i] if rows[j][0] != Op.CONST]
        for j in needed:
            if j not in registers:
                occupy(j, needed)
                steps.append((Action.LOAD, j))
        for j in operands[i]:
            uses[j].pop()
            if not uses[j]:
                registers.discard(j)
        if uses[i]:
            occupy(i, needed)
        steps.append((Action.COMPUTE, i))
    return steps


@dataclass
class MemorySlot:
    """A number of one state in memory, as C spells it, and the spans in which it is taken."""

    name: str
    taken: list[Span] = field(default_factory=list)

    def is_free(self, span: Span) -> bool:
        """Whether the slot is free during all of a span."""
        return all(end < span[0] or span[1] < start for start, end in self.taken)


@dataclass(frozen=True)
class SpillSlots:
    """The slot of every spilled value, and how many more numbers per state these take."""

    of: dict[int, MemorySlot]
    shared: int
    local: int


def allocate_spill_slots(
    steps: Iterable[Step],
    tiles: list[MemorySlot],
    shared_capacity: int,
    shared_name: Callable[[int], str],
    local_name: Callable[[int], str],
) -> SpillSlots:
    """Slots for all spilled values.

    `shared_name(k)` spells number k of shared memory beyond the tiles, of which there are
    `shared_capacity`; `local_name(k)` that of local memory.
    """
    spans: dict[int, Span] = {}
    for time, (action, value) in enumerate(steps):
        if action is Action.SAVE:
            spans[value] = (time, time)
        elif action is Action.LOAD and value in spans:
            spans[value] = (spans[value][0], time)

    def pack(order: Callable[[int], tuple[int, int]]) -> SpillSlots:
        """One value after the other into the free slot that fits it best."""
        spilled: dict[int, MemorySlot] = {}
        shared: list[MemorySlot] = []
        local: list[MemorySlot] = []
        for value in sorted(spans, key=order):
            span = spans[value]
            free = [x for x in (*tiles, *shared) if x.is_free(span)]
            free = free or [x for x in local if x.is_free(span)]
            if not free or (free[0] in local and len(shared) < shared_capacity):
                is_shared = len(shared) < shared_capacity
                group, spelled = (shared, shared_name) if is_shared else (local, local_name)
                free = [MemorySlot(spelled(len(group)))]
                group.append(free[0])
            # the step after the span at which each of them is taken next
            following = [[start for start, _ in x.taken if start > span[1]] for x in free]
            nearest = [min(starts, default=_NEVER) for starts in following]
            spilled[value] = free[nearest.index(min(nearest))]
            spilled[value].taken.append(span)
        return SpillSlots(spilled, len(shared), len(local))

    packed = pack(lambda v: (spans[v][0], v))
    if packed.local:
        for tile in tiles:
            tile.taken = [span for span in tile.taken if span not in spans.values()]
        packed = pack(lambda v: (spans[v][1] - spans[v][0], v))
    return packed


def exceeds_registers(source: Program, scalar: Scalar) -> bool:
    """Whether it needs more values at a time than registers hold while many warps are at work."""
    few, many = _LIGHT[scalar.type]
    now = max_alive(source)
    numbers = sum(port.size for port in (*source.inputs, *source.outputs))
    return now > many or (now > few and len(source) > _COMPUTE_BOUND * numbers)


class SpillWriter:
    """Writes the kernel of a program for one warp to a block."""

    def __init__(self, source: Program, scalar: Scalar, function: str, access: Access) -> None:
        if access.store is None:
            require_tiles(source.name, tile_bytes(source.outputs, scalar))
        self.scalar, self.function, self.access = scalar, function, access
        cut, worth = None, _WORTHWHILE * max_alive(source)
        for split in (split_at_vertex_cut(source), split_at_first_result(source)):
            if split is not None and max_alive(split.program) < worth:
                source, cut, worth = split.program, split.cut, max_alive(split.program)
        self.program, self.front, cut = trigonometry_first(source, cut)
        self.rows, self.result_values = self.program.rows, self.program.results.tolist()
        now = max_alive(self.program)
        capacity, self.warps = next(
            (k, w) for up_to, k, w in _OCCUPANCY[scalar.type] if now <= up_to
        )
        capacity -= 0 if access.store is None else _ADDRESS_REGISTERS
        self.steps = spill_schedule(self.program, capacity, cut)
        self.results: dict[int, list[int]] = {}  # indices among all results of each value
        for index, k in enumerate(self.result_values):
            self.results.setdefault(k, []).append(index)
        self.tiles = self._tiles() if access.store is None else []
        # numbers of all tiles of a warp
        self.tiled = max((tile.offset + tile.size for tile, *_ in self.tiles), default=0)

    @cached_property
    def times(self) -> list[int]:
        """The step at which every result is computed; constants come last in their output."""
        at = {k: time for time, (action, k) in enumerate(self.steps) if action is Action.COMPUTE}
        times = []
        for port in self.program.outputs:
            own = self._of(port, self.result_values)
            last = max((at[k] for k in own if k in at), default=len(self.steps) - 1)
            times += [at.get(k, last) for k in own]
        return times

    def _tiles(self) -> list[tuple[Tile, int, int]]:
        """For every output its tile, and the steps of its first and of its last result."""
        tiles: list[tuple[Tile, int, int]] = []
        size = 0
        when = [
            (port, name, self._of(port, self.times))
            for port, name, const in named_ports(self.program)
            if not const
        ]
        for port, name, times in sorted(when, key=lambda x: max(x[2])):
            first, last = min(times), max(times)
            free = [t.offset for t, _, end in tiles if t.port.size == port.size and end < first]
            busy = {t.offset for t, begin, end in tiles if end >= first}
            again = [offset for offset in free if offset not in busy]
            tile = Tile(port, name, again[0] if again else size)
            size += 0 if again else tile.size
            tiles.append((tile, first, last))
        return tiles

    @cached_property
    def spill_slots(self) -> SpillSlots:
        entries: dict[tuple[int, int], MemorySlot] = {}
        for tile, _, last in self.tiles:
            for k, time in enumerate(self._of(tile.port, self.times)):
                entry = entries.setdefault((tile.offset, k), MemorySlot(_entry(tile, k)))
                entry.taken.append((time, last))
        capacity = SHARED_LIMIT // (LANES * self.scalar.size) - self.tiled // LANES
        # numbers behind the tiles, those of all lanes contiguous
        names = (lambda k: f"at1[{self.tiled + LANES * k}]"), "rest[{}]".format
        return allocate_spill_slots(self.steps, list(entries.values()), capacity, *names)

    def _of(self, port: Port, entries: Sequence[int]) -> Sequence[int]:
        """The part of a list over all results that is one output's."""
        outputs = self.program.outputs
        return entries[port_slices(outputs)[outputs.index(port)]]

    def source(self, head: Sequence[str], arguments: Sequence[str]) -> CudaSource:
        """The kernel of these arguments, after the lines of `head`."""
        T, name = self.scalar.type, self.function
        strides = sorted({tile.stride for tile, *_ in self.tiles} | {1})
        local = self.spill_slots.local
        wide = max(self.tiled + LANES * self.spill_slots.shared, 4)
        if any(op in TRIGONOMETRIC for op, *_ in self.rows):
            # sine and cosine: the fast reduction, and the library's for all other angles
            head = [
                *head,
                sincos(f"{name}_sincos", self.scalar),
                "",
                sincos(f"{name}_quick", self.scalar, flags_far=True),
                "",
                f"static __device__ __noinline__ void {name}_slow(const {T} x, {T} *s, {T} *c)",
                "{",
                f"    sincos{self.scalar.suffix}(x, s, c);",
                "}",
                "",
            ]
        lines = [
            f"__shared__ __align__(16) {T} tile[{wide}];",
            f"const int lane = threadIdx.x % {LANES};",
            *self.access.opening,
            *(f"volatile {T} *at{x} = tile + lane * {x};" for x in strides),
            *([f"volatile {T} rest[{local}];"] if local else []),
            "(void)at1;",
            *self._statements(),
        ]
        bounds, body = f"{LANES}, {self.warps}", filter(None, lines)
        text = kernel_text(head, bounds, name, ", ".join(arguments), body)
        return CudaSource(text, name, LANES, wide * self.scalar.size)

    def _statements(self) -> Iterator[str]:
        names: dict[int, str] = {}
        flushed = {last: tile for tile, _, last in self.tiles}
        delayed: list[int] = []  # saved after the angles that are far have been computed again
        angles: dict[int, str] = {}
        if self.access.store is not None:  # constant results, which no tile waits for
            for k, indices in self.results.items():
                if self.rows[k][0] == Op.CONST:
                    yield from (self._store(index, self._operand(k, {})) for index in indices)
        yield "bool beyond = false;" if self.front else ""
        left = self.front
        for time, (action, value) in enumerate(self.steps):
            if action is Action.COMPUTE:
                is_front = left > 0
                left -= 1
                yield from self._compute(value, names, angles, is_front)
                if left == 0 and self.front:
                    yield "if (beyond) {"
                    for a, name in angles.items():
                        yield f"    {self.scalar.type} s, c;" if a == next(iter(angles)) else ""
                        yield f"    {self.function}_slow({name}, &s, &c);"
                        yield f"    s{a} = s;"
                        yield f"    c{a} = c;"
                    yield "}"
                    yield from (f"{self.spill_slots.of[k].name} = {names[k]};" for k in delayed)
            elif action is Action.SAVE and left > 0:
                delayed.append(value)
            elif action is Action.SAVE:
                yield f"{self.spill_slots.of[value].name} = {names[value]};"
            else:
                names[value] = f"w{time}"
                yield f"const {self.scalar.type} w{time} = {self.spill_slots.of[value].name};"
            if time in flushed:
                tile = flushed[time]
                for k, result in enumerate(self._of(tile.port, self.result_values)):
                    if self.rows[result][0] == Op.CONST:
                        yield f"{_entry(tile, k)} = {self._operand(result, {})};"
                yield "__syncwarp();"
                yield from tile.copy(self.scalar, inward=False)
                yield "__syncwarp();"

    def _compute(
        self, k: int, names: dict[int, str], angles: dict[int, str], is_front: bool
    ) -> Iterator[str]:
        op, a, b = self.rows[k]
        T = self.scalar.type
        names[k] = f"v{k}"
        if op in TRIGONOMETRIC:
            if a not in angles:
                angles[a] = names[a]
                function, flag = ("quick", ", &beyond") if is_front else ("sincos", "")
                yield f"{T} s{a}, c{a};"
                yield f"{self.function}_{function}({names[a]}, &s{a}, &c{a}{flag});"
            names[k] = f"{'s' if op == Op.SIN else 'c'}{a}"
        elif op == Op.INPUT:
            yield f"const {T} v{k} = {self.access.load(a)};"
        else:
            spelled = [self._operand(j, names) for j in (a, b) if j >= 0]
            yield f"const {T} v{k} = {expression(Op(op), self.scalar, *spelled)};"
        for index in self.results.get(k, []):
            yield self._store(index, names[k])

    def _operand(self, k: int, names: dict[int, str]) -> str:
        op, a, _ = self.rows[k]
        return self.scalar.literal(float(self.program.constants[a])) if op == Op.CONST else names[k]

    def _store(self, index: int, value: str) -> str:
        if self.access.store is not None:
            return self.access.store(index, value)
        for tile, *_ in self.tiles:
            own = self._of(tile.port, range(len(self.program.results)))
            if index in own:
                return f"{_entry(tile, index - own[0])} = {value};"
        raise AssertionError


def _entry(tile: Tile, k: int) -> str:
    return f"at{tile.stride}[{tile.offset + k}]"
