"""Fused rollouts as CUDA: one trajectory per thread, its state in registers throughout.

    name(base…, held…, saved base…, count, steps, every, moving, dt)

After every `every`-th step the base values are saved. Saved arrays have the time in front:
(saves, states, entries) in rows, (saves, entries, states) in columns. Held values are those of
(states, entries) throughout, or, with `moving` = 1, one such array per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.errors import CompileError
from dalembert.kernels.c.text import Scalar, slots
from dalembert.kernels.cuda.iterations import Steps
from dalembert.kernels.cuda.source import LAYOUTS, CudaSource
from dalembert.kernels.cuda.text import LANES, Tile, kernel_text
from dalembert.kernels.program.iteration import Iteration
from dalembert.text import c_identifier
from dalembert.tracing.program import Port

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
    parts = Steps(iteration, scalar, function, "dt * ")
    said = f"Trajectories, one per thread; batches in {layout} layout, saved states time first."
    # a long one keeps its registers only where one block is said to be enough
    is_long = sum(map(len, iteration.programs)) > _LONG
    bounds = f"{LANES * _WARPS}, 1" if is_long else f"{LANES * _WARPS}"
    head, arguments = parts.head([*about, said]), _arguments(iteration, scalar)
    text = kernel_text(head, bounds, function, arguments, _body(parts, move))
    shared = move.shared * _WARPS * (4 if scalar.suffix else 8)
    return CudaSource(text, function, LANES * _WARPS, shared)


def _arguments(iteration: Iteration, scalar: Scalar) -> str:
    inputs = [*iteration.base, *iteration.held]
    given = [f"const {scalar.type} *__restrict__ {c_identifier(p.name)}" for p in inputs]
    saved = [f"{scalar.type} *__restrict__ {c_identifier(p.name)}_saved" for p in iteration.base]
    counts = ["const long long count", "const int steps", "const int every", "const int moving"]
    return ", ".join([*given, *saved, *counts, f"const {scalar.type} dt"])


def _body(parts: Steps, move: _Rows | _Columns) -> list[str]:
    iteration = parts.iteration
    return [
        f"{parts.scalar.type} base[{parts.base}], work[{parts.work}], held[{parts.held}];",
        *move.open(),
        *move.take("base", iteration.base),
        "long long save = 0;",
        "#pragma unroll 1",
        "for (int step = 0; step < steps; step++) {",
        "    if (moving != 0 || step == 0) {",
        "        const long long turn = (moving != 0) ? step : 0;",
        *(f"        {line}" for line in move.take("held", iteration.held, "turn")),
        "    }",
        *(f"    {line}" for line in parts.step()),
        "    if ((step + 1) % every == 0) {",
        *(f"        {line}" for line in move.give(iteration.base)),
        "        save++;",
        "    }",
        "}",
    ]


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
        def moved(port: Port, k: int) -> list[str]:
            tile = Tile(port, c_identifier(port.name), 0)
            entries = [f"{into}[{k + i}] = {tile.entry(i)};" for i in range(port.size)]
            return [*tile.fetch(self.scalar), "__syncwarp();", *entries]

        return self._each(ports, turn, moved)

    def give(self, ports: tuple[Port, ...]) -> list[str]:
        def moved(port: Port, k: int) -> list[str]:
            tile = Tile(port, f"{c_identifier(port.name)}_saved", 0)
            entries = [f"{tile.entry(i)} = base[{k + i}];" for i in range(port.size)]
            return [*entries, "__syncwarp();", *tile.flush(self.scalar)]

        return self._each(ports, "save", moved)

    def _each(
        self, ports: tuple[Port, ...], turn: str, moved: Callable[[Port, int], list[str]]
    ) -> list[str]:
        """Array after array, each from its first entry on."""
        lines, k = [], 0
        for port in ports:
            lines += ["{", f"    const long long first = {turn} * count + own;"]
            lines += [f"    {line}" for line in ("__syncwarp();", *moved(port, k))] + ["}"]
            k += port.size
        return lines
