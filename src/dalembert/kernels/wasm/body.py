"""The arithmetic of a program in WebAssembly: straight down, on one state or on two lanes of states.

A value that is used once stands where it is used, on the stack; one that is used more often, a constant
too, is kept in a local variable. Variables are used again once nobody needs their value, which keeps
their numbers, and with them the code, short.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dalembert.kernels.program.program import Op, Program
from dalembert.kernels.wasm.binary import V128, unsigned
from dalembert.kernels.wasm.instructions import instruction
from dalembert.kernels.wasm.lanes import Lanes
from dalembert.kernels.wasm.library import Library
from dalembert.kernels.wasm.mathematics import NAMES

_OF_TRUTHS = frozenset({Op.NOT, Op.AND, Op.OR})
_TRUTHS = _OF_TRUTHS | {Op.LT, Op.LE, Op.EQ, Op.NE}
_GET, _SET, _TEE = (instruction(f"local.{word}") for word in ("get", "set", "tee"))
_DROP = instruction("drop")


class Variable(NamedTuple):
    """A use of a variable: one of `local.get`, `local.set` and `local.tee`."""

    instruction: bytes
    number: int


class Wanted(NamedTuple):
    """Value k on the stack, as a number or as a truth value."""

    k: int
    truth: bool = False


Item = bytes | Variable
Task = bytes | Variable | Wanted
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
        self.ops = [Op(op) for op in program.op.tolist()]
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.items: list[Item] = []
        self.there: set[int] = set()  # variables that have their value
        self.uses = self._uses()

    def _uses(self) -> Counter[int]:
        """How often each value is wanted; lanes are stored one by one."""
        uses: Counter[int] = Counter()
        for op, a, b in zip(self.ops, self.a, self.b, strict=True):
            if op not in (Op.CONST, Op.INPUT):
                uses.update((a, a) if op == Op.SQ else (a,) if b < 0 else (a, b))
        for k in self.program.results.tolist():
            uses[k] += self.lanes.width
        return uses

    def result(self, k: int, place: int) -> None:
        """Compute a value with all it needs, and store it."""
        for before, after in self.arrays.store(place):
            self._do([before, Wanted(k), after])

    def _do(self, tasks: list[Task]) -> None:
        """Everything in its order, values depth first."""
        tasks.reverse()
        while tasks:
            task = tasks.pop()
            if isinstance(task, Wanted):
                tasks += reversed(self._value(*task))
                continue
            self.items.append(task)
            if isinstance(task, Variable):
                self.there.add(task.number)

    def _value(self, k: int, truth: bool) -> list[Task]:
        """What leaves value k on the stack."""
        op, number = self.ops[k], self._variable(k)
        own = op in _TRUTHS
        change = b"" if own == truth else self.lanes.to_truth if truth else self.lanes.to_number
        if number in self.there:
            return [Variable(_GET, number), change]
        if op in (Op.SIN, Op.COS):
            return [*self._sincos([self.a[k]]), Variable(_GET, number), change]
        kept: list[Task] = [Variable(_TEE, number)] if self.uses[k] > 1 else []
        return [*self._computed(k, op), *kept, change]

    def _variable(self, k: int) -> int:
        """The number of its variable; sine and cosine of one angle have theirs behind all values."""
        if self.ops[k] in (Op.SIN, Op.COS):
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
            leaf = op in (Op.CONST, Op.INPUT)
            below = not leaf and (turned[a] or (b >= 0 and turned[b]))
            if op in (Op.SIN, Op.COS) and not below:
                angles[a] = None
            turned.append(below or op in (Op.SIN, Op.COS))
        return list(angles)

    def _sincos(self, angles: list[int]) -> list[Task]:
        """Variables of sine and cosine of one or two angles; lanes are already vectors."""
        n, call = len(self.ops), self.library.call("sincos")
        sine = n + 2 * angles[0]
        if self.lanes.width == 2:
            return [Wanted(angles[0]), call, Variable(_SET, sine + 1), Variable(_SET, sine)]
        given: list[Task] = [Wanted(angles[0]), instruction("f64x2.splat")]
        if len(angles) == 2:
            given += [Wanted(angles[1]), instruction("f64x2.replace_lane", 1)]
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

    def _computed(self, k: int, op: Op) -> list[Task]:
        a, b, lanes = self.a[k], self.b[k], self.lanes
        if op == Op.CONST:
            value = float(self.program.constants[a])
            return [self.library.memory.constant(value, lanes.type).code]
        if op == Op.INPUT:
            return [self.arrays.load(a)]
        if op == Op.SELECT0:
            return [Wanted(b), lanes.select[0], Wanted(a, True), lanes.select[1]]
        operands = (a, a) if op == Op.SQ else (a,) if b < 0 else (a, b)
        tasks: list[Task] = [Wanted(j, op in _OF_TRUTHS) for j in operands]
        if op in NAMES:
            return [*tasks, self.library.call(NAMES[op] + lanes.suffix)]
        return [*tasks, lanes.simple[op]]

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
        code = b"".join(
            x if isinstance(x, bytes) else x[0] + unsigned(first[x[1]] + x[2]) for x in chosen
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
