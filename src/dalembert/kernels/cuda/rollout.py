"""Fused rollouts as CUDA: one trajectory per thread, its state in registers throughout.

    name(base…, held…, saved base…, count, steps, every, moving, dt)

After every `every`-th step the base values are saved. Saved arrays have the time in front:
(saves, states, entries) in rows, (saves, entries, states) in columns. Held values are those of
(states, entries) throughout, or, with `moving` = 1, one such array per step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dalembert.errors import CompileError
from dalembert.kernels.c.text import Scalar, slots, statements
from dalembert.kernels.cuda.source import LAYOUTS, CudaSource
from dalembert.kernels.cuda.text import LANES, Tile, sincos, with_specials
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Op, Port, Program
from dalembert.kernels.program.rewrite import reciprocals
from dalembert.text import c_comment, c_identifier

_WARPS = 4
_LONG = 4500  # instructions of all programs of a step


def cuda_rollout(
    iteration: Iteration,
    name: str,
    dtype: str = "float32",
    layout: str = "row",
    about: Sequence[str] = (),
) -> CudaSource:
    """The kernel of an iteration; launch ceil(count / 128) blocks of 128 threads."""
    if layout not in LAYOUTS:
        raise CompileError(f"layout={layout!r} must be one of {', '.join(LAYOUTS)}")
    scalar, function = Scalar.of(dtype), c_identifier(name)
    move = _Rows(iteration, scalar) if layout == "row" else _Columns(iteration, scalar)
    turns = {Op.SIN, Op.COS} & {Op(op) for p in iteration.programs for op in set(p.op.tolist())}
    # a long one keeps its registers only where one block is said to be enough
    is_long = sum(map(len, iteration.programs)) > _LONG
    bounds = f"{LANES * _WARPS}, 1" if is_long else f"{LANES * _WARPS}"
    lines = [
        "/*",
        *(f" * {c_comment(line)}".rstrip() for line in about),
        f" * Trajectories, one per thread; batches in {layout} layout, saved states time first.",
        " */",
        *([sincos(f"{function}_sincos", scalar), ""] if turns else []),
        _table(iteration, scalar, function),
        "",
        f'extern "C" __global__ void __launch_bounds__({bounds})',
        f"{function}({_arguments(iteration, scalar)})",
        "{",
        *(f"    {line}" for line in _body(iteration, scalar, function, move)),
        "}",
        "",
    ]
    shared = move.shared * _WARPS * (4 if scalar.suffix else 8)
    return CudaSource(with_specials("\n".join(lines)), function, LANES * _WARPS, shared)


def _table(iteration: Iteration, scalar: Scalar, function: str) -> str:
    numbers = [scalar.literal(x) for row in iteration.table for x in row]
    values = ", ".join(numbers)
    return f"static __constant__ {scalar.type} {function}_table[{len(numbers)}] = {{{values}}};"


def _arguments(iteration: Iteration, scalar: Scalar) -> str:
    inputs = [*iteration.base, *iteration.held]
    given = [f"const {scalar.type} *__restrict__ {c_identifier(p.name)}" for p in inputs]
    saved = [f"{scalar.type} *__restrict__ {c_identifier(p.name)}_saved" for p in iteration.base]
    counts = ["const long long count", "const int steps", "const int every", "const int moving"]
    return ", ".join([*given, *saved, *counts, f"const {scalar.type} dt"])


def _body(iteration: Iteration, scalar: Scalar, function: str, move: _Rows | _Columns) -> list[str]:
    T, (base, work, held) = scalar.type, iteration.sizes
    columns, stages = len(iteration.table[0]), len(iteration.table)
    offset = base + work + held

    def load(k: int) -> str:
        if k < base:
            return f"base[{k}]"
        if k < base + work:
            return f"work[{k - base}]"
        return f"held[{k - base - work}]" if k < offset else f"row{k - offset}"

    def written(program: Program, into: str, load: Callable[[int], str] = load) -> Iterator[str]:
        return statements(
            reciprocals(program),
            scalar,
            load,
            lambda k, x: f"{into}[{k}] = {x};",
            f"{function}_sincos",
        )

    def closed(program: Program, times: int) -> list[str]:
        own = written(program, "done", lambda k: f"base[{k}]" if k < base else f"held[{k - base}]")
        return [
            "#pragma unroll 1",
            f"for (int again = 0; again < {times}; again++) {{",
            f"    {T} done[{base}];",
            *(f"    {line}" for line in own),
            *(f"    base[{k}] = done[{k}];" for k in range(base)),
            "}",
        ]

    # a finish that reads base values must not overwrite them on the way
    reads = iteration.finish.a[iteration.finish.op == Op.INPUT]
    kept = bool((reads < base).any())
    stage = written(iteration.stage, "next")
    finish = written(iteration.finish, "done" if kept else "base")
    inner = [
        *(
            f"const {T} row{c} = dt * {function}_table[stage * {columns} + {c}];"
            for c in range(columns)
        ),
        f"{T} next[{work}];",
        *stage,
        *(f"work[{k}] = next[{k}];" for k in range(work)),
    ]
    return [
        f"{T} base[{base}], work[{work}], held[{held}];",
        *move.open(),
        *move.take("base", iteration.base),
        "long long save = 0;",
        "#pragma unroll 1",
        "for (int step = 0; step < steps; step++) {",
        "    if (moving != 0 || step == 0) {",
        "        const long long turn = (moving != 0) ? step : 0;",
        *(f"        {line}" for line in move.take("held", iteration.held, "turn")),
        "    }",
        *(f"    work[{k}] = {_start(scalar, s)};" for k, s in enumerate(iteration.starts())),
        "    #pragma unroll 1",
        f"    for (int stage = 0; stage < {stages}; stage++) {{",
        *(f"        {line}" for line in inner),
        "    }",
        "    {",
        *([f"        {T} done[{base}];"] if kept else []),
        *(f"        {line}" for line in finish),
        *(f"        base[{k}] = done[{k}];" for k in range(base if kept else 0)),
        "    }",
        *(f"    {line}" for each in iteration.closing for line in closed(*each)),
        "    if ((step + 1) % every == 0) {",
        *(f"        {line}" for line in move.give(iteration.base)),
        "        save++;",
        "    }",
        "}",
    ]


def _start(scalar: Scalar, source: int | None) -> str:
    return scalar.literal(0.0) if source is None else f"base[{source}]"


class _Columns:
    """Every thread reads and writes its own column."""

    shared = 0

    def __init__(self, iteration: Iteration, scalar: Scalar) -> None:
        self.scalar = scalar

    def open(self) -> list[str]:
        return [
            "const long long state = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
            "if (state >= count) return;",
        ]

    def take(self, into: str, ports: tuple[Port, ...], turn: str = "0") -> list[str]:
        return [
            f"{into}[{k}] = {c_identifier(port.name)}"
            f"[({turn} * {port.size} + {place}) * count + state];"
            for k, (port, place) in enumerate(slots(ports))
        ]

    def give(self, ports: tuple[Port, ...]) -> list[str]:
        return [
            f"{c_identifier(p.name)}_saved[(save * {p.size} + {place}) * count + state] = base[{k}];"
            for k, (p, place) in enumerate(slots(ports))
        ]


class _Rows:
    """The states of a warp pass through one tile in shared memory, array after array."""

    def __init__(self, iteration: Iteration, scalar: Scalar) -> None:
        ports = (*iteration.base, *iteration.held)
        self.scalar = scalar
        self.shared = max(Tile(port, "", 0).size for port in ports)

    def open(self) -> list[str]:
        T = self.scalar.type
        return [
            f"__shared__ __align__(16) {T} tiles[{_WARPS * self.shared}];",
            f"const int lane = threadIdx.x % {LANES};",
            f"{T} *tile = tiles + (threadIdx.x / {LANES}) * {self.shared};",
            f"const long long warp = (long long)blockIdx.x * {_WARPS} + threadIdx.x / {LANES};",
            f"const long long own = warp * {LANES};",
            "if (own >= count) return;",
            f"const int states = (count - own < {LANES}) ? (int)(count - own) : {LANES};",
            f"const bool full = states == {LANES};",
        ]

    def take(self, into: str, ports: tuple[Port, ...], turn: str = "0") -> list[str]:
        lines, k = [], 0
        for port in ports:
            tile = Tile(port, c_identifier(port.name), 0)
            lines += [
                "{",
                f"    const long long first = {turn} * count + own;",
                "    __syncwarp();",
            ]
            lines += [f"    {line}" for line in tile.fetch(self.scalar)]
            lines += ["    __syncwarp();"]
            lines += [f"    {into}[{k + i}] = {tile.entry(i)};" for i in range(port.size)]
            lines.append("}")
            k += port.size
        return lines

    def give(self, ports: tuple[Port, ...]) -> list[str]:
        lines, k = [], 0
        for port in ports:
            tile = Tile(port, f"{c_identifier(port.name)}_saved", 0)
            lines += ["{", "    const long long first = save * count + own;", "    __syncwarp();"]
            lines += [f"    {tile.entry(i)} = base[{k + i}];" for i in range(port.size)]
            lines += [
                "    __syncwarp();",
                *(f"    {line}" for line in tile.flush(self.scalar)),
                "}",
            ]
            k += port.size
        return lines
