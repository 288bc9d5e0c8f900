"""A loop around programs: what a fused integrator repeats, as data that every target can write.

One step starts from `base` values, copies them into working values, runs `stage` once per row of
`table`, and gives the next base values by `finish`:

    work = base
    for row in table:  work = stage(base, work, held, row × dt)
    base = finish(work)

Inputs of `stage` stand in the order base, work, held, one scalar per column of the table; its
outputs are the work values. Inputs of `finish` are the work values, outputs the base values.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import CompileError
from dalembert.kernels.program import Port, Program


@dataclass(frozen=True, eq=False)
class Iteration:
    """The programs of one step, and the coefficients of its stages."""

    base: tuple[Port, ...]
    work: tuple[tuple[Port, str], ...]  # each with the base port it starts from
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
            and [port.shape for port in self.finish.inputs] == work
            and [port.shape for port in self.finish.outputs] == [p.shape for p in self.base]
        )
        if not sound:
            raise CompileError(f"{self.stage.name}: stage, finish and ports do not fit together")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of base, work and held values."""
        work = sum(port.size for port, _ in self.work)
        return sum(p.size for p in self.base), work, sum(p.size for p in self.held)

    def starts(self) -> list[int]:
        """For every work value, the base value it starts from."""
        offsets, position = {}, 0
        for port in self.base:
            offsets[port.name] = position
            position += port.size
        return [offsets[source] + k for port, source in self.work for k in range(port.size)]
