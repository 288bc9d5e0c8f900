"""Calling compiled iterations over batches, on several threads: rollouts, adaptive runs, searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dalembert.kernels.call.check import confirm_adaptive_steps, confirm_rollout
from dalembert.kernels.call.settings import checking, get_num_threads, in_threads
from dalembert.kernels.llvm import iterations
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.iteration import Iteration
from dalembert.tracing.program import Port, port_slices

_BLOCKS_PER_THREAD = 4  # fewer are not worth a thread
Arrays = Sequence[np.ndarray]


class _CompiledLoop:
    """The machine code of one iteration in a loop, loaded when first needed."""

    kind: ClassVar[type[iterations.LoopWriter]]

    def __init__(self, iteration: Iteration, saved: int = 0) -> None:
        self.iteration, self.saved = iteration, saved
        self._loaded: dict[str, Loaded] = {}

    def function(
        self, confirm: Callable[[Self], None] | None = None, dtype: str = "float64"
    ) -> Callable[..., None]:
        """The compiled function; with DALEMBERT_CHECK only once `confirm` has not raised."""
        if dtype not in self._loaded:
            loaded = iterations.load_loop(self.kind, self.iteration, self.saved, dtype)
            if confirm is not None and checking():
                candidate = type(self)(self.iteration, self.saved)
                candidate._loaded[dtype] = loaded
                confirm(candidate)
            self._loaded[dtype] = loaded
        return self.kind.called(self._loaded[dtype], dtype)


def _side_by_side(
    ports: Sequence[Port], arrays: Sequence[Any], batch: tuple[int, ...], dtype: Any = float
) -> np.ndarray:
    """Arrays that broadcast to (*batch, *shape) as rows (states, entries of all ports)."""
    rows = np.empty((prod(batch), sum(port.size for port in ports)), dtype)
    for port, x, own in zip(ports, arrays, port_slices(ports), strict=True):
        full = np.broadcast_to(np.asarray(x, dtype), (*batch, *port.shape))
        rows[:, own] = full.reshape(len(rows), port.size)
    return rows


class RolloutLoop(_CompiledLoop):
    """The fused integration of one iteration, for either precision."""

    kind = iterations.RolloutWriter

    def __call__(self, base: Arrays, fixed: Arrays, steps: int, every: int, dt: float) -> Arrays:
        """Saved base values, each (steps // every, ..., *shape).

        `fixed` arrays are (..., *shape), the same for all steps, or (steps, ..., *shape).
        """
        single = all(np.asarray(x).dtype == np.float32 for x in (*base, *fixed))
        dtype = np.dtype(np.float32) if single else np.dtype(np.float64)
        ports = self.iteration.base
        moving, batch = self.iteration.batch(base, fixed, steps, every)
        typed = [np.asarray(a, dtype) for a in (*base, *fixed)]
        moves = steps if moving else 0

        def confirm(candidate: RolloutLoop) -> None:
            confirm_rollout(self.iteration, candidate, typed, moves, batch, dt)

        function = self.function(confirm, dtype.name)
        x = self._tiles(ports, base, batch, dtype)
        times = (steps,) if moving else ()
        u = self._tiles(self.iteration.fixed, fixed, (*times, *batch), dtype, len(times))
        u = u if moving else u[None]
        step_bytes = u.strides[0] if len(u) > 1 else 0
        saved = np.empty((steps // every, *x.shape), dtype)

        def run(blocks: slice) -> None:
            first = (x[blocks], u[0, blocks], saved[0, blocks])
            sizes = (len(first[0]), steps, every, step_bytes, saved.strides[0])
            function(*(a.ctypes.data for a in first), *sizes, dt)

        if len(x):  # the loop does not expect none
            threads = max(1, min(get_num_threads(), len(x) // _BLOCKS_PER_THREAD))
            edges = np.linspace(0, len(x), threads + 1).astype(int)
            in_threads(run, [slice(a, b) for a, b in pairwise(edges)], threads)
        rows = np.swapaxes(saved, -1, -2).reshape(len(saved), -1, saved.shape[-2])
        rows = rows[:, : prod(batch)]
        return [
            np.ascontiguousarray(rows[..., own]).reshape(len(saved), *batch, *port.shape)
            for port, own in zip(ports, port_slices(ports), strict=True)
        ]

    def _tiles(
        self,
        ports: Sequence[Port],
        arrays: Arrays,
        lead: tuple[int, ...],
        dtype: np.dtype[np.float32] | np.dtype[np.float64],
        times: int = 0,
    ) -> np.ndarray:
        """(times…, blocks, entries, W), the last state repeated to fill its block."""
        width = native().width(dtype.name)
        rows = _side_by_side(ports, arrays, lead, dtype)
        rows = rows.reshape(*lead[:times], prod(lead[times:]), rows.shape[1])
        missing = -rows.shape[-2] % width
        if missing:
            rows = np.concatenate([rows, *[rows[..., -1:, :]] * missing], axis=-2)
        blocks = rows.reshape(*lead[:times], rows.shape[-2] // width, width, rows.shape[-1])
        return np.ascontiguousarray(np.swapaxes(blocks, -1, -2))


_ROWS_PER_ADAPTIVE_THREAD = 32  # fewer are not worth a thread


class AdaptiveResult(NamedTuple):
    """Saved states, base values at the end, and attempted steps of whole registers."""

    saved: Any  # (rows, saves, entries), NaN where a run ended before
    ends: Any  # (rows, base)
    turns: int


class AdaptiveLoop(_CompiledLoop):
    """The compiled loop of an iteration whose base values say when they have ended."""

    kind = iterations.AdaptiveWriter

    @staticmethod
    def asarray(x: Any) -> np.ndarray:
        """Numbers in double precision."""
        return np.asarray(x, dtype=float)

    @staticmethod
    def rows(
        ports: Sequence[Port], values: Mapping[str, Any], batch: tuple[int, ...]
    ) -> np.ndarray:
        """Values of all ports (rows, entries), zero where nothing is given."""
        return _side_by_side(ports, [values.get(port.name, 0.0) for port in ports], batch)

    def __call__(
        self, base: np.ndarray, fixed: np.ndarray, saves: int, interval: float
    ) -> AdaptiveResult:
        """From base values (rows, …) under fixed values (rows, …), saved `saves` times."""
        base, fixed = (np.ascontiguousarray(x, dtype=float) for x in (base, fixed))

        def confirm(candidate: AdaptiveLoop) -> None:
            confirm_adaptive_steps(
                self.iteration, lambda x, u, at: candidate(x, u, 1, at)[:2], base, fixed
            )

        function = self.function(confirm)
        rows = len(base)
        saved = np.full((rows, saves, self.saved), np.nan)
        ends = np.full_like(base, np.nan)
        threads = max(1, min(get_num_threads(), rows // _ROWS_PER_ADAPTIVE_THREAD))
        next_row, turns = np.zeros(1, dtype=np.int64), np.zeros((threads, 8), dtype=np.int64)

        def work(thread: int) -> None:
            arrays = (base, fixed, saved, ends, next_row, turns[thread])
            function(*(a.ctypes.data for a in arrays), rows, saves, interval)

        if rows:
            in_threads(work, range(threads), threads)
        return AdaptiveResult(saved, ends, int(turns.sum()))


_ROWS_PER_SEARCH_THREAD = 64  # fewer are not worth a thread
_ROWS_PER_CALL = 16384  # rows per thread in one call: between calls a user may stop


class SearchOptions(NamedTuple):
    """Limits of a search and its convergence threshold."""

    starts: int
    steps: int  # of one start
    gain: float
    enough: float  # cost after which one more step is the last


class SearchLoop(_CompiledLoop):
    """The compiled search of one iteration, whose base is (point, best point, its cost)."""

    kind = iterations.SearchWriter

    def __call__(
        self,
        fixed: Sequence[np.ndarray],
        pool: np.ndarray,
        effort: SearchOptions,
        first: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(points (rows, n), costs (rows,)) for fixed values, arrays (rows, …) or (…).

        `pool` (a power of two, n) are points to begin at, after `first` (rows, n) where it is passed.
        """
        rows, n = len(fixed[0]), self.iteration.base[0].size
        targets = _side_by_side(self.iteration.fixed, fixed, (rows,))
        has_first = first is not None
        starts = np.asarray(pool if first is None else np.ascontiguousarray(first), float)
        pool = np.asarray(pool, float)
        ends, costs = np.empty((rows, n)), np.empty(rows)
        function = self.function()

        def part(edge: tuple[int, int]) -> None:
            begin, end = edge
            own = (targets[begin:end], starts[begin:end] if has_first else starts, pool)
            addresses = [a.ctypes.data for a in (*own, ends[begin:end], costs[begin:end])]
            counts = (end - begin, begin, int(has_first), effort.starts, effort.steps)
            function(*addresses, *counts, len(pool) - 1, effort.gain, effort.enough)

        threads = max(1, min(get_num_threads(), rows // _ROWS_PER_SEARCH_THREAD))
        parts = threads * -(-rows // (threads * _ROWS_PER_CALL))
        edges = list(pairwise(np.linspace(0, rows, parts + 1).astype(int).tolist()))
        for k in range(0, parts, threads):
            in_threads(part, edges[k : k + threads], threads)
        return ends, costs
