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
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.places import Places
from dalembert.kernels.llvm.steps import written
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.llvm.text import Vector
from dalembert.kernels.program.iteration import STRIDES, Iteration

SYMBOL = "dalembert_search"


def loaded_search(iteration: Iteration, dtype: str, target: Target | None = None) -> Loaded:
    """The function, compiled or from the cache on disk."""
    target = target or native()
    text = partial(search_ir, iteration, dtype, target)
    return linked_text((iteration.stage.digest, dtype), (SYMBOL,), text, target)


def search_ir(iteration: Iteration, dtype: str, target: Target) -> str:
    """LLVM assembly of the loop and of the program it calls."""
    return written(_Search(iteration, Vector.of(dtype, target)), target)


class _Search(Places):
    """Points that are searched for; `x` ends with the gain."""

    symbol = SYMBOL

    def __init__(self, iteration: Iteration, v: Vector) -> None:
        super().__init__(iteration, v)
        self.n = iteration.base[0].size
        if self.base != 2 * self.n + 1 or self.base != self.work:
            raise CompileError(f"{iteration.stage.name} is no search: (point, best, cost)")

    @property
    def parameters(self) -> list[tuple[str, str]]:
        pointers = [("ptr", name) for name in ("held", "first", "pool", "ends", "costs")]
        names = ("count", "offset", "given", "starts", "steps", "mask")
        numbers = [(self.v.scalar, name) for name in ("gain", "enough")]
        return [*pointers, *(("i64", name) for name in names), *numbers]

    def prepare(self) -> None:
        t, v = self.t, self.v
        t.do("%next = alloca i64")
        t.do("store i64 0, ptr %next")
        t.do(f"%start = alloca [{v.width} x i64], align 64")
        t.do(f"%used = alloca {v.type}, align 64")  # steps since the start
        last = self.entry(self.base + self.work + self.held)
        t.do(f"store {v.type} {self.spread('%gain')}, ptr {last}")
        self.enough = self.spread("%enough")
        self.steps = self.spread(t.let(f"uitofp i64 %steps to {v.scalar}"))

    def turn(self) -> None:
        t, v = self.t, self.v
        t.do("call void @body(ptr %x, ptr %y)")
        self.copy("%y", "%x", [(k, k) for k in range(self.base)])
        before = t.let(f"load {v.type}, ptr %used")
        used = t.let(f"fadd {v.type} {before}, {v.splat(1.0)}")
        t.do(f"store {v.type} {used}, ptr %used")
        cost = t.let(f"load {v.type}, ptr {self.entry(2 * self.n)}, align {v.size}")
        arrived = t.let(f"fcmp ole {v.type} {cost}, {self.enough}")
        over = t.let(f"fcmp oge {v.type} {used}, {self.steps}")
        ended = t.let(f"or {v.mask} {arrived}, {over}")
        self.look_after(ended)

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
        t.when(going, lambda: self.start(lane, tried))

    def write(self, lane: str, cost: str, arrived: str) -> None:
        t, v, n = self.t, self.v, self.n
        row = t.let(f"load i64, ptr {self.numbers('row', lane)}")

        def results() -> None:
            which = t.let(f"select i1 {arrived}, i64 0, i64 {n * self.bytes}")
            target = t.at("%ends", t.let(f"mul i64 {row}, {n * v.size}"))
            self.give(lane, t.at("%x", which), target, n)
            place = t.at("%costs", t.let(f"mul i64 {row}, {v.size}"))
            t.do(f"store {v.scalar} {cost}, ptr {place}")
            self.count_down()

        t.when(t.let(f"icmp sge i64 {row}, 0"), results)
        self.take(lane)

    def take(self, lane: str) -> None:
        """The next row; where there is none, the last one once more, for nothing."""
        t, v = self.t, self.v
        self.take_held(lane, self.next_row(lane))
        cost = t.let(f"getelementptr {v.scalar}, ptr {self.entry(2 * self.n)}, i64 {lane}")
        t.do(f"store {v.scalar} {v.literal(float('inf'))}, ptr {cost}")
        self.start(lane, "0")

    def start(self, lane: str, start: str) -> None:
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
