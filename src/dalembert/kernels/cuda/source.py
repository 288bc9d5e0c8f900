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
    named_ports,
    opening_comment,
    pointers,
    statements,
)
from dalembert.kernels.cuda.spilling import SpillWriter, exceeds_registers
from dalembert.kernels.cuda.text import (
    ENTRY_INDEX,
    LANES,
    SHARED_LIMIT,
    STATE_PER_THREAD,
    STATES_PER_WARP,
    WARP_STATES,
    Access,
    CudaSource,
    Tile,
    kernel_text,
    require_tiles,
    sincos,
    tile_bytes,
)
from dalembert.kernels.program.partition import Groups, find_groups
from dalembert.kernels.program.passes import reciprocals
from dalembert.text import c_identifier
from dalembert.tracing.program import Op, Program

_MOST_WARPS = 4
_NARROW = 8  # entries of a row that the cache serves without help
_LONG = 12_000  # instructions, beyond which it is worth more that the compiler comes to an end
_SHORT = 4500  # instructions; longer programs spill anyway, and a second copy makes it worse


def cuda_source(
    program: Program,
    name: str | None = None,
    dtype: str = "float32",
    layout: str = "row",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> CudaSource:
    """The kernel `name(inputs…, outputs…, long long count)`; compiles with nvcc and NVRTC alone.

    Parameters
    ----------
    program : the program to write.
    name : name of the kernel; by default the program's.
    dtype : "float32" or "float64".
    layout : "row" for batches (states, entries), "column" for (entries, states).
    about : lines of the opening comment.
    units : units of ports by name, for the opening comment.

    Raises
    ------
    CompileError
        Where the layout is unknown, or rows are too wide for shared memory.
    """
    if layout not in ENTRY_INDEX:
        raise CompileError(f"layout={layout!r} must be one of {', '.join(ENTRY_INDEX)}")
    scalar, function = Scalar.of(dtype), c_identifier(name or program.name)
    program = reciprocals(program)
    spills = needs_spilling(program, scalar)
    body = None if spills else _layout_body(program, scalar, layout)
    threads = LANES if body is None else LANES * body.warps
    order = {"row": "(states, entries)", "column": "(entries, states)"}[layout]
    launch = f"Batches are {order}; launch ceil(count / {threads}) blocks of {threads} threads."
    head = opening_comment(program, scalar, [*about, launch], units or {})
    if body is not None:
        return _plain_source(program, scalar, function, body, head)
    # states in columns, or rows whose results pass through tiles
    load, store = entry_accessors(program, ENTRY_INDEX[layout])
    access = Access(STATES_PER_WARP, load, None)
    if layout == "column":
        access = Access(STATE_PER_THREAD, load, store)
    arguments = [*pointers(program, scalar, "__restrict__ "), "const long long count"]
    return SpillWriter(program, scalar, function, access).source(head, arguments)


def needs_spilling(program: Program, scalar: Scalar) -> bool:
    """Whether the kernel of a program spills values explicitly."""
    return exceeds_registers(program, scalar) and not _groups(program).calls


def _plain_source(
    program: Program, scalar: Scalar, function: str, body: Body, head: Sequence[str]
) -> CudaSource:
    """The kernel of a program whose states are loaded and stored as in `body`."""
    threads = LANES * body.warps
    arguments = ", ".join([*pointers(program, scalar, "__restrict__ "), *body.counts])
    # ptxas leaves 32 registers to a long program in double unless it hears that one block is enough
    is_long = len(program) > _SHORT and not scalar.suffix
    bounds = f"{threads}, 1" if is_long else str(threads)
    helpers, work = _statements(program, scalar, function, body)
    lines = [*body.before, *work, *body.after]
    text = kernel_text([*head, *helpers], bounds, function, arguments, lines)
    return CudaSource(text, function, threads, body.shared * body.warps * scalar.size)


def fits_rows(program: Program, dtype: str) -> bool:
    """Whether batches can be in rows; those of wide results must be in columns."""
    scalar = Scalar.of(dtype)
    if needs_spilling(program, scalar):
        return tile_bytes(program.outputs, scalar) <= SHARED_LIMIT
    return not is_wide(program) or tiles_fit(program, scalar)


def tiles_fit(program: Program, scalar: Scalar) -> bool:
    """Whether shared memory holds the inputs and results of a warp."""
    return tile_bytes((*program.inputs, *program.outputs), scalar) <= SHARED_LIMIT


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


def _statements(
    program: Program, scalar: Scalar, function: str, body: Body
) -> tuple[list[str], list[str]]:
    """(Functions before the kernel, the program's statements in it).

    A state with a far angle is computed again, slowly, by a function of its own.
    """
    groups, access = _groups(program), (body.load, body.store)
    has_trigonometry = bool({Op.SIN, Op.COS} & {Op(op) for op in program.op.tolist()})
    turning = f"{function}_sincos" if has_trigonometry else ""
    helpers = [sincos(turning, scalar), ""] if turning else []
    if groups.calls:
        head = "static __device__ __noinline__ "
        helpers += group_functions(groups, scalar, function, head, turning)
        return helpers, list(group_calls(groups, program, scalar, function, *access))
    if not turning or len(program) > _SHORT:
        return helpers, list(statements(program, scalar, *access, turning))
    slow = statements(program, scalar, *access, f"sincos{scalar.suffix}")
    arguments = ", ".join(f"{kind}{name}" for name, kind in body.captured.items())
    helpers = [
        sincos(turning, scalar, flags_far=True),
        "",
        f"static __device__ __noinline__ void {function}_far({arguments})",
        "{",
        *(f"    {line}" for line in slow),
        "}",
        "",
    ]
    return helpers, [
        "bool far = false;",
        *statements(program, scalar, *access, turning, "&far"),
        f"if (far) {function}_far({', '.join(body.captured)});",
    ]


def _groups(program: Program) -> Groups:
    """The groups of a long program; shorter programs have none, as calls cost registers."""
    return find_groups(program) if len(program) > _LONG else Groups((), (), (), False)


def _layout_body(program: Program, scalar: Scalar, layout: str) -> Body:
    """Columns and narrow rows go straight between memory and registers; wide rows through tiles."""
    if layout == "row" and is_wide(program):
        return _tiled_body(program, scalar)
    load, store = entry_accessors(program, ENTRY_INDEX[layout])
    captured = {name: f"{const}{scalar.type} *" for _, name, const in named_ports(program)}
    captured |= {"count": "const long long ", "state": "const long long "}
    return Body(list(STATE_PER_THREAD), [], load, store, captured)


def _tiled_body(program: Program, scalar: Scalar, own_states: Sequence[str] = ()) -> Body:
    """Batches in rows through shared memory; `own_states` are lines that broadcast the inputs."""
    tiles: list[Tile] = []
    shared = 0  # numbers of all tiles, one after the other
    for port, name, _ in named_ports(program):
        tiles.append(Tile(port, name, shared))
        shared += tiles[-1].size
    inputs, outputs = tiles[: len(program.inputs)], tiles[len(program.inputs) :]
    need = shared * scalar.size
    require_tiles(program.name, need)
    warps = min(_MOST_WARPS, SHARED_LIMIT // need)
    inputs_entries, outputs_entries = (
        [tile.entry(k) for tile in side for k in range(tile.port.size)]
        for side in (inputs, outputs)
    )
    fetched: list[str] = []  # a warp's states: one piece of memory, or every lane its own
    for tile in inputs:
        copy = tile.copy(scalar, inward=True)
        if own_states:
            copy = [
                f"if (extent0 >= count && {tile.name}_step0 == {tile.port.size}) {{",
                *(f"    {line}" for line in copy),
                "} else {",
                "    #pragma unroll 4",
                f"    for (int k = 0; k < {tile.port.size}; k++) "
                f"{tile.entry('k')} = {tile.name}_own[k];",
                "}",
            ]
        fetched += copy
    before = [
        f"__shared__ __align__(16) {scalar.type} tiles[{warps * shared}];",
        f"const int lane = threadIdx.x % {LANES};",
        f"{scalar.type} *tile = tiles + (threadIdx.x / {LANES}) * {shared};",
        *(STATES_PER_WARP if own_states else WARP_STATES),
        *own_states,
        *fetched,
        "__syncwarp();",
    ]
    flushed = (line for tile in outputs for line in tile.copy(scalar, inward=False))
    captured = {"tile": f"{scalar.type} *", "lane": "const int "}
    access = inputs_entries.__getitem__, lambda k, x: f"{outputs_entries[k]} = {x};"
    return Body(before, ["__syncwarp();", *flushed], *access, captured, warps, shared)


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
    named = named_ports(program)
    names = [name for _, name, const in named if const]
    steps = [f"{x}_step{k}" for x in names for k in range(AXES)]
    counts = tuple(f"const long long {x}" for x in ("count", "extent0", "extent1", *steps))
    own_states = [  # of each input, after the indices along the axes
        *_AXIS_INDICES,
        *(
            f"const auto *{x}_own = {x} + (i0 * {x}_step0 + i1 * {x}_step1 + i2 * {x}_step2);"
            for x in names
        ),
    ]
    # inputs where they lie, results straight to where they go
    captured = {f"{x}_own": f"{const}{scalar.type} *" for _, x, const in named}
    own_results = (
        f"{scalar.type} *{x}_own = {x} + state * {port.size};"
        for port, x, const in named
        if not const
    )
    before = [*STATE_PER_THREAD, *own_states, *own_results]
    load, store = entry_accessors(program, suffix="_own")
    if needs_spilling(program, scalar):
        access = Access(before, load, store)
        if tile_bytes(program.outputs, scalar) <= SHARED_LIMIT:  # results by tiles
            access = Access((*STATES_PER_WARP, *own_states), load, None)
        arguments = [*pointers(program, scalar, "__restrict__ "), *counts]
        return SpillWriter(program, scalar, function, access).source((), arguments)
    body = Body(before, [], load, store, captured)
    if is_wide(program) and tiles_fit(program, scalar):
        body = _tiled_body(program, scalar, own_states)
    return _plain_source(program, scalar, function, replace(body, counts=counts), ())
