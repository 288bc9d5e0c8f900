"""The arithmetic of a program in WebAssembly: straight-line code for one state, or for two in lanes.

A value that is used once is left on the stack where it is used; one that is used more often, also a
constant, is stored in a local variable. Variables are reused after the last use of their value, which
keeps their indices, and with them the code, short.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, instruction, unsigned
from dalembert.kernels.wasm.code import Library, constant
from dalembert.kernels.wasm.mathematics import NAMES
from dalembert.tracing.program import LEAVES, Op, Program


@dataclass(frozen=True)
class Lanes:
    """The instructions of one width."""

    width: int
    type: bytes
    truth: bytes  # the type of a truth value
    simple: Mapping[Op, bytes]  # instructions on the operands as they come
    to_truth: bytes  # x != 0, behind x
    to_number: bytes  # 1 or 0, behind a truth value
    select: tuple[bytes, bytes]  # before and behind the truth value that chooses a number or zero

    @property
    def suffix(self) -> str:
        """Of the names of functions."""
        return "" if self.width == 1 else "_pair"


_WORDS = {
    **{Op.NEG: "neg", Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.DIV: "div", Op.SQ: "mul"},
    **{Op.SQRT: "sqrt", Op.ABS: "abs", Op.FLOOR: "floor", Op.CEIL: "ceil"},
    **{Op.MIN: "min", Op.MAX: "max", Op.LT: "lt", Op.LE: "le", Op.EQ: "eq", Op.NE: "ne"},
}
_SCALAR = {
    **{op: instruction(f"f64.{word}") for op, word in _WORDS.items()},
    Op.COPYSIGN: instruction("f64.copysign"),
    Op.NOT: instruction("i32.eqz"),
    Op.AND: instruction("i32.and"),
    Op.OR: instruction("i32.or"),
}
# all bits but the sign, in both lanes
_MAGNITUDE = constant((1 << 63) - 1, I64).code + instruction("i64x2.splat")
_VECTOR = {
    **{op: instruction(f"f64x2.{word}") for op, word in _WORDS.items()},
    Op.COPYSIGN: _MAGNITUDE + instruction("v128.bitselect"),
    Op.NOT: instruction("v128.not"),
    Op.AND: instruction("v128.and"),
    Op.OR: instruction("v128.or"),
}
_ZERO, _ZEROS, _ONES = (constant(*x).code for x in ((0.0,), (0.0, V128), (1.0, V128)))
ONE = Lanes(
    width=1,
    type=F64,
    truth=I32,
    simple=_SCALAR,
    to_truth=_ZERO + instruction("f64.ne"),
    to_number=instruction("f64.convert_i32_u"),
    select=(_ZERO, instruction("select")),
)
PAIR = Lanes(
    width=2,
    type=V128,
    truth=V128,  # all bits of a lane, or none
    simple=_VECTOR,
    to_truth=_ZEROS + instruction("f64x2.ne"),
    to_number=_ONES + instruction("v128.and"),
    select=(b"", instruction("v128.and")),
)


_LOGICAL = frozenset({Op.NOT, Op.AND, Op.OR})
_TRIGONOMETRIC = frozenset({Op.SIN, Op.COS})
_TRUTHS = _LOGICAL | {Op.LT, Op.LE, Op.EQ, Op.NE}
_GET, _SET, _TEE = (instruction(f"local.{word}") for word in ("get", "set", "tee"))
_DROP = instruction("drop")


class Variable(NamedTuple):
    """A use of a variable: one of `local.get`, `local.set` and `local.tee`."""

    instruction: bytes
    number: int


Item = bytes | Variable
Task = bytes | Variable | int
"""Code, a use of a variable, or a value that is wanted on the stack: k as a number, ~k as a truth."""
LocalsAndCode = tuple[tuple[tuple[int, bytes], ...], bytes]


class Arrays(NamedTuple):
    """Access to inputs and results: code that loads entry k, and (before, after) of each store."""

    load: Callable[[int], bytes]
    store: Callable[[int], Sequence[tuple[bytes, bytes]]]


def write_body(
    program: Program,
    slots: Sequence[int],
    lanes: Lanes,
    library: Library,
    arrays: Arrays,
    parameters: int,
) -> LocalsAndCode:
    """(Locals by type, code) of a function with so many parameters; results go to `slots`."""
    writer = _Writer(program, lanes, library, arrays)
    writer.turn()
    for slot, k in sorted(zip(slots, program.results.tolist(), strict=True), key=lambda x: x[1]):
        writer.result(k, slot)
    return writer.encoded(parameters)


class _Writer:
    def __init__(self, program: Program, lanes: Lanes, library: Library, arrays: Arrays) -> None:
        self.program, self.lanes, self.library, self.arrays = program, lanes, library, arrays
        self.ops = program.op.tolist()
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.items: list[Item] = []
        self.assigned: set[int] = set()  # variables that have their value
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

    def result(self, k: int, slot: int) -> None:
        """Compute a value with all it needs, and store it."""
        for before, after in self.arrays.store(slot):
            self._do([before, k, after])

    def _do(self, tasks: list[Task]) -> None:
        """Emit tasks in their order, values depth first."""
        items, assigned, plain = self.items, self.assigned, self.plain
        tasks.reverse()
        while tasks:
            task = tasks.pop()
            if isinstance(task, int):
                code = plain[task] if task >= 0 else None
                if code is None or task in assigned:
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
                assigned.add(task.number)

    def _value(self, task: int) -> list[Task]:
        """Tasks that leave a value on the stack."""
        truth, k = task < 0, max(task, ~task)
        op, number = self.ops[k], self._variable(k)
        own = op in _TRUTHS
        change = b"" if own == truth else self.lanes.to_truth if truth else self.lanes.to_number
        if number in self.assigned:
            return [Variable(_GET, number), change]
        if op in _TRIGONOMETRIC:
            return [*self._sincos([self.a[k]]), Variable(_GET, number), change]
        stored: list[Task] = [Variable(_TEE, number)] if self.uses[k] > 1 else []
        return [*self._computed(k, op), *stored, change]

    def _variable(self, k: int) -> int:
        """The number of its variable; sine and cosine of one angle have theirs behind all values."""
        if self.ops[k] in _TRIGONOMETRIC:
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
            if op in _TRIGONOMETRIC and not below:
                angles[a] = None
            turned.append(below or op in _TRIGONOMETRIC)
        return list(angles)

    def _sincos(self, angles: list[int]) -> list[Task]:
        """Variables of sine and cosine of one or two angles; lanes are already vectors."""
        n, call = len(self.ops), self.library.call("sincos")
        sine = n + 2 * angles[0]
        if self.lanes.width == 2:
            return [angles[0], call, Variable(_SET, sine + 1), Variable(_SET, sine)]
        arguments: list[Task] = [angles[0], instruction("f64x2.splat")]
        if len(angles) == 2:
            arguments += [angles[1], instruction("f64x2.replace_lane", 1)]
        both = sine + 2 * n  # sines and cosines as vectors
        tasks: list[Task] = [*arguments, call, Variable(_SET, both + 1), Variable(_SET, both)]
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
        tasks: list[Task] = [~j if op in _LOGICAL else j for j in operands]
        if op in NAMES:
            return [*tasks, self.library.call(NAMES[Op(op)] + lanes.suffix)]
        return [*tasks, lanes.simple[Op(op)]]

    def _type(self, number: int) -> bytes:
        if number >= 3 * len(self.ops):
            return V128
        of_truth = number < len(self.ops) and self.ops[number] in _TRUTHS
        return self.lanes.truth if of_truth else self.lanes.type

    def encoded(self, parameters: int) -> LocalsAndCode:
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
