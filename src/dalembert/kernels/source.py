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
    """The program as text that compiles on its own, or as a WebAssembly module.

    Parameters
    ----------
    program : the program to write.
    target : "c" (C99), "h" (its header), "cuda" (one state per thread) or "wasm".
    name : name of the function; by default the program's.
    dtype : "float64" or "float32"; "wasm" is in float64.
    layout : "row" or "column", of batches in CUDA.
    about : lines of the opening comment.
    units : units of ports by name.

    Returns
    -------
    The text, or the bytes of a module.

    Raises
    ------
    UnknownNameError
        Where the target is none of these.
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
