"""The arithmetic of a program on one register of states: `void body(x, y, offsets, ahead, …)`.

`x` holds the inputs and `y` takes the results: one vector, for the W states of the register, per
entry. Everything runs straight down except for one rare branch, where an angle is so large that its
sine needs the C library; all angles known at the same stage share that branch.

Results mostly go to memory that no cache holds yet, and a core can wait for a dozen lines at a time,
no more. So the lines of the next register of states are asked for here, evenly between the
arithmetic: `offsets[i]` bytes after `ahead_p`, for entry i of all outputs, which belongs to port p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.kernels.llvm import libm, sincos
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.tracing.program import LEAVES, Op, Program

if TYPE_CHECKING:
    from dalembert.kernels.llvm.moves import Move

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
MOVING = (
    0.5  # the share of the arithmetic between which states are moved: its end waits for nothing
)
_TRUTH = frozenset({*_COMPARE, Op.NOT, Op.AND, Op.OR})


@dataclass(frozen=True)
class Asked:
    """What a function does for states other than its own, between the arithmetic.

    Lines it asks for: (entry of all outputs, its port), and how many ports; and what it moves.
    """

    entries: Sequence[tuple[int, int]]
    ports: int
    moves: Sequence[Move] = ()


def body(program: Program, v: Vector) -> str:
    """The function `body(x, y)` of a whole program, and every definition it needs."""
    return declarations(program, v) + "\n" + function("body", program, v)


def declarations(program: Program, v: Vector, *others: Program) -> str:
    """What the functions of these programs call."""
    used = {Op(op) for each in (program, *others) for op in set(each.op.tolist())}
    called = sorted(used & libm.NAMES.keys())
    # atan2 is declared with the reduction of huge angles
    parts = [libm.declaration(op) for op in called if op != Op.ATAN2]
    parts += [libm.definition(v, op) for op in called]
    for op in sorted(used & _INTRINSIC.keys() - {Op.ABS}):
        arguments = ", ".join([v.type] * (2 if op in (Op.MIN, Op.MAX, Op.COPYSIGN) else 1))
        parts.append(f"declare {v.type} @llvm.{_INTRINSIC[op]}.{v.suffix}({arguments})")
    parts.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    return "\n".join([sincos.declarations(v), *parts])


def function(
    name: str,
    program: Program,
    v: Vector,
    places: Sequence[int] | None = None,
    asked: Asked | None = None,
    linkage: str = "internal ",
) -> str:
    """One function; its results go to these places of `y`, by default to 0, 1, 2, …"""
    writer = _Body(program, v, places or range(len(program.results)), asked)
    writer.run()
    parameters = ["ptr noalias readonly align 64 %x", "ptr noalias align 64 %y"]
    if asked is not None:
        parameters.append("ptr noalias readonly %offsets")
        parameters += [f"ptr %ahead_{p}" for p in range(asked.ports)]
        parameters += ["ptr noalias readonly %moves"] * bool(asked.moves)
    return writer.text.function(f"{linkage}void @{name}({', '.join(parameters)}) noinline #0")


class _Body:
    def __init__(
        self, program: Program, v: Vector, places: Sequence[int], asked: Asked | None
    ) -> None:
        self.program, self.v, self.text = program, v, Text()
        self.ops = [Op(op) for op in program.op.tolist()]
        self.a, self.b = program.a.tolist(), program.b.tolist()
        self.names: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.reduced: dict[int, tuple[str, str]] = {}
        self.pairs: dict[int, tuple[str, str]] = {}
        self.places = places
        self.lines = asked.entries if asked else ()
        self.moves = asked.moves if asked else ()
        self.operations = sum(op not in LEAVES for op in self.ops)
        self.done = self.asked = self.moved = 0

    def run(self) -> None:
        t, v = self.text, self.v
        stages = self.stages()
        if stages:
            t.do(f"%spare_r = alloca {v.type}")
            t.do(f"%spare_k = alloca {v.integers}")
        for angles in stages:
            names = [self.value(k) for k in angles]
            self.reduced |= dict(zip(angles, sincos.reduce(t, v, names), strict=True))
        places: dict[int, list[int]] = {}
        for place, k in zip(self.places, self.program.results.tolist(), strict=True):
            places.setdefault(k, []).append(place)
        for k in range(len(self.ops)):
            value = self.value(k)
            for place in places.get(k, []):
                t.do(f"store {v.type} {value}, ptr {t.at('%y', place * v.width * v.size)}")
        for move in self.moves[self.moved :]:  # all, where there are next to no operations
            move.emit(t, v)
        t.do("ret void")

    def stages(self) -> list[list[int]]:
        """Arguments of sin and cos, by how many sines lie below them."""
        depth: list[int] = []
        stages: dict[int, dict[int, None]] = {}
        for op, a, b in zip(self.ops, self.a, self.b, strict=True):
            below = 0 if op in LEAVES else max(depth[a], depth[b] if b >= 0 else 0)
            if op in (Op.SIN, Op.COS):
                stages.setdefault(below, {})[a] = None
            depth.append(below + (op in (Op.SIN, Op.COS)))
        return [list(stages[k]) for k in sorted(stages)]

    def value(self, k: int) -> str:
        """Emit value k, and before it whatever it needs, depth first."""
        stack = [k]
        while stack:
            top = stack[-1]
            needs = [] if self.ops[top] in LEAVES else [self.b[top], self.a[top]]
            missing = [j for j in needs if j >= 0 and j not in self.names]
            if top in self.names:
                stack.pop()
            elif missing:
                stack += missing
            else:
                self.names[top] = self.emit(top)
                stack.pop()
                if needs:
                    self.ask()
        return self.names[k]

    def ask(self) -> None:
        """After every operation: ask for as many lines, and move as much, as is due by now."""
        self.done += 1
        t = self.text
        while self.moved * self.operations * MOVING < self.done * len(self.moves):
            if self.moved == len(self.moves):
                break
            self.moves[self.moved].emit(t, self.v)
            self.moved += 1
        while self.asked * self.operations < self.done * len(self.lines):
            entry, port = self.lines[self.asked]
            offset = t.let(f"load i64, ptr {t.at('%offsets', 8 * entry)}, !invariant.load !1")
            line = t.at(f"%ahead_{port}", offset)
            t.do(f"call void @llvm.prefetch.p0(ptr {line}, i32 1, i32 3, i32 1)")
            self.asked += 1

    def emit(self, k: int) -> str:
        op, a, b, t, v = self.ops[k], self.a[k], self.b[k], self.text, self.v
        if op == Op.CONST:
            return v.splat(float(self.program.constants[a]))
        if op == Op.INPUT:
            place = t.at("%x", a * v.width * v.size)
            return t.let(f"load {v.type}, ptr {place}, !invariant.load !1")
        if op in (Op.SIN, Op.COS):
            if a not in self.pairs:
                self.pairs[a] = sincos.pair(t, v, *self.reduced[a])
            return self.pairs[a][op == Op.COS]
        x, y = self.names[a], self.names.get(b, "")
        if op in libm.NAMES:
            return libm.call(t, v, op, *([x, y] if b >= 0 else [x]))
        if op in _INTRINSIC:
            arguments = f"{v.type} {x}" + (f", {v.type} {y}" if b >= 0 else "")
            nsz = "nsz " if op in (Op.MIN, Op.MAX) else ""  # which of two zeros is all the same
            return t.let(f"call {nsz}{v.type} @llvm.{_INTRINSIC[op]}.{v.suffix}({arguments})")
        if op in _ARITHMETIC:
            return t.let(f"{_ARITHMETIC[op]} {v.type} {x}, {y}")
        if op in _TRUTH:
            self.masks[k] = self.truth(op, a, b)
            return self.choose(self.masks[k], v.splat(1.0), v.splat(0.0))
        return _SPECIAL[op](self, a, b)

    def truth(self, op: Op, a: int, b: int) -> str:
        if op in _COMPARE:
            comparison = f"fcmp {_COMPARE[op]} {self.v.type}"
            return self.text.let(f"{comparison} {self.names[a]}, {self.names[b]}")
        if op == Op.NOT:
            return self.text.let(f"xor {self.v.mask} {self.mask(a)}, splat (i1 true)")
        word = "and" if op == Op.AND else "or"
        return self.text.let(f"{word} {self.v.mask} {self.mask(a)}, {self.mask(b)}")

    def mask(self, k: int) -> str:
        """Whether a value is true: its comparison where it came from one, else value != 0."""
        if k not in self.masks:
            zero = self.v.splat(0.0)
            self.masks[k] = self.text.let(f"fcmp une {self.v.type} {self.names[k]}, {zero}")
        return self.masks[k]

    def choose(self, mask: str, x: str, y: str) -> str:
        v = self.v
        return self.text.let(f"select {v.mask} {mask}, {v.type} {x}, {v.type} {y}")

    def negation(self, a: int, _: int) -> str:
        return self.text.let(f"fneg nsz {self.v.type} {self.names[a]}")

    def square(self, a: int, _: int) -> str:
        return self.text.let(f"fmul nsz contract {self.v.type} {self.names[a]}, {self.names[a]}")

    def select(self, a: int, b: int) -> str:
        return self.choose(self.mask(a), self.names[b], self.v.splat(0.0))

    def sign(self, a: int, _: int) -> str:
        v, x = self.v, self.names[a]
        above, below = (
            self.text.let(f"fcmp {order} {v.type} {x}, {v.splat(0.0)}") for order in ("ogt", "olt")
        )
        return self.choose(above, v.splat(1.0), self.choose(below, v.splat(-1.0), x))


_SPECIAL: dict[Op, Callable[[_Body, int, int], str]] = {
    Op.NEG: _Body.negation,
    Op.SQ: _Body.square,
    Op.SELECT0: _Body.select,
    Op.SIGN: _Body.sign,
}
