"""A program as CUDA: one state per thread, every value in a register, both layouts of batches.

"column" arrays are (entries, states): neighbouring threads touch neighbouring numbers, nothing else is
needed. "row" arrays are (states, entries), as NumPy and CuPy have them: they pass through shared memory
(see `cuda_text`), so that wide outputs are written in whole lines too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.errors import CompileError
from dalembert.kernels.c_source import comment, output_name
from dalembert.kernels.c_text import Scalar, identifier, slots, statements
from dalembert.kernels.cuda_text import LANES, SHARED_LIMIT, Tile, sincos
from dalembert.kernels.program import Op, Port, Program

LAYOUTS = ("row", "column")
_MOST_WARPS = 4


@dataclass(frozen=True)
class CudaSource:
    """Text of one kernel and how to launch it: `blocks = ceil(states / threads)`."""

    text: str
    name: str
    threads: int
    shared_bytes: int


def cuda_source(
    program: Program,
    name: str | None = None,
    dtype: str = "float32",
    layout: str = "row",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> CudaSource:
    """The kernel `name(inputs…, outputs…, long long count)`; compiles with nvcc and NVRTC alone."""
    if layout not in LAYOUTS:
        raise CompileError(f"layout={layout!r} must be one of {', '.join(LAYOUTS)}")
    scalar, function = Scalar.of(dtype), identifier(name or program.name)
    body = _rows(program, scalar, function) if layout == "row" else _columns(program, scalar, function)
    threads = LANES * body.warps
    lines = [
        *comment(program, scalar, [*about, _launch(layout, threads)], units or {}),
        *([sincos(f"{function}_sincos", scalar), ""] if _turns(program) else []),
        f'extern "C" __global__ void __launch_bounds__({threads})',
        f"{function}({_arguments(program, scalar)})",
        "{",
        *(f"    {line}" for line in body.lines),
        "}",
        "",
    ]
    size = 4 if scalar.suffix else 8
    return CudaSource("\n".join(lines), function, threads, body.shared * body.warps * size)


@dataclass(frozen=True)
class _Body:
    lines: list[str]
    warps: int
    shared: int = 0  # numbers per warp


def _launch(layout: str, threads: int) -> str:
    order = {"row": "(states, entries)", "column": "(entries, states)"}[layout]
    return f"Batches are {order}; launch ceil(count / {threads}) blocks of {threads} threads."


def _arguments(program: Program, scalar: Scalar) -> str:
    inputs = [f"const {scalar.type} *__restrict__ {identifier(p.name)}" for p in program.inputs]
    outputs = [f"{scalar.type} *__restrict__ {output_name(p, program)}" for p in program.outputs]
    return ", ".join([*inputs, *outputs, "const long long count"])


def _turns(program: Program) -> bool:
    return bool(({Op.SIN, Op.COS}) & {Op(op) for op in program.op.tolist()})


def _columns(program: Program, scalar: Scalar, function: str) -> _Body:
    inputs, outputs = slots(program.inputs), slots(program.outputs)

    def load(k: int) -> str:
        port, place = inputs[k]
        return f"{identifier(port.name)}[{place} * count + state]"

    def store(k: int, value: str) -> str:
        port, place = outputs[k]
        return f"{output_name(port, program)}[{place} * count + state] = {value};"

    lines = [
        "const long long state = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
        "if (state >= count) return;",
        *statements(program, scalar, load, store, f"{function}_sincos"),
    ]
    return _Body(lines, _MOST_WARPS)


def _rows(program: Program, scalar: Scalar, function: str) -> _Body:
    inputs, shared = _tiles(program.inputs, {p.name: identifier(p.name) for p in program.inputs}, 0)
    named = {p.name: output_name(p, program) for p in program.outputs}
    outputs, shared = _tiles(program.outputs, named, shared)
    size = 4 if scalar.suffix else 8
    warps = max(1, min(_MOST_WARPS, SHARED_LIMIT // (shared * size)))
    if shared * size > SHARED_LIMIT:
        raise CompileError(
            f"{function}: one warp's states take {shared * size} bytes of shared memory, more than "
            f'{SHARED_LIMIT}; use layout="column"'
        )
    come = [entry for tile in inputs for entry in map(tile.entry, range(tile.width))]
    go = [entry for tile in outputs for entry in map(tile.entry, range(tile.width))]
    lines = [
        f"__shared__ __align__(16) {scalar.type} tiles[{warps * shared}];",
        f"const int lane = threadIdx.x % {LANES};",
        f"{scalar.type} *tile = tiles + (threadIdx.x / {LANES}) * {shared};",
        f"const long long first = ((long long)blockIdx.x * {warps} + threadIdx.x / {LANES}) * {LANES};",
        "if (first >= count) return;",
        f"const int states = (count - first < {LANES}) ? (int)(count - first) : {LANES};",
        f"const bool full = states == {LANES};",
        *(line for tile in inputs for line in tile.fetch(scalar)),
        "__syncwarp();",
        *statements(
            program,
            scalar,
            lambda k: come[k],
            lambda k, value: f"{go[k]} = {value};",
            f"{function}_sincos",
        ),
        "__syncwarp();",
        *(line for tile in outputs for line in tile.flush(scalar)),
    ]
    return _Body(lines, warps, shared)


def _tiles(
    ports: tuple[Port, ...], names: Mapping[str, str], start: int
) -> tuple[list[Tile], int]:
    """Tiles one after the other from `start`, and where the next would begin."""
    tiles = []
    for port in ports:
        tiles.append(Tile(port, names[port.name], start))
        start += tiles[-1].size
    return tiles, start
