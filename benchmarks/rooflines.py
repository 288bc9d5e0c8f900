"""What long programs take at least, by all that may bind: rooflines, in ns per state.

Multiplications, loads and stores are those of the compiled parts, at the rates of units.py; their code
comes from the second cache (beyond.py), and so do the lines that the first one has lost (cache.py).
Each is a bound of its own: where several are alike, not all of them overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import llvmlite.binding as llvm

from benchmarks.assembly import arithmetic, counted
from benchmarks.beyond import Beyond, beyond
from benchmarks.bigger import Core
from benchmarks.cache import traffic
from benchmarks.machine import Meter
from benchmarks.units import measured
from dalembert.kernels import Program
from dalembert.kernels.llvm.codegen import assembly, compile_module, module_writers
from dalembert.kernels.llvm.target import native

BOUNDS = ("multiply", "divide", "load", "store", "code", "lines")


@dataclass(frozen=True)
class FarCore:
    """A core with what lies beyond its first caches."""

    core: Core
    beyond: Beyond

    @classmethod
    def measured(cls) -> FarCore:
        """The one that this runs on."""
        return cls(Core(Meter(native()), measured(native())), beyond(native()))

    def bounds(self, program: Program) -> dict[str, float]:
        """Nanoseconds per state by each of `BOUNDS`; and "kB code" of the parts."""
        run = arithmetic(assembly(program, "float64", native()))
        cycles = self.core.units.least(counted(run))
        size = code_bytes(program)
        cycles |= {"code": size * self.beyond.code, "lines": traffic(run).missed * self.beyond.line}
        scale = 1.0 / self.core.clock() / native().width("float64")
        return {name: cycles[name] * scale for name in BOUNDS} | {"kB code": size / 1000}


def code_bytes(program: Program) -> int:
    """Bytes of the machine code of all parts."""
    texts = (written() for written in module_writers(program, "float64", native()))
    parts = [compile_module(text, native()) for text in texts if "void @part_" in _defined(text)]
    sections = (s for part in parts for s in llvm.ObjectFileRef.from_data(part).sections())
    return sum(section.size() for section in sections if section.is_text())


def _defined(text: str) -> str:
    """The first lines of the functions that a module defines."""
    return "\n".join(line for line in text.splitlines() if line.startswith("define"))
