"""The arithmetic of a program in WebAssembly: straight-line code for one state, or for two in lanes.

A value that is used once is left on the stack where it is used; one that is used more often, also a
constant, is stored in a local variable. Variables are reused after the last use of their value, which
keeps their indices, and with them the code, short.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, instruction, unsigned
from dalembert.kernels.wasm.code import Library, constant
from dalembert.kernels.wasm.mathematics import NAMES
from dalembert.tracing.program import LEAVES, Op, Port, Program


@dataclass(frozen=True)
class Lanes:
    """The instructions of one width."""

    width: int
    suffix: str  # of the names of functions
    type: bytes
    truth: bytes  # the type of a truth value
    simple: Mapping[Op, bytes]  # instructions on the operands as they come
    to_truth: bytes  # x != 0, behind x
    to_number: bytes  # 1 or 0, behind a truth value
    select: tuple[bytes, bytes]  # before and behind the truth value that chooses a number or zero


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
    suffix="",
    type=F64,
    truth=I32,
    simple=_SCALAR,
    to_truth=_ZERO + instruction("f64.ne"),
    to_number=instruction("f64.convert_i32_u"),
    select=(_ZERO, instruction("select")),
)
PAIR = Lanes(
    width=2,
    suffix="_pair",
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
_ALIGN_8, _ALIGN_16 = 3, 4  # alignments, as powers of two


class Variable(NamedTuple):
    """A use of a variable: one of `local.get`, `local.set` and `local.tee`."""

    instruction: bytes
    number: int


Item = bytes | Variable
Task = bytes | Variable | int
"""Code, a use of a variable, or a value to leave on the stack: k as a number, ~k as a truth."""
LocalsAndCode = tuple[tuple[tuple[int, bytes], ...], bytes]


@dataclass(frozen=True)
class Arrays:
    """Access to the arrays of a program's ports, whose addresses are parameters of its function.

    The rows of two states are behind each other. Values that cross parts are in memory at `frame`.
    """

    ports: Sequence[Port]
    lanes: Lanes
    frame: int

    @cached_property
    def entries(self) -> list[tuple[int, int, int]]:
        """(Parameter, position in its row, length of the row) of every entry of all ports."""
        listed = enumerate(self.ports)
        return [(i, position, port.size) for i, port in listed for position in range(port.size)]

    def load(self, k: int) -> bytes:
        """Code that loads entry k."""
        if k >= len(self.entries):
            return b"".join(self._between("load", k - len(self.entries)))
        parameter, position, row = self.entries[k]
        pointer, first = instruction("local.get", parameter), 8 * position
        if self.lanes.width == 1:
            return pointer + instruction("f64.load", _ALIGN_8, first)
        if row == 1:
            return pointer + instruction("v128.load", _ALIGN_8, first)
        one = pointer + instruction("v128.load64_splat", _ALIGN_8, first)
        return pointer + one + instruction("v128.load64_lane", _ALIGN_8, first + 8 * row, 1)

    def store(self, k: int) -> list[tuple[bytes, bytes]]:
        """Code (before, after) the value of each store to entry k."""
        if k >= len(self.entries):
            return [self._between("store", k - len(self.entries))]
        parameter, position, row = self.entries[k]
        pointer = instruction("local.get", parameter)
        if self.lanes.width == 1:
            return [(pointer, instruction("f64.store", _ALIGN_8, 8 * position))]
        lanes = ((8 * (position + row * i), i) for i in (0, 1))
        return [(pointer, instruction("v128.store64_lane", _ALIGN_8, at, i)) for at, i in lanes]

    def _between(self, word: str, index: int) -> tuple[bytes, bytes]:
        """(Address, load or store) of what one part leaves for another."""
        name, aligned, size = f"f64.{word}", _ALIGN_8, 8
        if self.lanes.width == 2:
            name, aligned, size = f"v128.{word}", _ALIGN_16, 16
        return instruction("i32.const", 0), instruction(name, aligned, self.frame + size * index)


def write_body(
    program: Program, writes: Sequence[int], lanes: Lanes, library: Library, arrays: Arrays
) -> LocalsAndCode:
    """(Locals by type, code) of a function of all arrays; results go to the entries `writes`."""
    writer = _Writer(program, lanes, library, arrays)
    if lanes.width == 1:
        # sine and cosine of angles that need no others first, two at a time
        # whether there is a sine or cosine at or below a value
        turned = program.gather(op in _TRIGONOMETRIC for op in program.op.tolist())
        rows = program.rows
        angles = [*dict.fromkeys(a for op, a, _ in rows if op in _TRIGONOMETRIC and not turned[a])]
        for i in range(0, len(angles), 2):
            writer.emit(writer.sincos(angles[i : i + 2]))
    for entry, k in sorted(zip(writes, program.results.tolist(), strict=True), key=lambda x: x[1]):
        for before, after in arrays.store(entry):
            writer.emit([before, k, after])
    return writer.encoded(len(arrays.ports))


class _Writer:
    def __init__(self, program: Program, lanes: Lanes, library: Library, arrays: Arrays) -> None:
        self.program, self.lanes, self.library, self.arrays = program, lanes, library, arrays
        self.ops = program.op.tolist()
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.items: list[Item] = []
        self.assigned: set[int] = set()  # variables that have their value
        plain = {op: code for op, code in lanes.simple.items() if op not in _TRUTHS}
        self.plain = [plain.get(op) for op in self.ops]  # instructions of numbers that give one
        # how often each value is used; lanes are stored one by one
        self.uses = [0] * len(self.ops)
        for op, a, b in zip(self.ops, self.a, self.b, strict=True):
            if op not in LEAVES:
                self.uses[a] += 1
                if b >= 0 or op == Op.SQ:
                    self.uses[a if b < 0 else b] += 1
        for k in program.results.tolist():
            self.uses[k] += lanes.width

    def emit(self, tasks: list[Task]) -> None:
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
        op, number = self.ops[k], k
        if op in _TRIGONOMETRIC:  # sine and cosine of one angle have variables behind all values
            number = len(self.ops) + 2 * self.a[k] + (op == Op.COS)
        own = op in _TRUTHS
        change = b"" if own == truth else self.lanes.to_truth if truth else self.lanes.to_number
        if number in self.assigned:
            return [Variable(_GET, number), change]
        if op in _TRIGONOMETRIC:
            return [*self.sincos([self.a[k]]), Variable(_GET, number), change]
        a, b, lanes = self.a[k], self.b[k], self.lanes
        operands = (a, a) if op == Op.SQ else (a,) if b < 0 else (a, b)
        tasks: list[Task] = []
        if op == Op.CONST:
            value = float(self.program.constants[a])
            tasks.append(self.library.memory.constant(value, lanes.type).code)
        elif op == Op.INPUT:
            tasks.append(self.arrays.load(a))
        elif op == Op.SELECT0:
            tasks += [b, lanes.select[0], ~a, lanes.select[1]]
        else:
            tasks += [~j if op in _LOGICAL else j for j in operands]
            name = NAMES.get(op)
            tasks.append(self.library.call(name + lanes.suffix) if name else lanes.simple[op])
        stored = [Variable(_TEE, number)] if self.uses[k] > 1 else []
        return [*tasks, *stored, change]

    def sincos(self, angles: list[int]) -> list[Task]:
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

    def encoded(self, parameters: int) -> LocalsAndCode:
        """Variables as few locals as possible, and the bytes of the code."""
        last = {item.number: i for i, item in enumerate(self.items) if isinstance(item, Variable)}
        counts: dict[bytes, int] = {}  # locals by type
        free: dict[bytes, list[int]] = {}  # the lowest is used first
        register: dict[int, int] = {}  # of a live variable, among the locals of its type
        chosen: list[bytes | tuple[bytes, bytes, int]] = []
        for i, item in enumerate(self.items):
            if not isinstance(item, Variable):
                chosen.append(item)
                continue
            ends = last[item.number] == i
            if ends and item.instruction != _GET:  # nobody asks for it again
                chosen.append(_DROP if item.instruction == _SET else b"")
                continue
            kind = self.lanes.type
            if item.number >= 3 * len(self.ops):
                kind = V128
            elif item.number < len(self.ops) and self.ops[item.number] in _TRUTHS:
                kind = self.lanes.truth
            if item.number not in register:
                if not free.setdefault(kind, []):
                    free[kind].append(counts.get(kind, 0))
                    counts[kind] = free[kind][0] + 1
                register[item.number] = heapq.heappop(free[kind])
            chosen.append((item.instruction, kind, register[item.number]))
            if ends:
                heapq.heappush(free[kind], register.pop(item.number))
        first, at = {}, parameters
        for kind, count in counts.items():
            first[kind], at = at, at + count
        numbers = [unsigned(k) for k in range(at)]
        code = b"".join(
            x if isinstance(x, bytes) else x[0] + numbers[first[x[1]] + x[2]] for x in chosen
        )
        return tuple((count, kind) for kind, count in counts.items()), code
