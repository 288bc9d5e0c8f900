"""Searches as CUDA: one row per thread, the next row as soon as one has arrived.

    name(held…, first, pool, ends, costs, next, count, given, starts, steps, mask, gain, enough)

What it does is what the CPU's `kernels.llvm.iterations.Search` says, start by start. Threads are as
many as the card runs at once; `next` counts the rows that were taken. Arrays are in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert.kernels.c.text import Scalar, slots
from dalembert.kernels.cuda.device import Compiled, flat, require_cupy
from dalembert.kernels.cuda.iterations import Grid, Steps
from dalembert.kernels.cuda.source import CudaSource
from dalembert.kernels.program.iteration import STRIDES, Iteration
from dalembert.text import c_identifier

if TYPE_CHECKING:
    from dalembert.kernels.call.search import Effort

THREADS = 128
GRID = Grid(THREADS, 1024)


def cuda_search(
    iteration: Iteration, name: str, dtype: str = "float64", about: Sequence[str] = ()
) -> CudaSource:
    """The kernel of a search; launch `GRID.blocks(count)` blocks of 128 threads, with `next` zero."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    parts, T, n = Steps(iteration, scalar, function), scalar.type, iteration.base[0].size
    said = "A search from many starts: a row per thread, and the next one when it has arrived."
    inputs = [*(c_identifier(port.name) for port in iteration.held), "first", "pool"]
    arguments = [
        *(f"const {T} *__restrict__ {name}" for name in inputs),
        *(f"{T} *__restrict__ {name}" for name in ("ends", "costs")),
        *("unsigned long long *next", "const long long count"),
        *(f"const int {name}" for name in ("given", "starts", "steps", "mask")),
        *(f"const {T} {name}" for name in ("gain", "enough")),
    ]
    declared = [
        f"{T} base[{parts.base}], held[{parts.held}];",
        "long long row = -1;",
        "int start = 0, used = 0;",
        "bool begin = false;",
    ]
    taken = [
        *(
            f"held[{k}] = {c_identifier(port.name)}[row * {port.size} + {place}];"
            for k, (port, place) in enumerate(slots(iteration.held))
        ),
        f"base[{2 * n}] = {scalar.literal(float('inf'))};",
        "start = 0;",
        "begin = true;",
    ]
    last = parts.base + parts.work + parts.held
    turn = [
        *_begin(T, n),
        f"{T} after[{parts.work}];",
        *parts.program(iteration.stage, "after", lambda k: parts.load(k) if k < last else "gain"),
        *(f"base[{k}] = after[{k}];" for k in range(parts.base)),
        *_end(n, 2 * n),
    ]
    head = parts.head([*about, said], with_table=False)
    return GRID.source(head, function, arguments, declared, taken, turn)


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
