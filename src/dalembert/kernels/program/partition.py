"""Long programs cut into parts that are compiled one by one, and into groups that share no operation.

LLVM takes more than twice as long for a function of twice the length, and allocates registers no
better. So a long program is cut into segments where few values are alive; values that cross a cut
are stored in a frame of vectors, behind the inputs and the outputs.

Where more values are alive than the L1 cache holds, shorter programs are cut too: LLVM moves loads
and stores of spilled values far apart, and a chain of 50 links then runs a third slower than in
segments. Derivatives and mass matrices have a result every few operations: in shorter segments they
run up to a fifth faster and compile in nine tenths of the time. Chains, most of whose values cross
the cuts, do not. Running each segment over several registers of states gains nothing: code comes from
the L2 cache as fast as the arithmetic takes it, and the frames leave the L1 cache.

A scene of several trees is a program whose results fall into groups without common operations. Each
group is a program with its own frame. Groups that differ only in the inputs they read are one
program, compiled once and called with other inputs; results that are always zero are not computed.
Compiling a scene of equal robots takes as long as compiling one of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import ceil
from operator import or_

import numpy as np

from dalembert.kernels.program.passes import reciprocals
from dalembert.tracing.program import LEAVES, Op, Port, Program, depth_first, program

LONG = 18_000  # operations, and twelve times the results, of a program that is cut
LONGEST = 1500  # operations of one part
SHORT_SEGMENT = 500  # the same of programs with a result for every few operations
OPERATIONS_PER_RESULT = 50  # operations to a result, below which a program is of that kind
MAX_ALIVE = 512  # values at a time: 32 kB where a register has 64 bytes
_WINDOW = 0.2  # of a part's length, in which the cut with the fewest live values is looked for
Rows = Sequence[tuple[int, int, int]]  # (operation, a, b) of every value
GroupResults = tuple[list[int], list[tuple[int, int]]]  # operations; (value, frame position)


@dataclass(frozen=True)
class Part:
    """A piece of a program; its inputs are entries of the frame, `writes` those of its results."""

    program: Program
    writes: tuple[int, ...]


@dataclass(frozen=True)
class StackFrame:
    """All parts in their order; `size` vectors that they share: inputs, outputs, what crosses."""

    parts: tuple[Part, ...]
    size: int


def split_into_parts(
    source: Program,
    long: int = LONG,
    longest: int | None = None,
    results: Sequence[int] | None = None,
) -> StackFrame:
    """The program as one part where it is short, or else cut; of its results only these, or all.

    Parts have about `longest` operations; by default fewer where a result leaves every few of them.
    """
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    indices = range(outputs) if results is None else results
    order = _operation_order(source)
    short = len(order) + 12 * len(indices) <= long
    short = short and max(alive_counts(source.rows, order)) <= MAX_ALIVE
    if longest is None:
        few = len(order) < OPERATIONS_PER_RESULT * len(indices)
        longest = SHORT_SEGMENT if few else LONGEST
    if short or len(order) <= longest:
        values = source.results[list(indices)]
        whole = source if len(indices) == outputs else replace(source, results=values)
        return StackFrame((Part(whole, tuple(inputs + k for k in indices)),), inputs + outputs)
    # a pivot of M is divided by in most parts; LLVM inverts it once in each
    source = reciprocals(source)
    order, rows = _operation_order(source), source.rows
    alive = alive_counts(rows, order)
    length = len(order) / ceil(len(order) / longest)
    margin = int(_WINDOW * length)
    cuts = []
    for i in range(1, ceil(len(order) / longest)):
        middle = round(i * length)
        window = range(middle - margin, middle + margin + 1)
        cuts.append(min(window, key=lambda c: (alive[c], abs(c - middle))))
    groups = [order[start:end] for start, end in pairwise([0, *cuts, len(order)])]
    segment = {k: i for i, group in enumerate(groups) for k in group}  # of every operation
    position, size = _allocate_frame(rows, source.results.tolist(), segment, inputs)
    targets = [(int(source.results[index]), inputs + index) for index in indices]
    targets += [(k, index) for k, index in position.items() if index >= inputs + outputs]
    leaving: list[dict[int, list[int]]] = [{} for _ in groups]
    for k, index in targets:
        leaving[segment.get(k, 0)].setdefault(k, []).append(index)
    both = zip(groups, leaving, strict=True)
    parts = [_make_part(source, group, own, position, size) for group, own in both]
    return StackFrame(tuple(parts), size)


def _operation_order(source: Program) -> list[int]:
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


def alive_counts(rows: Rows, order: Sequence[int]) -> list[int]:
    """How many values are computed before each position in the order and used at it or after."""
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
    return [int(alive) for alive in np.cumsum(change)]


def _allocate_frame(
    rows: Rows, results: Sequence[int], part: dict[int, int], first_output: int
) -> tuple[dict[int, int], int]:
    """The frame position of every value that another part needs, and the size of the frame.

    A result is read where it was written; other positions are used again once their value is dead,
    the lowest first.
    """
    last: dict[int, int] = {}
    for k, own in part.items():
        for j in rows[k][1:]:
            if j in part and part[j] < own:
                last[j] = max(last.get(j, 0), own)
    position: dict[int, int] = {}
    for index, k in enumerate(results, start=first_output):
        if k in last:
            position.setdefault(k, index)
    size = first_output + len(results)
    busy: list[tuple[int, int]] = []  # (last part that needs it, position)
    free: list[int] = []
    for k in sorted((k for k in last if k not in position), key=part.__getitem__):
        while busy and busy[0][0] < part[k]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free.append(size)
            size += 1
        position[k] = heapq.heappop(free)
        heapq.heappush(busy, (last[k], position[k]))
    return position, size


def _make_part(
    source: Program,
    group: Sequence[int],
    leaving: dict[int, list[int]],
    position: dict[int, int],
    size: int,
) -> Part:
    """The operations of one group; `position` is where values of other parts are in the frame."""
    rows = source.rows

    def elsewhere(k: int) -> tuple[int, int, int]:
        return rows[k] if rows[k][0] in LEAVES else (Op.INPUT, position[k], -1)

    results = [(k, index) for k, indices in leaving.items() for index in indices]
    instructions, values = _renumbered(rows, group, [k for k, _ in results], elsewhere)
    ports = (Port("frame", (size,)),), (Port("results", (len(values),)),)
    part = program(source.name, *ports, instructions, source.constants, values)
    return Part(part, tuple(index for _, index in results))


def _renumbered(
    rows: Rows,
    group: Sequence[int],
    results: Sequence[int],
    elsewhere: Callable[[int], tuple[int, int, int] | None],
    is_canonical: bool = False,
) -> tuple[list[tuple[int, int, int]], list[int]]:
    """(Instructions of a group alone, numbers of its results among them).

    `elsewhere(k)` is what stands for a value that the group does not compute; None where it is
    computed again. `is_canonical` orders the operands of sums and products alike in equal groups.
    """
    instructions: list[tuple[int, int, int]] = []
    number = {-1: -1}

    def append(k: int, row: tuple[int, int, int]) -> None:
        number[k] = len(instructions)
        instructions.append(row)

    def need(k: int) -> int:
        if k not in number:
            row = elsewhere(k)
            if row is None:
                op, a, b = rows[k]
                row = op, need(a), need(b)
            append(k, row)
        return number[k]

    def rank(k: int) -> tuple[int, int]:
        """Sort key that is equal in equal groups: numbered values, constants, inputs in their order."""
        op, a, _ = rows[k]
        if k in number:
            return 0, number[k]
        return (1, 0) if op == Op.CONST else (2, a) if op == Op.INPUT else (3, k)

    for k in group:
        op, *operands = rows[k]
        if is_canonical and op in _COMMUTATIVE:
            operands.sort(key=rank)
        append(k, (op, need(operands[0]), need(operands[1])))
    return instructions, [need(k) for k in results]


_NEARLY_ALL = 0.75  # of the inputs that are read at all
_FEW = 0.1  # of the operations: beyond that it is no sum over parts, but the work itself


def shared_tail(source: Program) -> np.ndarray:
    """Which operations serve only results that depend on nearly everything: sums over a scene.

    Energies add up what independent trees do and join the trees into one program, but nothing else
    waits for them. None where they are many, or where nothing would be left.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x):
    ...     return np.sin(x) * np.cos(2.0 * x) * np.exp(x) * np.tanh(x), np.sum(x)
    >>> int(shared_tail(trace(function, {"x": (4,)})).sum())  # beside 32 other operations
    3
    """
    # per value, the inputs below it, as bits
    support = source.gather(1 << a if op == Op.INPUT else 0 for op, a, _ in source.rows)
    results = set(source.results.tolist())
    every = reduce(or_, (support[k] for k in results), 0)
    limit = _NEARLY_ALL * every.bit_count()
    early = [k for k in results if support[k].bit_count() <= limit]  # that depend on less
    needed = np.zeros(len(source), dtype=bool)
    needed[depth_first(source.operands.__getitem__, early)] = True
    inner = ~np.isin(source.op, list(LEAVES))
    late = inner & ~needed
    return late if late.sum() <= _FEW * inner.sum() else np.zeros(len(source), dtype=bool)


MIN_GROUPED = 4000  # operations of a program that is looked at for groups
MIN_CALLED = 200  # operations of a group that is not worth a call of its own
_MOSTLY = 0.75  # of the operations: a group of more is nearly the whole program
_COMMUTATIVE = frozenset({Op.ADD, Op.MUL})  # to the last bit
_ZEROS = 100  # results that are worth setting before the states are gone through


@dataclass(frozen=True)
class Call:
    """One group: the program that computes it, and its inputs and results as entries of the frame.

    The frame has the inputs of the whole, behind them its outputs, and then what one group leaves
    for a later one.
    """

    part: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class Groups:
    """Different programs, and the calls of them; none where the whole does not fall into groups.

    Where `zeroed`, the outputs are zero before anything is computed, and only the outputs `written`
    are stored. `crossing` counts the values that groups leave for later ones.
    """

    parts: tuple[Program, ...]
    calls: tuple[Call, ...]
    written: tuple[int, ...]
    zeroed: bool
    crossing: int = 0


@dataclass(frozen=True)
class Schedule:
    """Frames of the parts, and the calls of them; without calls the one frame is the program's own.

    `size` counts the inputs, the outputs and what crosses cuts.
    """

    frames: tuple[StackFrame, ...]
    calls: tuple[Call, ...]
    size: int
    zeroed: bool


def make_schedule(source: Program, many: int = MIN_GROUPED, small: int = MIN_CALLED) -> Schedule:
    """The program as one frame, or as calls of frames where it falls into groups."""
    groups = find_groups(source, many, small)
    if not groups.calls:
        frame = split_into_parts(source, results=groups.written)
        return Schedule((frame,), (), frame.size, groups.zeroed)
    size = sum(port.size for port in (*source.inputs, *source.outputs)) + groups.crossing
    return Schedule(tuple(map(split_into_parts, groups.parts)), groups.calls, size, groups.zeroed)


def find_groups(source: Program, many: int = MIN_GROUPED, small: int = MIN_CALLED) -> Groups:
    """The groups of a program that is long, each different one once."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    constant = source.op[source.results] == Op.CONST
    zero = np.zeros(outputs, dtype=bool)
    zero[constant] = source.constants[source.a[source.results[constant]]] == 0.0
    zeroed = int(zero.sum()) > _ZEROS
    computed = tuple(np.flatnonzero(~zero).tolist() if zeroed else range(outputs))
    groups, late = _split_groups(source) if len(source) > many else ([], [])
    if len(groups) < 2:
        return Groups((), (), computed, zeroed)
    targets = [(int(source.results[k]), inputs + k) for k in computed]
    # frame positions, behind the outputs, of values that late operations take from others
    common = _scalar_only(source) if late else np.zeros(0, dtype=bool)
    is_late, crossing = set(late), dict[int, int]()
    for k in late:
        for j in (int(source.a[k]), int(source.b[k])):
            if j >= 0 and j not in is_late and not common[j] and source.op[j] not in LEAVES:
                crossing.setdefault(j, inputs + outputs + len(crossing))
    rows = source.rows
    parts: dict[str, tuple[int, Program]] = {}
    calls = []
    for group, own in _assign_results(groups, late, [*targets, *crossing.items()], small):
        part, reads = _extract_group(source, rows, group, [k for k, _ in own], crossing)
        number, _ = parts.setdefault(part.digest, (len(parts), part))
        calls.append(Call(number, reads, tuple(position for _, position in own)))
    programs = tuple(part for _, part in parts.values())
    return Groups(programs, tuple(calls), computed, zeroed, len(crossing))


def _split_groups(source: Program) -> tuple[list[list[int]], list[int]]:
    """(Groups of operations, operations after all of them): sums over all groups come last.

    Operations on single numbers, such as half a time step, connect nothing: whoever needs them does
    them again.
    """
    inner = ~np.isin(source.op, list(LEAVES)) & ~_scalar_only(source)
    groups = _connected_groups(source, inner)
    if max(map(len, groups), default=0) <= _MOSTLY * inner.sum():
        return groups, []
    late = shared_tail(source) & inner
    apart = _connected_groups(source, inner & ~late) if late.any() else []
    if max(map(len, apart), default=len(source)) <= _MOSTLY * inner.sum():
        return apart, np.flatnonzero(late).tolist()
    return [], []


def _scalar_only(source: Program) -> np.ndarray:
    """Which values depend on nothing but inputs that are one number each."""
    single = [port.size == 1 for port in source.inputs for _ in range(port.size)]
    others = source.gather(op == Op.INPUT and not single[a] for op, a, _ in source.rows)
    return ~np.array(others, dtype=bool)


def _connected_groups(source: Program, inner: np.ndarray) -> list[list[int]]:
    """Connected components of those operations, each in the order of the program."""
    pairs = []
    for operand in (source.a, source.b):
        used = inner & (operand >= 0)
        used[used] = inner[operand[used]]
        pairs.append(np.stack([np.flatnonzero(used), operand[used]]))
    row, column = np.concatenate(pairs, axis=1)
    label = _connected(len(source), row, column)
    groups: dict[int, list[int]] = {}
    for k in np.flatnonzero(inner).tolist():
        groups.setdefault(int(label[k]), []).append(k)
    return list(groups.values())


def _connected(size: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The lowest number that each of 0 … size - 1 is connected to, by edges row[k] – column[k].

    Every round joins what touches and then shortens the path to the lowest, so that few are needed;
    SciPy has this too, but importing it takes longer than tracing a humanoid.

    >>> _connected(5, np.array([4, 1]), np.array([1, 0])).tolist()
    [0, 0, 2, 3, 0]
    """
    label = np.arange(size)
    while True:
        ends = label[row], label[column]
        joined = label.copy()
        for end in ends:
            np.minimum.at(joined, end, np.minimum(*ends))
        while not np.array_equal(joined, shorter := joined[joined]):
            joined = shorter
        if np.array_equal(joined, label):
            return label
        label = joined


def _assign_results(
    groups: Sequence[Sequence[int]],
    late: Sequence[int],
    targets: Sequence[tuple[int, int]],
    small: int,
) -> list[GroupResults]:
    """(Operations, values that leave them with their positions) of each part, the late ones last.

    A group that is long or has its like stands alone; the others are put together.
    Results that no operation makes (inputs, constants) are a part too.
    """
    owner = {k: i for i, group in enumerate([*groups, late]) for k in group}
    results: list[list[tuple[int, int]]] = [[] for _ in (*groups, late)]
    loose: list[tuple[int, int]] = []
    for k, position in targets:
        (results[owner[k]] if k in owner else loose).append((k, position))
    last = [(list(late), results.pop())] if late else []
    parts: list[GroupResults] = []
    shapes = [(len(group), len(own)) for group, own in zip(groups, results, strict=False)]
    alike = Counter(shapes)
    open_: GroupResults = ([], loose)
    for group, own, shape in zip(groups, results, shapes, strict=False):
        if len(group) > LONGEST or (len(group) > small and alike[shape] > 1):
            parts.append((list(group), own))
            continue
        if len(open_[0]) + len(group) > LONGEST:
            parts.append(open_)
            open_ = ([], [])
        open_[0].extend(group)
        open_[1].extend(own)
    return [*parts, *([open_] if open_[1] else []), *last]


def _extract_group(
    source: Program,
    rows: Rows,
    group: Sequence[int],
    results: Sequence[int],
    crossing: Mapping[int, int],
) -> tuple[Program, tuple[int, ...]]:
    """The operations as a program of the entries they read, in order of use, and those entries."""
    constants: list[float] = []
    reads: list[int] = []

    def elsewhere(k: int) -> tuple[int, int, int] | None:
        op, a, _ = rows[k]
        if op == Op.CONST:
            constants.append(float(source.constants[a]))
            return Op.CONST, len(constants) - 1, -1
        if op == Op.INPUT or k in crossing:
            reads.append(a if op == Op.INPUT else crossing[k])
            return Op.INPUT, len(reads) - 1, -1
        return None  # on single numbers, done again

    instructions, values = _renumbered(rows, group, results, elsewhere, is_canonical=True)
    ports = (Port("reads", (len(reads),)),), (Port("results", (len(values),)),)
    return program(source.name, *ports, instructions, constants, values), tuple(reads)
