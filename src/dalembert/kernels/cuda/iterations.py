"""Loops around the steps of an iteration as CUDA: rollouts, adaptive runs and searches.

A thread keeps its values in arrays `base`, `work` and `held` (the fixed ones); `row0`, `row1`, … are
the scalars of a stage. A rollout is one trajectory per thread, its state in registers throughout:

    name(base…, held…, saved base…, count, steps, every, moving, dt)

After every `every`-th step the base values are saved. Arrays are in rows; saved ones have the time
in front: (saves, states, entries). Held values are those of (states, entries) throughout, or, with
`moving` = 1, one such array per step.

Adaptive runs and searches do what `kernels.llvm.iterations` does on the CPU, run by run. A thread takes
the next row as soon as its own has ended, so that none waits for another; `next` counts the rows that
were taken.

    name(base, held, saved, ends, next, count, saves, interval)
    name(held…, first, pool, ends, costs, next, count, given, starts, steps, mask, gain, enough)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dalembert.kernels.c_source import Scalar, port_entries, statements
from dalembert.kernels.cuda.text import LANES, CudaSource, Tile, kernel_text, sincos
from dalembert.kernels.program.iteration import STRIDES, Iteration, port_starts
from dalembert.kernels.program.passes import reciprocals
from dalembert.text import c_identifier
from dalembert.tracing.program import Op, Port, Program


def entries(array: str, size: int) -> list[str]:
    """The entries of an array, as C spells them."""
    return [f"{array}[{k}]" for k in range(size)]


class StepWriter:
    """Writes the parts of a step; `factor` is what every coefficient of the table is multiplied by."""

    def __init__(
        self, iteration: Iteration, scalar: Scalar, function: str, factor: str = ""
    ) -> None:
        self.iteration, self.scalar, self.function = iteration, scalar, function
        self.factor = factor
        self.base, self.work, self.fixed = iteration.sizes
        arrays = {"base": self.base, "work": self.work, "held": self.fixed}
        # the inputs of a stage, and of the programs that close
        self.inputs = [entry for name, size in arrays.items() for entry in entries(name, size)]
        self.inputs += [f"row{column}" for column in range(len(iteration.table[0]))]

    def head(self, note: str, with_table: bool = True) -> list[str]:
        """Before the kernel: what it is, sine and cosine, the table."""
        programs = self.iteration.programs
        trigonometric = {Op.SIN, Op.COS} & {Op(op) for p in programs for op in set(p.op.tolist())}
        numbers = [self.scalar.literal(x) for row in self.iteration.table for x in row]
        table = f"{self.function}_table[{len(numbers)}] = {{{', '.join(numbers)}}};"
        return [
            "/*",
            f" * {note}",
            " */",
            *([sincos(f"{self.function}_sincos", self.scalar), ""] if trigonometric else []),
            *([f"static __constant__ {self.scalar.type} {table}", ""] if with_table else []),
        ]

    def step(self) -> list[str]:
        """From base values to the next ones."""
        T, iteration = self.scalar.type, self.iteration
        # a finish that reads base values must not overwrite them on the way
        reads = iteration.finish.a[iteration.finish.op == Op.INPUT]
        reads_base = bool((reads < self.base).any())
        finish = self.program(iteration.finish, "done" if reads_base else "base")
        zero, starts = self.scalar.literal(0.0), enumerate(iteration.starts())
        columns, results = len(iteration.table[0]), len(iteration.stage.results)
        first = f"(stage + 1) * {results} + " if iteration.stores_stages else ""
        stage = [
            *(
                f"const {T} row{c} = {self.factor}{self.function}_table[stage * {columns} + {c}];"
                for c in range(columns)
            ),
            f"{T} next[{results}];",
            *self.program(iteration.stage, "next"),
            *(f"work[{first}{k}] = next[{k}];" for k in range(results)),
        ]
        return [
            *(f"work[{k}] = {zero if s is None else f'base[{s}]'};" for k, s in starts),
            "#pragma unroll 1",
            f"for (int stage = 0; stage < {len(iteration.table)}; stage++) {{",
            *(f"    {line}" for line in stage),
            "}",
            "{",
            *([f"    {T} done[{self.base}];"] if reads_base else []),
            *(f"    {line}" for line in finish),
            *(f"    base[{k}] = done[{k}];" for k in range(self.base if reads_base else 0)),
            "}",
            *self.closing("base"),
        ]

    def closing(self, values: str) -> list[str]:
        """The closing programs, such as projections onto constraints, on an array of base values."""
        inputs = [*entries(values, self.base), *entries("held", self.fixed)]
        lines = []
        for program, times in self.iteration.closing:
            lines += [
                "#pragma unroll 1",
                f"for (int again = 0; again < {times}; again++) {{",
                f"    {self.scalar.type} done[{self.base}];",
                *(f"    {line}" for line in self.program(program, "done", inputs)),
                *(f"    {values}[{k}] = done[{k}];" for k in range(self.base)),
                "}",
            ]
        return lines

    def program(
        self, program: Program, into: str, inputs: Sequence[str] | None = None
    ) -> list[str]:
        """The statements of a program whose results go into an array."""
        load = (inputs or self.inputs).__getitem__
        access = load, f"{into}[{{}}] = {{}};".format
        turning = f"{self.function}_sincos"
        return list(statements(reciprocals(program), self.scalar, *access, turning))


class RowGrid(NamedTuple):
    """A kernel whose threads each take the next row as soon as their own has ended.

    Threads of a block, and blocks at most: more than a card runs at once, few enough to share.
    """

    threads: int
    most: int

    def blocks(self, count: int) -> int:
        """How many blocks take so many rows.

        >>> RowGrid(32, 100).blocks(33), RowGrid(32, 100).blocks(10**6)
        (2, 100)
        """
        return min(-(-count // self.threads), self.most)

    def source(
        self,
        head: Sequence[str],
        function: str,
        arguments: Sequence[str],
        declared: Sequence[str],
        begin: Iterable[str],
        step: Iterable[str],
    ) -> CudaSource:
        """The kernel `function(arguments)`: what a thread does with a row it has taken, and in a turn.

        Its variables are `declared`; it takes the next row where `row` is negative.
        """
        body = [
            *declared,
            "#pragma unroll 1",
            "for (;;) {",
            "    if (row < 0) {",
            "        row = (long long)atomicAdd(next, 1ULL);",
            "        if (row >= count) break;",
            *(f"        {line}" for line in begin),
            "    }",
            *(f"    {line}" for line in step),
            "}",
        ]
        text = kernel_text(head, str(self.threads), function, ", ".join(arguments), body)
        return CudaSource(text, function, self.threads, 0)


_WARPS = 4
_LONG_STEP = 4500  # instructions of all programs of a step


def cuda_rollout(iteration: Iteration, name: str, dtype: str = "float32") -> CudaSource:
    """The kernel of an iteration; launch ceil(count / 128) blocks of 128 threads."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    parts = StepWriter(iteration, scalar, function, "dt * ")
    note = "Trajectories, one per thread; batches in row layout, saved states time first."
    # a long one keeps its registers only where one block is said to be enough
    is_long = sum(map(len, iteration.programs)) > _LONG_STEP
    bounds = f"{LANES * _WARPS}, 1" if is_long else f"{LANES * _WARPS}"
    T, ports = scalar.type, [*iteration.base, *iteration.fixed]
    shared = max(Tile(port, "", 0).size for port in ports)  # numbers of one warp
    inputs = [f"const {T} *__restrict__ {c_identifier(p.name)}" for p in ports]
    saved = [f"{T} *__restrict__ {c_identifier(p.name)}_saved" for p in iteration.base]
    counts = ["const long long count", "const int steps", "const int every", "const int moving"]
    counts.append(f"const {T} dt")
    fixed = _move_rows(iteration.fixed, scalar, "held", "turn", inward=True)
    saves = _move_rows(iteration.base, scalar, "base", "save", inward=False)
    body = [
        f"{T} base[{parts.base}], work[{parts.work}], held[{parts.fixed}];",
        f"__shared__ __align__(16) {T} tiles[{_WARPS * shared}];",
        f"const int lane = threadIdx.x % {LANES};",
        f"{T} *tile = tiles + (threadIdx.x / {LANES}) * {shared};",
        f"const long long warp = (long long)blockIdx.x * {_WARPS} + threadIdx.x / {LANES};",
        f"const long long own = warp * {LANES};",
        "if (own >= count) return;",
        f"const int states = (count - own < {LANES}) ? (int)(count - own) : {LANES};",
        f"const bool full = states == {LANES};",
        *_move_rows(iteration.base, scalar, "base", "0", inward=True),
        "long long save = 0;",
        "#pragma unroll 1",
        "for (int step = 0; step < steps; step++) {",
        "    if (moving != 0 || step == 0) {",
        "        const long long turn = (moving != 0) ? step : 0;",
        *(f"        {line}" for line in fixed),
        "    }",
        *(f"    {line}" for line in parts.step()),
        "    if ((step + 1) % every == 0) {",
        *(f"        {line}" for line in saves),
        "        save++;",
        "    }",
        "}",
    ]
    head, arguments = parts.head(note), ", ".join([*inputs, *saved, *counts])
    text = kernel_text(head, bounds, function, arguments, body)
    return CudaSource(text, function, LANES * _WARPS, shared * _WARPS * scalar.size)


def _move_rows(
    ports: Sequence[Port], scalar: Scalar, array: str, step: str, inward: bool
) -> list[str]:
    """Lines that move all values between an array of the thread and memory, at a step or a save.

    The states of a warp pass through one tile in shared memory, port after port.
    """
    lines = []
    for port, k in zip(ports, port_starts(ports).values(), strict=True):
        tile = Tile(port, f"{c_identifier(port.name)}{'' if inward else '_saved'}", 0)
        entries = [(f"{array}[{k + i}]", tile.entry(i)) for i in range(port.size)]
        assigned = [f"{x} = {y};" if inward else f"{y} = {x};" for x, y in entries]
        copied = tile.copy(scalar, inward)
        before, after = (copied, assigned) if inward else (assigned, copied)
        moved = ["__syncwarp();", *before, "__syncwarp();", *after]
        first = f"const long long first = {step} * count + own;"
        lines += ["{", *(f"    {line}" for line in (first, *moved)), "}"]
    return lines


ADAPTIVE_GRID = RowGrid(LANES, 4096)
ADAPTIVE_DTYPE = "float64"  # tolerances are below what single precision resolves


def cuda_adaptive(iteration: Iteration, saved: int, name: str) -> CudaSource:
    """The kernel; launch `GRID.blocks(count)` blocks of 32 threads, with `next` zero."""
    scalar, function = Scalar.of(ADAPTIVE_DTYPE), c_identifier(name)
    parts = StepWriter(iteration, scalar, function)
    T, base, fixed = scalar.type, parts.base, parts.fixed
    note = "Runs with steps of their own: one per thread, and the next one when it is over."
    arguments = [
        *(f"const {T} *__restrict__ {name}" for name in ("starts", "fixed")),
        *(f"{T} *__restrict__ {name}" for name in ("saved", "ends")),
        *("unsigned long long *next", "const long long count", "const long long saves"),
        f"const {T} interval",
    ]
    declared = [
        f"{T} base[{base}], work[{parts.work}], held[{max(fixed, 1)}], before[{base}];",
        "long long row = -1, index = 0;",
    ]
    begin = [
        *(f"base[{k}] = starts[row * {base} + {k}];" for k in range(base)),
        *(f"held[{k}] = fixed[row * {fixed} + {k}];" for k in range(fixed)),
        "index = 0;",
    ]
    between, offsets = iteration.between, port_starts(iteration.base)
    assert between is not None
    inputs = [*entries("before", base), *entries("work", parts.work), "when"]
    step = [
        *(f"before[{k}] = base[{k}];" for k in range(base)),
        *parts.step(),
        # the states at saved times within the step
        "#pragma unroll 1",
        f"while (index < saves && ({T})(index + 1) * interval <= base[{offsets['t']}]) {{",
        f"    const {T} when = ({T})(index + 1) * interval;",
        f"    {T} now[{base}];",
        *(f"    {line}" for line in parts.program(between, "now", inputs)),
        *(f"    {line}" for line in parts.closing("now")),
        *(f"    saved[(row * saves + index) * {saved} + {k}] = now[{k}];" for k in range(saved)),
        "    index++;",
        "}",
        f"if (base[{offsets['ended']}] > 0.5) {{",
        *(f"    ends[row * {base} + {k}] = base[{k}];" for k in range(base)),
        "    row = -1;",
        "}",
    ]
    return ADAPTIVE_GRID.source(parts.head(note), function, arguments, declared, begin, step)


SEARCH_THREADS = 128
SEARCH_GRID = RowGrid(SEARCH_THREADS, 1024)


def cuda_search(iteration: Iteration, name: str, dtype: str = "float64") -> CudaSource:
    """The kernel of a search; launch `GRID.blocks(count)` blocks of 128 threads, with `next` zero."""
    scalar, function = Scalar.of(dtype), c_identifier(name)
    parts, T, n = StepWriter(iteration, scalar, function), scalar.type, iteration.base[0].size
    note = "A search from many starts: a row per thread, and the next one when it has arrived."
    inputs = [*(c_identifier(port.name) for port in iteration.fixed), "first", "pool"]
    arguments = [
        *(f"const {T} *__restrict__ {name}" for name in inputs),
        *(f"{T} *__restrict__ {name}" for name in ("ends", "costs")),
        *("unsigned long long *next", "const long long count"),
        *(f"const int {name}" for name in ("given", "starts", "steps", "mask")),
        *(f"const {T} {name}" for name in ("gain", "enough")),
    ]
    declared = [
        f"{T} base[{parts.base}], held[{parts.fixed}];",
        "long long row = -1;",
        "int start = 0, used = 0;",
        "bool begin = false;",
    ]
    begin = [
        *(
            f"held[{k}] = {c_identifier(port.name)}[row * {port.size} + {entry}];"
            for k, (port, entry) in enumerate(port_entries(iteration.fixed))
        ),
        f"base[{2 * n}] = {scalar.literal(float('inf'))};",
        "start = 0;",
        "begin = true;",
    ]
    chosen = [f"base[{k}] : base[{n + k}];" for k in range(n)]
    step = [
        # at the first point of the row, or at one of the pool
        "if (begin) {",
        f"    const long long place = (row * {STRIDES[0]} + start * {STRIDES[1]}LL) & mask;",
        f"    const {T} *from = (start < given) ? first + row * {n} : pool + place * {n};",
        *(f"    base[{k}] = from[{k}];" for k in range(n)),
        *(f"    if (start == 0) base[{n + k}] = base[{k}];" for k in range(n)),
        "    used = 0;",
        "    begin = false;",
        "}",
        f"{T} after[{parts.work}];",
        *parts.program(iteration.stage, "after", [*parts.inputs[:-1], "gain"]),
        *(f"base[{k}] = after[{k}];" for k in range(parts.base)),
        # a row that has converged, or has no starts left, is written
        "used++;",
        f"const bool arrived = base[{2 * n}] <= enough;",
        "if (arrived || used >= steps) {",
        "    start++;",
        "    begin = true;",
        "    if (arrived || start >= starts) {",
        *(f"        ends[row * {n} + {k}] = arrived ? {a}" for k, a in enumerate(chosen)),
        f"        costs[row] = base[{2 * n}];",
        "        row = -1;",
        "    }",
        "}",
    ]
    head = parts.head(note, with_table=False)
    return SEARCH_GRID.source(head, function, arguments, declared, begin, step)
