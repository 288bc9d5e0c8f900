"""A loop around programs: what a fused integrator repeats, as data that every target can write.

One step starts from `base` values, copies them into working values, runs `stage` once per row of
`table`, and gives the next base values by `finish`:

    work = base
    for row in table:  work = stage(base, work, held, row × dt)
    base = finish(base, work)

Inputs of `stage` stand in the order base, work, held, one scalar per column of the table; its
outputs are the work values. Inputs of `finish` are base and work values, outputs the base values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.program.program import Port, Program


@dataclass(frozen=True, eq=False)
class Iteration:
    """The programs of one step, and the coefficients of its stages."""

    base: tuple[Port, ...]
    work: tuple[tuple[Port, str | None], ...]  # each with the base port it starts from, or zero
    held: tuple[Port, ...]
    table: tuple[tuple[float, ...], ...]  # per stage, multiples of dt
    stage: Program
    finish: Program

    def __post_init__(self) -> None:
        columns = len(self.table[0])
        expected = [*self.base, *(port for port, _ in self.work), *self.held]
        given = [port.shape for port in self.stage.inputs]
        work = [port.shape for port, _ in self.work]
        sound = (
            given == [port.shape for port in expected] + [()] * columns
            and [port.shape for port in self.stage.outputs] == work
            and [p.shape for p in self.finish.inputs] == [p.shape for p in self.base] + work
            and [port.shape for port in self.finish.outputs] == [p.shape for p in self.base]
        )
        if not sound:
            raise CompileError(f"{self.stage.name}: stage, finish and ports do not fit together")

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
        most = max(map(len, held))
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

    def interpreted(
        self, base: Sequence[np.ndarray], held: Sequence[np.ndarray], steps: int, dt: float
    ) -> list[np.ndarray]:
        """Base values after each step, (states, steps, *shape), from base values (states, *shape).

        `held` values are (states, *shape), or (states, steps, *shape) where they change.
        """
        from dalembert.kernels.program.interpret import interpret

        dtype, states = base[0].dtype, len(base[0])
        named = dict(zip((port.name for port in self.base), base, strict=True))
        saved = []
        for step in range(steps):
            u = [
                x if x.ndim == 1 + len(port.shape) else x[:, step]
                for port, x in zip(self.held, held, strict=True)
            ]
            work: Sequence[np.ndarray] = [
                np.zeros((states, *port.shape), dtype) if source is None else named[source]
                for port, source in self.work
            ]
            for row in self.table:
                scalars = [dtype.type(c * dt) for c in row]
                work = interpret(self.stage, *named.values(), *work, *u, *scalars)
            ends = interpret(self.finish, *named.values(), *work)
            named = dict(zip(named, ends, strict=True))
            saved.append(ends)
        return [np.stack(column, axis=1) for column in zip(*saved, strict=True)]
