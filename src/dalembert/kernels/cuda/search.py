"""Searches as CUDA: one row per thread, the next row as soon as one has arrived.

    name(held…, first, pool, ends, costs, next, count, given, starts, steps, mask, gain, enough)

What it does is what the CPU's `kernels.llvm.search_loop` says, start by start. Threads are as many as
the card runs at once; `next` counts the rows that were taken. Arrays are in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert.kernels.c.text import Scalar, slots, statements
from dalembert.kernels.cuda.device import Compiled, flat, require_cupy
from dalembert.kernels.cuda.source import CudaSource
from dalembert.kernels.cuda.taking import Grid
from dalembert.kernels.cuda.text import sincos
from dalembert.kernels.program.iteration import STRIDES, Iteration
from dalembert.kernels.program.program import Op
from dalembert.kernels.program.rewrite import reciprocals
from dalembert.text import c_comment, c_identifier

if TYPE_CHECKING:
    from dalembert.kernels.call.search import Effort

THREADS = 128
GRID = Grid(THREADS, 1024)


def cuda_search(
    iteration: Iteration, name: str, dtype: str = "float64", about: Sequence[str] = ()
) -> CudaSource:
    """The kernel of a search; launch `GRID.blocks(count)` blocks of 128 threads, with `next` zero."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    turns = {Op.SIN, Op.COS} & {Op(op) for op in iteration.stage.op.tolist()}
    head = [
        "/*",
        *(f" * {c_comment(line)}".rstrip() for line in about),
        " * A search from many starts: a row per thread, and the next one when it has arrived.",
        " */",
        *([sincos(f"{function}_sincos", scalar), ""] if turns else []),
    ]
    body = _body(iteration, scalar, function)
    return GRID.source(head, function, _arguments(iteration, scalar), body)


def _arguments(iteration: Iteration, scalar: Scalar) -> str:
    T = scalar.type
    given = [*(c_identifier(p.name) for p in iteration.held), "first", "pool"]
    inputs = [f"const {T} *__restrict__ {name}" for name in given]
    outputs = [f"{T} *__restrict__ {name}" for name in ("ends", "costs")]
    counts = ["unsigned long long *next", "const long long count"]
    counts += [f"const int {name}" for name in ("given", "starts", "steps", "mask")]
    return ", ".join([*inputs, *outputs, *counts, f"const {T} gain", f"const {T} enough"])


def _body(iteration: Iteration, scalar: Scalar, function: str) -> list[str]:
    T, (base, work, held) = scalar.type, iteration.sizes
    n, cost = iteration.base[0].size, 2 * iteration.base[0].size

    def load(k: int) -> str:
        if k < base:
            return f"base[{k}]"
        return f"held[{k - base - work}]" if k < base + work + held else "gain"

    def store(k: int, x: str) -> str:
        return f"after[{k}] = {x};"

    program, turn = reciprocals(iteration.stage), f"{function}_sincos"
    step = statements(program, scalar, load, store, turn)
    return [
        f"{T} base[{base}], held[{held}];",
        "long long row = -1;",
        "int start = 0, used = 0;",
        "bool begin = false;",
        "#pragma unroll 1",
        "for (;;) {",
        *(f"    {line}" for line in (*_take(iteration, scalar, cost), *_begin(T, n))),
        f"    {T} after[{work}];",
        *(f"    {line}" for line in step),
        *(f"    base[{k}] = after[{k}];" for k in range(base)),
        *(f"    {line}" for line in _end(n, cost)),
        "}",
    ]


def _take(iteration: Iteration, scalar: Scalar, cost: int) -> list[str]:
    """The next row, where this thread has none."""
    taken = [
        f"held[{k}] = {c_identifier(port.name)}[row * {port.size} + {place}];"
        for k, (port, place) in enumerate(slots(iteration.held))
    ]
    return [
        "if (row < 0) {",
        "    row = (long long)atomicAdd(next, 1ULL);",
        "    if (row >= count) break;",
        *(f"    {line}" for line in taken),
        f"    base[{cost}] = {scalar.literal(float('inf'))};",
        "    start = 0;",
        "    begin = true;",
        "}",
    ]


def _begin(T: str, n: int) -> list[str]:
    """At the first point of the row, or at one of the pool."""
    return [
        "if (begin) {",
        f"    const long long place = (row * {STRIDES[0]} + start * {STRIDES[1]}LL) & mask;",
        f"    const {T} *from = (start < given) ? first + row * {n} : pool + place * {n};",
        *(f"    base[{k}] = from[{k}];" for k in range(n)),
        *(f"    if (start == 0) base[{n + k}] = base[{k}];" for k in range(n)),
        "    used = 0;",
        "    begin = false;",
        "}",
    ]


def _end(n: int, cost: int) -> list[str]:
    """What has arrived, or has no starts left, is written."""
    return [
        "used++;",
        f"const bool arrived = base[{cost}] <= enough;",
        "if (arrived || used >= steps) {",
        "    start++;",
        "    begin = true;",
        "    if (arrived || start >= starts) {",
        *(
            f"        ends[row * {n} + {k}] = arrived ? base[{k}] : base[{n + k}];"
            for k in range(n)
        ),
        f"        costs[row] = base[{cost}];",
        "        row = -1;",
        "    }",
        "}",
    ]


class DeviceSearch:
    """The CUDA kernel of one search, called as `kernels.call.search.SearchLoop` is."""

    def __init__(self, iteration: Iteration, name: str = "inverse_kinematics") -> None:
        self.iteration = iteration
        self._kernels = Compiled(lambda dtype, layout: cuda_search(iteration, name, dtype))

    def __call__(
        self, held: Sequence[Any], pool: Any, effort: Effort, first: Any = None
    ) -> tuple[Any, Any]:
        """(points (rows, n), costs (rows,)) on the device."""
        cp, rows = require_cupy(), len(held[0])
        n = self.iteration.base[0].size
        with held[0].device:
            own = partial(flat, "float64", (rows,))
            given = [own(p, cp.asarray(x)) for p, x in zip(self.iteration.held, held, strict=True)]
            starts = [cp.asarray(pool), cp.asarray(pool if first is None else first)]
            ends, costs = cp.empty((rows, n), "float64"), cp.empty((rows,), "float64")
            taken = cp.asarray([0]).astype("uint64")
            counts = (int(first is not None), effort.starts, effort.steps, len(pool) - 1)
            _, kernel = self._kernels.compiled("float64", "row")
            arrays = [cp.ascontiguousarray(x) for x in (*given, starts[1], starts[0])]
            numbers = [cp.dtype("float64").type(x) for x in (effort.gain, effort.enough)]
            if rows:
                arguments = (*arrays, ends, costs, taken, cp.int64(rows))
                tail = (*map(cp.int32, counts), *numbers)
                kernel((GRID.blocks(rows),), (THREADS,), (*arguments, *tail))
            return ends, costs
