"""Calling adaptive rollouts: rows in, saved states and ends out; threads take rows one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.kernels.call.confirm import confirm_tries
from dalembert.kernels.call.settings import checking, get_num_threads, in_threads
from dalembert.kernels.llvm import iterations
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.program.iteration import Iteration
from dalembert.tracing.program import Port

_ROWS = 32  # fewer are not worth a thread


class Ended(NamedTuple):
    """What became of the rows: saved states, base values at the end, and tries of whole registers."""

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
    def rows(ports: Sequence[Port], given: Mapping[str, Any], batch: tuple[int, ...]) -> np.ndarray:
        """Values of all ports (rows, entries), zero where nothing is given."""
        count = prod(batch)
        columns = [
            np.broadcast_to(given.get(p.name, 0.0), (*batch, *p.shape)).reshape(count, p.size)
            for p in ports
        ]
        return np.concatenate([np.zeros((count, 0)), *columns], axis=1)

    def __call__(self, base: np.ndarray, held: np.ndarray, saves: int, interval: float) -> Ended:
        """From base values (rows, …) under held values (rows, …), saved `saves` times."""
        base, held = (np.ascontiguousarray(x, dtype=float) for x in (base, held))
        if self._loaded is None:
            loaded = iterations.loaded(iterations.Adaptive, self.iteration, self.saved)
            if checking():
                tried = AdaptiveLoop(self.iteration, self.saved)
                tried._loaded = loaded
                confirm_tries(self.iteration, lambda x, u, at: tried(x, u, 1, at)[:2], base, held)
            self._loaded = loaded
        saved = np.full((len(base), saves, self.saved), np.nan)
        ends = np.full_like(base, np.nan)
        turns = self._run((base, held, saved, ends), saves, interval) if len(base) else 0
        return Ended(saved, ends, turns)

    def _run(self, arrays: Sequence[np.ndarray], saves: int, interval: float) -> int:
        assert self._loaded is not None
        function, rows = iterations.Adaptive.called(self._loaded), len(arrays[0])
        threads = max(1, min(get_num_threads(), rows // _ROWS))
        taken, turns = np.zeros(1, dtype=np.int64), np.zeros((threads, 8), dtype=np.int64)

        def work(thread: int) -> None:
            places = [a.ctypes.data for a in (*arrays, taken, turns[thread])]
            function(*places, rows, saves, interval)

        in_threads(work, range(threads), threads)
        return int(turns.sum())
