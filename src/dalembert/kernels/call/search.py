"""Calling searches: rows in, points out, a share of the rows for each thread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dalembert.kernels.call.settings import get_num_threads, in_threads
from dalembert.kernels.llvm import iterations
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.program.iteration import Iteration

_ROWS_PER_THREAD = 64  # fewer are not worth a thread
_AT_ONCE = 16384  # rows per thread in one call: between calls a user may stop


class Effort(NamedTuple):
    """How long a search goes on, and when it has arrived."""

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
        effort: Effort,
        first: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(points (rows, n), costs (rows,)) for what is held, arrays (rows, …) or (…).

        `pool` (a power of two, n) are points to begin at, after `first` (rows, n) where given.
        """
        if self._loaded is None:
            self._loaded = iterations.loaded(iterations.Search, self.iteration)
        rows, n = len(held[0]), self.iteration.base[0].size
        parts = [
            np.broadcast_to(x, (rows, *port.shape)).reshape(rows, port.size)
            for x, port in zip(held, self.iteration.held, strict=True)
        ]
        given = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))
        begin = pool if first is None else np.ascontiguousarray(first)
        ends, costs = np.empty((rows, n)), np.empty(rows)
        arrays = (np.asarray(given, float), np.asarray(begin, float), np.asarray(pool, float))
        if rows:
            self._run((*arrays, ends, costs), first is not None, effort)
        return ends, costs

    def _run(self, arrays: Sequence[np.ndarray], given: bool, effort: Effort) -> None:
        assert self._loaded is not None
        function = iterations.Search.called(self._loaded)
        held, first, pool, ends, costs = arrays

        def part(edge: tuple[int, int]) -> None:
            begin, end = edge
            own = (held[begin:end], first[begin:end] if given else first, pool)
            places = [a.ctypes.data for a in (*own, ends[begin:end], costs[begin:end])]
            counts = (end - begin, begin, int(given), effort.starts, effort.steps, len(pool) - 1)
            function(*places, *counts, effort.gain, effort.enough)

        threads = max(1, min(get_num_threads(), len(held) // _ROWS_PER_THREAD))
        parts = threads * -(-len(held) // (threads * _AT_ONCE))
        edges = list(pairwise(np.linspace(0, len(held), parts + 1).astype(int).tolist()))
        for k in range(0, parts, threads):
            in_threads(part, edges[k : k + threads], threads)
