"""A program as CUDA: one state per thread, every value in a register, both layouts of batches.

"column" arrays are (entries, states): neighbouring threads touch neighbouring numbers, nothing else is
needed. "row" arrays are (states, entries), as NumPy and CuPy have them: narrow ones are read as they
are, for the cache serves the neighbours of a number next; wide ones pass through shared memory (see
`cuda_text`), so that outputs are written in whole lines too.

Sines of huge angles need the library's slow way. A branch at every angle would cut the code into pieces
that the compiler cannot mix, at a third of the speed: each angle only notes that it is far, and at the
end a state with such an angle is computed again, by a function that is never inlined. (Programs too
long for that ask at every angle.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dalembert.errors import CompileError
from dalembert.kernels.c import groups
from dalembert.kernels.c.source import comment, entries, output_name
from dalembert.kernels.c.text import Scalar, statements
from dalembert.kernels.cuda.access import ALONE, PLACES, Access, access, tiled_bytes
from dalembert.kernels.cuda.heavy import heavy, is_heavy
from dalembert.kernels.cuda.text import LANES, SHARED_LIMIT, Tile, kernel_text, sincos
from dalembert.kernels.program.components import Groups, grouped
from dalembert.kernels.program.rewrite import reciprocals
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
    if weighs(program, scalar):
        head = comment(program, scalar, [*notes, _launch(layout, LANES)], units or {})
        return heavily(program, scalar, function, access(program, layout), head)
    body = _body(program, scalar, layout)
    head = comment(program, scalar, [*notes, _launch(layout, LANES * body.warps)], units or {})
    return written(program, scalar, function, body, head)


def weighs(program: Program, scalar: Scalar) -> bool:
    """Whether a kernel of it must say which of its values wait outside of registers."""
    return is_heavy(program, scalar) and not _groups(program).calls


def heavily(
    program: Program,
    scalar: Scalar,
    function: str,
    access: Access,
    head: Sequence[str],
    counts: Sequence[str] = ("const long long count",),
) -> CudaSource:
    """The kernel of a program with more values at a time than registers."""
    made = heavy(program, scalar, function, access)
    arguments = ", ".join([*_pointers(program, scalar), *counts])
    bounds = f"{LANES}, {made.warps}"
    text = kernel_text([*head, *made.head], bounds, function, arguments, filter(None, made.body))
    return CudaSource(text, function, LANES, made.shared_bytes)


def written(
    program: Program, scalar: Scalar, function: str, body: Body, head: Sequence[str]
) -> CudaSource:
    """The kernel of a program whose states come and go as `body` says."""
    threads = LANES * body.warps
    arguments = ", ".join([*_pointers(program, scalar), *body.counts])
    # ptxas leaves 32 registers to a long program in double unless it hears that one block is enough
    is_heavy = len(program) > _SHORT and not scalar.suffix
    bounds = f"{threads}, 1" if is_heavy else str(threads)
    lines = [*body.before, *_work(program, scalar, function, body), *body.after]
    head = [*head, *_turning(program, scalar, function, body)]
    text = kernel_text(head, bounds, function, arguments, lines)
    size = 4 if scalar.suffix else 8
    return CudaSource(text, function, threads, body.shared * body.warps * size)


def fits_rows(program: Program, dtype: str) -> bool:
    """Whether its batches can lie in rows; those of wide results must lie in columns."""
    scalar = Scalar.of(dtype)
    if weighs(program, scalar):
        return tiled_bytes(program, scalar) <= SHARED_LIMIT
    try:
        _body(program, scalar, "row")
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
    given: dict[str, str]  # what the work refers to, name → type
    warps: int = _MOST_WARPS
    shared: int = 0  # numbers per warp
    counts: tuple[str, ...] = ("const long long count",)  # arguments after the arrays


def _work(program: Program, scalar: Scalar, function: str, body: Body) -> list[str]:
    """The program's statements; a state with a far angle is done again, slowly."""
    found = _groups(program)
    if found.calls:
        return list(groups.calls(found, program, scalar, function, body.load, body.store))
    if not _turns(program):
        return list(statements(program, scalar, body.load, body.store))
    if len(program) > _SHORT:
        return list(statements(program, scalar, body.load, body.store, f"{function}_sincos"))
    quick = statements(program, scalar, body.load, body.store, f"{function}_sincos", "&far")
    return [
        "bool far = false;",
        *quick,
        f"if (far) {function}_far({', '.join(body.given)});",
    ]


def _groups(program: Program) -> Groups:
    """Functions of their own for the parts of a long program; a call's arguments leave registers."""
    return grouped(program) if len(program) > _LONG else Groups((), (), (), False)


def _turning(program: Program, scalar: Scalar, function: str, body: Body) -> list[str]:
    """Before the kernel: its sine and cosine, its groups, and the way for states with far angles."""
    found = _groups(program)
    if found.calls:
        turning = f"{function}_sincos" if _turns(program) else ""
        own = [sincos(turning, scalar), ""] if turning else []
        head = "static __device__ __noinline__ "
        return [*own, *groups.functions(found, scalar, function, head, turning)]
    if not _turns(program):
        return []
    if len(program) > _SHORT:
        return [sincos(f"{function}_sincos", scalar), ""]
    library = f"sincos{scalar.suffix}"
    arguments = ", ".join(f"{kind}{name}" for name, kind in body.given.items())
    return [
        sincos(f"{function}_sincos", scalar, notes=True),
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


def _turns(program: Program) -> bool:
    return bool(({Op.SIN, Op.COS}) & {Op(op) for op in program.op.tolist()})


def _body(program: Program, scalar: Scalar, layout: str) -> Body:
    """Columns and narrow rows go straight between memory and registers; wide rows through tiles."""
    if layout == "row" and is_wide(program):
        return tiled(program, scalar)
    load, store = entries(program, PLACES[layout])
    given = {c_identifier(p.name): f"const {scalar.type} *" for p in program.inputs}
    given |= {output_name(p, program): f"{scalar.type} *" for p in program.outputs}
    given |= {"count": "const long long ", "state": "const long long "}
    return Body(list(ALONE), [], load, store, given)


def tiled(
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
    come = [entry for tile in inputs for entry in map(tile.entry, range(tile.width))]
    go = [entry for tile in outputs for entry in map(tile.entry, range(tile.width))]
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
    given = {"tile": f"{scalar.type} *", "lane": "const int "}
    return Body(
        before, after, come.__getitem__, lambda k, x: f"{go[k]} = {x};", given, warps, shared
    )


def _tiles(ports: tuple[Port, ...], names: Mapping[str, str], start: int) -> tuple[list[Tile], int]:
    """Tiles one after the other from `start`, and where the next would begin."""
    tiles = []
    for port in ports:
        tiles.append(Tile(port, names[port.name], start))
        start += tiles[-1].size
    return tiles, start
