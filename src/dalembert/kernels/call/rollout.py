"""Calling fused rollouts: batches into tiles, one call per thread, tiles back into batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from dalembert.kernels.call.confirm import confirm_rollout
from dalembert.kernels.call.settings import checking, get_num_threads, in_threads
from dalembert.kernels.llvm import iterations
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.iteration import Iteration, lead
from dalembert.tracing.program import Port

_BLOCKS_PER_THREAD = 4  # fewer are not worth a thread
Arrays = Sequence[np.ndarray]


class Rollout:
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
            loaded = iterations.loaded(iterations.Rollout, self.iteration, dtype=dtype.name)
            if checking():
                tried = Rollout(self.iteration)
                tried._loaded[dtype.name] = loaded
                arrays = [np.asarray(a, dtype) for a in (*base, *held)]
                moves = steps if moving else 0
                confirm_rollout(self.iteration, tried, arrays, moves, batch, dt)
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
        function = iterations.Rollout.called(self._loaded[dtype], dtype)
        held_step = u.strides[0] if len(u) > 1 else 0

        def part(blocks: slice) -> None:
            first = (x[blocks], u[0, blocks], saved[0, blocks])
            sizes = (len(first[0]), steps, every, held_step, saved.strides[0])
            function(*(a.ctypes.data for a in first), *sizes, dt)

        threads = max(1, min(get_num_threads(), len(x) // _BLOCKS_PER_THREAD))
        edges = np.linspace(0, len(x), threads + 1).astype(int)
        in_threads(part, [slice(a, b) for a, b in pairwise(edges)], threads)
