"""What lies beyond the first caches of this core, measured: how fast code and numbers come from there.

Programs of larger robots are straight code of many times the first cache of instructions, and what
waits between their parts is more than the first cache of numbers holds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import llvmlite.binding as llvm
import numpy as np

from benchmarks.machine import Meter, compiled
from benchmarks.timing import interleaved
from benchmarks.units import TURNS, turns
from dalembert.kernels.llvm.target import Target

SIZES = (64, 192)  # kB: more than the first caches, less than the second
LINE = 64


@dataclass(frozen=True)
class Beyond:
    """Cycles per byte of code, and per line of numbers, that come from the second cache."""

    code: float
    line: float


def beyond(target: Target, rounds: int = 40) -> Beyond:
    """Of code that does nothing, and of loads one after the other: a long turn less a short one."""
    functions = {f"code_{kb}": _nothing(kb) for kb in SIZES} | {
        f"lines_{kb}": _loads(kb) for kb in SIZES
    }
    clobbered = ",".join(f"~{{xmm{k}}}" for k in range(16))
    texts = [turns(name, text, f"r,{clobbered},~{{memory}}") for name, text in functions.items()]
    llvm.initialize_native_asmparser()
    engine = compiled("\n".join([*texts, "attributes #0 = { nounwind }"]), target)
    meter, numbers = Meter(target), np.zeros(SIZES[1] * 128 + 8)
    address = numbers.ctypes.data + -numbers.ctypes.data % LINE
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
    calls: dict[str, Callable[[], object]] = {
        name: partial(prototype(engine.get_function_address(name)), TURNS, address)
        for name in functions
    }
    best = interleaved({**calls, "clock": meter.turns["clock"]}, rounds, 1e-4)
    clock = meter.gigahertz(best["clock"]) * 1e9 / TURNS
    short, long = SIZES
    cycles = {
        kind: (best[f"{kind}_{long}"] - best[f"{kind}_{short}"]) * clock / (long - short) / 1024
        for kind in ("code", "lines")
    }
    return Beyond(cycles["code"], cycles["lines"] * LINE)


def _nothing(kb: int) -> str:
    """So much code that does nothing, 8 bytes at a time."""
    return f".rept {kb * 128}\\0Anopl 0x11223344(%rax,%rax,1)\\0A.endr"


def _loads(kb: int) -> str:
    """Every line of so much memory once."""
    lines = range(kb * 1024 // LINE)
    return "\\0A".join(f"vmovapd {LINE * k}($0), %zmm{k % 16}" for k in lines)
