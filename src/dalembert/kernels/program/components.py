"""Programs whose results fall into groups that share no operation: the trees of a scene.

Each group is a program of its own, on a frame of its own. Groups that differ only in which inputs they
read are one program, compiled once and called with other inputs; results that are zero whatever the
inputs are nobody's work. To compile a scene of equal robots takes as long as one of them, a scene of
different ones as long as all of them, and the zeros between them take nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.kernels.program.program import LEAVES, Op, Port, Program, program
from dalembert.kernels.program.segments import LONGEST, StackFrame, framed

MANY = 4000  # operations of a program that is looked at for groups
SMALL = 200  # operations of a group that is not worth a call of its own
_ZEROS = 100  # results that are worth setting before the states are gone through


@dataclass(frozen=True)
class Call:
    """One group: the program that computes it, and its inputs and results as slots of the whole.

    Slots are the inputs of the whole, and behind them its outputs.
    """

    part: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class Groups:
    """Different programs, and the calls of them; none where the whole does not fall into groups.

    Where `zeroed`, the outputs are zero before anything is computed, and only `kept` ones are written.
    """

    parts: tuple[Program, ...]
    calls: tuple[Call, ...]
    kept: tuple[int, ...]
    zeroed: bool


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
    slots = sum(port.size for port in (*source.inputs, *source.outputs))
    return Schedule(tuple(map(framed, found.parts)), found.calls, slots, found.zeroed)


def grouped(
    source: Program, many: int = MANY, small: int = SMALL, longest: int = LONGEST
) -> Groups:
    """The groups of a program that is long, each different one once."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    zero = _zeros(source)
    zeroed = int(zero.sum()) > _ZEROS
    kept = tuple(np.flatnonzero(~zero).tolist() if zeroed else range(outputs))
    groups = _groups(source) if len(source) > many else []
    if len(groups) < 2:
        return Groups((), (), kept, zeroed)
    parts: dict[str, tuple[int, Program]] = {}
    calls = []
    for group, results in _gathered(source, groups, kept, small, longest):
        part, reads = _alone(source, group, [int(source.results[k]) for k in results])
        own, _ = parts.setdefault(part.digest, (len(parts), part))
        calls.append(Call(own, reads, tuple(inputs + k for k in results)))
    return Groups(tuple(part for _, part in parts.values()), tuple(calls), kept, zeroed)


def _zeros(source: Program) -> np.ndarray:
    """Which results are the constant zero."""
    values = source.results
    constant = source.op[values] == Op.CONST
    zero = np.zeros(len(values), dtype=bool)
    zero[constant] = source.constants[source.a[values[constant]]] == 0.0
    return zero


def _groups(source: Program) -> list[list[int]]:
    """Operations, in their order, by what they are connected to through operations."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    inner = ~np.isin(source.op, list(LEAVES))
    pairs = []
    for operand in (source.a, source.b):
        used = inner & (operand >= 0)
        used[used] = inner[operand[used]]
        pairs.append(np.stack([np.flatnonzero(used), operand[used]]))
    row, column = np.concatenate(pairs, axis=1)
    size = (len(source), len(source))
    graph = coo_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=size)
    _, label = connected_components(graph, directed=False)
    found: dict[int, list[int]] = {}
    for k in np.flatnonzero(inner).tolist():
        found.setdefault(int(label[k]), []).append(k)
    return list(found.values())


def _gathered(
    source: Program,
    groups: Sequence[Sequence[int]],
    kept: Sequence[int],
    small: int,
    longest: int,
) -> list[tuple[list[int], list[int]]]:
    """(Operations, numbers of their results) of each part, small groups together.

    A group that is long or has its like stands alone; the others are put together.
    Results that no operation makes (inputs, constants) are a part too.
    """
    owner = {k: i for i, group in enumerate(groups) for k in group}
    results: list[list[int]] = [[] for _ in groups]
    loose: list[int] = []
    for number in kept:
        i = owner.get(int(source.results[number]))
        (loose if i is None else results[i]).append(number)
    parts: list[tuple[list[int], list[int]]] = []
    shapes = [(len(group), len(own)) for group, own in zip(groups, results, strict=True)]
    alike = Counter(shapes)
    open_: tuple[list[int], list[int]] = ([], loose)
    for group, own, shape in zip(groups, results, shapes, strict=True):
        if len(group) > longest or (len(group) > small and alike[shape] > 1):
            parts.append((list(group), own))
            continue
        if len(open_[0]) + len(group) > longest:
            parts.append(open_)
            open_ = ([], [])
        open_[0].extend(group)
        open_[1].extend(own)
    return [*parts, open_] if open_[1] else parts


def _alone(
    source: Program, group: Sequence[int], results: Sequence[int]
) -> tuple[Program, tuple[int, ...]]:
    """The operations as a program of the inputs they read, numbered as they come, and those inputs."""
    op, a, b = source.op, source.a, source.b
    instructions: list[tuple[int, int, int]] = []
    constants: list[float] = []
    reads: list[int] = []
    number = {-1: -1}

    def need(k: int) -> int:
        if k not in number:
            if op[k] == Op.CONST:
                row = (int(Op.CONST), len(constants), -1)
                constants.append(float(source.constants[a[k]]))
            else:
                row = (int(Op.INPUT), len(reads), -1)
                reads.append(int(a[k]))
            number[k] = len(instructions)
            instructions.append(row)
        return number[k]

    for k in group:
        operands = need(int(a[k])), need(int(b[k]))
        number[k] = len(instructions)
        instructions.append((int(op[k]), *operands))
    values = [need(k) for k in results]
    ports = (Port("reads", (len(reads),)),), (Port("results", (len(values),)),)
    return program(source.name, *ports, instructions, constants, values), tuple(reads)
