"""One step of an iteration as machine code, from which every loop around it is written.

Tiles hold one vector, of W states side by side, per entry; `x` has base, work and held values and the
scalars of a stage, `y` takes what a program returns.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.kernels.llvm.body import declarations as needed
from dalembert.kernels.llvm.body import function
from dalembert.kernels.llvm.codegen import module
from dalembert.kernels.llvm.stack import (
    MOST_ON_STACK,
    Block,
    checks,
    declarations,
    guarded,
    is_deep,
    spilled,
)
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.threads import DECLARATIONS
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Op, Program


def written(loop: Steps, target: Target) -> str:
    """LLVM assembly of a loop and of the programs it calls."""
    need = max(spilled(p, loop.v) for p in loop.iteration.programs) + 2 * MOST_ON_STACK
    deep = is_deep(need, target)
    around = [DECLARATIONS, checks(), guarded(loop.symbol, loop.parameters, need)] if deep else []
    head = declarations(loop.blocks)
    own = bodies(loop.iteration, loop.v)
    return module("\n".join([head, *own, loop.text(deep), *around]), target)


def bodies(iteration: Iteration, v: Vector) -> list[str]:
    """Functions of the programs that are called: `body`, `finish`, `closing_0`, …"""
    names = ["body", "finish", *names_of_closing(iteration)]
    names += [] if iteration.between is None else ["between"]
    named = zip(names, iteration.programs, strict=True)
    called = {name: p for name, p in named if name != "finish" or not _copies(p)}
    functions = [function(name, program, v) for name, program in called.items()]
    return [needed(iteration.stage, v, *iteration.programs[1:]), *functions]


def names_of_closing(iteration: Iteration) -> list[str]:
    """Names of the functions that close."""
    return [f"closing_{k}" for k in range(len(iteration.closing))]


def _copies(finish: Program) -> bool:
    """Whether a program only moves its inputs."""
    return bool(np.all(finish.op == Op.INPUT))


class Steps:
    """Writes a function around steps; what it repeats is `inside`."""

    symbol: str

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
        """Types and names."""
        raise NotImplementedError

    def inside(self) -> None:
        """Everything between taking memory and giving it back."""
        raise NotImplementedError

    def text(self, deep: bool) -> str:
        """The function; `…_here` where it takes much stack."""
        t = self.t
        for block in self.blocks:
            block.allocate(t)
        self.inside()
        for block in self.blocks:
            block.release(t)
        t.do("ret void")
        head = ", ".join(f"{kind} %{name}" for kind, name in self.parameters)
        name = f"internal void @{self.symbol}_here" if deep else f"void @{self.symbol}"
        return t.function(f"{name}({head}) noinline #0")

    def spread(self, value: str) -> str:
        """A number in all places."""
        v = self.v
        one = self.t.let(f"insertelement {v.type} poison, {v.scalar} {value}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        return self.t.let(f"shufflevector {v.type} {one}, {v.type} poison, {zeros}")

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

    def step(self) -> None:
        """From base values to the next ones."""
        self.begin()
        for number, row in enumerate(self.iteration.table):
            self.stage(number, row)
        self.finish()
        self.close("%x")

    def begin(self) -> None:
        """Working values from base values, or zero."""
        pairs = [(source, self.base + k) for k, source in enumerate(self.iteration.starts())]
        self.copy("%x", "%x", [(a, b) for a, b in pairs if a is not None])
        for a, b in pairs:
            if a is None:
                where = self.place("%x", b)
                self.t.do(f"store {self.v.type} zeroinitializer, ptr {where}, align {self.v.size}")

    def stage(self, number: int, row: tuple[float, ...]) -> None:
        t, v = self.t, self.v
        offset = self.base + self.work + self.held
        for column, factor in enumerate(row):
            scaled = t.let(f"fmul {v.scalar} %dt, {v.literal(factor)}")
            where = self.place("%x", offset + column)
            t.do(f"store {v.type} {self.spread(scaled)}, ptr {where}")
        t.do("call void @body(ptr %x, ptr %y)")
        results = len(self.iteration.stage.results)
        first = self.base + (number + 1) * results if self.iteration.kept else self.base
        self.copy("%y", "%x", [(k, first + k) for k in range(results)])

    def finish(self) -> None:
        program = self.iteration.finish
        if _copies(program):
            source = program.a[program.results].tolist()
            self.copy("%x", "%x", [(a, k) for k, a in enumerate(source)])
            return
        self.t.do("call void @finish(ptr %x, ptr %y)")
        self.copy("%y", "%x", [(k, k) for k in range(self.base)])

    def close(self, tile: str) -> None:
        """Programs on the base values of a tile and on held values, each so many times."""
        names = names_of_closing(self.iteration)
        for name, (_, times) in zip(names, self.iteration.closing, strict=True):
            self.t.loop(times, partial(self.closed, name, tile))

    def closed(self, name: str, tile: str, index: str) -> None:
        held = self.base + self.work
        self.copy(tile, "%z", [(k, k) for k in range(self.base)])
        self.copy("%x", "%z", [(held + k, self.base + k) for k in range(self.held)])
        self.t.do(f"call void @{name}(ptr %z, ptr %y)")
        self.copy("%y", tile, [(k, k) for k in range(self.base)])
