"""The arithmetic of a program on one register of states: `void body(x, y, offsets, ahead, …)`.

`x` holds the inputs and `y` receives the results: one vector, for the W states of the register, per
entry. The code has no branches but one that is rarely taken, where an angle is so large that its
sine needs the C library; all angles known at the same stage share that branch.

Results mostly go to memory that no cache holds yet, and a core can wait for a dozen cache lines at a
time. So the lines of the next register of states are prefetched here, evenly between the arithmetic:
`offsets[i]` bytes after `ahead_p`, for entry i of all outputs, which belongs to port p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.kernels.llvm import mathematics
from dalembert.kernels.llvm.ir import IRWriter, Vector
from dalembert.tracing.program import BINARY, LEAVES, Op, Program, depth_first

if TYPE_CHECKING:
    from dalembert.kernels.llvm.plan import Move


_ARITHMETIC = {
    Op.ADD: "fadd nsz contract",
    Op.SUB: "fsub nsz contract",
    Op.MUL: "fmul nsz contract",
    Op.DIV: "fdiv nsz arcp contract",
}
_COMPARE = {Op.LT: "olt", Op.LE: "ole", Op.EQ: "oeq", Op.NE: "une"}
_INTRINSIC = {
    Op.SQRT: "sqrt",
    Op.ABS: "fabs",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    Op.MIN: "minimum",
    Op.MAX: "maximum",
    Op.COPYSIGN: "copysign",
}
MOVED_SHARE = 0.5  # of the arithmetic, between which states are moved: its end waits for nothing
_TRUTH = frozenset({*_COMPARE, Op.NOT, Op.AND, Op.OR})


@dataclass(frozen=True)
class Interleaved:
    """Work for other states that a function does between its arithmetic.

    Cache lines to prefetch, as (entry of all outputs, its port), the number of ports, and moves.
    Without ports there are no other states.
    """

    lines: Sequence[tuple[int, int]] = ()
    ports: int = 0
    moves: Sequence[Move] = ()


ALONE = Interleaved()


def part_declarations(program: Program, v: Vector, *others: Program) -> str:
    """Declarations of the functions that these programs call."""
    used = {Op(op) for each in (program, *others) for op in set(each.op.tolist())}
    called = sorted(used & mathematics.LIBM_NAMES.keys())
    # atan2 is declared with the reduction of huge angles
    parts = []
    for op in called:
        if op != Op.ATAN2:
            arguments = "double, double" if op in BINARY else "double"
            parts.append(f"declare double @{mathematics.LIBM_NAMES[op]}({arguments}) nounwind")
    parts += [mathematics.libm_definition(v, op) for op in called]
    for op in sorted(used & _INTRINSIC.keys() - {Op.ABS}):
        arguments = ", ".join([v.type] * (2 if op in (Op.MIN, Op.MAX, Op.COPYSIGN) else 1))
        parts.append(f"declare {v.type} @llvm.{_INTRINSIC[op]}.{v.suffix}({arguments})")
    parts.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    return "\n".join([mathematics.sincos_declarations(v), *parts])


def part_function(
    name: str,
    program: Program,
    v: Vector,
    writes: Sequence[int] | None = None,
    interleaved: Interleaved = ALONE,
    linkage: str = "internal ",
) -> str:
    """One function; its results go to the entries `writes` of `y`, by default to 0, 1, 2, …"""
    writer = _Body(program, v, interleaved)
    writer.run(writes or range(len(program.results)))
    parameters = ["ptr noalias readonly align 64 %x", "ptr noalias align 64 %y"]
    if interleaved.ports:
        parameters.append("ptr noalias readonly %offsets")
        parameters += [f"ptr %ahead_{p}" for p in range(interleaved.ports)]
        parameters += ["ptr noalias readonly %moves"] * bool(interleaved.moves)
    return writer.text.function(f"{linkage}void @{name}({', '.join(parameters)}) noinline #0")


class _Body:
    def __init__(self, program: Program, v: Vector, interleaved: Interleaved) -> None:
        self.program, self.v, self.text = program, v, IRWriter()
        self.ops = [Op(op) for op in program.op.tolist()]
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.operands = program.operands
        self.names: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.reduced: dict[int, tuple[str, str]] = {}
        self.pairs: dict[int, tuple[str, str]] = {}
        self.lines, self.moves = interleaved.lines, interleaved.moves
        self.operations = sum(op not in LEAVES for op in self.ops)
        self.done = self.prefetched = self.moved = 0

    def run(self, writes: Sequence[int]) -> None:
        t, v = self.text, self.v
        stages = self.stages()
        if stages:
            t.do(f"%spare_r = alloca {v.type}")
            t.do(f"%spare_k = alloca {v.integers}")
        for angles in stages:
            names = [self.value(k) for k in angles]
            self.reduced |= dict(zip(angles, mathematics.reduce_angles(t, v, names), strict=True))
        entries: dict[int, list[int]] = {}
        for entry, k in zip(writes, self.program.results.tolist(), strict=True):
            entries.setdefault(k, []).append(entry)
        for k in range(len(self.ops)):
            value = self.value(k)
            for entry in entries.get(k, []):
                t.store(v.type, value, t.at("%y", entry * v.width * v.size))
        for move in self.moves[self.moved :]:  # all, where there are next to no operations
            move.emit(t, v)
        t.do("ret void")

    def stages(self) -> list[list[int]]:
        """Arguments of sin and cos, by the depth of sines below them."""
        depth: list[int] = []
        stages: dict[int, dict[int, None]] = {}
        for op, operands in zip(self.ops, self.operands, strict=True):
            below = max((depth[j] for j in operands), default=0)
            if op in (Op.SIN, Op.COS):
                stages.setdefault(below, {})[operands[0]] = None
            depth.append(below + (op in (Op.SIN, Op.COS)))
        return [list(stages[k]) for k in sorted(stages)]

    def value(self, k: int) -> str:
        """Emit value k, and before it whatever it needs, depth first."""
        for j in depth_first(self.operands.__getitem__, [k], self.names):
            self.names[j] = self.emit(j)
            if self.operands[j]:
                self.interleave()
        return self.names[k]

    def interleave(self) -> None:
        """After every operation: prefetch as many lines, and move as much, as is due by now."""
        self.done += 1
        t = self.text
        while self.moved * self.operations * MOVED_SHARE < self.done * len(self.moves):
            if self.moved == len(self.moves):
                break
            self.moves[self.moved].emit(t, self.v)
            self.moved += 1
        while self.prefetched * self.operations < self.done * len(self.lines):
            entry, port = self.lines[self.prefetched]
            offset = t.load("i64", t.at("%offsets", 8 * entry), "!invariant.load !1")
            line = t.at(f"%ahead_{port}", offset)
            t.do(f"call void @llvm.prefetch.p0(ptr {line}, i32 1, i32 3, i32 1)")
            self.prefetched += 1

    def emit(self, k: int) -> str:
        op, a, b, t, v = self.ops[k], self.a[k], self.b[k], self.text, self.v
        if op == Op.CONST:
            return v.splat(float(self.program.constants[a]))
        if op == Op.INPUT:
            return t.load(v.type, t.at("%x", a * v.width * v.size), "!invariant.load !1")
        if op in (Op.SIN, Op.COS):
            if a not in self.pairs:
                self.pairs[a] = mathematics.sincos(t, v, *self.reduced[a])
            return self.pairs[a][op == Op.COS]
        x, y = self.names[a], self.names.get(b, "")
        arguments = f"{v.type} {x}" + (f", {v.type} {y}" if b >= 0 else "")
        if op in mathematics.LIBM_NAMES:
            return t.let(f"call {v.type} @each_{mathematics.LIBM_NAMES[op]}({arguments})")
        if op in _INTRINSIC:
            nsz = "nsz " if op in (Op.MIN, Op.MAX) else ""  # which of two zeros is all the same
            return t.let(f"call {nsz}{v.type} @llvm.{_INTRINSIC[op]}.{v.suffix}({arguments})")
        if op in _ARITHMETIC:
            return t.let(f"{_ARITHMETIC[op]} {v.type} {x}, {y}")
        if op in _TRUTH:
            if op in _COMPARE:
                truth = t.let(f"fcmp {_COMPARE[op]} {v.type} {x}, {y}")
            elif op == Op.NOT:
                truth = t.let(f"xor {v.mask} {self.mask(a)}, splat (i1 true)")
            else:
                word, left = "and" if op == Op.AND else "or", self.mask(a)
                truth = t.let(f"{word} {v.mask} {left}, {self.mask(b)}")
            self.masks[k] = truth
            return self.choose(truth, v.splat(1.0), v.splat(0.0))
        if op == Op.NEG:
            return t.let(f"fneg nsz {v.type} {x}")
        if op == Op.SQ:
            return t.let(f"fmul nsz contract {v.type} {x}, {x}")
        if op == Op.SELECT0:
            return self.choose(self.mask(a), y, v.splat(0.0))
        assert op == Op.SIGN
        above, below = (
            t.let(f"fcmp {order} {v.type} {x}, {v.splat(0.0)}") for order in ("ogt", "olt")
        )
        return self.choose(above, v.splat(1.0), self.choose(below, v.splat(-1.0), x))

    def mask(self, k: int) -> str:
        """Whether a value is true: its comparison where it came from one, else value != 0."""
        if k not in self.masks:
            zero = self.v.splat(0.0)
            self.masks[k] = self.text.let(f"fcmp une {self.v.type} {self.names[k]}, {zero}")
        return self.masks[k]

    def choose(self, mask: str, x: str, y: str) -> str:
        v = self.v
        return self.text.let(f"select {v.mask} {mask}, {v.type} {x}, {v.type} {y}")
