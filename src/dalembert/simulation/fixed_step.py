"""Runs with a fixed step: one kernel per step, on blocks of states that stay in cache.

The kernel of a step takes (x, dt, u0, u1, …): the inner state with the time as its last entry, the
step, the torques at its begin and end (linear in between), the constants of the controller and the
parameters. It returns the next inner state, so that ``out=`` may be its input. Torques that are a
Python function are evaluated between kernels of single stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.errors import FormulationError
from dalembert.kernels.call.settings import get_num_threads, in_threads
from dalembert.simulation.checkpoint import Stalled, State
from dalembert.simulation.methods.method import FixedMethod, Step
from dalembert.simulation.plant import Function, SimulatedPlant, Time
from dalembert.simulation.settings import Grid
from dalembert.simulation.torques import (
    Computed,
    Constant,
    Sampled,
    Samples,
    Torques,
    torque_failure,
)
from dalembert.systems.plant import Flow, Inputs, Shapes
from dalembert.systems.runge_kutta import Torque
from dalembert.systems.singularity import dead_point


@dataclass(frozen=True)
class Stepper:
    """A plant with a fixed-step method; kernels are compiled at first use."""

    plant: SimulatedPlant
    method: FixedMethod

    def __post_init__(self) -> None:
        if self.plant.closed and not self.method.closes:
            raise FormulationError(
                f"the {self.method.name} method does not hold the constraints of "
                f"{self.plant.dynamics.name}; rk4 does"
            )

    @cached_property
    def step(self) -> Step:
        """The method's step for this plant."""
        return self.method.make(self.plant)

    @property
    def size(self) -> int:
        """Length of the inner state: x, the numbers of the method, and t."""
        return self.plant.inner + self.step.history + 1

    @cached_property
    def kernel(self) -> Function:
        """(x, dt, u0, u1, …) → x of the next step."""
        flow = (
            self.plant.traced_flow(self.plant.fixed_inputs) if self.method.traces else self.stages
        )
        last = self.size - 1

        def function(
            x: np.ndarray, dt: Time, u0: np.ndarray, u1: np.ndarray, **inputs: np.ndarray
        ) -> np.ndarray:
            def torque(c: float, x: np.ndarray, d: np.ndarray) -> np.ndarray:
                return u0 if c == 0.0 else u1 if c == 1.0 else (1.0 - c) * u0 + c * u1

            moved = self.advance(flow.under(inputs), x[:last], x[last], dt, torque)
            return np.concatenate([moved, np.stack([x[last] + dt])])

        driven = (len(self.plant.driving),)
        shapes = {"x": (self.size,), "dt": (), "u0": driven, "u1": driven}
        return self._built(f"{self.method.name}_step", function, shapes)

    @cached_property
    def enter(self) -> Function:
        """(x, t, …) → inner state, from the state (q, q̇, z, W, H)."""

        def function(x: np.ndarray, t: Time, **inputs: np.ndarray) -> np.ndarray:
            inner = self.step.enter(self.plant.enter(x, t, inputs), t, inputs)
            return np.concatenate([inner, np.stack([t])])

        return self._built("enter", function, {"x": (self.plant.size,), "t": ()})

    @cached_property
    def leave(self) -> Function:
        """(x, …) → the state (q, q̇, z, W, H), from the inner state."""

        def function(x: np.ndarray, **inputs: np.ndarray) -> np.ndarray:
            last = self.size - 1
            return self.plant.leave(self.step.leave(x[:last], x[last], inputs), x[last], inputs)

        return self._built("leave", function, {"x": (self.size,)})

    @cached_property
    def stages(self) -> Flow:
        """The flow of a step whose stages are separate kernel calls."""
        return self.plant.called_flow(self.plant.fixed_inputs)

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h, projected onto the constraints where the method does so."""
        moved = self.step.advance(flow, x, t, h, torque)
        return flow.project(moved, t + h) if self.method.projects else moved

    def _built(self, name: str, function: Function, shapes: Shapes) -> Function:
        shapes = {**shapes, **self.plant.fixed_inputs}
        return self.plant.built(name, function, shapes, self.method.traces)


Indices = slice | np.ndarray  # which samples of a batch
BLOCK = 512  # states: with torques and parameters about 100 kB, well inside a core's cache


@dataclass(frozen=True, eq=False)
class FixedRun:
    """A run of one state (size,) or of many, kept as columns (size, N)."""

    stepper: Stepper
    torques: Torques
    inputs: Mapping[str, np.ndarray]  # constants of the controller, parameters, widths
    grid: Grid

    @property
    def plant(self) -> SimulatedPlant:
        """The integrated plant."""
        return self.stepper.plant

    def start(self, x: np.ndarray) -> State:
        """The inner state at t = 0."""
        return {"x": np.ascontiguousarray(self.stepper.enter(x, 0.0, *self.inputs.values()).T)}

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H) of every sample, (..., size)."""
        states: np.ndarray = self.stepper.leave(state["x"].T, *self.inputs.values())
        return states

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one."""
        first = index * self.grid.save_every
        count = min(self.grid.save_every, self.grid.steps - first)
        x = state["x"].copy()
        # the kernel adds up t; here it is set, so that no rounding gathers over a long run
        x[-1] = first * self.grid.dt
        for part, k, steps in self._stretches(x, first, count):
            before = x.copy() if self.plant.switches else x
            if x.ndim == 1:
                part.move(x, slice(None), k, steps)
            else:
                part._move_blocks(x, k, steps)
            if self.plant.switches:
                part._switch(before, x, k, steps)
        if self.plant.closed and self.stepper.method.projects:
            self._require_closed(state["x"], x, self.grid.time(index + 1))
        return {"x": x}

    def _move_blocks(self, x: np.ndarray, first: int, count: int) -> None:
        """`count` steps in place of the columns of x (size, N), in blocks that stay in cache."""
        if isinstance(self.torques, Computed):
            self.move(x.T, slice(None), first, count)
            return
        size = x.shape[1]

        def work(low: int) -> None:
            own = slice(low, min(low + BLOCK, size))
            block = np.ascontiguousarray(x[:, own])
            self.move(block.T, own, first, count)
            x[:, own] = block

        lows = range(0, size, BLOCK)
        in_threads(work, lows, min(get_num_threads(), len(lows)))

    def _stretches(
        self, x: np.ndarray, first: int, count: int
    ) -> Iterator[tuple[FixedRun, int, int]]:
        """(run, first step, steps) between samples of a digital controller, its command constant.

        The caller advances x in place, so that every sample is taken where the last stretch ends.
        """
        torques, k, end = self.torques, first, first + count
        if not isinstance(torques, Sampled):
            yield self, first, count
            return
        while k < end:
            t, state = k * self.grid.dt, self.observe({"x": x})
            q, qd, *_ = self.plant.parts(state)
            if self.stepper.method.remembers and torques.sampling.jumps(t):
                x[...] = self.stepper.enter(state, t, *self.inputs.values()).T
            command, change = torques.until_change(t, q, qd)
            steps = min(end, round(change / self.grid.dt)) - k
            yield FixedRun(self.stepper, Constant(command), self.inputs, self.grid), k, steps
            k += steps

    def _switch(self, before: np.ndarray, x: np.ndarray, first: int, count: int) -> None:
        """Repeat the steps of samples that are not finite, with pivots chosen at their start."""
        plant, t = self.plant, first * self.grid.dt
        old, new = before.reshape(len(x), -1), x.reshape(len(x), -1)  # one sample: a view too
        attempted: set[str | None] = set()
        for k in np.flatnonzero(~np.isfinite(new).all(axis=0)):
            if np.isfinite(new[:, k]).all() or not np.isfinite(old[:, k]).all():
                continue
            inputs = {n: v[k] if v.ndim == 2 else v for n, v in self.inputs.items()}
            other = plant.switched(old[: plant.nq, k], t, inputs)
            if other.pivots in attempted:
                continue
            attempted.add(other.pivots)
            lost = ~np.isfinite(new).all(axis=0)
            again = np.ascontiguousarray(old[:, lost])
            again[-1] = t
            run = replace(self, stepper=replace(self.stepper, plant=other))
            if x.ndim == 1:
                run.move(again[:, 0], slice(None), first, count)
            else:
                run.move(again.T, lost, first, count)
            new[:, lost] = again

    def _require_closed(self, before: np.ndarray, x: np.ndarray, t: float) -> None:
        """States that could not be projected onto the constraints become NaN, or end the run."""
        plant, states = self.plant, self.observe({"x": x})
        # relative to the positions before: a step that diverges would enlarge its own tolerance
        q, qd = self.observe({"x": before})[..., : plant.nq], plant.parts(states)[1]
        with np.errstate(invalid="ignore"):
            state = plant.without_basis(states)
            errors = plant.errors_of(state, t, *self.inputs.values())  # (..., 2)
            sizes = np.stack([np.abs(entries).max(axis=-1) for entries in (q, qd)], axis=-1)
            tolerance = plant.closing_tolerance * np.maximum(1.0, sizes)
            off, lost = errors.max(axis=-1), (errors > tolerance).any(axis=-1)
        if x.ndim == 1 and lost:
            cause = dead_point(plant.system, q) or dead_point(plant.system, states[: plant.nq])
            what = f"the constraints of {plant.system.name} are missed by {off:.2g} at t = {t:g} s"
            raise Stalled(f"{what}: {cause or 'take a smaller dt'}")
        if x.ndim == 2:
            x[:, lost] = np.nan

    def explain(self, state: State, index: int) -> str:
        """Repeat the steps after the saved state `index`, to report what fails and when."""
        grid, plant = self.grid, self.plant
        first = index * grid.save_every
        last = min(first + grid.save_every, grid.steps)
        x = np.ascontiguousarray(state["x"].T)
        if self.torque_error:
            return self.torque_error
        for k in range(first, last):
            before = self.observe({"x": x.T}).reshape(-1, plant.size)[0].copy()
            for part, *stretch in self._stretches(x.T, k, 1):
                part.move(x, slice(None), *stretch)
            if k == last - 1 or not np.isfinite(x).all(axis=-1).any():
                break
        times = (k * grid.dt, (k + 1) * grid.dt)
        if message := torque_failure(plant, times, before, self.inputs):
            return message
        advice = self.torques.advice if isinstance(self.torques, Sampled) else "take a smaller dt"
        fastest = plant.dynamics.velocities[int(np.argmax(np.abs(plant.parts(before)[1])))]
        return (
            f"the motion is not finite or beyond all bounds, joint {fastest!r} fastest, at "
            f"t = {times[1]:g} s; {advice}"
        )

    @property
    def torque_error(self) -> str:
        """A message about torques that are not finite; "" where there are none."""
        return self.torques.error if isinstance(self.torques, Computed | Sampled) else ""

    def move(self, x: np.ndarray, own: Indices, first: int, count: int) -> None:
        """`count` steps in place of the states x (..., size), which are the samples `own`."""
        inputs = {k: v[own] if v.ndim == 2 else v for k, v in self.inputs.items()}
        if not isinstance(self.torques, Computed) or self.stepper.method.one_torque:
            for u0, u1 in self._pairs(x, inputs, own, first, count):
                u0, u1 = (u.astype(x.dtype, copy=False) for u in (u0, u1))
                self.stepper.kernel(x, self.grid.dt, u0, u1, *inputs.values(), out=x)
            return
        # torques are computed at the time and state of every stage
        plant, dt, flow = self.plant, self.grid.dt, self.stepper.stages
        for k in range(first, first + count):
            t = k * dt

            def torque(c: float, y: np.ndarray, d: np.ndarray, t: float = t) -> np.ndarray:
                q, qd, *_ = plant.parts(plant.left(flow.moved(y, d).T, t + c * dt, inputs))
                return self.torques.at(t + c * dt, q, qd).T

            now = flow.under(inputs)
            x[..., :-1] = self.stepper.advance(now, x[..., :-1].T, t, dt, torque).T
            x[..., -1] = t + dt

    def _pairs(
        self, x: np.ndarray, inputs: Inputs, own: Indices, first: int, count: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Torques at the begin and the end of every step; those of a function are constant over it."""
        torques, dt = self.torques, self.grid.dt

        def rows(value: np.ndarray) -> np.ndarray:
            return np.asfortranarray(value[own]) if value.ndim == 2 else value

        if isinstance(torques, Constant):
            u = rows(torques.value)
            for _ in range(count):
                yield u, u
        elif isinstance(torques, Samples):
            u = rows(torques.at(first * dt))
            for k in range(first + 1, first + count + 1):
                before, u = u, rows(torques.at(k * dt))
                yield before, u
        else:
            for k in range(first, first + count):
                q, qd, *_ = self.plant.parts(self.stepper.leave(x, *inputs.values()))
                u = torques.at(k * dt, q, qd)
                yield u, u
