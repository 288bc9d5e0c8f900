"""What this core can do at most, measured: its clock, its arithmetic, its memory.

The clock is read from a chain of integer multiplications, three cycles each on every x86-64 core
since 2008, beside as many vector operations as a kernel has: cores slow down for wide vectors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

import llvmlite.binding as llvm
import numpy as np

from dalembert.kernels.llvm.target import Target

TURNS = 10_000
CHAIN, LATENCY = 16, 3  # integer multiplications in a row, cycles of each
FUSED = 48  # fused multiply-adds per turn,
CHAINS = 12  # in so many independent chains: enough to hide their latency


def compiled(text: str, target: Target, *more: str) -> llvm.ExecutionEngine:
    """Machine code in memory for modules of LLVM assembly, made as the library makes its own."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    modules = [llvm.parse_assembly(each) for each in (text, *more)]
    for module in modules:
        module.data_layout = str(machine.target_data)
        passes.run(module, builder)
    engine = llvm.create_mcjit_compiler(modules[0], machine)
    for module in modules[1:]:
        engine.add_module(module)
    engine.finalize_object()
    return engine


class Meter:
    """Two small kernels; what they take per turn is the clock and the peak of arithmetic."""

    def __init__(self, target: Target) -> None:
        self.width = target.width("float64")
        self._engine = compiled(_kernels(self.width, target.bits), target)
        self._numbers = np.full(self.width + 8, 0.5)
        address = -self._numbers.ctypes.data % 64 + self._numbers.ctypes.data
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self.turns: dict[str, Callable[[], object]] = {}
        for name in ("clock", "peak"):
            function = prototype(self._engine.get_function_address(name))
            self.turns[name] = partial(function, TURNS, address)

    def gigahertz(self, seconds: float) -> float:
        """The clock, from the time of a call of "clock"."""
        return TURNS * CHAIN * LATENCY / seconds * 1e-9

    def gigaflops(self, seconds: float) -> float:
        """Multiplications and additions per nanosecond, from the time of a call of "peak"."""
        return TURNS * FUSED * 2 * self.width / seconds * 1e-9


def _kernels(width: int, bits: int) -> str:
    """`peak` has the multiply-adds, `clock` a chain of integer products among a few of them."""
    vector, suffix = f"<{width} x double>", f"v{width}f64"
    products = [f"  %x{k + 1} = mul i64 %x{k}, %x{k}" for k in range(CHAIN)]
    fused = _fused(vector, suffix, FUSED)
    every = len(fused) // CHAIN
    mixed = [line for k in range(CHAIN) for line in (products[k], *fused[k * every :][:every])]
    head = f"  %x0 = phi i64 [ 3, %entry ], [ %x{CHAIN}, %loop ]"
    return "\n".join(
        [
            f"declare {vector} @llvm.fmuladd.{suffix}({vector}, {vector}, {vector})",
            _loop("peak", vector, fused, "", "%i"),
            _loop("clock", vector, mixed, head, f"%x{CHAIN}"),
            f'attributes #0 = {{ nounwind "prefer-vector-width"="{bits}" '
            f'"min-legal-vector-width"="{bits}" }}',
        ]
    )


def _fused(vector: str, suffix: str, count: int) -> list[str]:
    return [
        f"  %v{k + CHAINS} = call {vector} @llvm.fmuladd.{suffix}"
        f"({vector} %v{k}, {vector} %b, {vector} %b)"
        for k in range(count)
    ]


def _loop(name: str, vector: str, lines: list[str], head: str, result: str) -> str:
    phis = [
        f"  %v{c} = phi {vector} [ %b, %entry ], [ %v{c + FUSED}, %loop ]" for c in range(CHAINS)
    ]
    ends = [f"  store volatile {vector} %v{c + FUSED}, ptr %p" for c in range(CHAINS)]
    return "\n".join(
        [
            f"define i64 @{name}(i64 %n, ptr %p) #0 {{\nentry:",
            f"  %b = load {vector}, ptr %p\n  br label %loop\nloop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            head,
            *phis,
            *lines,
            "  %j = add i64 %i, 1\n  %more = icmp ult i64 %j, %n",
            "  br i1 %more, label %loop, label %out\nout:",
            *ends,
            f"  ret i64 {result}\n}}",
        ]
    )


def memory_turns(read: int, written: int) -> dict[str, Callable[[], object]]:
    """A copy and a fill of as many bytes as a kernel reads and writes, wherever those are cached."""
    half = (read + written) // 16
    source, copy, filled = np.ones(half), np.empty(half), np.empty(written // 8)
    return {"copy": lambda: np.copyto(copy, source), "fill": lambda: filled.fill(1.0)}
