"""Programs whose results fall into groups that share no operation: the trees of a scene.

Each group is a program of its own, on a frame of its own. Groups that differ only in which inputs they
read are one program, compiled once and called with other inputs; results that are zero whatever the
inputs are nobody's work. To compile a scene of equal robots takes as long as one of them, a scene of
different ones as long as all of them, and the zeros between them take nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.kernels.program.segments import LONGEST, StackFrame, framed
from dalembert.tracing.program import LEAVES, Op, Port, Program, program

_NEARLY_ALL = 0.75  # of the inputs that are read at all
_FEW = 0.1  # of the operations: beyond that it is no sum over parts, but the work itself


def joint_operations(source: Program) -> np.ndarray:
    """Which operations serve only results that depend on nearly everything: sums over a scene.

    Energies add up what independent trees do and join the trees into one program, but nothing else
    waits for them. None where they are many, or where nothing would be left.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x):
    ...     return np.sin(x) * np.cos(2.0 * x) * np.exp(x) * np.tanh(x), np.sum(x)
    >>> int(joint_operations(trace(function, {"x": (4,)})).sum())  # beside 32 other operations
    3
    """
    op, a, b = source.op.tolist(), source.a.tolist(), source.b.tolist()
    support: list[int] = []  # per value, the inputs below it, as bits
    for code, i, j in zip(op, a, b, strict=True):
        if code in LEAVES:
            support.append(1 << i if code == Op.INPUT else 0)
        else:
            support.append(support[i] | (support[j] if j >= 0 else 0))
    results = set(source.results.tolist())
    every = 0
    for k in results:
        every |= support[k]
    limit = _NEARLY_ALL * every.bit_count()
    needed = np.zeros(len(op), dtype=bool)  # by a result that depends on less
    needed[[k for k in results if support[k].bit_count() <= limit]] = True
    for k in reversed(range(len(op))):
        if needed[k] and op[k] not in LEAVES:
            needed[a[k]] = True
            if b[k] >= 0:
                needed[b[k]] = True
    inner = ~np.isin(source.op, list(LEAVES))
    late = inner & ~needed
    return late if late.sum() <= _FEW * inner.sum() else np.zeros(len(op), dtype=bool)


MANY = 4000  # operations of a program that is looked at for groups
SMALL = 200  # operations of a group that is not worth a call of its own
_MOSTLY = 0.75  # of the operations: a group of more is nearly the whole program
_COMMUTE = frozenset({Op.ADD, Op.MUL})  # to the last bit
_ZEROS = 100  # results that are worth setting before the states are gone through


@dataclass(frozen=True)
class Call:
    """One group: the program that computes it, and its inputs and results as slots of the whole.

    Slots are the inputs of the whole, behind them its outputs, and then what one group leaves for a
    later one.
    """

    part: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class Groups:
    """Different programs, and the calls of them; none where the whole does not fall into groups.

    Where `zeroed`, the outputs are zero before anything is computed, and only `kept` ones are written.
    `crossing` counts the slots of what groups leave for later ones.
    """

    parts: tuple[Program, ...]
    calls: tuple[Call, ...]
    kept: tuple[int, ...]
    zeroed: bool
    crossing: int = 0


@dataclass(frozen=True)
class Schedule:
    """Frames of the parts, and the calls of them; without calls the one frame is the program's own.

    `slots` counts the inputs, the outputs and what crosses cuts.
    """

    frames: tuple[StackFrame, ...]
    calls: tuple[Call, ...]
    slots: int
    zeroed: bool

    @property
    def local(self) -> int:
        """Slots of the largest frame that is called."""
        return max((self.frames[call.part].slots for call in self.calls), default=0)


def scheduled(
    source: Program, many: int = MANY, small: int = SMALL, longest: int = LONGEST
) -> Schedule:
    """The program as one frame, or as calls of frames where it falls into groups."""
    found = grouped(source, many, small, longest)
    if not found.calls:
        frame = framed(source, results=found.kept)
        return Schedule((frame,), (), frame.slots, found.zeroed)
    slots = sum(port.size for port in (*source.inputs, *source.outputs)) + found.crossing
    return Schedule(tuple(map(framed, found.parts)), found.calls, slots, found.zeroed)


def grouped(
    source: Program, many: int = MANY, small: int = SMALL, longest: int = LONGEST
) -> Groups:
    """The groups of a program that is long, each different one once."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    zero = _zeros(source)
    zeroed = int(zero.sum()) > _ZEROS
    kept = tuple(np.flatnonzero(~zero).tolist() if zeroed else range(outputs))
    groups, late = _split(source) if len(source) > many else ([], [])
    if len(groups) < 2:
        return Groups((), (), kept, zeroed)
    targets = [(int(source.results[k]), inputs + k) for k in kept]
    crossing = _crossing(source, late, inputs + outputs)
    rows = source.op.tolist(), source.a.tolist(), source.b.tolist()
    parts: dict[str, tuple[int, Program]] = {}
    calls = []
    for group, own in _gathered(groups, late, [*targets, *crossing.items()], small, longest):
        part, reads = _alone(source, rows, group, [k for k, _ in own], crossing)
        number, _ = parts.setdefault(part.digest, (len(parts), part))
        calls.append(Call(number, reads, tuple(slot for _, slot in own)))
    made = tuple(part for _, part in parts.values())
    return Groups(made, tuple(calls), kept, zeroed, len(crossing))


def _zeros(source: Program) -> np.ndarray:
    """Which results are the constant zero."""
    values = source.results
    constant = source.op[values] == Op.CONST
    zero = np.zeros(len(values), dtype=bool)
    zero[constant] = source.constants[source.a[values[constant]]] == 0.0
    return zero


def _split(source: Program) -> tuple[list[list[int]], list[int]]:
    """(Groups of operations, operations after all of them): sums over all groups come last.

    Operations on single numbers, such as half a time step, connect nothing: whoever needs them does
    them again.
    """
    inner = ~np.isin(source.op, list(LEAVES)) & ~_common(source)
    groups = _groups(source, inner)
    if max(map(len, groups), default=0) <= _MOSTLY * inner.sum():
        return groups, []
    late = joint_operations(source) & inner
    apart = _groups(source, inner & ~late) if late.any() else []
    if max(map(len, apart), default=len(source)) <= _MOSTLY * inner.sum():
        return apart, np.flatnonzero(late).tolist()
    return [], []


def _common(source: Program) -> np.ndarray:
    """Which values depend on nothing but inputs that are one number each."""
    single = np.repeat([port.size == 1 for port in source.inputs], [p.size for p in source.inputs])
    found: list[bool] = []
    for op, a, b in source.rows:
        if op in LEAVES:
            found.append(op == Op.CONST or bool(single[a]))
        else:
            found.append(found[a] and (b < 0 or found[b]))
    return np.array(found, dtype=bool)


def _crossing(source: Program, late: Sequence[int], first: int) -> dict[int, int]:
    """The slot, from `first` on, of every value that late operations take from others."""
    common = _common(source) if late else np.zeros(0, dtype=bool)
    own, found = set(late), dict[int, int]()
    for k in late:
        for j in (int(source.a[k]), int(source.b[k])):
            if j >= 0 and j not in own and not common[j] and source.op[j] not in LEAVES:
                found.setdefault(j, first + len(found))
    return found


def _groups(source: Program, inner: np.ndarray) -> list[list[int]]:
    """Those operations, in their order, by what they are connected to through each other."""
    pairs = []
    for operand in (source.a, source.b):
        used = inner & (operand >= 0)
        used[used] = inner[operand[used]]
        pairs.append(np.stack([np.flatnonzero(used), operand[used]]))
    row, column = np.concatenate(pairs, axis=1)
    label = _connected(len(source), row, column)
    found: dict[int, list[int]] = {}
    for k in np.flatnonzero(inner).tolist():
        found.setdefault(int(label[k]), []).append(k)
    return list(found.values())


def _connected(size: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The lowest number that each of 0 … size - 1 is connected to, by edges row[k] – column[k].

    Every round joins what touches and then shortens the way to the lowest, so that few are needed;
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


def _gathered(
    groups: Sequence[Sequence[int]],
    late: Sequence[int],
    targets: Sequence[tuple[int, int]],
    small: int,
    longest: int,
) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """(Operations, values that leave them with their slots) of each part, the late ones last.

    A group that is long or has its like stands alone; the others are put together.
    Results that no operation makes (inputs, constants) are a part too.
    """
    owner = {k: i for i, group in enumerate([*groups, late]) for k in group}
    results: list[list[tuple[int, int]]] = [[] for _ in (*groups, late)]
    loose: list[tuple[int, int]] = []
    for k, slot in targets:
        (results[owner[k]] if k in owner else loose).append((k, slot))
    last = [(list(late), results.pop())] if late else []
    parts: list[tuple[list[int], list[tuple[int, int]]]] = []
    shapes = [(len(group), len(own)) for group, own in zip(groups, results, strict=False)]
    alike = Counter(shapes)
    open_: tuple[list[int], list[tuple[int, int]]] = ([], loose)
    for group, own, shape in zip(groups, results, shapes, strict=False):
        if len(group) > longest or (len(group) > small and alike[shape] > 1):
            parts.append((list(group), own))
            continue
        if len(open_[0]) + len(group) > longest:
            parts.append(open_)
            open_ = ([], [])
        open_[0].extend(group)
        open_[1].extend(own)
    return [*parts, *([open_] if open_[1] else []), *last]


def _alone(
    source: Program,
    rows: tuple[list[int], list[int], list[int]],
    group: Sequence[int],
    results: Sequence[int],
    crossing: Mapping[int, int],
) -> tuple[Program, tuple[int, ...]]:
    """The operations as a program of the slots they read, numbered as they come, and those slots.

    `rows` are op, a and b of the source as lists, which are read far quicker than arrays.
    """
    op, a, b = rows
    instructions: list[tuple[int, int, int]] = []
    constants: list[float] = []
    reads: list[int] = []
    number = {-1: -1}

    def need(k: int) -> int:
        if k not in number:
            row: tuple[int, int, int]
            if op[k] == Op.CONST:
                row = (Op.CONST, len(constants), -1)
                constants.append(float(source.constants[a[k]]))
            elif op[k] == Op.INPUT or k in crossing:
                row = (Op.INPUT, len(reads), -1)
                reads.append(a[k] if op[k] == Op.INPUT else crossing[k])
            else:  # on single numbers, done again
                row = (op[k], need(a[k]), need(b[k]))
            number[k] = len(instructions)
            instructions.append(row)
        return number[k]

    def order(k: int) -> tuple[int, int]:
        """What is numbered already, constants, inputs in their order: alike in equal groups."""
        if k in number:
            return 0, number[k]
        return (1, 0) if op[k] == Op.CONST else (2, a[k]) if op[k] == Op.INPUT else (3, k)

    for k in group:
        operands = [a[k], b[k]]
        if op[k] in _COMMUTE:
            operands.sort(key=order)
        made = (op[k], need(operands[0]), need(operands[1]))
        number[k] = len(instructions)
        instructions.append(made)
    values = [need(k) for k in results]
    ports = (Port("reads", (len(reads),)),), (Port("results", (len(values),)),)
    return program(source.name, *ports, instructions, constants, values), tuple(reads)
