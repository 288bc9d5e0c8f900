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

    def __call__(self, base: Arrays, held: Arrays, steps: int, every: int, dt: float) -> Arrays:
        """Saved base values, each (steps // every, ..., *shape).

        `held` arrays are (..., *shape), the same for all steps, or (steps, ..., *shape).
        """
        single = all(np.asarray(x).dtype == np.float32 for x in (*base, *held))
        dtype = np.dtype(np.float32 if single else float)
        width = native().width(dtype.name)
        start = np.broadcast_shapes(*map(lead, self.iteration.base, base))
        leads = list(map(lead, self.iteration.held, held))
        moving, batch = self.iteration.batch(start, leads, steps, every)
        if dtype.name not in self._loaded:
            loaded = iterations.load_loop(
                iterations.RolloutWriter, self.iteration, dtype=dtype.name
            )
            if checking():
                candidate = RolloutLoop(self.iteration)
                candidate._loaded[dtype.name] = loaded
                arrays = [np.asarray(a, dtype) for a in (*base, *held)]
                moves = steps if moving else 0
                confirm_rollout(self.iteration, candidate, arrays, moves, batch, dt)
            self._loaded[dtype.name] = loaded
        x = self._tiles(self.iteration.base, base, batch, width, dtype)
        times = (steps,) if moving else ()
        u = self._tiles(self.iteration.held, held, (*times, *batch), width, dtype, len(times))
        saved = np.empty((steps // every, *x.shape), dtype)
        if len(x):  # the loop does not expect none
            self._run(x, u if moving else u[None], saved, (steps, every, dt), dtype.name)
        return self._untiled(saved, batch)

    def _tiles(
        self,
        ports: Sequence[Port],
        arrays: Arrays,
        lead: tuple[int, ...],
        width: int,
        dtype: np.dtype,
        times: int = 0,
    ) -> np.ndarray:
        """(times…, blocks, entries, W), the last state repeated to fill its block."""
        flat = [np.empty((*lead[:times], prod(lead[times:]), 0), dtype)]  # nothing may be held
        for port, x in zip(ports, arrays, strict=True):
            full = np.broadcast_to(np.asarray(x, dtype), (*lead, *port.shape))
            flat.append(full.reshape(*flat[0].shape[:-1], port.size))
        rows = np.concatenate(flat, axis=-1)
        missing = -rows.shape[-2] % width
        if missing:
            rows = np.concatenate([rows, *[rows[..., -1:, :]] * missing], axis=-2)
        blocks = rows.reshape(*lead[:times], rows.shape[-2] // width, width, rows.shape[-1])
        return np.ascontiguousarray(np.swapaxes(blocks, -1, -2))

    def _untiled(self, saved: np.ndarray, batch: tuple[int, ...]) -> list[np.ndarray]:
        states = int(np.prod(batch))
        rows = np.swapaxes(saved, -1, -2).reshape(len(saved), -1, saved.shape[-2])[:, :states]
        cuts = np.cumsum([port.size for port in self.iteration.base])[:-1]
        parts = np.split(rows, cuts, axis=-1)
        return [
            np.ascontiguousarray(part).reshape(len(saved), *batch, *port.shape)
            for port, part in zip(self.iteration.base, parts, strict=True)
        ]

    def _run(
        self,
        x: np.ndarray,
        u: np.ndarray,
        saved: np.ndarray,
        counts: tuple[int, int, float],
        dtype: str,
    ) -> None:
        steps, every, dt = counts
        function = iterations.RolloutWriter.called(self._loaded[dtype], dtype)
        held_step = u.strides[0] if len(u) > 1 else 0

        def part(blocks: slice) -> None:
            first = (x[blocks], u[0, blocks], saved[0, blocks])
            sizes = (len(first[0]), steps, every, held_step, saved.strides[0])
            function(*(a.ctypes.data for a in first), *sizes, dt)

        threads = max(1, min(get_num_threads(), len(x) // _BLOCKS_PER_THREAD))
        edges = np.linspace(0, len(x), threads + 1).astype(int)
        in_threads(part, [slice(a, b) for a, b in pairwise(edges)], threads)


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
        self, base: np.ndarray, held: np.ndarray, saves: int, interval: float
    ) -> AdaptiveResult:
        """From base values (rows, …) under held values (rows, …), saved `saves` times."""
        base, held = (np.ascontiguousarray(x, dtype=float) for x in (base, held))
        if self._loaded is None:
            loaded = iterations.load_loop(iterations.AdaptiveWriter, self.iteration, self.saved)
            if checking():
                candidate = AdaptiveLoop(self.iteration, self.saved)
                candidate._loaded = loaded
                confirm_adaptive_steps(
                    self.iteration, lambda x, u, at: candidate(x, u, 1, at)[:2], base, held
                )
            self._loaded = loaded
        saved = np.full((len(base), saves, self.saved), np.nan)
        ends = np.full_like(base, np.nan)
        turns = self._run((base, held, saved, ends), saves, interval) if len(base) else 0
        return AdaptiveResult(saved, ends, turns)

    def _run(self, arrays: Sequence[np.ndarray], saves: int, interval: float) -> int:
        assert self._loaded is not None
        function, rows = iterations.AdaptiveWriter.called(self._loaded), len(arrays[0])
        threads = max(1, min(get_num_threads(), rows // _ROWS_PER_ADAPTIVE_THREAD))
        next_row, turns = np.zeros(1, dtype=np.int64), np.zeros((threads, 8), dtype=np.int64)

        def work(thread: int) -> None:
            addresses = [a.ctypes.data for a in (*arrays, next_row, turns[thread])]
            function(*addresses, rows, saves, interval)

        in_threads(work, range(threads), threads)
        return int(turns.sum())


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
        held: Sequence[np.ndarray],
        pool: np.ndarray,
        effort: SearchOptions,
        first: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(points (rows, n), costs (rows,)) for what is held, arrays (rows, …) or (…).

        `pool` (a power of two, n) are points to begin at, after `first` (rows, n) where given.
        """
        if self._loaded is None:
            self._loaded = iterations.load_loop(iterations.SearchWriter, self.iteration)
        rows, n = len(held[0]), self.iteration.base[0].size
        parts = [
            np.broadcast_to(x, (rows, *port.shape)).reshape(rows, port.size)
            for x, port in zip(held, self.iteration.held, strict=True)
        ]
        targets = np.ascontiguousarray(
            parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        )
        begin = pool if first is None else np.ascontiguousarray(first)
        ends, costs = np.empty((rows, n)), np.empty(rows)
        arrays = (np.asarray(targets, float), np.asarray(begin, float), np.asarray(pool, float))
        if rows:
            self._run((*arrays, ends, costs), first is not None, effort)
        return ends, costs

    def _run(self, arrays: Sequence[np.ndarray], has_first: bool, effort: SearchOptions) -> None:
        assert self._loaded is not None
        function = iterations.SearchWriter.called(self._loaded)
        held, first, pool, ends, costs = arrays

        def part(edge: tuple[int, int]) -> None:
            begin, end = edge
            own = (held[begin:end], first[begin:end] if has_first else first, pool)
            addresses = [a.ctypes.data for a in (*own, ends[begin:end], costs[begin:end])]
            counts = (
                end - begin,
                begin,
                int(has_first),
                effort.starts,
                effort.steps,
                len(pool) - 1,
            )
            function(*addresses, *counts, effort.gain, effort.enough)

        threads = max(1, min(get_num_threads(), len(held) // _ROWS_PER_SEARCH_THREAD))
        parts = threads * -(-len(held) // (threads * _ROWS_PER_CALL))
        edges = list(pairwise(np.linspace(0, len(held), parts + 1).astype(int).tolist()))
        for k in range(0, parts, threads):
            in_threads(part, edges[k : k + threads], threads)
