"""An iteration as a function: the steps of a method, state after state in the same place.

    name(steps, dt, base…, held…)     i32, f64, and addresses of float64 arrays

The base values (q, q̇) are read, moved by so many steps of dt, and left where they were.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.wasm.binary import I32, Body
from dalembert.kernels.wasm.code import Value, constant
from dalembert.kernels.wasm.instructions import instruction
from dalembert.kernels.wasm.kernel import add_kernel
from dalembert.kernels.wasm.library import Function, Library
from dalembert.tracing.program import Port


def add_rollout(library: Library, name: str, iteration: Iteration) -> None:
    """The function, and those of a stage and of the end of a step."""
    stage, finish = f"{name} stage", f"{name} finish"
    add_kernel(library, stage, iteration.stage)
    add_kernel(library, finish, iteration.finish)
    closing = [f"{name} closing {k}" for k in range(len(iteration.closing))]
    for each, (program, _) in zip(closing, iteration.closing, strict=True):
        add_kernel(library, each, program)
    library.add(_Loop(library, name, iteration).written(stage, finish, closing))


class _Loop:
    def __init__(self, library: Library, name: str, iteration: Iteration) -> None:
        self.iteration, self.memory = iteration, library.memory
        count = len(iteration.base) + len(iteration.held)
        self.f = Function(library, name, "id" + "i" * count, "")
        self.steps, self.dt, *pointers = self.f.arguments
        self.base = pointers[: len(iteration.base)]
        self.held = pointers[len(iteration.base) :]
        work = [port for port, _ in iteration.work]
        self.work, self.after = (self._places(work) for _ in range(2))
        self.moved = self._places(iteration.base)
        self.scalars = [constant(self.memory.take(1), I32) for _ in iteration.table[0]]

    def _places(self, ports: Sequence[Port]) -> list[Value]:
        return [constant(self.memory.take(port.size), I32) for port in ports]

    def written(self, stage: str, finish: str, closing: Sequence[str]) -> Body:
        f, iteration = self.f, self.iteration
        with f.repeat(lambda: self.steps > 0):
            self._begin()
            now, then = self.work, self.after
            for row in iteration.table:
                for place, factor in zip(self.scalars, row, strict=True):
                    f.code += place.code + (self.dt * factor).code + instruction("f64.store", 3, 0)
                f.run(stage, *self.base, *now, *self.held, *self.scalars, *then)
                now, then = then, now
            f.run(finish, *self.base, *now, *self.moved)
            self._keep()
            for each, (_, times) in zip(closing, iteration.closing, strict=True):
                for _ in range(times):
                    f.run(each, *self.base, *self.held, *self.moved)
                    self._keep()
            f.set(self.steps, self.steps - 1)
        return f.returning()

    def _begin(self) -> None:
        """Working values start from base values, or from zero."""
        names = [port.name for port in self.iteration.base]
        for (port, source), place in zip(self.iteration.work, self.work, strict=True):
            if source is None:  # memory.fill
                size = constant(8 * port.size, I32).code
                zero = constant(0, I32).code
                self.f.code += place.code + zero + size + instruction("memory.fill", 0)
            else:
                self._copy(place, self.base[names.index(source)], port)

    def _keep(self) -> None:
        """What was moved becomes the state."""
        for port, base, moved in zip(self.iteration.base, self.base, self.moved, strict=True):
            self._copy(base, moved, port)

    def _copy(self, target: Value, source: Value, port: Port) -> None:
        """memory.copy of one port."""
        size = constant(8 * port.size, I32).code
        self.f.code += target.code + source.code + size + instruction("memory.copy", 0, 0)
