"""Runs with a fixed step: the same kernel again and again, in blocks that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.kernels import get_num_threads
from dalembert.simulation.inline import compiled
from dalembert.simulation.step import Stepper
from dalembert.simulation.tableau import TABLEAUX
from dalembert.simulation.torque import Computed, Constant, Samples, Torques

BLOCK = 512  # states: with torques and parameters about 100 kB, well inside a core's cache

State = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class FixedRun:
    """A run of one state (size,) or of many, kept as columns (size, N)."""

    stepper: Stepper
    torques: Torques
    given: Mapping[str, np.ndarray]
    dt: float
    save_every: int
    steps: int

    def start(self, x: np.ndarray) -> State:
        """The inner state at t = 0."""
        q, qd, *_ = self.stepper.plant.parts(x)
        inner = self.stepper.enter.ufunc(x, 0.0, self.torques.at(0.0, q, qd), *self.given.values())
        return {"x": np.ascontiguousarray(inner.T)}

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H) of every sample, (..., size)."""
        return self.stepper.leave.ufunc(state["x"].T, *self.given.values())

    def time(self, index: int) -> float:
        """Time of the saved state of this index."""
        return min(index * self.save_every, self.steps) * self.dt

    @property
    def saves(self) -> int:
        """How many states are saved, the first and the last included."""
        return 1 + -(-self.steps // self.save_every)

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one."""
        first = index * self.save_every
        count = min(self.save_every, self.steps - first)
        x = state["x"].copy()
        # the kernel adds up t; here it is set, so that no rounding gathers over a long run
        x[-1] = first * self.dt
        if x.ndim == 1:
            self.move(x, slice(None), first, count)
        else:
            self._blocks(x, first, count)
        return {"x": x}

    def explain(self, state: State, index: int) -> str:
        """Repeats the steps after the saved state `index`, to say what fails and when."""
        first = index * self.save_every
        x = np.ascontiguousarray(state["x"].T)
        for k in range(first, min(first + self.save_every, self.steps)):
            before = x.reshape(-1, self.stepper.size)[0].copy()
            self.move(x, slice(None), k, 1)
            if not np.isfinite(x).all(axis=-1).any():
                fastest = self.stepper.plant.culprit(before)
                return f"{fastest} at t = {(k + 1) * self.dt:g} s; take a smaller dt"
        return f"the state is not finite at t = {self.time(index + 1):g} s"

    def _blocks(self, x: np.ndarray, first: int, count: int) -> None:
        size = x.shape[1]

        def work(low: int) -> None:
            own = slice(low, min(low + BLOCK, size))
            block = np.ascontiguousarray(x[:, own])
            self.move(block.T, own, first, count)
            x[:, own] = block

        lows = range(0, size, BLOCK)
        if isinstance(self.torques, Computed):
            self.move(x.T, slice(None), first, count)
        elif len(lows) == 1 or get_num_threads() == 1:
            list(map(work, lows))
        else:
            with ThreadPoolExecutor(min(get_num_threads(), len(lows))) as pool:
                list(pool.map(work, lows))

    def move(self, x: np.ndarray, own: slice, first: int, count: int) -> None:
        """`count` steps in place of the states x (..., size); `own` says which samples they are."""
        given = [value[own] if value.ndim == 2 else value for value in self.given.values()]
        step = self.stepper.kernel.ufunc
        if isinstance(self.torques, Computed):
            self._move_by_function(x, given, first, count)
        elif isinstance(self.torques, Constant):
            u = self._rows(self.torques.value, own)
            for _ in range(count):
                step(x, self.dt, u, u, *given, out=x)
        else:
            for u0, u1 in self._pairs(self.torques, own, first, count):
                step(x, self.dt, u0, u1, *given, out=x)

    def _pairs(
        self, torques: Any, own: slice, first: int, count: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Torques at the begin and the end of every step."""
        assert isinstance(torques, Samples)
        u0 = self._rows(torques.at(first * self.dt, None, None), own)
        for k in range(first + 1, first + count + 1):
            u1 = self._rows(torques.at(k * self.dt, None, None), own)
            yield u0, u1
            u0 = u1

    @staticmethod
    def _rows(value: np.ndarray, own: slice) -> np.ndarray:
        return np.asfortranarray(value[own]) if value.ndim == 2 else value

    def _move_by_function(self, x: np.ndarray, given: list[Any], first: int, count: int) -> None:
        """Stage by stage for Runge–Kutta methods; for the others torques are held over a step."""
        parts, at = self.stepper.plant.parts, self.torques.at
        tableau = TABLEAUX.get(self.stepper.method)
        for k in range(first, first + count):
            t = k * self.dt
            if tableau is None:
                q, qd, *_ = parts(self.stepper.leave.ufunc(x, *given))
                u = at(t, q, qd)
                self.stepper.kernel.ufunc(x, self.dt, u, u, *given, out=x)
                continue
            y = x[..., :-1]
            slopes: list[np.ndarray] = []
            d = np.zeros((*x.shape[:-1], self._flat))
            for row, c in zip(((), *tableau.a), tableau.c, strict=True):
                d = self.dt * sum((a * s for a, s in zip(row, slopes, strict=True)), 0.0 * d)
                now = t + c * self.dt
                q, qd, *_ = parts(self._moved(y, d))
                slopes.append(self._slope(y, d, now, at(now, q, qd), *given))
            total = self.dt * sum(b * s for b, s in zip(tableau.b, slopes, strict=True))
            y[...] = self._moved(y, total)
            x[..., -1] = t + self.dt

    @property
    def _flat(self) -> int:
        plant = self.stepper.plant
        return plant.size + plant.nv - plant.nq

    @cached_property
    def _moved(self) -> np.ufunc:
        plant = self.stepper.plant
        return compiled("moved", plant.moved, {"x": (plant.size,), "d": (self._flat,)}).ufunc

    @cached_property
    def _slope(self) -> np.ufunc:
        plant = self.stepper.plant
        shapes = {"x": (plant.size,), "d": (self._flat,), "t": (), "tau": (plant.nv,)}

        def function(x: Any, d: Any, t: Any, tau: Any, **given: Any) -> Any:
            return plant.slope(x, d, t, tau, given)

        return compiled("slope", function, {**shapes, **self.stepper.given}).ufunc
