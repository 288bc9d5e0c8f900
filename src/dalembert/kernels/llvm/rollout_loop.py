"""An iteration as machine code: all steps of a register full of trajectories before the next register.

    void dalembert_rollout(base, held, saved, blocks, steps, every, held_step, saved_step, dt)

Arrays are tiles: (blocks, entries, W) numbers, W states of a block side by side, so nothing is
transposed inside. `held_step` and `saved_step` are the bytes from one step's (one save's) array to the
next.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.kernels.call.objects import linked_text
from dalembert.kernels.llvm.body import declarations as needed
from dalembert.kernels.llvm.body import function
from dalembert.kernels.llvm.codegen import module
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.stack import (
    MOST_ON_STACK,
    Block,
    checks,
    declarations,
    guarded,
    is_deep,
    spilled,
)
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.threads import DECLARATIONS
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Op, Program

SYMBOL = "dalembert_rollout"


def loaded_rollout(iteration: Iteration, dtype: str, target: Target | None = None) -> Loaded:
    """The function, compiled or from the cache on disk."""
    target = target or native()
    written = partial(rollout_ir, iteration, dtype, target)
    return linked_text((*iteration.facts, dtype), (SYMBOL,), written, target)


def rollout_ir(iteration: Iteration, dtype: str, target: Target) -> str:
    """LLVM assembly of the loop and of the programs it calls."""
    v = Vector.of(dtype, target)
    loop = _Loop(iteration, v)
    need = max(spilled(p, v) for p in iteration.programs) + 2 * MOST_ON_STACK
    deep = is_deep(need, target)
    around = [DECLARATIONS, checks(), guarded(SYMBOL, loop.parameters, need)] if deep else []
    head = declarations(loop.blocks)
    return module("\n".join([head, *bodies(iteration, v), loop.text(deep), *around]), target)


def bodies(iteration: Iteration, v: Vector) -> list[str]:
    """Functions of the programs that are called: `body`, `finish`, `closing_0`, …"""
    named = zip(("body", "finish", *names_of_closing(iteration)), iteration.programs, strict=True)
    called = {name: p for name, p in named if name != "finish" or not _copies(p)}
    functions = [function(name, program, v) for name, program in called.items()]
    return [needed(iteration.stage, v, *iteration.programs[1:]), *functions]


def names_of_closing(iteration: Iteration) -> list[str]:
    """Names of the functions that close."""
    return [f"closing_{k}" for k in range(len(iteration.closing))]


def _copies(finish: Program) -> bool:
    """Whether a program only moves its inputs."""
    return bool(np.all(finish.op == Op.INPUT))


class _Loop:
    """Writes the loop; `x` holds base, work, held and scalars, `y` what a stage returns."""

    def __init__(self, iteration: Iteration, v: Vector) -> None:
        self.iteration, self.v, self.t = iteration, v, Text()
        self.base, self.work, self.held = iteration.sizes
        self.bytes = v.width * v.size
        entries = self.base + self.work + self.held + len(iteration.table[0])
        results = max(self.work, self.base)
        self.x, self.y = Block("%x", entries * self.bytes), Block("%y", results * self.bytes)
        # programs that close find base and held values beside each other
        self.z = Block("%z", (self.base + self.held) * self.bytes)

    @property
    def blocks(self) -> list[Block]:
        return [self.x, self.y, *([self.z] if self.iteration.closing else [])]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        pointers = [("ptr", name) for name in ("base", "held", "saved")]
        counts = [("i64", name) for name in ("blocks", "steps", "every", "held_step", "saved_step")]
        return [*pointers, *counts, (self.v.scalar, "dt")]

    def text(self, deep: bool) -> str:
        """The function; `dalembert_rollout_here` where it takes much stack."""
        t = self.t
        for block in self.blocks:
            block.allocate(t)
        t.do("%save = alloca i64")
        t.loop("%blocks", self.block)
        for block in self.blocks:
            block.release(t)
        t.do("ret void")
        head = ", ".join(f"{kind} %{name}" for kind, name in self.parameters)
        name = f"internal void @{SYMBOL}_here" if deep else f"void @{SYMBOL}"
        return t.function(f"{name}({head}) noinline #0")

    def place(self, tile: str, entry: int) -> str:
        return self.t.at(tile, entry * self.bytes)

    def copy(self, source: str, target: str, pairs: list[tuple[int, int]]) -> None:
        """Vectors from entries of one tile to entries of another, all read before any is written."""
        t, v = self.t, self.v
        read = [
            t.let(f"load {v.type}, ptr {self.place(source, a)}, align {v.size}") for a, _ in pairs
        ]
        for value, (_, b) in zip(read, pairs, strict=True):
            t.do(f"store {v.type} {value}, ptr {self.place(target, b)}, align {v.size}")

    def block(self, index: str) -> None:
        t = self.t
        start = t.at("%base", t.let(f"mul i64 {index}, {self.base * self.bytes}"))
        self.copy(start, "%x", [(k, k) for k in range(self.base)])
        held = t.at("%held", t.let(f"mul i64 {index}, {self.held * self.bytes}"))
        saved = t.at("%saved", t.let(f"mul i64 {index}, {self.base * self.bytes}"))
        t.do("store i64 0, ptr %save")
        t.loop("%steps", lambda step: self.step(step, held, saved))

    def step(self, step: str, held: str, saved: str) -> None:
        t, first = self.t, self.base + self.work
        now = t.at(held, t.let(f"mul i64 {step}, %held_step"))
        self.copy(now, "%x", [(k, first + k) for k in range(self.held)])
        self.begin()
        for row in self.iteration.table:
            self.stage(row)
        self.finish()
        self.close()
        after = t.let(f"add i64 {step}, 1")
        due = t.let(f"icmp eq i64 {t.let(f'urem i64 {after}, %every')}, 0")
        t.when(due, lambda: self.save(saved))

    def begin(self) -> None:
        """Working values from base values, or zero."""
        pairs = [(source, self.base + k) for k, source in enumerate(self.iteration.starts())]
        self.copy("%x", "%x", [(a, b) for a, b in pairs if a is not None])
        for a, b in pairs:
            if a is None:
                where = self.place("%x", b)
                self.t.do(f"store {self.v.type} zeroinitializer, ptr {where}, align {self.v.size}")

    def stage(self, row: tuple[float, ...]) -> None:
        t, v = self.t, self.v
        offset = self.base + self.work + self.held
        for column, factor in enumerate(row):
            scaled = t.let(f"fmul {v.scalar} %dt, {v.literal(factor)}")
            one = t.let(f"insertelement {v.type} poison, {v.scalar} {scaled}, i64 0")
            spread = (
                f"shufflevector {v.type} {one}, {v.type} poison, <{v.width} x i32> zeroinitializer"
            )
            t.do(f"store {v.type} {t.let(spread)}, ptr {self.place('%x', offset + column)}")
        t.do("call void @body(ptr %x, ptr %y)")
        self.copy("%y", "%x", [(k, self.base + k) for k in range(self.work)])

    def finish(self) -> None:
        program = self.iteration.finish
        if _copies(program):
            source = program.a[program.results].tolist()
            self.copy("%x", "%x", [(a, k) for k, a in enumerate(source)])
            return
        self.t.do("call void @finish(ptr %x, ptr %y)")
        self.copy("%y", "%x", [(k, k) for k in range(self.base)])

    def close(self) -> None:
        """Programs on base and held values, each so many times."""
        names = names_of_closing(self.iteration)
        for name, (_, times) in zip(names, self.iteration.closing, strict=True):
            self.t.loop(times, partial(self.closed, name))

    def closed(self, name: str, index: str) -> None:
        held = self.base + self.work
        self.copy("%x", "%z", [(k, k) for k in range(self.base)])
        self.copy("%x", "%z", [(held + k, self.base + k) for k in range(self.held)])
        self.t.do(f"call void @{name}(ptr %z, ptr %y)")
        self.copy("%y", "%x", [(k, k) for k in range(self.base)])

    def save(self, saved: str) -> None:
        t = self.t
        number = t.let("load i64, ptr %save")
        target = t.at(saved, t.let(f"mul i64 {number}, %saved_step"))
        self.copy("%x", target, [(k, k) for k in range(self.base)])
        t.do(f"store i64 {t.let(f'add i64 {number}, 1')}, ptr %save")
