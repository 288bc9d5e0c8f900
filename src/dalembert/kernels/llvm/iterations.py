"""Loops around the steps of an iteration as machine code, and how they are called.

Tiles hold one vector, of W states in lanes, per entry; `x` has base, work and fixed values and the
scalars of a stage, `y` receives the results of a program. A rollout takes all steps of a register of
trajectories before the next register. In the other loops every lane works on a row of its own and
takes the next one when that has ended: no state waits for its neighbours. The counter `next` of rows
that are taken may be shared by several threads; where no row is left, a lane repeats the last one
without effect, as row −1, until all others have ended.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dalembert.kernels.call.cache_key import load_or_compile_ir
from dalembert.kernels.llvm.body import part_declarations, part_function
from dalembert.kernels.llvm.ir import IRWriter, Vector, assembly_file
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.runtime import (
    MAX_ON_STACK,
    THREAD_DECLARATIONS,
    Block,
    guarded_function,
    heap_declarations,
    is_deep,
    spilled_bytes,
)
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.program.iteration import STRIDES, Iteration, port_starts
from dalembert.tracing.program import Op, Program


def load_loop(
    kind: type[LoopWriter], iteration: Iteration, saved: int = 0, dtype: str = "float64"
) -> Loaded:
    """The function of a loop, compiled or from the cache on disk.

    Of an adaptive one the first `saved` base values are saved.
    """
    target = native()
    text = partial(assembly, kind, iteration, saved, dtype, target)
    key_parts = (*iteration.facts, str(saved), dtype)
    return load_or_compile_ir(key_parts, (kind.symbol,), text, target)


def assembly(
    kind: type[LoopWriter], iteration: Iteration, saved: int, dtype: str, target: Target
) -> str:
    """LLVM assembly of a loop and of the programs it calls."""
    loop = kind(iteration, Vector.of(dtype, target), saved)
    need = max(spilled_bytes(p, loop.v) for p in iteration.programs) + 2 * MAX_ON_STACK
    deep = is_deep(need, target)
    texts = [heap_declarations(loop.blocks)]
    texts.append(part_declarations(iteration.stage, loop.v, *iteration.programs[1:]))
    names = ["body", "finish", *loop.closing, *([] if iteration.between is None else ["between"])]
    for name, program in zip(names, iteration.programs, strict=True):
        if name != "finish" or not _only_copies(program):
            texts.append(part_function(name, program, loop.v))
    texts.append(loop.text(deep))
    if deep:
        texts += [THREAD_DECLARATIONS, assembly_file("stack_checks")]
        texts.append(guarded_function(loop.symbol, loop.parameters, need))
    return "\n".join(texts)


def _only_copies(finish: Program) -> bool:
    """Whether a program only moves its inputs."""
    return bool(np.all(finish.op == Op.INPUT))


class LoopWriter:
    """Writes a function around steps; subclasses write its body."""

    inside: Callable[[], None]  # writes the code between allocating memory and releasing it
    symbol: ClassVar[str]
    pointers: ClassVar[tuple[str, ...]]  # the parameters, in this order
    counts: ClassVar[tuple[str, ...]]
    numbers: ClassVar[tuple[str, ...]]

    def __init__(self, iteration: Iteration, v: Vector, saved: int) -> None:
        self.iteration, self.v, self.saved, self.t = iteration, v, saved, IRWriter()
        self.base, self.work, self.fixed = iteration.sizes
        self.bytes = v.width * v.size
        entries = self.base + self.work + self.fixed + len(iteration.table[0])
        results = max(self.work, self.base)
        self.x, self.y = Block("%x", entries * self.bytes), Block("%y", results * self.bytes)
        # programs that close find base and fixed values beside each other
        self.z = Block("%z", (self.base + self.fixed) * self.bytes)
        self.closing = [f"closing_{k}" for k in range(len(iteration.closing))]

    @classmethod
    def called(cls, loaded: Loaded, dtype: str = "float64") -> Callable[..., None]:
        """The function of addresses, counts and numbers."""
        real = ctypes.c_float if dtype == "float32" else ctypes.c_double
        kinds: list[Any] = [ctypes.c_void_p] * len(cls.pointers)
        kinds += [ctypes.c_int64] * len(cls.counts) + [real] * len(cls.numbers)
        return ctypes.CFUNCTYPE(None, *kinds)(loaded[cls.symbol])

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Types and names."""
        kinds = {"ptr": self.pointers, "i64": self.counts, self.v.scalar: self.numbers}
        return [(kind, name) for kind, names in kinds.items() for name in names]

    @property
    def blocks(self) -> list[Block]:
        return [self.x, self.y, *([self.z] if self.iteration.closing else [])]

    def text(self, deep: bool) -> str:
        """The function; its name ends in `_here` where it takes much stack."""
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

    def address(self, tile: str, entry: int) -> str:
        return self.t.at(tile, entry * self.bytes)

    def copy(self, source: str, target: str, pairs: list[tuple[int, int]]) -> None:
        """Vectors from entries of one tile to entries of another, all read before any is written."""
        t, v = self.t, self.v
        read = [t.load(v.type, self.address(source, a), f"align {v.size}") for a, _ in pairs]
        for value, (_, b) in zip(read, pairs, strict=True):
            t.store(v.type, value, self.address(target, b), f"align {v.size}")

    def step(self) -> None:
        """From base values to the next ones."""
        t, v, iteration = self.t, self.v, self.iteration
        # working values start from base values, or zero
        pairs = [(source, self.base + k) for k, source in enumerate(iteration.starts())]
        self.copy("%x", "%x", [(a, b) for a, b in pairs if a is not None])
        for a, b in pairs:
            if a is None:
                t.store(v.type, "zeroinitializer", self.address("%x", b), f"align {v.size}")
        results = len(iteration.stage.results)
        for number, row in enumerate(iteration.table):
            for column, factor in enumerate(row, start=self.base + self.work + self.fixed):
                scaled = t.let(f"fmul {v.scalar} %dt, {v.literal(factor)}")
                address = self.address("%x", column)
                t.store(v.type, t.splat(v, scaled), address)
            t.do("call void @body(ptr %x, ptr %y)")
            first = self.base + (number + 1) * results if iteration.stores_stages else self.base
            self.copy("%y", "%x", [(k, first + k) for k in range(results)])
        if _only_copies(iteration.finish):
            sources = iteration.finish.a[iteration.finish.results].tolist()
            self.copy("%x", "%x", [(a, k) for k, a in enumerate(sources)])
        else:
            t.do("call void @finish(ptr %x, ptr %y)")
            self.copy("%y", "%x", [(k, k) for k in range(self.base)])
        self.close("%x")

    def close(self, tile: str) -> None:
        """Closing programs on the base values of a tile and on fixed values, each so many times."""
        first = self.base + self.work
        for name, (_, times) in zip(self.closing, self.iteration.closing, strict=True):
            with self.t.loop(times):
                self.copy(tile, "%z", [(k, k) for k in range(self.base)])
                self.copy("%x", "%z", [(first + k, self.base + k) for k in range(self.fixed)])
                self.t.do(f"call void @{name}(ptr %z, ptr %y)")
                self.copy("%y", tile, [(k, k) for k in range(self.base)])


class RolloutWriter(LoopWriter):
    """void dalembert_rollout(base, held, saved, blocks, steps, every, held_step, saved_step, dt)

    Arrays are tiles: (blocks, entries, W) numbers, W states of a block side by side, so nothing is
    transposed inside. `held_step` and `saved_step` are the bytes from one step's (one save's) array to
    the next.
    """

    symbol = "dalembert_rollout"
    pointers = ("base", "held", "saved")
    counts = ("blocks", "steps", "every", "held_step", "saved_step")
    numbers = ("dt",)

    def inside(self) -> None:
        """Block after block."""
        t, base = self.t, [(k, k) for k in range(self.base)]
        t.do("%save = alloca i64")
        with t.loop("%blocks") as index:
            start = t.at("%base", t.op("mul", index, self.base * self.bytes))
            self.copy(start, "%x", base)
            fixed = t.at("%held", t.op("mul", index, self.fixed * self.bytes))
            saved = t.at("%saved", t.op("mul", index, self.base * self.bytes))
            t.store("i64", "0", "%save")
            with t.loop("%steps") as step:
                now = t.at(fixed, t.op("mul", step, "%held_step"))
                first = self.base + self.work
                self.copy(now, "%x", [(k, first + k) for k in range(self.fixed)])
                self.step()
                passed = t.op("urem", t.op("add", step, 1), "%every")
                with t.when(t.op("icmp eq", passed, 0)):
                    number = t.load("i64", "%save")
                    self.copy("%x", t.at(saved, t.op("mul", number, "%saved_step")), base)
                    t.store("i64", t.op("add", number, 1), "%save")


class RowLoop(LoopWriter):
    """Writes a loop over rows, of the code that subclasses write."""

    prepare: Callable[[], None]  # runs once, before the first row is taken
    turn: Callable[[], str]  # one step of all lanes; the mask of those that have ended
    take: Callable[[str], None]  # the next row into a lane; without one, the last, without effect
    end: Callable[[str], None]  # for a lane whose row has ended

    def inside(self) -> None:
        """Steps of all lanes, until every row has ended."""
        t = self.t
        t.do(f"%row = alloca [{self.v.width} x i64], align 64")
        t.do("%left = alloca i64")  # rows at work
        t.store("i64", "0", "%left")
        self.prepare()
        with t.loop(self.v.width) as lane:
            self.take(lane)
        t.do("br label %again")
        t.label("again")
        with self.each(self.turn()) as lane:
            self.end(lane)
        more = t.op("icmp ne", t.load("i64", "%left"), 0)
        t.do(f"br i1 {more}, label %again, label %over")
        t.label("over")

    def load(self, entry: int) -> str:
        """The vector of an entry of `x`."""
        v = self.v
        return self.t.load(v.type, self.address("%x", entry), f"align {v.size}")

    def set(self, address: str, lane: str, value: float) -> None:
        """Store a number in one lane of a vector."""
        v = self.v
        self.t.store(v.scalar, v.literal(value), self.t.element(v.scalar, address, lane))

    def row(self, lane: str) -> str:
        """The row that a lane works on."""
        return self.t.load("i64", self.t.element("i64", "%row", lane))

    @contextmanager
    def each(self, mask: str) -> Iterator[str]:
        """A block that runs for the lanes where a mask is true."""
        t, v = self.t, self.v
        bits = t.let(f"bitcast {v.mask} {mask} to i{v.width}")
        wide = t.let(f"zext i{v.width} {bits} to i64")
        with t.when(t.op("icmp ne", wide, 0)), t.loop(v.width) as lane:
            shifted = t.op("lshr", wide, lane)
            with t.when(t.let(f"trunc i64 {shifted} to i1")):
                yield lane

    def next_row(self, lane: str) -> str:
        """The index of the row that a lane takes; −1 is stored as its row where none is left."""
        t = self.t
        following = t.let("atomicrmw add ptr %next, i64 1 monotonic")
        has_row = t.op("icmp ult", following, "%count")
        working, added = t.load("i64", "%left"), t.let(f"zext i1 {has_row} to i64")
        t.store("i64", t.op("add", working, added), "%left")
        t.store("i64", t.select(has_row, following, -1), t.element("i64", "%row", lane))
        return t.select(has_row, following, t.op("sub", "%count", 1))

    def take_fixed(self, lane: str, row: str) -> None:
        """Fixed values of a row."""
        source = self.t.at("%held", self.t.op("mul", row, self.fixed * self.v.size))
        self.put(lane, source, self.base + self.work, self.fixed)

    @contextmanager
    def ended(self, lane: str) -> Iterator[str]:
        """A block for the results of a lane's row, if it has one; then the lane takes the next row."""
        t, row = self.t, self.row(lane)
        with t.when(t.op("icmp sge", row, 0)):
            yield row
            t.store("i64", t.op("sub", t.load("i64", "%left"), 1), "%left")
        self.take(lane)

    def put(self, lane: str, source: str, entry: int, count: int) -> None:
        """Copy a row of numbers into entries of one lane."""
        t, v = self.t, self.v
        target = t.element(v.scalar, self.address("%x", entry), lane)
        for k in range(count):
            value = t.load(v.scalar, t.at(source, k * v.size))
            t.store(v.scalar, value, t.at(target, k * self.bytes))

    def give(self, lane: str, tile: str, target: str, count: int) -> None:
        """Copy entries of one lane of a tile into a row of numbers."""
        t, v = self.t, self.v
        source = t.element(v.scalar, tile, lane)
        for k in range(count):
            value = t.load(v.scalar, t.at(source, k * self.bytes))
            t.store(v.scalar, value, t.at(target, k * v.size))


class AdaptiveWriter(RowLoop):
    """void dalembert_adaptive(base, held, saved, ends, next, turns, count, saves, interval)

    Adaptive steps: every lane of a register has its own time and step. Rows of `base` (count, …) are
    initial values, among them the time `t`, and `ended`, which is nonzero where a run is over. After
    every attempted step the state at each time k · interval that it passed is written to `saved`
    (count, saves, …) by the program `between`, which reads the step from `%r`; a run that is over
    writes its base values to `ends` (count, …). `turns` counts the attempted steps of the register.
    """

    symbol = "dalembert_adaptive"
    pointers = ("base", "held", "saved", "ends", "next", "turns")
    counts = ("count", "saves")
    numbers = ("interval",)

    def __init__(self, iteration: Iteration, v: Vector, saved: int) -> None:
        super().__init__(iteration, v, saved)
        starts = port_starts(iteration.base)
        self.time, self.over = starts["t"], starts["ended"]
        self.r = Block("%r", (self.base + self.work + 1) * self.bytes)
        self.s = Block("%s", self.base * self.bytes)

    @property
    def blocks(self) -> list[Block]:
        return [*super().blocks, self.r, self.s]

    def prepare(self) -> None:
        """The table is not scaled by dt; nothing is saved yet."""
        t, v = self.t, self.v
        t.do(f"%dt = fadd {v.scalar} {v.literal(1.0)}, {v.literal(0.0)}")
        t.do(f"%index = alloca {v.type}, align 64")  # how many states each lane has saved
        self.interval = t.splat(v, "%interval")
        self.most = t.splat(v, t.let(f"uitofp i64 %saves to {v.scalar}"))

    def turn(self) -> str:
        t, v = self.t, self.v
        self.copy("%x", "%r", [(k, k) for k in range(self.base)])
        self.step()
        t.store("i64", t.op("add", t.load("i64", "%turns"), 1), "%turns")
        # states at saved times within the step, as long as any lane has passed one
        again, done = t.fresh("passed"), t.fresh("reported")
        some, _, _ = self.due()
        first = t.fresh("report")
        t.do(f"br i1 {some}, label %{first}, label %{done}")
        t.label(first)
        self.copy("%x", "%r", [(self.base + k, self.base + k) for k in range(self.work)])
        t.do(f"br label %{again}")
        t.label(again)
        _, due, when = self.due()
        t.store(v.type, when, self.address("%r", self.base + self.work))
        t.do("call void @between(ptr %r, ptr %y)")
        self.copy("%y", "%s", [(k, k) for k in range(self.base)])
        self.close("%s")
        # lanes that are due write the state at their saved time and go on to the next one
        with self.each(due) as lane:
            row, address = self.row(lane), t.element(v.scalar, "%index", lane)
            index = t.load(v.scalar, address)
            following = t.let(f"fadd {v.scalar} {index}, {v.literal(1.0)}")
            t.store(v.scalar, following, address)
            with t.when(t.op("icmp sge", row, 0)):
                number = t.let(f"fptoui {v.scalar} {index} to i64")
                at = t.op("add", t.op("mul", row, "%saves"), number)
                target = t.at("%saved", t.op("mul", at, self.saved * v.size))
                self.give(lane, "%s", target, self.saved)
        some, _, _ = self.due()
        t.do(f"br i1 {some}, label %{again}, label %{done}")
        t.label(done)
        return t.let(f"fcmp ogt {v.type} {self.load(self.over)}, {v.splat(0.5)}")

    def due(self) -> tuple[str, str, str]:
        """(Whether any lane has passed its next saved time, the mask of these, and those times)."""
        t, v = self.t, self.v
        index = t.load(v.type, "%index")
        following = t.let(f"fadd {v.type} {index}, {v.splat(1.0)}")
        when = t.let(f"fmul {v.type} {following}, {self.interval}")
        passed = t.let(f"fcmp ole {v.type} {when}, {self.load(self.time)}")
        left = t.let(f"fcmp olt {v.type} {index}, {self.most}")
        due = t.let(f"and {v.mask} {passed}, {left}")
        bits = t.let(f"bitcast {v.mask} {due} to i{v.width}")
        return t.let(f"icmp ne i{v.width} {bits}, 0"), due, when

    def end(self, lane: str) -> None:
        """Write where a run ended, and take the next row."""
        t, v = self.t, self.v
        with self.ended(lane) as row:
            self.give(lane, "%x", t.at("%ends", t.op("mul", row, self.base * v.size)), self.base)

    def take(self, lane: str) -> None:
        t, v = self.t, self.v
        row = self.next_row(lane)
        self.take_fixed(lane, row)
        self.put(lane, t.at("%base", t.op("mul", row, self.base * v.size)), 0, self.base)
        self.set("%index", lane, 0.0)


class SearchWriter(RowLoop):
    """void dalembert_search(held, first, pool, ends, costs, count, offset, given, starts, steps, …)

    An iteration repeated until it converges. Base values are (point, best point, its cost); the rows
    of `held` (count, …) are the targets, `x` ends with the gain. A lane that has converged (cost ≤
    enough) writes the point after its last step and takes the next row; after `steps` steps it
    restarts at a point of the `pool` (mask + 1, n), `starts` times at most, and then writes the best
    point. The first start is a row of `first` where `given` is 1. Starting points depend only on the
    index of a row in the whole batch, which is `offset` more than its index here.
    """

    symbol = "dalembert_search"
    pointers = ("held", "first", "pool", "ends", "costs")
    counts = ("count", "offset", "given", "starts", "steps", "mask")
    numbers = ("gain", "enough")

    def __init__(self, iteration: Iteration, v: Vector, saved: int) -> None:
        super().__init__(iteration, v, saved)
        self.n = iteration.base[0].size

    def prepare(self) -> None:
        t, v = self.t, self.v
        t.do("%next = alloca i64")
        t.store("i64", "0", "%next")
        t.do(f"%start = alloca [{v.width} x i64], align 64")
        t.do(f"%used = alloca {v.type}, align 64")  # steps since the start
        last = self.address("%x", self.base + self.work + self.fixed)
        t.store(v.type, t.splat(v, "%gain"), last)
        self.enough = t.splat(v, "%enough")
        self.steps = t.splat(v, t.let(f"uitofp i64 %steps to {v.scalar}"))

    def turn(self) -> str:
        t, v = self.t, self.v
        t.do("call void @body(ptr %x, ptr %y)")
        self.copy("%y", "%x", [(k, k) for k in range(self.base)])
        before = t.load(v.type, "%used")
        used = t.let(f"fadd {v.type} {before}, {v.splat(1.0)}")
        t.store(v.type, used, "%used")
        converged = t.let(f"fcmp ole {v.type} {self.load(2 * self.n)}, {self.enough}")
        over = t.let(f"fcmp oge {v.type} {used}, {self.steps}")
        return t.let(f"or {v.mask} {converged}, {over}")

    def end(self, lane: str) -> None:
        """Write and take the next row, or begin again."""
        t, v = self.t, self.v
        cost = t.load(v.scalar, t.element(v.scalar, self.address("%x", 2 * self.n), lane))
        converged = t.let(f"fcmp ole {v.scalar} {cost}, %enough")
        starts = t.op("add", t.load("i64", t.element("i64", "%start", lane)), 1)
        done = t.op("or", converged, t.op("icmp uge", starts, "%starts"), "i1")
        with t.when(done), self.ended(lane) as row:
            which = t.select(converged, 0, self.n * self.bytes)
            target = t.at("%ends", t.op("mul", row, self.n * v.size))
            self.give(lane, t.at("%x", which), target, self.n)
            t.store(v.scalar, cost, t.at("%costs", t.op("mul", row, v.size)))
        with t.when(t.op("xor", done, "true", "i1")):
            self.start(lane, starts)

    def take(self, lane: str) -> None:
        self.take_fixed(lane, self.next_row(lane))
        self.set(self.address("%x", 2 * self.n), lane, float("inf"))
        self.start(lane, "0")

    def start(self, lane: str, start: str) -> None:
        """At the first point of the row, or at one of the pool."""
        t, size = self.t, self.n * self.v.size
        t.store("i64", start, t.element("i64", "%start", lane))
        row = self.row(lane)
        number = t.op("add", row, "%offset")
        both = [t.op("mul", x, s) for x, s in zip((number, start), STRIDES, strict=True)]
        index = t.op("and", t.op("add", *both), "%mask")
        pooled = t.at("%pool", t.op("mul", index, size))
        real = t.select(t.op("icmp sge", row, 0), row, 0)
        first = t.at("%first", t.op("mul", real, size))
        source = t.select(t.op("icmp ult", start, "%given"), first, pooled, "ptr")
        self.put(lane, source, 0, self.n)
        if start == "0":  # the best point so far
            self.put(lane, source, self.n, self.n)
        self.set("%used", lane, 0.0)
