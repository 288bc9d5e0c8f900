"""A program for another machine: as source text, or as the bytes of a WebAssembly module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.errors import UnknownNameError
from dalembert.kernels.c_source import c_header, c_source
from dalembert.kernels.cuda.source import cuda_source
from dalembert.kernels.wasm.module import require_float64, wasm_module
from dalembert.text import suggest
from dalembert.tracing.program import Program

TARGETS = ("c", "h", "cuda", "wasm")


def source(
    program: Program,
    target: str,
    name: str | None = None,
    dtype: str = "float64",
    layout: str = "row",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> str | bytes:
    """Text that compiles on its own: C99, its header, or a CUDA kernel of one state per thread.

    "wasm" is no text but the bytes of a module.
    """
    if target == "c":
        return c_source(program, name, dtype, about, units)
    if target == "h":
        return c_header(program, name, dtype, about, units)
    if target == "cuda":
        return cuda_source(program, name, dtype, layout, about, units).text
    if target == "wasm":
        require_float64(dtype, layout)
        return wasm_module({name or program.name: program}, {"about": list(about)}, units)
    raise UnknownNameError(f"target={target!r} is unknown{suggest(target, TARGETS)}")
