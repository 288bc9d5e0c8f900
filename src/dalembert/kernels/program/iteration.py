"""A loop around programs: what a fused integrator repeats, as data that every target can write.

One step starts from `base` values, copies them into working values, runs `stage` once per row of
`table`, and gives the next base values by `finish`:

    work = base
    for row in table:  work = stage(base, work, fixed, row × dt)
    base = finish(base, work)
    for program, times in closing:  base = program(base, fixed), so many times

Inputs of `stage` stand in the order base, work, fixed, one scalar per column of the table; its
outputs are the work values. Inputs of `finish` are base and work values, outputs the base values.
`fixed` values do not change within a step: torques, targets, parameters. `closing` projects a state
onto its constraints: base and fixed values in, base values out.

Where the iteration `stores_stages`, work values are one port for each stage and one more: row i
fills port i + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import CompileError, ShapeError
from dalembert.tracing.program import Port, Program, port_slices

Arrays = Sequence[np.ndarray]
# odd numbers: start s of row r of a search is point (r a + s b) mod 2ᵏ of its pool, so that the
# starts of a row all differ, and neighbours have others
STRIDES = (40503, 7919)


def lead(port: Port, x: Any) -> tuple[int, ...]:
    """The axes of an array (..., *shape) before those of its port."""
    shape: tuple[int, ...] = np.shape(x)
    core = len(port.shape)
    if len(shape) < core or shape[len(shape) - core :] != port.shape:
        raise ShapeError(
            f"{port.name} must be (..., {', '.join(map(str, port.shape))}), not {shape}"
        )
    return shape[: len(shape) - core]


def port_starts(ports: Sequence[Port]) -> dict[str, int]:
    """The first entry of each port among all of them, by its name."""
    return {port.name: own.start for port, own in zip(ports, port_slices(ports), strict=True)}


@dataclass(frozen=True, eq=False)
class Iteration:
    """The programs of one step, and the coefficients of its stages."""

    base: tuple[Port, ...]
    work: tuple[tuple[Port, str | None], ...]  # each with the base port it starts from, or zero
    fixed: tuple[Port, ...]
    table: tuple[tuple[float, ...], ...]  # per stage, multiples of dt
    stage: Program
    finish: Program
    closing: tuple[tuple[Program, int], ...] = ()  # each with how often it is run
    stores_stages: bool = False  # a stage returns one port of the work values
    between: Program | None = None  # (base, work, a time) → base values at a time within the step
    plain: tuple[Callable[..., Arrays], ...] | None = None
    """Functions of numbers that stage, finish and closing were traced from, called by keyword."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """Stage, finish, those that close, and the one for times between."""
        own = (self.stage, self.finish, *(program for program, _ in self.closing))
        return own if self.between is None else (*own, self.between)

    @property
    def facts(self) -> tuple[str, ...]:
        """Texts that determine the code of a loop around the programs, for cache keys."""
        times = [count for _, count in self.closing]
        return *(program.digest for program in self.programs), repr(self.table), repr(times)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of base, work and fixed values."""
        work = sum(port.size for port, _ in self.work)
        return sum(p.size for p in self.base), work, sum(p.size for p in self.fixed)

    def batch(
        self, base: Sequence[Any], fixed: Sequence[Any], steps: int, every: int
    ) -> tuple[bool, tuple[int, ...]]:
        """Whether fixed values change from step to step, and the batch all arrays have together."""
        start = np.broadcast_shapes(*map(lead, self.base, base))
        leads = list(map(lead, self.fixed, fixed))
        if steps < 1 or every < 1 or every > steps:
            raise ShapeError(f"steps={steps} and every={every}: need 1 <= every <= steps")
        most = max(map(len, leads), default=0)
        if most <= len(start):
            return False, np.broadcast_shapes(start, *leads)
        if any(len(axes) != most or axes[0] != steps for axes in leads):
            raise ShapeError(
                f"inputs with one more axis than the states must have {steps} steps in front, "
                f"not {leads[0]}"
            )
        return True, np.broadcast_shapes(start, *(axes[1:] for axes in leads))

    def starts(self) -> list[int | None]:
        """For every work value, the base value it starts from; None for zero."""
        first = port_starts(self.base)
        return [
            None if source is None else first[source] + k
            for port, source in self.work
            for k in range(port.size)
        ]

    def interpreted(
        self, base: Arrays, fixed: Arrays, steps: int, dt: float, plain: bool = False
    ) -> Arrays:
        """Base values after each step, (..., steps, *shape), from base values (..., *shape).

        `fixed` values are (..., *shape), or (..., steps, *shape) where they change. With `plain`,
        in plain NumPy instead, for one state.
        """
        from dalembert.tracing.interpreter import interpret

        programs = self.programs[: 2 + len(self.closing)]
        functions: list[Callable[..., Arrays]] = [partial(interpret, p) for p in programs]
        if plain:
            if self.plain is None:
                raise CompileError(f"{self.stage.name} was not traced from a function of numbers")
            functions = [
                lambda *x, f=f, p=p.inputs: f(**{q.name: y for q, y in zip(p, x, strict=True)})
                for f, p in zip(self.plain, programs, strict=True)
            ]
        stage, finish, *closing = functions
        lead = base[0].shape[: base[0].ndim - len(self.base[0].shape)]
        saved, now = [], dict(zip((port.name for port in self.base), base, strict=True))
        for step in range(steps):
            u = [
                x if x.ndim == len(lead) + len(port.shape) else x.take(step, axis=len(lead))
                for port, x in zip(self.fixed, fixed, strict=True)
            ]
            after = finish(*now.values(), *self._run_stages(stage, now, u, dt))
            after = self._closed(closing, after, u)
            saved.append(after)
            now = dict(zip(now, after, strict=True))
        return [np.stack(column, axis=len(lead)) for column in zip(*saved, strict=True)]

    def _run_stages(
        self, stage: Callable[..., Arrays], now: Mapping[str, np.ndarray], fixed: Arrays, dt: float
    ) -> Arrays:
        """Work values after all stages, from base values by name."""
        first = next(iter(now.values()))
        dtype, lead = first.dtype, first.shape[: first.ndim - len(self.base[0].shape)]
        work: Arrays = [
            np.zeros((*lead, *port.shape), dtype) if source is None else now[source]
            for port, source in self.work
        ]
        for k, row in enumerate(self.table):
            results = stage(*now.values(), *work, *fixed, *(dtype.type(c * dt) for c in row))
            work = [*work[: k + 1], *results, *work[k + 2 :]] if self.stores_stages else results
        return work

    def interpreted_between(self, base: Arrays, fixed: Arrays, when: np.ndarray) -> Arrays:
        """Base values at times (...) within the step that begins with base values (..., *shape)."""
        from dalembert.tracing.interpreter import interpret

        assert self.between is not None
        now = dict(zip((port.name for port in self.base), base, strict=True))
        work = self._run_stages(partial(interpret, self.stage), now, fixed, 1.0)
        values = interpret(self.between, *base, *work, when)
        return self._closed([partial(interpret, p) for p, _ in self.closing], values, fixed)

    def _closed(
        self, functions: Sequence[Callable[..., Arrays]], values: Arrays, fixed: Arrays
    ) -> Arrays:
        """Base values after the closing functions, each run as often as it says."""
        for function, (_, times) in zip(functions, self.closing, strict=True):
            for _ in range(times):
                values = function(*values, *fixed)
        return values
