"""An iteration repeated until it has arrived, as machine code: no state waits for its neighbours.

    void dalembert_search(held, first, pool, ends, costs, count, offset, given, starts, steps, mask,
                          gain, enough)

Base values are (point, best point, its cost); the rows of `held` (count, …) say what is searched for.
Every place of a register works on a row of its own: one that has arrived (cost ≤ enough) writes the
point after its last step, and takes the next row; after `steps` steps it begins again at a point of
the `pool` (mask + 1, n), `starts` times at most, and then writes the best point there was. The first
start is a row of `first` where `given` is 1. Starts depend on the number of a row, `offset` more than
its place here, and on nothing else.
"""

from __future__ import annotations

from functools import partial

from dalembert.errors import CompileError
from dalembert.kernels.call.objects import linked_text
from dalembert.kernels.llvm.body import body
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
from dalembert.kernels.program.iteration import STRIDES, Iteration

SYMBOL = "dalembert_search"


def loaded_search(iteration: Iteration, dtype: str, target: Target | None = None) -> Loaded:
    """The function, compiled or from the cache on disk."""
    target = target or native()
    written = partial(search_ir, iteration, dtype, target)
    return linked_text((iteration.stage.digest, dtype), (SYMBOL,), written, target)


def search_ir(iteration: Iteration, dtype: str, target: Target) -> str:
    """LLVM assembly of the loop and of the program it calls."""
    v = Vector.of(dtype, target)
    loop = _Search(iteration, v)
    need = spilled(iteration.stage, v) + 2 * MOST_ON_STACK
    deep = is_deep(need, target)
    around = [DECLARATIONS, checks(), guarded(SYMBOL, loop.parameters, need)] if deep else []
    head = declarations([loop.x, loop.y])
    return module(
        "\n".join([head, body(iteration.stage, v), loop.text(deep), *around]),
        target,
    )


class _Search:
    """Writes the loop; `x` holds base, work, held and gain, `y` what a step returns."""

    def __init__(self, iteration: Iteration, v: Vector) -> None:
        self.v, self.t = v, Text()
        self.base, self.work, self.held = iteration.sizes
        self.n = iteration.base[0].size
        if self.base != 2 * self.n + 1 or self.base != self.work:
            raise CompileError(f"{iteration.stage.name} is no search: (point, best, cost)")
        self.bytes = v.width * v.size
        entries = self.base + self.work + self.held + 1
        self.x, self.y = Block("%x", entries * self.bytes), Block("%y", self.work * self.bytes)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        pointers = [("ptr", name) for name in ("held", "first", "pool", "ends", "costs")]
        names = ("count", "offset", "given", "starts", "steps", "mask")
        numbers = [(self.v.scalar, name) for name in ("gain", "enough")]
        return [*pointers, *(("i64", name) for name in names), *numbers]

    def text(self, deep: bool) -> str:
        """The function; `dalembert_search_here` where it takes much stack."""
        t, v = self.t, self.v
        self.x.allocate(t)
        self.y.allocate(t)
        for name in ("row", "start"):  # of every place; a row of −1 is none
            t.do(f"%{name} = alloca [{v.width} x i64], align 64")
        t.do(f"%used = alloca {v.type}, align 64")  # steps since the start
        t.do("%next = alloca i64")
        t.do("%left = alloca i64")
        t.do("store i64 0, ptr %next")
        t.do("store i64 %count, ptr %left")
        last = self.entry(self.base + self.work + self.held)
        t.do(f"store {v.type} {self.spread('%gain')}, ptr {last}")
        enough, steps = (
            self.spread("%enough"),
            self.spread(t.let(f"uitofp i64 %steps to {v.scalar}")),
        )
        t.loop(v.width, self.take)
        t.do("br label %again")
        t.label("again")
        self.step(enough, steps)
        more = t.let(f"icmp ne i64 {t.let('load i64, ptr %left')}, 0")
        t.do(f"br i1 {more}, label %again, label %over")
        t.label("over")
        self.x.release(t)
        self.y.release(t)
        t.do("ret void")
        head = ", ".join(f"{kind} %{name}" for kind, name in self.parameters)
        name = f"internal void @{SYMBOL}_here" if deep else f"void @{SYMBOL}"
        return t.function(f"{name}({head}) noinline #0")

    def spread(self, value: str) -> str:
        """A number in all places."""
        v = self.v
        one = self.t.let(f"insertelement {v.type} poison, {v.scalar} {value}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        return self.t.let(f"shufflevector {v.type} {one}, {v.type} poison, {zeros}")

    def entry(self, k: int) -> str:
        return self.t.at("%x", k * self.bytes)

    def numbers(self, name: str, lane: str) -> str:
        """The address of a whole number of one place."""
        return self.t.let(f"getelementptr i64, ptr %{name}, i64 {lane}")

    def step(self, enough: str, steps: str) -> None:
        """One step of all places, then what has ended is looked after."""
        t, v = self.t, self.v
        t.do("call void @body(ptr %x, ptr %y)")
        for k in range(self.base):
            value = t.let(f"load {v.type}, ptr {t.at('%y', k * self.bytes)}, align {v.size}")
            t.do(f"store {v.type} {value}, ptr {self.entry(k)}, align {v.size}")
        before = t.let(f"load {v.type}, ptr %used")
        used = t.let(f"fadd {v.type} {before}, {v.splat(1.0)}")
        t.do(f"store {v.type} {used}, ptr %used")
        cost = t.let(f"load {v.type}, ptr {self.entry(2 * self.n)}, align {v.size}")
        arrived = t.let(f"fcmp ole {v.type} {cost}, {enough}")
        over = t.let(f"fcmp oge {v.type} {used}, {steps}")
        ended = t.let(f"or {v.mask} {arrived}, {over}")
        bits = t.let(f"bitcast {v.mask} {ended} to i{v.width}")
        wide = t.let(f"zext i{v.width} {bits} to i64")
        any_ = t.let(f"icmp ne i64 {wide}, 0")
        t.when(any_, lambda: t.loop(v.width, lambda lane: self.look_after(lane, wide)))

    def look_after(self, lane: str, ended: str) -> None:
        t = self.t
        shifted = t.let(f"lshr i64 {ended}, {lane}")
        mine = t.let(f"trunc i64 {shifted} to i1")
        t.when(mine, lambda: self.end(lane))

    def end(self, lane: str) -> None:
        """Write and take the next row, or begin again."""
        t, v = self.t, self.v
        at = t.let(f"getelementptr {v.scalar}, ptr {self.entry(2 * self.n)}, i64 {lane}")
        cost = t.let(f"load {v.scalar}, ptr {at}")
        arrived = t.let(f"fcmp ole {v.scalar} {cost}, %enough")
        before = t.let(f"load i64, ptr {self.numbers('start', lane)}")
        tried = t.let(f"add i64 {before}, 1")
        done = t.let(f"or i1 {arrived}, {t.let(f'icmp uge i64 {tried}, %starts')}")
        t.when(done, lambda: self.write(lane, cost, arrived))
        going = t.let(f"xor i1 {done}, true")
        t.when(going, lambda: self.begin(lane, tried))

    def write(self, lane: str, cost: str, arrived: str) -> None:
        t, v, n = self.t, self.v, self.n
        row = t.let(f"load i64, ptr {self.numbers('row', lane)}")

        def results() -> None:
            which = t.let(f"select i1 {arrived}, i64 0, i64 {n * self.bytes}")
            source = t.let(f"getelementptr {v.scalar}, ptr {t.at('%x', which)}, i64 {lane}")
            target = t.at("%ends", t.let(f"mul i64 {row}, {n * v.size}"))
            for k in range(n):
                value = t.let(f"load {v.scalar}, ptr {t.at(source, k * self.bytes)}")
                t.do(f"store {v.scalar} {value}, ptr {t.at(target, k * v.size)}")
            place = t.at("%costs", t.let(f"mul i64 {row}, {v.size}"))
            t.do(f"store {v.scalar} {cost}, ptr {place}")
            left = t.let("load i64, ptr %left")
            t.do(f"store i64 {t.let(f'sub i64 {left}, 1')}, ptr %left")

        t.when(t.let(f"icmp sge i64 {row}, 0"), results)
        self.take(lane)

    def take(self, lane: str) -> None:
        """The next row; where there is none, the last one once more, for nothing."""
        t, v = self.t, self.v
        following = t.let("load i64, ptr %next")
        t.do(f"store i64 {t.let(f'add i64 {following}, 1')}, ptr %next")
        there = t.let(f"icmp ult i64 {following}, %count")
        row = t.let(f"select i1 {there}, i64 {following}, i64 -1")
        t.do(f"store i64 {row}, ptr {self.numbers('row', lane)}")
        last = t.let("sub i64 %count, 1")
        real = t.let(f"select i1 {there}, i64 {following}, i64 {last}")
        source = t.at("%held", t.let(f"mul i64 {real}, {self.held * v.size}"))
        self.put(lane, source, self.base + self.work, self.held)
        cost = t.let(f"getelementptr {v.scalar}, ptr {self.entry(2 * self.n)}, i64 {lane}")
        t.do(f"store {v.scalar} {v.literal(float('inf'))}, ptr {cost}")
        self.begin(lane, "0")

    def begin(self, lane: str, start: str) -> None:
        """At the first point of the row, or at one of the pool."""
        t, v, size = self.t, self.v, self.n * self.v.size
        t.do(f"store i64 {start}, ptr {self.numbers('start', lane)}")
        row = t.let(f"load i64, ptr {self.numbers('row', lane)}")
        number = t.let(f"add i64 {row}, %offset")
        both = [t.let(f"mul i64 {x}, {s}") for x, s in zip((number, start), STRIDES, strict=True)]
        index = t.let(f"and i64 {t.let(f'add i64 {both[0]}, {both[1]}')}, %mask")
        pooled = t.at("%pool", t.let(f"mul i64 {index}, {size}"))
        real = t.let(f"select i1 {t.let(f'icmp sge i64 {row}, 0')}, i64 {row}, i64 0")
        given = t.at("%first", t.let(f"mul i64 {real}, {size}"))
        initial = t.let(f"icmp ult i64 {start}, %given")
        source = t.let(f"select i1 {initial}, ptr {given}, ptr {pooled}")
        self.put(lane, source, 0, self.n)
        if start == "0":  # the best there is, whatever comes
            self.put(lane, source, self.n, self.n)
        used = t.let(f"getelementptr {v.scalar}, ptr %used, i64 {lane}")
        t.do(f"store {v.scalar} {v.literal(0.0)}, ptr {used}")

    def put(self, lane: str, source: str, entry: int, count: int) -> None:
        """Numbers in a row into entries of one place."""
        t, v = self.t, self.v
        place = t.let(f"getelementptr {v.scalar}, ptr {self.entry(entry)}, i64 {lane}")
        for k in range(count):
            value = t.let(f"load {v.scalar}, ptr {t.at(source, k * v.size)}")
            t.do(f"store {v.scalar} {value}, ptr {t.at(place, k * self.bytes)}")
