"""A program as CUDA whose inputs broadcast where they lie: what JAX and PyTorch launch.

    name(inputs…, outputs…, count, extent0, extent1, step0, step1, step2 of each input…)

The states are counted along three axes, the last of them (0) fastest. From one state to the next along
an axis an input goes on by its step there, in numbers: zero where it is broadcast. Results lie in rows,
(count, entries). All arguments are eight bytes long. Any number of whole warps up to `threads` may be a
block, so that a small batch can be spread over all of the device.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.errors import CompileError
from dalembert.kernels.c.source import entries, output_name
from dalembert.kernels.c.text import Scalar
from dalembert.kernels.cuda.access import ALONE, TOGETHER, Access, tiled_bytes
from dalembert.kernels.cuda.source import Body, CudaSource, heavily, is_wide, tiled, weighs, written
from dalembert.kernels.cuda.text import SHARED_LIMIT, Tile
from dalembert.kernels.program.rewrite import reciprocals
from dalembert.text import c_identifier
from dalembert.tracing.program import Program

AXES = 3
# where the states of an axis longer than all else begin again; the usual batch has one axis only
_PLACES = (
    "long long i0 = state, i1 = 0, i2 = 0;",
    "if (extent0 < count) {",
    "    i1 = state / extent0;",
    "    i0 = state - i1 * extent0;",
    "    i2 = i1 / extent1;",
    "    i1 -= i2 * extent1;",
    "}",
)


def spread_source(program: Program, name: str, dtype: str) -> CudaSource:
    """The kernel of a program; launch whole warps, at most `threads` to a block."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    program = reciprocals(program)
    if not weighs(program, scalar):
        return written(program, scalar, function, _body(program, scalar), ())
    # inputs where they lie, results by tiles or straight to where they go
    direct = _direct(program, scalar)
    access = Access(direct.before, direct.load, direct.store)
    if tiled_bytes(program, scalar) <= SHARED_LIMIT:
        access = Access((*TOGETHER, *_PLACES, *_moved(program)), direct.load, None)
    return heavily(program, scalar, function, access, (), _counts(program))


def _counts(program: Program) -> tuple[str, ...]:
    """All arguments after the arrays."""
    steps = [f"{c_identifier(p.name)}_step{k}" for p in program.inputs for k in range(AXES)]
    return tuple(f"const long long {x}" for x in ("count", "extent0", "extent1", *steps))


def _body(program: Program, scalar: Scalar) -> Body:
    """Wide rows through tiles while shared memory holds them, all else straight to registers."""
    body = _direct(program, scalar)
    if is_wide(program):
        try:
            state = "const long long state = first + (lane < states ? lane : 0);"
            body = tiled(program, scalar, _fetch, (state, *_PLACES, *_moved(program)))
        except CompileError:
            pass
    return replace(body, counts=_counts(program))


def _moved(program: Program) -> list[str]:
    """Each input's own state, `name_own`."""
    names = [c_identifier(p.name) for p in program.inputs]
    return [
        f"const auto *{x}_own = {x} + (i0 * {x}_step0 + i1 * {x}_step1 + i2 * {x}_step2);"
        for x in names
    ]


def _direct(program: Program, scalar: Scalar) -> Body:
    given = {f"{c_identifier(p.name)}_own": f"const {scalar.type} *" for p in program.inputs}
    given |= {f"{output_name(p, program)}_own": f"{scalar.type} *" for p in program.outputs}
    results = [(output_name(p, program), p.size) for p in program.outputs]
    before = [
        *ALONE,
        *_PLACES,
        *_moved(program),
        *(f"{scalar.type} *{x}_own = {x} + state * {size};" for x, size in results),
    ]
    return Body(before, [], *entries(program, own="_own"), given)


def _fetch(tile: Tile, scalar: Scalar) -> list[str]:
    """A warp's states of an input: one piece of memory, or every lane its own."""
    here = f"tile[{tile.offset} + lane * {tile.stride} + k]"
    return [
        f"if (extent0 >= count && {tile.name}_step0 == {tile.width}) {{",
        *(f"    {line}" for line in tile.fetch(scalar)),
        "} else {",
        "    #pragma unroll 4",
        f"    for (int k = 0; k < {tile.width}; k++) {here} = {tile.name}_own[k];",
        "}",
    ]
