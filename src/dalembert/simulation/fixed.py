"""Runs with a fixed step: the same kernel again and again, in blocks that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.kernels.call.settings import get_num_threads, in_threads
from dalembert.simulation.blame import culprit, lost_torque
from dalembert.simulation.drive import Stalled, State
from dalembert.simulation.sampled import Sampled
from dalembert.simulation.settings import Grid
from dalembert.simulation.step import Stepper
from dalembert.simulation.torque import Computed, Constant, Samples, Torques
from dalembert.systems.singular_words import dead_point

OFF = 1e-6  # of a state from its constraints, beside the size of its entries
Own = slice | np.ndarray  # which samples
BLOCK = 512  # states: with torques and parameters about 100 kB, well inside a core's cache


@dataclass(frozen=True, eq=False)
class FixedRun:
    """A run of one state (size,) or of many, kept as columns (size, N)."""

    stepper: Stepper
    torques: Torques
    given: Mapping[str, np.ndarray]
    grid: Grid

    @property
    def moving(self) -> int:
        """Entries of q and q̇."""
        return self.stepper.plant.nq + self.stepper.plant.nv

    def start(self, x: np.ndarray) -> State:
        """The inner state at t = 0."""
        return {"x": np.ascontiguousarray(self.stepper.enter(x, 0.0, *self.given.values()).T)}

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H) of every sample, (..., size)."""
        return self.stepper.leave(state["x"].T, *self.given.values())

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one."""
        first = index * self.grid.save_every
        count = min(self.grid.save_every, self.grid.steps - first)
        x = state["x"].copy()
        # the kernel adds up t; here it is set, so that no rounding gathers over a long run
        x[-1] = first * self.grid.dt
        for part, k, steps in self._held(x, first, count):
            before = x.copy() if self.stepper.plant.switches else x
            if x.ndim == 1:
                part.move(x, slice(None), k, steps)
            else:
                part._blocks(x, k, steps)
            if self.stepper.plant.switches:
                part._switch(before, x, k, steps)
        if self.stepper.plant.closed and self.stepper.method.projects:
            self._keep_closed(state["x"], x, self.grid.time(index + 1))
        return {"x": x}

    def _held(self, x: np.ndarray, first: int, count: int) -> Iterator[tuple[FixedRun, int, int]]:
        """(run, first step, steps) of stretches without a sample, the commands of each held.

        x is moved in place by who asks, so that every sample is taken where the last stretch ends.
        """
        torques, k, end = self.torques, first, first + count
        if not isinstance(torques, Sampled):
            yield self, first, count
            return
        while k < end:
            t, seen = k * self.grid.dt, self.observe({"x": x})
            q, qd, *_ = self.stepper.plant.parts(seen)
            if self.stepper.method.remembers and torques.sampling.jumps(t):
                x[...] = self.stepper.enter(seen, t, *self.given.values()).T
            held, change = torques.until_change(t, q, qd)
            steps = min(end, round(change / self.grid.dt)) - k
            yield FixedRun(self.stepper, Constant(held), self.given, self.grid), k, steps
            k += steps

    def _switch(self, before: np.ndarray, x: np.ndarray, first: int, count: int) -> None:
        """Samples that their pivots have lost, moved again with pivots chosen where they were."""
        plant, t = self.stepper.plant, first * self.grid.dt
        old, new = before.reshape(len(x), -1), x.reshape(len(x), -1)  # one sample: a view too
        tried: set[str | None] = set()
        for k in np.flatnonzero(~np.isfinite(new).all(axis=0)):
            if np.isfinite(new[:, k]).all() or not np.isfinite(old[:, k]).all():
                continue
            given = {n: v[k] if v.ndim == 2 else v for n, v in self.given.items()}
            other = plant.switched(old[: plant.nq, k], t, given)
            if other.pivots in tried:
                continue
            tried.add(other.pivots)
            lost = ~np.isfinite(new).all(axis=0)
            again = np.ascontiguousarray(old[:, lost])
            again[-1] = t
            run = replace(self, stepper=replace(self.stepper, plant=other))
            if x.ndim == 1:
                run.move(again[:, 0], slice(None), first, count)
            else:
                run.move(again.T, lost, first, count)
            new[:, lost] = again

    def _keep_closed(self, before: np.ndarray, x: np.ndarray, t: float) -> None:
        """States that could not be brought back to the constraints are no states: NaN, or the end."""
        plant, states = self.stepper.plant, self.observe({"x": x})
        # beside positions of before: those that a step throws far off would excuse themselves
        q, qd = self.observe({"x": before})[..., : plant.nq], states[..., plant.nq : self.moving]
        with np.errstate(invalid="ignore"):
            errors = plant.errors_of(plant.without_basis(states), t, *self.given.values())
            sizes = np.stack([np.abs(entries).max(axis=-1) for entries in (q, qd)], axis=-1)
            off, lost = errors.max(axis=-1), (errors > OFF * np.maximum(1.0, sizes)).any(axis=-1)
        if x.ndim == 1 and lost:
            cause = dead_point(plant.system, q) or dead_point(plant.system, states[: plant.nq])
            what = f"the constraints of {plant.system.name} are missed by {off:.2g} at t = {t:g} s"
            raise Stalled(f"{what}: {cause or 'take a smaller dt'}")
        if x.ndim == 2:
            x[:, lost] = np.nan

    def explain(self, state: State, index: int) -> str:
        """Repeats the steps after the saved state `index`, to say what fails and when."""
        grid, plant = self.grid, self.stepper.plant
        first = index * grid.save_every
        last = min(first + grid.save_every, grid.steps)
        x = np.ascontiguousarray(state["x"].T)
        if self.blamed:
            return self.blamed
        for k in range(first, last):
            before = self.observe({"x": x.T}).reshape(-1, plant.size)[0].copy()
            for part, *stretch in self._held(x.T, k, 1):
                part.move(x, slice(None), *stretch)
            if k == last - 1 or not np.isfinite(x).all(axis=-1).any():
                break
        if said := lost_torque(plant, (k * grid.dt, (k + 1) * grid.dt), before, self.given):
            return said
        advice = self.torques.doubt if isinstance(self.torques, Sampled) else "take a smaller dt"
        return f"{culprit(plant, before)} at t = {(k + 1) * grid.dt:g} s; {advice}"

    @property
    def blamed(self) -> str:
        """Torques that were not finite, in words."""
        return self.torques.blamed if isinstance(self.torques, Computed | Sampled) else ""

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
        else:
            in_threads(work, lows, min(get_num_threads(), len(lows)))

    def move(self, x: np.ndarray, own: Own, first: int, count: int) -> None:
        """`count` steps in place of the states x (..., size); `own` says which samples they are."""
        given = {k: v[own] if v.ndim == 2 else v for k, v in self.given.items()}
        if isinstance(self.torques, Computed) and not self.stepper.method.holds:
            self._by_stages(x, given, first, count)
            return
        for u0, u1 in self._pairs(x, given, own, first, count):
            u0, u1 = (u.astype(x.dtype, copy=False) for u in (u0, u1))
            self.stepper.kernel(x, self.grid.dt, u0, u1, *given.values(), out=x)

    def _pairs(
        self, x: np.ndarray, given: Mapping[str, Any], own: Own, first: int, count: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Torques at the begin and the end of every step; a function's are held over a step."""
        torques, dt = self.torques, self.grid.dt
        if isinstance(torques, Constant):
            u = self._rows(torques.value, own)
            for _ in range(count):
                yield u, u
        elif isinstance(torques, Samples):
            u = self._rows(torques.at(first * dt, None, None), own)
            for k in range(first + 1, first + count + 1):
                before, u = u, self._rows(torques.at(k * dt, None, None), own)
                yield before, u
        else:
            for k in range(first, first + count):
                q, qd, *_ = self.stepper.plant.parts(self.stepper.leave(x, *given.values()))
                u = torques.at(k * dt, q, qd)
                yield u, u

    @staticmethod
    def _rows(value: np.ndarray, own: Own) -> np.ndarray:
        return np.asfortranarray(value[own]) if value.ndim == 2 else value

    def _by_stages(self, x: np.ndarray, given: Mapping[str, Any], first: int, count: int) -> None:
        """Steps whose torques are asked for at every stage, at its own time and state."""
        plant, dt, flow = self.stepper.plant, self.grid.dt, self.stepper.stages
        for k in range(first, first + count):
            t = k * dt

            def torque(c: float, y: Any, d: Any, t: float = t) -> np.ndarray:
                q, qd, *_ = plant.parts(plant.left(flow.moved(y, d).T, t + c * dt, given))
                return self.torques.at(t + c * dt, q, qd).T

            x[..., :-1] = self.stepper.taken(x[..., :-1].T, t, dt, given, torque).T
            x[..., -1] = t + dt
