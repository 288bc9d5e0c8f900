"""How fast this core takes instructions in, by how much code they are: bytes per cycle.

Code that goes round in the cache of decoded instructions comes in faster than any unit works. Beyond
that it is fetched from the caches behind. Instructions that do nothing, of six and of eight bytes as
vector instructions have, in stretches of growing length, show both rates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import llvmlite.binding as llvm

from benchmarks.machine import Meter, compiled
from benchmarks.timing import interleaved
from dalembert.kernels.llvm.target import Target

IDLE = {6: "nopw 32(%rax,%rax)", 8: "nopl 512(%rax,%rax)"}  # by their bytes
KILOBYTES = (4, 16, 32, 36, 40, 64, 128, 256, 512, 1024)
MEASURED = 400_000  # instructions of a call
STRETCH = """define void @idle_{length}_{kilobytes}(i64 %turns) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void asm sideeffect ".rept {count}\\0A{text}\\0A.endr", "~{{memory}}"()
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %turns
  br i1 %more, label %loop, label %out
out:
  ret void
}}"""


@dataclass(frozen=True)
class FrontEnd:
    """Bytes per cycle, by the bytes of an instruction and the kilobytes of a stretch of them."""

    rates: Mapping[tuple[int, int], float]

    def rate(self, size: float) -> float:
        """Of code of so many bytes at most: the best of all kinds in the next shorter stretch."""
        known = [kilobytes for kilobytes in KILOBYTES if kilobytes * 1024 <= size]
        at = max(known, default=KILOBYTES[0])
        return max(self.rates[length, at] for length in IDLE)


def front_end(target: Target, rounds: int = 15) -> FrontEnd:
    """The rates of the core that this runs on."""
    kinds = [(length, kilobytes) for length in IDLE for kilobytes in KILOBYTES]
    counts = {kind: kind[1] * 1024 // kind[0] for kind in kinds}
    texts = [
        STRETCH.format(length=length, kilobytes=size, count=counts[length, size], text=IDLE[length])
        for length, size in kinds
    ]
    llvm.initialize_native_asmparser()
    engine = compiled("\n".join([*texts, "attributes #0 = { nounwind }"]), target)
    meter, prototype = Meter(target), ctypes.CFUNCTYPE(None, ctypes.c_int64)
    turns = {kind: max(2, MEASURED // count) for kind, count in counts.items()}
    calls: dict[str, Callable[[], object]] = {"clock": meter.turns["clock"]}
    for length, size in kinds:
        name = f"idle_{length}_{size}"
        calls[name] = partial(prototype(engine.get_function_address(name)), turns[length, size])
    best = interleaved(calls, rounds, 1e-3)
    clock = meter.gigahertz(best["clock"]) * 1e9
    cycles = {kind: best[f"idle_{kind[0]}_{kind[1]}"] * clock / turns[kind] for kind in kinds}
    return FrontEnd({kind: counts[kind] * kind[0] / cycles[kind] for kind in kinds})
