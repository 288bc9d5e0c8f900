"""A program as CUDA: one state per thread, every value in a register, both layouts of batches.

"column" arrays are (entries, states): neighbouring threads access neighbouring numbers. "row" arrays
are (states, entries), as NumPy and CuPy have them: narrow ones are read directly, as the cache serves
the neighbours of a number next; wide ones pass through shared memory (`cuda.text`), so that outputs
are written in whole cache lines too.

Sines of huge angles need the library's slow reduction. A branch at every angle would cut the code into
pieces that the compiler cannot interleave, at a third of the speed: each angle only sets a flag, and a
state with such an angle is computed again at the end, by a function that is never inlined. (Programs
too long for that branch at every angle.)

`broadcast_source` writes the kernel that JAX and PyTorch launch, whose inputs broadcast in place:

    name(inputs…, outputs…, count, extent0, extent1, step0, step1, step2 of each input…)

The states are counted along three axes, the last of them (0) fastest. From one state to the next along
an axis an input advances by its step there, in numbers: zero where it is broadcast. Results are in
rows, (count, entries). All arguments are eight bytes long. Any number of whole warps up to `threads`
may be a block, so that a small batch can occupy all of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dalembert.errors import CompileError
from dalembert.kernels.c_source import (
    Scalar,
    entry_accessors,
    group_calls,
    group_functions,
    opening_comment,
    output_name,
    statements,
)
from dalembert.kernels.cuda.spilling import exceeds_registers, spilled_kernel
from dalembert.kernels.cuda.text import (
    ENTRY_INDEX,
    LANES,
    SHARED_LIMIT,
    STATE_PER_THREAD,
    STATES_PER_WARP,
    Access,
    Tile,
    batch_access,
    kernel_text,
    sincos,
    tile_bytes,
)
from dalembert.kernels.program.partition import Groups, find_groups
from dalembert.kernels.program.passes import reciprocals
from dalembert.text import c_identifier
from dalembert.tracing.program import Op, Port, Program

LAYOUTS = ("row", "column")
_MOST_WARPS = 4
_NARROW = 8  # entries of a row that the cache serves without help
_LONG = 12_000  # instructions, beyond which it is worth more that the compiler comes to an end
_SHORT = 4500  # instructions; longer programs spill anyway, and a second copy makes it worse


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
    scalar, function = Scalar.of(dtype), c_identifier(name or program.name)
    program = reciprocals(program)
    notes = list(about)
    if needs_spilling(program, scalar):
        head = opening_comment(program, scalar, [*notes, _launch(layout, LANES)], units or {})
        return _spilled_source(program, scalar, function, batch_access(program, layout), head)
    body = _layout_body(program, scalar, layout)
    head = opening_comment(
        program, scalar, [*notes, _launch(layout, LANES * body.warps)], units or {}
    )
    return _plain_source(program, scalar, function, body, head)


def needs_spilling(program: Program, scalar: Scalar) -> bool:
    """Whether the kernel of a program spills values explicitly."""
    return exceeds_registers(program, scalar) and not _groups(program).calls


def _spilled_source(
    program: Program,
    scalar: Scalar,
    function: str,
    batch_access: Access,
    head: Sequence[str],
    counts: Sequence[str] = ("const long long count",),
) -> CudaSource:
    """The kernel of a program with more values at a time than registers."""
    kernel = spilled_kernel(program, scalar, function, batch_access)
    arguments = ", ".join([*_pointers(program, scalar), *counts])
    bounds = f"{LANES}, {kernel.warps}"
    text = kernel_text(
        [*head, *kernel.head], bounds, function, arguments, filter(None, kernel.body)
    )
    return CudaSource(text, function, LANES, kernel.shared_bytes)


def _plain_source(
    program: Program, scalar: Scalar, function: str, body: Body, head: Sequence[str]
) -> CudaSource:
    """The kernel of a program whose states are loaded and stored as in `body`."""
    threads = LANES * body.warps
    arguments = ", ".join([*_pointers(program, scalar), *body.counts])
    # ptxas leaves 32 registers to a long program in double unless it hears that one block is enough
    exceeds_registers = len(program) > _SHORT and not scalar.suffix
    bounds = f"{threads}, 1" if exceeds_registers else str(threads)
    lines = [*body.before, *_statements(program, scalar, function, body), *body.after]
    head = [*head, *_helper_functions(program, scalar, function, body)]
    text = kernel_text(head, bounds, function, arguments, lines)
    size = 4 if scalar.suffix else 8
    return CudaSource(text, function, threads, body.shared * body.warps * size)


def fits_rows(program: Program, dtype: str) -> bool:
    """Whether batches can be in rows; those of wide results must be in columns."""
    scalar = Scalar.of(dtype)
    if needs_spilling(program, scalar):
        return tile_bytes(program, scalar) <= SHARED_LIMIT
    try:
        _layout_body(program, scalar, "row")
    except CompileError:
        return False
    return True


def is_wide(program: Program) -> bool:
    """Whether some array's rows are longer than the cache serves without help."""
    return max(port.size for port in (*program.inputs, *program.outputs)) > _NARROW


@dataclass(frozen=True)
class Body:
    """How states come and go: lines around the work, and how its entries are spelled."""

    before: list[str]
    after: list[str]
    load: Callable[[int], str]
    store: Callable[[int, str], str]
    captured: dict[str, str]  # what the work refers to, name → type
    warps: int = _MOST_WARPS
    shared: int = 0  # numbers per warp
    counts: tuple[str, ...] = ("const long long count",)  # arguments after the arrays


def _statements(program: Program, scalar: Scalar, function: str, body: Body) -> list[str]:
    """The program's statements; a state with a far angle is done again, slowly."""
    groups = _groups(program)
    if groups.calls:
        return list(group_calls(groups, program, scalar, function, body.load, body.store))
    if not _has_trigonometry(program):
        return list(statements(program, scalar, body.load, body.store))
    if len(program) > _SHORT:
        return list(statements(program, scalar, body.load, body.store, f"{function}_sincos"))
    quick = statements(program, scalar, body.load, body.store, f"{function}_sincos", "&far")
    return [
        "bool far = false;",
        *quick,
        f"if (far) {function}_far({', '.join(body.captured)});",
    ]


def _groups(program: Program) -> Groups:
    """The groups of a long program; shorter programs have none, as calls cost registers."""
    return find_groups(program) if len(program) > _LONG else Groups((), (), (), False)


def _helper_functions(program: Program, scalar: Scalar, function: str, body: Body) -> list[str]:
    """Before the kernel: its sine and cosine, its groups, and the way for states with far angles."""
    groups = _groups(program)
    if groups.calls:
        turning = f"{function}_sincos" if _has_trigonometry(program) else ""
        own = [sincos(turning, scalar), ""] if turning else []
        head = "static __device__ __noinline__ "
        return [*own, *group_functions(groups, scalar, function, head, turning)]
    if not _has_trigonometry(program):
        return []
    if len(program) > _SHORT:
        return [sincos(f"{function}_sincos", scalar), ""]
    library = f"sincos{scalar.suffix}"
    arguments = ", ".join(f"{kind}{name}" for name, kind in body.captured.items())
    return [
        sincos(f"{function}_sincos", scalar, flags_far=True),
        "",
        f"static __device__ __noinline__ void {function}_far({arguments})",
        "{",
        *(f"    {x}" for x in statements(program, scalar, body.load, body.store, library)),
        "}",
        "",
    ]


def _launch(layout: str, threads: int) -> str:
    order = {"row": "(states, entries)", "column": "(entries, states)"}[layout]
    return f"Batches are {order}; launch ceil(count / {threads}) blocks of {threads} threads."


def _pointers(program: Program, scalar: Scalar) -> list[str]:
    inputs = [f"const {scalar.type} *__restrict__ {c_identifier(p.name)}" for p in program.inputs]
    outputs = [f"{scalar.type} *__restrict__ {output_name(p, program)}" for p in program.outputs]
    return [*inputs, *outputs]


def _has_trigonometry(program: Program) -> bool:
    return bool(({Op.SIN, Op.COS}) & {Op(op) for op in program.op.tolist()})


def _layout_body(program: Program, scalar: Scalar, layout: str) -> Body:
    """Columns and narrow rows go straight between memory and registers; wide rows through tiles."""
    if layout == "row" and is_wide(program):
        return _tiled_body(program, scalar)
    load, store = entry_accessors(program, ENTRY_INDEX[layout])
    captured = {c_identifier(p.name): f"const {scalar.type} *" for p in program.inputs}
    captured |= {output_name(p, program): f"{scalar.type} *" for p in program.outputs}
    captured |= {"count": "const long long ", "state": "const long long "}
    return Body(list(STATE_PER_THREAD), [], load, store, captured)


def _tiled_body(
    program: Program,
    scalar: Scalar,
    fetch: Callable[[Tile, Scalar], list[str]] = Tile.fetch,
    opening: Sequence[str] = (),
) -> Body:
    """Batches in rows through shared memory; `fetch` copies one array's states of a warp in."""
    inputs, shared = _tiles(
        program.inputs, {p.name: c_identifier(p.name) for p in program.inputs}, 0
    )
    named = {p.name: output_name(p, program) for p in program.outputs}
    outputs, shared = _tiles(program.outputs, named, shared)
    size = 4 if scalar.suffix else 8
    warps = max(1, min(_MOST_WARPS, SHARED_LIMIT // (shared * size)))
    if shared * size > SHARED_LIMIT:
        raise CompileError(
            f"{program.name}: one warp's states take {shared * size} bytes of shared memory, more "
            f'than {SHARED_LIMIT}; use layout="column"'
        )
    inputs_entries = [entry for tile in inputs for entry in map(tile.entry, range(tile.width))]
    outputs_entries = [entry for tile in outputs for entry in map(tile.entry, range(tile.width))]
    before = [
        f"__shared__ __align__(16) {scalar.type} tiles[{warps * shared}];",
        f"const int lane = threadIdx.x % {LANES};",
        f"{scalar.type} *tile = tiles + (threadIdx.x / {LANES}) * {shared};",
        "const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x - lane;",
        "if (first >= count) return;",
        f"const int states = (count - first < {LANES}) ? (int)(count - first) : {LANES};",
        f"const bool full = states == {LANES};",
        *opening,
        *(line for tile in inputs for line in fetch(tile, scalar)),
        "__syncwarp();",
    ]
    after = ["__syncwarp();", *(line for tile in outputs for line in tile.flush(scalar))]
    captured = {"tile": f"{scalar.type} *", "lane": "const int "}
    return Body(
        before,
        after,
        inputs_entries.__getitem__,
        lambda k, x: f"{outputs_entries[k]} = {x};",
        captured,
        warps,
        shared,
    )


def _tiles(ports: tuple[Port, ...], names: Mapping[str, str], start: int) -> tuple[list[Tile], int]:
    """Tiles one after the other from `start`, and where the next would begin."""
    tiles = []
    for port in ports:
        tiles.append(Tile(port, names[port.name], start))
        start += tiles[-1].size
    return tiles, start


AXES = 3
# where the states of an axis longer than all else begin again; the usual batch has one axis only
_AXIS_INDICES = (
    "long long i0 = state, i1 = 0, i2 = 0;",
    "if (extent0 < count) {",
    "    i1 = state / extent0;",
    "    i0 = state - i1 * extent0;",
    "    i2 = i1 / extent1;",
    "    i1 -= i2 * extent1;",
    "}",
)


def broadcast_source(program: Program, name: str, dtype: str) -> CudaSource:
    """The kernel of a program; launch whole warps, at most `threads` to a block."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    program = reciprocals(program)
    if not needs_spilling(program, scalar):
        return _plain_source(program, scalar, function, _broadcast_body(program, scalar), ())
    # inputs where they lie, results by tiles or straight to where they go
    direct = _direct_body(program, scalar)
    batch_access = Access(direct.before, direct.load, direct.store)
    if tile_bytes(program, scalar) <= SHARED_LIMIT:
        batch_access = Access(
            (*STATES_PER_WARP, *_AXIS_INDICES, *_input_pointers(program)), direct.load, None
        )
    return _spilled_source(program, scalar, function, batch_access, (), _counts(program))


def _counts(program: Program) -> tuple[str, ...]:
    """All arguments after the arrays."""
    steps = [f"{c_identifier(p.name)}_step{k}" for p in program.inputs for k in range(AXES)]
    return tuple(f"const long long {x}" for x in ("count", "extent0", "extent1", *steps))


def _broadcast_body(program: Program, scalar: Scalar) -> Body:
    """Wide rows through tiles while shared memory holds them, all else straight to registers."""
    body = _direct_body(program, scalar)
    if is_wide(program):
        try:
            state = "const long long state = first + (lane < states ? lane : 0);"
            body = _tiled_body(
                program,
                scalar,
                _fetch_broadcast,
                (state, *_AXIS_INDICES, *_input_pointers(program)),
            )
        except CompileError:
            pass
    return replace(body, counts=_counts(program))


def _input_pointers(program: Program) -> list[str]:
    """Each input's own state, `name_own`."""
    names = [c_identifier(p.name) for p in program.inputs]
    return [
        f"const auto *{x}_own = {x} + (i0 * {x}_step0 + i1 * {x}_step1 + i2 * {x}_step2);"
        for x in names
    ]


def _direct_body(program: Program, scalar: Scalar) -> Body:
    captured = {f"{c_identifier(p.name)}_own": f"const {scalar.type} *" for p in program.inputs}
    captured |= {f"{output_name(p, program)}_own": f"{scalar.type} *" for p in program.outputs}
    results = [(output_name(p, program), p.size) for p in program.outputs]
    before = [
        *STATE_PER_THREAD,
        *_AXIS_INDICES,
        *_input_pointers(program),
        *(f"{scalar.type} *{x}_own = {x} + state * {size};" for x, size in results),
    ]
    return Body(before, [], *entry_accessors(program, suffix="_own"), captured)


def _fetch_broadcast(tile: Tile, scalar: Scalar) -> list[str]:
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
