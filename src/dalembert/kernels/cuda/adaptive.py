"""Steps of lengths of their own as CUDA: one run per thread, the next one as soon as it is over.

    name(base, held, saved, ends, next, count, saves, interval)

What it does is what the CPU's `kernels.llvm.iterations.Adaptive` says, run by run. Threads of a warp
take their tries together, each with its own time and step, and none waits for another's run to end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.kernels.c.text import Scalar
from dalembert.kernels.call.adaptive import Ended
from dalembert.kernels.call.confirm import confirm_tries
from dalembert.kernels.call.settings import checking
from dalembert.kernels.cuda.device import KIND, Compiled, flat, require_cupy
from dalembert.kernels.cuda.iterations import Grid, Steps
from dalembert.kernels.cuda.source import CudaSource
from dalembert.kernels.cuda.text import LANES
from dalembert.kernels.program.iteration import Iteration
from dalembert.text import c_identifier
from dalembert.tracing.program import Port

GRID = Grid(LANES, 4096)
_DTYPE = "float64"  # tolerances are below what single precision resolves


def cuda_adaptive(
    iteration: Iteration, saved: int, name: str, about: Sequence[str] = ()
) -> CudaSource:
    """The kernel; launch `GRID.blocks(count)` blocks of 32 threads, with `next` zero."""
    scalar, function = Scalar.of(_DTYPE), c_identifier(name)
    parts = Steps(iteration, scalar, function)
    T, base, held = scalar.type, parts.base, parts.held
    said = "Runs with steps of their own: one per thread, and the next one when it is over."
    arguments = [
        *(f"const {T} *__restrict__ {name}" for name in ("starts", "fixed")),
        *(f"{T} *__restrict__ {name}" for name in ("saved", "ends")),
        *("unsigned long long *next", "const long long count", "const long long saves"),
        f"const {T} interval",
    ]
    declared = [
        f"{T} base[{base}], work[{parts.work}], held[{max(held, 1)}], before[{base}];",
        "long long row = -1, index = 0;",
    ]
    taken = [
        *(f"base[{k}] = starts[row * {base} + {k}];" for k in range(base)),
        *(f"held[{k}] = fixed[row * {held} + {k}];" for k in range(held)),
        "index = 0;",
    ]
    turn = [
        *(f"before[{k}] = base[{k}];" for k in range(base)),
        *parts.step(),
        *_report(parts, saved),
        f"if (base[{_starts(iteration.base)['ended']}] > 0.5) {{",
        *(f"    ends[row * {base} + {k}] = base[{k}];" for k in range(base)),
        "    row = -1;",
        "}",
    ]
    return GRID.source(parts.head([*about, said]), function, arguments, declared, taken, turn)


def _report(parts: Steps, saved: int) -> list[str]:
    """States at saved times within the try."""
    T, base, between = parts.scalar.type, parts.base, parts.iteration.between
    assert between is not None
    time = _starts(parts.iteration.base)["t"]

    def load(k: int) -> str:
        if k < base:
            return f"before[{k}]"
        return f"work[{k - base}]" if k < base + parts.work else "when"

    return [
        "#pragma unroll 1",
        f"while (index < saves && ({T})(index + 1) * interval <= base[{time}]) {{",
        f"    const {T} when = ({T})(index + 1) * interval;",
        f"    {T} now[{base}];",
        *(f"    {line}" for line in parts.program(between, "now", load)),
        *(f"    {line}" for line in parts.closing("now")),
        *(f"    saved[(row * saves + index) * {saved} + {k}] = now[{k}];" for k in range(saved)),
        "    index++;",
        "}",
    ]


def _starts(ports: Sequence[Port]) -> dict[str, int]:
    """Where the entries of each port begin."""
    starts = np.cumsum([0, *(port.size for port in ports)]).tolist()
    return dict(zip((port.name for port in ports), starts, strict=False))


class DeviceAdaptive:
    """The CUDA kernel of runs with steps of their own, called as `AdaptiveLoop` is."""

    def __init__(self, iteration: Iteration, saved: int, name: str) -> None:
        self.iteration, self.saved = iteration, saved
        self._kernels = Compiled(lambda dtype, layout: cuda_adaptive(iteration, saved, name))
        self._confirmed = False

    @staticmethod
    def asarray(x: Any) -> Any:
        """Numbers in double precision, on the current device."""
        return require_cupy().asarray(x).astype(_DTYPE, copy=False)

    @staticmethod
    def rows(ports: Sequence[Port], given: Mapping[str, Any], batch: tuple[int, ...]) -> Any:
        """Values of all ports (rows, entries), zero where nothing is given."""
        cp, count = require_cupy(), prod(batch)
        made = cp.empty((count, sum(port.size for port in ports)), _DTYPE)
        for port, start in zip(ports, _starts(ports).values(), strict=True):
            own = given.get(port.name)
            there = 0.0 if own is None else flat(_DTYPE, batch, port, cp.asarray(own))
            made[:, start : start + port.size] = there
        return made

    def __call__(self, base: Any, held: Any, saves: int, interval: float) -> Ended:
        """From base values (rows, …) under held values (rows, …), saved `saves` times."""
        cp, count = require_cupy(), len(base)
        if not self._confirmed and checking() and count:
            self._confirmed = True
            self._confirm(base, held)
        saved = cp.empty((count, saves, self.saved), _DTYPE)
        ends = cp.empty((count, base.shape[1]), _DTYPE)
        saved[...] = ends[...] = np.nan
        if count:
            taken = cp.asarray([0]).astype("uint64")
            numbers = (np.int64(count), np.int64(saves), np.float64(interval))
            _, kernel = self._kernels.compiled(_DTYPE, "row")
            kernel((GRID.blocks(count),), (LANES,), (base, held, saved, ends, taken, *numbers))
        return Ended(saved, ends, 0)

    def _confirm(self, base: Any, held: Any) -> None:
        """With DALEMBERT_CHECK, raise where first tries are not what the programs give."""
        cp = require_cupy()

        def run(first: np.ndarray, given: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
            found = self(cp.asarray(first), cp.asarray(given), 1, at)
            return found.saved.get(), found.ends.get()

        try:
            confirm_tries(self.iteration, run, base.get(), held.get(), KIND)
        except BaseException:
            self._confirmed = False
            raise
