"""An iteration as machine code: all steps of a register full of trajectories before the next register.

    void dalembert_rollout(base, held, saved, blocks, steps, every, held_step, saved_step, dt)

Arrays are tiles: (blocks, entries, W) numbers, W states of a block side by side, so nothing is
transposed inside. `held_step` and `saved_step` are the bytes from one step's (one save's) array to the
next.
"""

from __future__ import annotations

from functools import partial

from dalembert.kernels.call.objects import linked_text
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.steps import Steps, written
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.llvm.text import Vector
from dalembert.kernels.program.iteration import Iteration

SYMBOL = "dalembert_rollout"


def loaded_rollout(iteration: Iteration, dtype: str, target: Target | None = None) -> Loaded:
    """The function, compiled or from the cache on disk."""
    target = target or native()
    text = partial(rollout_ir, iteration, dtype, target)
    return linked_text((*iteration.facts, dtype), (SYMBOL,), text, target)


def rollout_ir(iteration: Iteration, dtype: str, target: Target) -> str:
    """LLVM assembly of the loop and of the programs it calls."""
    return written(_Loop(iteration, Vector.of(dtype, target)), target)


class _Loop(Steps):
    """All steps of a block of trajectories, then the next block."""

    symbol = SYMBOL

    @property
    def parameters(self) -> list[tuple[str, str]]:
        pointers = [("ptr", name) for name in ("base", "held", "saved")]
        counts = [("i64", name) for name in ("blocks", "steps", "every", "held_step", "saved_step")]
        return [*pointers, *counts, (self.v.scalar, "dt")]

    def inside(self) -> None:
        """Block after block."""
        self.t.do("%save = alloca i64")
        self.t.loop("%blocks", self.block)

    def block(self, index: str) -> None:
        t = self.t
        start = t.at("%base", t.let(f"mul i64 {index}, {self.base * self.bytes}"))
        self.copy(start, "%x", [(k, k) for k in range(self.base)])
        held = t.at("%held", t.let(f"mul i64 {index}, {self.held * self.bytes}"))
        saved = t.at("%saved", t.let(f"mul i64 {index}, {self.base * self.bytes}"))
        t.do("store i64 0, ptr %save")
        t.loop("%steps", lambda step: self.one(step, held, saved))

    def one(self, step: str, held: str, saved: str) -> None:
        t, first = self.t, self.base + self.work
        now = t.at(held, t.let(f"mul i64 {step}, %held_step"))
        self.copy(now, "%x", [(k, first + k) for k in range(self.held)])
        self.step()
        after = t.let(f"add i64 {step}, 1")
        due = t.let(f"icmp eq i64 {t.let(f'urem i64 {after}, %every')}, 0")
        t.when(due, lambda: self.save(saved))

    def save(self, saved: str) -> None:
        t = self.t
        number = t.let("load i64, ptr %save")
        target = t.at(saved, t.let(f"mul i64 {number}, %saved_step"))
        self.copy("%x", target, [(k, k) for k in range(self.base)])
        t.do(f"store i64 {t.let(f'add i64 {number}, 1')}, ptr %save")
