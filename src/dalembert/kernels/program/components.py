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
    """One group: the frame that computes it, and its inputs and results as slots of the program's."""

    frame: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """Different frames, and the calls of them; without calls the one frame is the program's own.

    `slots` counts the inputs, the outputs and what crosses cuts. Where `zeroed`, the outputs are zero
    before anything is computed, and only others are written.
    """

    frames: tuple[StackFrame, ...]
    calls: tuple[Call, ...]
    slots: int
    zeroed: bool

    @property
    def local(self) -> int:
        """Slots of the largest frame that is called."""
        return max((self.frames[call.frame].slots for call in self.calls), default=0)


def scheduled(
    source: Program, many: int = MANY, small: int = SMALL, longest: int = LONGEST
) -> Schedule:
    """The program as one frame, or as calls of frames where it falls into groups."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    zero = _zeros(source)
    zeroed = int(zero.sum()) > _ZEROS
    kept = np.flatnonzero(~zero) if zeroed else np.arange(outputs)
    groups = _groups(source) if len(source) > many else []
    if len(groups) < 2:
        frame = framed(source, results=kept.tolist())
        return Schedule((frame,), (), frame.slots, zeroed)
    frames: dict[str, int] = {}
    made: list[StackFrame] = []
    calls = []
    for group, results in _gathered(source, groups, kept.tolist(), small, longest):
        part, reads = _alone(source, group, [int(source.results[k]) for k in results])
        if part.digest not in frames:
            frames[part.digest] = len(made)
            made.append(framed(part))
        calls.append(Call(frames[part.digest], reads, tuple(inputs + k for k in results)))
    return Schedule(tuple(made), tuple(calls), inputs + outputs, zeroed)


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
