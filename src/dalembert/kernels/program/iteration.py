"""A loop around programs: what a fused integrator repeats, as data that every target can write.

One step starts from `base` values, copies them into working values, runs `stage` once per row of
`table`, and gives the next base values by `finish`:

    work = base
    for row in table:  work = stage(base, work, held, row × dt)
    base = finish(base, work)
    for program, times in closing:  base = program(base, held), so many times

Inputs of `stage` stand in the order base, work, held, one scalar per column of the table; its
outputs are the work values. Inputs of `finish` are base and work values, outputs the base values.
`closing` brings a state back to where it belongs: base and held values in, base values out.

Where all stages are `kept`, work values are one port for each and one more: row i fills port i + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import CompileError, ShapeError
from dalembert.tracing.program import Port, Program

Arrays = Sequence[np.ndarray]
# odd numbers: start s of row r of a search is point (r a + s b) mod 2ᵏ of its pool, so that the
# starts of a row all differ, and neighbours have others
STRIDES = (40503, 7919)


def lead(port: Port, x: Any) -> tuple[int, ...]:
    """The axes of an array (..., *shape) before those of its port."""
    shape, core = np.shape(x), len(port.shape)
    if len(shape) < core or shape[len(shape) - core :] != port.shape:
        raise ShapeError(
            f"{port.name} must be (..., {', '.join(map(str, port.shape))}), not {shape}"
        )
    return shape[: len(shape) - core]


@dataclass(frozen=True, eq=False)
class Iteration:
    """The programs of one step, and the coefficients of its stages."""

    base: tuple[Port, ...]
    work: tuple[tuple[Port, str | None], ...]  # each with the base port it starts from, or zero
    held: tuple[Port, ...]
    table: tuple[tuple[float, ...], ...]  # per stage, multiples of dt
    stage: Program
    finish: Program
    closing: tuple[tuple[Program, int], ...] = ()  # each with how often it is run
    kept: bool = False  # a stage returns one port of the work values
    between: Program | None = None  # (base, work, a time) → base values at a time within the step
    plain: tuple[Callable[..., Arrays], ...] | None = None
    """What stage, finish and closing were traced from, by the names of their inputs, on numbers."""

    def __post_init__(self) -> None:
        columns = len(self.table[0])
        base, held = ([port.shape for port in ports] for ports in (self.base, self.held))
        work = [port.shape for port, _ in self.work]
        inputs = base + work + held + [()] * columns
        consistent = (
            [port.shape for port in self.stage.inputs] == inputs
            and [port.shape for port in self.stage.outputs] == (work[:1] if self.kept else work)
            and (not self.kept or len(work) == len(self.table) + 1)
            and [port.shape for port in self.finish.inputs] == base + work
            and [port.shape for port in self.finish.outputs] == base
            and all(
                [p.shape for p in program.inputs] == base + held
                and [p.shape for p in program.outputs] == base
                for program, _ in self.closing
            )
        )
        if not consistent:
            raise CompileError(f"{self.stage.name}: stage, finish and ports do not fit together")

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
        """Numbers of base, work and held values."""
        work = sum(port.size for port, _ in self.work)
        return sum(p.size for p in self.base), work, sum(p.size for p in self.held)

    def batch(
        self, start: tuple[int, ...], held: Sequence[tuple[int, ...]], steps: int, every: int
    ) -> tuple[bool, tuple[int, ...]]:
        """Whether held values change from step to step, and the batch all arrays have together.

        `start` and `held` are the shapes of the base and held values without their own axes.
        """
        if steps < 1 or every < 1 or every > steps:
            raise ShapeError(f"steps={steps} and every={every}: need 1 <= every <= steps")
        most = max(map(len, held), default=0)
        if most <= len(start):
            return False, np.broadcast_shapes(start, *held)
        if any(len(lead) != most or lead[0] != steps for lead in held):
            raise ShapeError(
                f"inputs with one more axis than the states must have {steps} steps in front, "
                f"not {held[0]}"
            )
        return True, np.broadcast_shapes(start, *(lead[1:] for lead in held))

    def starts(self) -> list[int | None]:
        """For every work value, the base value it starts from; None for zero."""
        offsets, position = {}, 0
        for port in self.base:
            offsets[port.name] = position
            position += port.size
        return [
            None if source is None else offsets[source] + k
            for port, source in self.work
            for k in range(port.size)
        ]

    def interpreted(self, base: Arrays, held: Arrays, steps: int, dt: float) -> Arrays:
        """Base values after each step, (..., steps, *shape), from base values (..., *shape).

        `held` values are (..., *shape), or (..., steps, *shape) where they change.
        """
        from dalembert.tracing.interpreter import interpret

        run = [partial(interpret, program) for program in self.programs[: 2 + len(self.closing)]]
        return self._repeated(run, base, held, steps, dt)

    def by_plain(self, base: Arrays, held: Arrays, steps: int, dt: float) -> Arrays:
        """The same for one state, in plain NumPy."""
        if self.plain is None:
            raise CompileError(f"{self.stage.name} was not traced from a function of numbers")
        named = [
            lambda *x, f=f, ports=p.inputs: f(**{q.name: y for q, y in zip(ports, x, strict=True)})
            for f, p in zip(self.plain, self.programs[: 2 + len(self.closing)], strict=True)
        ]
        return self._repeated(named, base, held, steps, dt)

    def _repeated(
        self,
        functions: Sequence[Callable[..., Arrays]],
        base: Arrays,
        held: Arrays,
        steps: int,
        dt: float,
    ) -> Arrays:
        stage, finish, *closing = functions
        lead = base[0].shape[: base[0].ndim - len(self.base[0].shape)]
        saved, now = [], dict(zip((port.name for port in self.base), base, strict=True))
        for step in range(steps):
            u = [
                x if x.ndim == len(lead) + len(port.shape) else x.take(step, axis=len(lead))
                for port, x in zip(self.held, held, strict=True)
            ]
            after = finish(*now.values(), *self._worked(stage, now, u, dt))
            for function, (_, times) in zip(closing, self.closing, strict=True):
                for _ in range(times):
                    after = function(*after, *u)
            saved.append(after)
            now = dict(zip(now, after, strict=True))
        return [np.stack(column, axis=len(lead)) for column in zip(*saved, strict=True)]

    def _worked(
        self, stage: Callable[..., Arrays], now: Mapping[str, np.ndarray], held: Arrays, dt: float
    ) -> Arrays:
        """Work values after all stages, from base values by name."""
        first = next(iter(now.values()))
        dtype, lead = first.dtype, first.shape[: first.ndim - len(self.base[0].shape)]
        work: Arrays = [
            np.zeros((*lead, *port.shape), dtype) if source is None else now[source]
            for port, source in self.work
        ]
        for k, row in enumerate(self.table):
            stage_results = stage(*now.values(), *work, *held, *(dtype.type(c * dt) for c in row))
            work = [*work[: k + 1], *stage_results, *work[k + 2 :]] if self.kept else stage_results
        return work

    def interpreted_between(self, base: Arrays, held: Arrays, when: np.ndarray) -> Arrays:
        """Base values at times (...) within the step that begins with base values (..., *shape)."""
        from dalembert.tracing.interpreter import interpret

        assert self.between is not None
        now = dict(zip((port.name for port in self.base), base, strict=True))
        work = self._worked(partial(interpret, self.stage), now, held, 1.0)
        values: Arrays = interpret(self.between, *base, *work, when)
        for program, times in self.closing:
            for _ in range(times):
                values = interpret(program, *values, *held)
        return values
