"""What the vector units of this core take, measured: how fast each kind of instruction goes alone,
and which kinds stand in each other's way.

Nothing is known of a core by its name. Short loops of each kind run alone, and mixed with as many and
with twice as many multiplications, and additions. Two kinds that always take the sum of their times
share a unit; all that share one take their sum at least. Kinds that share in part count only where
all vector instructions together are bounded by the best rate seen in any mixture. So the bound is one
from below.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import llvmlite.binding as llvm
import numpy as np

from benchmarks.machine import Meter, compiled
from benchmarks.timing import interleaved
from dalembert.kernels.llvm.target import Target

# AT&T: the last operand is written. Registers 30 and 31 and mask 1 are never written; $0 is memory.
KINDS = {
    "multiply": "vfmadd213pd %zmm30, %zmm31, %zmm{d}",
    "add": "vaddpd %zmm30, %zmm31, %zmm{d}",
    "compare": "vcmpltpd %zmm30, %zmm31, %k2",
    "exchange": "vpermt2pd %zmm30, %zmm31, %zmm{d}",
    "shuffle": "vunpcklpd %zmm30, %zmm31, %zmm{d}",
    "logic": "vpandq %zmm30, %zmm31, %zmm{d}",
    "divide": "vdivpd %zmm30, %zmm31, %zmm{d}",
    "load": "vmovapd ($0), %zmm{d}",
    "half load": "vmovapd ($0), %ymm{d}",
    "store": "vmovapd %zmm{d}, ($0)",
    "half store": "vmovapd %ymm{d}, ($0)",
}
APART = {"divide": ("divide",), "load": ("load", "half load"), "store": ("store", "half store")}
VECTOR = ("multiply", "add", "compare", "exchange", "shuffle", "logic")
BESIDE = ("multiply", "add")  # what every kind of vector instruction is mixed with
SIZES = (14, 42)  # instructions of each kind in a turn
TURNS = 200  # of a call
SHARED = 0.95  # of the sum of both times: from here on two kinds share a unit


@dataclass(frozen=True)
class Units:
    """Cycles of an instruction of each kind; what shares a unit; the least of any in a mixture."""

    cycles: Mapping[str, float]
    shared: Mapping[str, tuple[str, ...]]
    any_vector: float

    def least(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Cycles that so many instructions take at least, by what binds."""
        total = sum(counts.get(kind, 0) for kind in VECTOR)
        each = {
            unit: sum(counts.get(kind, 0) * self.cycles[kind] for kind in kinds)
            for unit, kinds in self.shared.items()
        }
        return {**each, "any": total * self.any_vector}


def measured(target: Target, rounds: int = 60) -> Units:
    """The units of the core that this runs on."""
    pairs = [(kind, unit) for kind in VECTOR for unit in BESIDE if kind != unit]
    mixtures: list[tuple[str, ...]] = [(kind,) for kind in KINDS]
    mixtures += [*pairs, *((kind, unit, unit) for kind, unit in pairs)]
    time = _cycles(mixtures, target, rounds)
    alone = {kind: time[kind,] for kind in KINDS}

    def share(kind: str, unit: str) -> bool:
        mixed = ((kind, unit), (kind, unit, unit))
        return all(time[mix] >= SHARED * sum(alone[each] for each in mix) for mix in mixed)

    shared = {
        unit: (unit, *(kind for kind, other in pairs if other == unit and share(kind, unit)))
        for unit in BESIDE
    }
    best = min(time[mix] / len(mix) for mix in mixtures if set(mix) <= set(VECTOR))
    return Units(alone, shared | APART, best)


def _cycles(
    mixtures: Sequence[tuple[str, ...]], target: Target, rounds: int
) -> dict[tuple[str, ...], float]:
    """Cycles of one instruction of each kind of a mixture: a long turn less a short one."""
    functions = {
        f"{'_'.join(mix)}_{n}".replace(" ", "_"): (mix, n) for mix in mixtures for n in SIZES
    }
    texts = [_function(name, mix, n) for name, (mix, n) in functions.items()]
    llvm.initialize_native_asmparser()
    engine = compiled("\n".join([*texts, "attributes #0 = { nounwind }"]), target)
    meter, numbers = Meter(target), np.zeros(24)
    address = numbers.ctypes.data + -numbers.ctypes.data % 64
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
    calls: dict[str, Callable[[], object]] = {
        name: partial(prototype(engine.get_function_address(name)), TURNS, address)
        for name in functions
    }
    best = interleaved({**calls, "clock": meter.turns["clock"]}, rounds, 1e-4)
    short, long = SIZES
    clock = meter.gigahertz(best["clock"]) * 1e9 / TURNS / (long - short)
    time = {functions[name]: seconds for name, seconds in best.items() if name in functions}
    return {mix: (time[mix, long] - time[mix, short]) * clock for mix in mixtures}


def _function(name: str, mix: Sequence[str], count: int) -> str:
    """A loop whose turn has `count` instructions of each kind, one after the other."""
    registers = 28 // len(mix)
    lines = (
        KINDS[kind].format(d=k % registers + own * registers)
        for k in range(count)
        for own, kind in enumerate(mix)
    )
    clobbered = ",".join(chain((f"~{{xmm{k}}}" for k in range(28)), ["~{k2}", "~{memory}"]))
    return turns(name, "\\0A".join(lines), f"r,{clobbered}")


def turns(name: str, text: str, constraints: str) -> str:
    """`void name(i64 n, ptr p)`: n turns of some instructions."""
    return f"""define void @{name}(i64 %n, ptr %p) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void asm sideeffect "{text}", "{constraints}"(ptr %p)
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %out
out:
  ret void
}}"""
