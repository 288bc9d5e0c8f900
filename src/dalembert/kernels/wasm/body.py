"""The arithmetic of a program in WebAssembly: straight down, on one state or on two lanes of states.

A value that is used once stands where it is used, on the stack; one that is used more often, a constant
too, is kept in a local variable. Variables are used again once nobody needs their value, which keeps
their numbers, and with them the code, short.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dalembert.kernels.wasm.binary import V128, unsigned
from dalembert.kernels.wasm.instructions import instruction
from dalembert.kernels.wasm.lanes import Lanes
from dalembert.kernels.wasm.library import Library
from dalembert.kernels.wasm.mathematics import NAMES
from dalembert.tracing.program import LEAVES, Op, Program

_OF_TRUTHS = frozenset({Op.NOT, Op.AND, Op.OR})
_TURNS = frozenset({Op.SIN, Op.COS})
_TRUTHS = _OF_TRUTHS | {Op.LT, Op.LE, Op.EQ, Op.NE}
_GET, _SET, _TEE = (instruction(f"local.{word}") for word in ("get", "set", "tee"))
_DROP = instruction("drop")


class Variable(NamedTuple):
    """A use of a variable: one of `local.get`, `local.set` and `local.tee`."""

    instruction: bytes
    number: int


Item = bytes | Variable
Task = bytes | Variable | int
"""Code, a use of a variable, or a value that is wanted on the stack: k as a number, ~k as a truth."""
Written = tuple[tuple[tuple[int, bytes], ...], bytes]


class Arrays(NamedTuple):
    """Where inputs and results lie: code that loads entry k, and what stands around each store."""

    load: Callable[[int], bytes]
    store: Callable[[int], Sequence[tuple[bytes, bytes]]]


def written(
    program: Program,
    places: Sequence[int],
    lanes: Lanes,
    library: Library,
    arrays: Arrays,
    parameters: int,
) -> Written:
    """(Locals by type, code) of a function with so many parameters; results go to `places`."""
    writer = _Writer(program, lanes, library, arrays)
    writer.turn()
    for place, k in sorted(zip(places, program.results.tolist(), strict=True), key=lambda x: x[1]):
        writer.result(k, place)
    return writer.encoded(parameters)


class _Writer:
    def __init__(self, program: Program, lanes: Lanes, library: Library, arrays: Arrays) -> None:
        self.program, self.lanes, self.library, self.arrays = program, lanes, library, arrays
        self.ops = program.op.tolist()
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.items: list[Item] = []
        self.there: set[int] = set()  # variables that have their value
        self.uses = self._uses()
        plain = {op: code for op, code in lanes.simple.items() if op not in _TRUTHS}
        self.plain = [plain.get(op) for op in self.ops]  # instructions of numbers that give one

    def _uses(self) -> list[int]:
        """How often each value is wanted; lanes are stored one by one."""
        uses = [0] * len(self.ops)
        for op, a, b in zip(self.ops, self.a, self.b, strict=True):
            if op not in LEAVES:
                uses[a] += 1
                if b >= 0 or op == Op.SQ:
                    uses[a if b < 0 else b] += 1
        for k in self.program.results.tolist():
            uses[k] += self.lanes.width
        return uses

    def result(self, k: int, place: int) -> None:
        """Compute a value with all it needs, and store it."""
        for before, after in self.arrays.store(place):
            self._do([before, k, after])

    def _do(self, tasks: list[Task]) -> None:
        """Everything in its order, values depth first."""
        items, there, plain = self.items, self.there, self.plain
        tasks.reverse()
        while tasks:
            task = tasks.pop()
            if isinstance(task, int):
                code = plain[task] if task >= 0 else None
                if code is None or task in there:
                    tasks += reversed(self._value(task))
                    continue
                # what most values are, written out: operands, instruction, and a variable to keep it
                a, b = self.a[task], self.b[task]
                if self.uses[task] > 1:
                    tasks.append(Variable(_TEE, task))
                tasks.append(code)
                if b >= 0 or self.ops[task] == Op.SQ:
                    tasks.append(a if b < 0 else b)
                tasks.append(a)
                continue
            items.append(task)
            if isinstance(task, Variable):
                there.add(task.number)

    def _value(self, wanted: int) -> list[Task]:
        """What leaves a value on the stack."""
        truth, k = wanted < 0, max(wanted, ~wanted)
        op, number = self.ops[k], self._variable(k)
        own = op in _TRUTHS
        change = b"" if own == truth else self.lanes.to_truth if truth else self.lanes.to_number
        if number in self.there:
            return [Variable(_GET, number), change]
        if op in _TURNS:
            return [*self._sincos([self.a[k]]), Variable(_GET, number), change]
        kept: list[Task] = [Variable(_TEE, number)] if self.uses[k] > 1 else []
        return [*self._computed(k, op), *kept, change]

    def _variable(self, k: int) -> int:
        """The number of its variable; sine and cosine of one angle have theirs behind all values."""
        if self.ops[k] in _TURNS:
            return len(self.ops) + 2 * self.a[k] + (self.ops[k] == Op.COS)
        return k

    def turn(self) -> None:
        """On one state, sine and cosine of angles that need no others: two at a time, first of all."""
        if self.lanes.width == 1:
            angles = self._first_angles()
            for i in range(0, len(angles), 2):
                self._do(self._sincos(angles[i : i + 2]))

    def _first_angles(self) -> list[int]:
        """Arguments of sin and cos that have neither below them, in their order."""
        turned: list[bool] = []  # whether there is one at or below a value
        angles: dict[int, None] = {}
        for op, a, b in zip(self.ops, self.a, self.b, strict=True):
            below = op not in LEAVES and (turned[a] or (b >= 0 and turned[b]))
            if op in _TURNS and not below:
                angles[a] = None
            turned.append(below or op in _TURNS)
        return list(angles)

    def _sincos(self, angles: list[int]) -> list[Task]:
        """Variables of sine and cosine of one or two angles; lanes are already vectors."""
        n, call = len(self.ops), self.library.call("sincos")
        sine = n + 2 * angles[0]
        if self.lanes.width == 2:
            return [angles[0], call, Variable(_SET, sine + 1), Variable(_SET, sine)]
        given: list[Task] = [angles[0], instruction("f64x2.splat")]
        if len(angles) == 2:
            given += [angles[1], instruction("f64x2.replace_lane", 1)]
        both = sine + 2 * n  # sines and cosines as vectors
        tasks: list[Task] = [*given, call, Variable(_SET, both + 1), Variable(_SET, both)]
        for i, angle in enumerate(angles):
            for which in (0, 1):
                one = n + 2 * angle + which
                tasks += [
                    Variable(_GET, both + which),
                    instruction("f64x2.extract_lane", i),
                    Variable(_SET, one),
                ]
        return tasks

    def _computed(self, k: int, op: int) -> list[Task]:
        a, b, lanes = self.a[k], self.b[k], self.lanes
        if op == Op.CONST:
            value = float(self.program.constants[a])
            return [self.library.memory.constant(value, lanes.type).code]
        if op == Op.INPUT:
            return [self.arrays.load(a)]
        if op == Op.SELECT0:
            return [b, lanes.select[0], ~a, lanes.select[1]]
        operands = (a, a) if op == Op.SQ else (a,) if b < 0 else (a, b)
        tasks: list[Task] = [~j if op in _OF_TRUTHS else j for j in operands]
        if op in NAMES:
            return [*tasks, self.library.call(NAMES[Op(op)] + lanes.suffix)]
        return [*tasks, lanes.simple[Op(op)]]

    def _type(self, number: int) -> bytes:
        if number >= 3 * len(self.ops):
            return V128
        of_truth = number < len(self.ops) and self.ops[number] in _TRUTHS
        return self.lanes.truth if of_truth else self.lanes.type

    def encoded(self, parameters: int) -> Written:
        """Variables as few locals as possible, and the bytes of the code."""
        last = {item.number: i for i, item in enumerate(self.items) if isinstance(item, Variable)}
        pool = _Pool()
        chosen: list[bytes | tuple[bytes, bytes, int]] = []
        for i, item in enumerate(self.items):
            if not isinstance(item, Variable):
                chosen.append(item)
                continue
            ends = last[item.number] == i
            if ends and item.instruction != _GET:  # nobody asks for it again
                chosen.append(_DROP if item.instruction == _SET else b"")
                continue
            kind = self._type(item.number)
            chosen.append((item.instruction, kind, pool.slot(item.number, kind)))
            if ends:
                pool.release(item.number, kind)
        first, at = {}, parameters
        for kind, count in pool.counts.items():
            first[kind], at = at, at + count
        numbers = [unsigned(k) for k in range(at)]
        code = b"".join(
            x if isinstance(x, bytes) else x[0] + numbers[first[x[1]] + x[2]] for x in chosen
        )
        return tuple((count, kind) for kind, count in pool.counts.items()), code


class _Pool:
    """Slots of local variables by type, the lowest free one first."""

    def __init__(self) -> None:
        self.counts: dict[bytes, int] = {}
        self._free: dict[bytes, list[int]] = {}
        self._taken: dict[int, int] = {}

    def slot(self, number: int, kind: bytes) -> int:
        """The slot of a variable, from now on its own."""
        if number not in self._taken:
            free = self._free.setdefault(kind, [])
            if not free:
                free.append(self.counts.get(kind, 0))
                self.counts[kind] = free[0] + 1
            self._taken[number] = heapq.heappop(free)
        return self._taken[number]

    def release(self, number: int, kind: bytes) -> None:
        """Nobody needs the variable any more."""
        heapq.heappush(self._free[kind], self._taken.pop(number))
