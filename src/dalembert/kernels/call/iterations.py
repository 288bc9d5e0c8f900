"""Calling compiled iterations over batches, on several threads: rollouts, adaptive runs, searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.kernels.call.check import confirm_adaptive_steps, confirm_rollout
from dalembert.kernels.call.settings import checking, get_num_threads, in_threads
from dalembert.kernels.llvm import iterations
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.iteration import Iteration, lead
from dalembert.tracing.program import Port

_BLOCKS_PER_THREAD = 4  # fewer are not worth a thread
Arrays = Sequence[np.ndarray]


class RolloutLoop:
    """The fused integration of one iteration, for either precision."""

    def __init__(self, iteration: Iteration) -> None:
        self.iteration = iteration
        self._loaded: dict[str, Loaded] = {}

    def __call__(self, base: Arrays, fixed: Arrays, steps: int, every: int, dt: float) -> Arrays:
        """Saved base values, each (steps // every, ..., *shape).

        `fixed` arrays are (..., *shape), the same for all steps, or (steps, ..., *shape).
        """
        single = all(np.asarray(x).dtype == np.float32 for x in (*base, *fixed))
        dtype = np.dtype(np.float32) if single else np.dtype(np.float64)
        ports = self.iteration.base
        start = np.broadcast_shapes(*map(lead, ports, base))
        leads = list(map(lead, self.iteration.fixed, fixed))
        moving, batch = self.iteration.batch(start, leads, steps, every)
        if dtype.name not in self._loaded:
            loaded = iterations.load_loop(
                iterations.RolloutWriter, self.iteration, dtype=dtype.name
            )
            if checking():
                candidate = RolloutLoop(self.iteration)
                candidate._loaded[dtype.name] = loaded
                arrays = [np.asarray(a, dtype) for a in (*base, *fixed)]
                moves = steps if moving else 0
                confirm_rollout(self.iteration, candidate, arrays, moves, batch, dt)
            self._loaded[dtype.name] = loaded
        x = self._tiles(ports, base, batch, dtype)
        times = (steps,) if moving else ()
        u = self._tiles(self.iteration.fixed, fixed, (*times, *batch), dtype, len(times))
        u = u if moving else u[None]
        step_bytes = u.strides[0] if len(u) > 1 else 0
        saved = np.empty((steps // every, *x.shape), dtype)
        function = iterations.RolloutWriter.called(self._loaded[dtype.name], dtype.name)

        def run(blocks: slice) -> None:
            first = (x[blocks], u[0, blocks], saved[0, blocks])
            sizes = (len(first[0]), steps, every, step_bytes, saved.strides[0])
            function(*(a.ctypes.data for a in first), *sizes, dt)

        if len(x):  # the loop does not expect none
            threads = max(1, min(get_num_threads(), len(x) // _BLOCKS_PER_THREAD))
            edges = np.linspace(0, len(x), threads + 1).astype(int)
            in_threads(run, [slice(a, b) for a, b in pairwise(edges)], threads)
        rows = np.swapaxes(saved, -1, -2).reshape(len(saved), -1, saved.shape[-2])
        cuts = np.cumsum([port.size for port in ports])[:-1]
        parts = np.split(rows[:, : prod(batch)], cuts, axis=-1)
        return [
            np.ascontiguousarray(part).reshape(len(saved), *batch, *port.shape)
            for port, part in zip(ports, parts, strict=True)
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
        flat = [np.empty((*lead[:times], prod(lead[times:]), 0), dtype)]  # there may be no ports
        for port, x in zip(ports, arrays, strict=True):
            full = np.broadcast_to(np.asarray(x, dtype), (*lead, *port.shape))
            flat.append(full.reshape(*flat[0].shape[:-1], port.size))
        rows = np.concatenate(flat, axis=-1)
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


class AdaptiveLoop:
    """The compiled loop of an iteration whose base values say when they have ended."""

    def __init__(self, iteration: Iteration, saved: int) -> None:
        self.iteration, self.saved = iteration, saved
        self._loaded: Loaded | None = None

    @staticmethod
    def asarray(x: Any) -> np.ndarray:
        """Numbers in double precision."""
        return np.asarray(x, dtype=float)

    @staticmethod
    def rows(
        ports: Sequence[Port], values: Mapping[str, Any], batch: tuple[int, ...]
    ) -> np.ndarray:
        """Values of all ports (rows, entries), zero where nothing is given."""
        count = prod(batch)
        columns = [
            np.broadcast_to(values.get(p.name, 0.0), (*batch, *p.shape)).reshape(count, p.size)
            for p in ports
        ]
        return np.concatenate([np.zeros((count, 0)), *columns], axis=1)

    def __call__(
        self, base: np.ndarray, fixed: np.ndarray, saves: int, interval: float
    ) -> AdaptiveResult:
        """From base values (rows, …) under fixed values (rows, …), saved `saves` times."""
        base, fixed = (np.ascontiguousarray(x, dtype=float) for x in (base, fixed))
        if self._loaded is None:
            loaded = iterations.load_loop(iterations.AdaptiveWriter, self.iteration, self.saved)
            if checking():
                candidate = AdaptiveLoop(self.iteration, self.saved)
                candidate._loaded = loaded
                confirm_adaptive_steps(
                    self.iteration, lambda x, u, at: candidate(x, u, 1, at)[:2], base, fixed
                )
            self._loaded = loaded
        rows = len(base)
        saved = np.full((rows, saves, self.saved), np.nan)
        ends = np.full_like(base, np.nan)
        function = iterations.AdaptiveWriter.called(self._loaded)
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


class SearchLoop:
    """The compiled search of one iteration, whose base is (point, best point, its cost)."""

    def __init__(self, iteration: Iteration) -> None:
        self.iteration = iteration
        self._loaded: Loaded | None = None

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
        if self._loaded is None:
            self._loaded = iterations.load_loop(iterations.SearchWriter, self.iteration)
        rows, n = len(fixed[0]), self.iteration.base[0].size
        columns = [
            np.broadcast_to(x, (rows, *port.shape)).reshape(rows, port.size)
            for x, port in zip(fixed, self.iteration.fixed, strict=True)
        ]
        joined = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        targets = np.asarray(np.ascontiguousarray(joined), float)
        has_first = first is not None
        starts = np.asarray(pool if first is None else np.ascontiguousarray(first), float)
        pool = np.asarray(pool, float)
        ends, costs = np.empty((rows, n)), np.empty(rows)
        function = iterations.SearchWriter.called(self._loaded)

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
