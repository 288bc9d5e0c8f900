"""Steps of lengths of their own as machine code: every place of a register has its own time and step.

    void dalembert_adaptive(base, held, saved, ends, next, turns, count, saves, interval)

Rows of `base` (count, …) are where runs begin, among their values the time `t`, and `ended`, which is
no longer zero where a run is over. After every try the state at each time k · interval it passed is
written to `saved` (count, saves, …) by the program `between`; a run that is over writes its base values
to `ends` (count, …), and its place takes the next row, the number of which is counted in `next` for all
threads together. `turns` counts the tries of the register.
"""

from __future__ import annotations

from functools import partial

from dalembert.kernels.call.objects import linked_text
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.places import Places
from dalembert.kernels.llvm.stack import Block
from dalembert.kernels.llvm.steps import written
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.llvm.text import Vector
from dalembert.kernels.program.iteration import Iteration

SYMBOL = "dalembert_adaptive"


def loaded_adaptive(
    iteration: Iteration, saved: int, dtype: str = "float64", target: Target | None = None
) -> Loaded:
    """The function, compiled or from the cache on disk; the first `saved` base values are written."""
    target = target or native()
    text = partial(adaptive_ir, iteration, saved, dtype, target)
    return linked_text((*iteration.facts, str(saved), dtype), (SYMBOL,), text, target)


def adaptive_ir(iteration: Iteration, saved: int, dtype: str, target: Target) -> str:
    """LLVM assembly of the loop and of the programs it calls."""
    return written(_Adaptive(iteration, saved, Vector.of(dtype, target)), target)


class _Adaptive(Places):
    """Runs with steps of their own; `%r` holds what `between` needs of a try."""

    symbol = SYMBOL

    def __init__(self, iteration: Iteration, saved: int, v: Vector) -> None:
        super().__init__(iteration, v)
        self.saved = saved
        names = [(port.name, port.size) for port in iteration.base]
        starts = {name: sum(n for _, n in names[:k]) for k, (name, _) in enumerate(names)}
        self.time, self.ended = starts["t"], starts["ended"]
        self.r = Block("%r", (self.base + self.work + 1) * self.bytes)
        self.s = Block("%s", self.base * self.bytes)

    @property
    def blocks(self) -> list[Block]:
        return [*super().blocks, self.r, self.s]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        pointers = [("ptr", name) for name in ("base", "held", "saved", "ends", "next", "turns")]
        return [*pointers, ("i64", "count"), ("i64", "saves"), (self.v.scalar, "interval")]

    def prepare(self) -> None:
        """The table is not scaled; nothing is saved yet."""
        t, v = self.t, self.v
        t.do(f"%dt = fadd {v.scalar} {v.literal(1.0)}, {v.literal(0.0)}")
        t.do(f"%index = alloca {v.type}, align 64")  # how many states each place has saved
        self.interval = self.spread("%interval")
        self.most = self.spread(t.let(f"uitofp i64 %saves to {v.scalar}"))

    def turn(self) -> None:
        t, v = self.t, self.v
        self.copy("%x", "%r", [(k, k) for k in range(self.base)])
        self.step()
        turns = t.let("load i64, ptr %turns")
        t.do(f"store i64 {t.let(f'add i64 {turns}, 1')}, ptr %turns")
        self.report()
        over = t.let(f"load {v.type}, ptr {self.entry(self.ended)}, align {v.size}")
        self.look_after(t.let(f"fcmp ogt {v.type} {over}, {v.splat(0.5)}"))

    def report(self) -> None:
        """States at saved times within the try, as long as any place has passed one."""
        t, again, done = self.t, self.t.fresh("passed"), self.t.fresh("reported")
        work = [(self.base + k, self.base + k) for k in range(self.work)]
        some, due, when = self.due()
        first = t.fresh("report")
        t.do(f"br i1 {some}, label %{first}, label %{done}")
        t.label(first)
        self.copy("%x", "%r", work)
        t.do(f"br label %{again}")
        t.label(again)
        some, due, when = self.due()
        self.save(due, when)
        some, due, when = self.due()
        t.do(f"br i1 {some}, label %{again}, label %{done}")
        t.label(done)

    def due(self) -> tuple[str, str, str]:
        """(Whether any place has passed its next saved time, which, and those times)."""
        t, v = self.t, self.v
        index = t.let(f"load {v.type}, ptr %index")
        following = t.let(f"fadd {v.type} {index}, {v.splat(1.0)}")
        when = t.let(f"fmul {v.type} {following}, {self.interval}")
        now = t.let(f"load {v.type}, ptr {self.entry(self.time)}, align {v.size}")
        passed = t.let(f"fcmp ole {v.type} {when}, {now}")
        left = t.let(f"fcmp olt {v.type} {index}, {self.most}")
        due = t.let(f"and {v.mask} {passed}, {left}")
        bits = t.let(f"bitcast {v.mask} {due} to i{v.width}")
        return t.let(f"icmp ne i{v.width} {bits}, 0"), due, when

    def save(self, due: str, when: str) -> None:
        """Places that are due write the state of their time, and wait for the next."""
        t, v = self.t, self.v
        t.do(f"store {v.type} {when}, ptr {self.place('%r', self.base + self.work)}")
        t.do("call void @between(ptr %r, ptr %y)")
        self.copy("%y", "%s", [(k, k) for k in range(self.base)])
        self.close("%s")

        def one(lane: str) -> None:
            row = t.let(f"load i64, ptr {self.numbers('row', lane)}")
            place = t.let(f"getelementptr {v.scalar}, ptr %index, i64 {lane}")
            index = t.let(f"load {v.scalar}, ptr {place}")
            t.do(
                f"store {v.scalar} {t.let(f'fadd {v.scalar} {index}, {v.literal(1.0)}')}, ptr {place}"
            )
            there = t.let(f"icmp sge i64 {row}, 0")
            t.when(there, lambda: self.write(lane, row, index))

        self.each(due, one)

    def write(self, lane: str, row: str, index: str) -> None:
        """One saved state."""
        t, v = self.t, self.v
        number = t.let(f"fptoui {v.scalar} {index} to i64")
        at = t.let(f"add i64 {t.let(f'mul i64 {row}, %saves')}, {number}")
        target = t.at("%saved", t.let(f"mul i64 {at}, {self.saved * v.size}"))
        self.give(lane, "%s", target, self.saved)

    def end(self, lane: str) -> None:
        """Write where a run ended, and take the next row."""
        t, v = self.t, self.v
        row = t.let(f"load i64, ptr {self.numbers('row', lane)}")

        def results() -> None:
            target = t.at("%ends", t.let(f"mul i64 {row}, {self.base * v.size}"))
            self.give(lane, "%x", target, self.base)
            self.count_down()

        t.when(t.let(f"icmp sge i64 {row}, 0"), results)
        self.take(lane)

    def take(self, lane: str) -> None:
        """The next row; where there is none, the last one once more, for nothing."""
        t, v = self.t, self.v
        row = self.next_row(lane)
        self.take_held(lane, row)
        source = t.at("%base", t.let(f"mul i64 {row}, {self.base * v.size}"))
        self.put(lane, source, 0, self.base)
        index = t.let(f"getelementptr {v.scalar}, ptr %index, i64 {lane}")
        t.do(f"store {v.scalar} {v.literal(0.0)}, ptr {index}")
