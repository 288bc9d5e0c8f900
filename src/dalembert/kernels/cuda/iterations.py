"""One step of an iteration as lines of CUDA, and the loop around it whose threads take rows.

A thread keeps its values in arrays `base`, `work` and `held`; `row0`, `row1`, … are the scalars of a
stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dalembert.kernels.c.text import Scalar, statements
from dalembert.kernels.cuda.source import CudaSource
from dalembert.kernels.cuda.text import kernel_text, sincos
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.rewrite import reciprocals
from dalembert.text import c_comment
from dalembert.tracing.program import Op, Program


class Steps:
    """Writes the parts of a step; `factor` is what every coefficient of the table is multiplied by."""

    def __init__(
        self, iteration: Iteration, scalar: Scalar, function: str, factor: str = ""
    ) -> None:
        self.iteration, self.scalar, self.function = iteration, scalar, function
        self.factor = factor
        self.base, self.work, self.held = iteration.sizes

    def head(self, about: Sequence[str], with_table: bool = True) -> list[str]:
        """Before the kernel: what it is, sine and cosine, the table."""
        programs = self.iteration.programs
        turns = {Op.SIN, Op.COS} & {Op(op) for p in programs for op in set(p.op.tolist())}
        numbers = [self.scalar.literal(x) for row in self.iteration.table for x in row]
        table = f"{self.function}_table[{len(numbers)}] = {{{', '.join(numbers)}}};"
        return [
            "/*",
            *(f" * {c_comment(line)}".rstrip() for line in about),
            " */",
            *([sincos(f"{self.function}_sincos", self.scalar), ""] if turns else []),
            *([f"static __constant__ {self.scalar.type} {table}", ""] if with_table else []),
        ]

    def step(self) -> list[str]:
        """From base values to the next ones."""
        T, iteration = self.scalar.type, self.iteration
        # a finish that reads base values must not overwrite them on the way
        reads = iteration.finish.a[iteration.finish.op == Op.INPUT]
        kept = bool((reads < self.base).any())
        finish = self.program(iteration.finish, "done" if kept else "base")
        return [
            *(f"work[{k}] = {self._start(s)};" for k, s in enumerate(iteration.starts())),
            "#pragma unroll 1",
            f"for (int stage = 0; stage < {len(iteration.table)}; stage++) {{",
            *(f"    {line}" for line in self._stage()),
            "}",
            "{",
            *([f"    {T} done[{self.base}];"] if kept else []),
            *(f"    {line}" for line in finish),
            *(f"    base[{k}] = done[{k}];" for k in range(self.base if kept else 0)),
            "}",
            *self.closing("base"),
        ]

    def closing(self, values: str) -> list[str]:
        """What brings an array of base values back to where it belongs."""
        return [
            line for each in self.iteration.closing for line in self._closed(*each, values=values)
        ]

    def program(
        self, program: Program, into: str, load: Callable[[int], str] | None = None
    ) -> list[str]:
        """The statements of a program whose results go into an array."""

        def store(k: int, x: str) -> str:
            return f"{into}[{k}] = {x};"

        turn = f"{self.function}_sincos"
        return list(statements(reciprocals(program), self.scalar, load or self.load, store, turn))

    def load(self, k: int) -> str:
        """Input k of a stage."""
        offset = self.base + self.work
        if k < self.base:
            return f"base[{k}]"
        if k < offset:
            return f"work[{k - self.base}]"
        return f"held[{k - offset}]" if k < offset + self.held else f"row{k - offset - self.held}"

    def _stage(self) -> list[str]:
        T, columns = self.scalar.type, len(self.iteration.table[0])
        results = len(self.iteration.stage.results)
        first = f"(stage + 1) * {results} + " if self.iteration.kept else ""
        return [
            *(
                f"const {T} row{c} = {self.factor}{self.function}_table[stage * {columns} + {c}];"
                for c in range(columns)
            ),
            f"{T} next[{results}];",
            *self.program(self.iteration.stage, "next"),
            *(f"work[{first}{k}] = next[{k}];" for k in range(results)),
        ]

    def _start(self, source: int | None) -> str:
        return self.scalar.literal(0.0) if source is None else f"base[{source}]"

    def _closed(self, program: Program, times: int, values: str) -> list[str]:
        def load(k: int) -> str:
            return f"{values}[{k}]" if k < self.base else f"held[{k - self.base}]"

        return [
            "#pragma unroll 1",
            f"for (int again = 0; again < {times}; again++) {{",
            f"    {self.scalar.type} done[{self.base}];",
            *(f"    {line}" for line in self.program(program, "done", load)),
            *(f"    {values}[{k}] = done[{k}];" for k in range(self.base)),
            "}",
        ]


class Grid(NamedTuple):
    """A kernel whose threads each take the next row as soon as one is done: none waits for another's.

    Threads of a block, and blocks at most: more than a card runs at once, few enough to share.
    """

    threads: int
    most: int

    def blocks(self, count: int) -> int:
        """How many blocks take so many rows.

        >>> Grid(32, 100).blocks(33), Grid(32, 100).blocks(10**6)
        (2, 100)
        """
        return min(-(-count // self.threads), self.most)

    def source(
        self,
        head: Sequence[str],
        function: str,
        arguments: Sequence[str],
        declared: Sequence[str],
        taken: Iterable[str],
        turn: Iterable[str],
    ) -> CudaSource:
        """The kernel `function(arguments)`: what a thread does with a row it has taken, and in a turn.

        Its variables are `declared`; it takes the next row where `row` is negative.
        """
        body = [
            *declared,
            "#pragma unroll 1",
            "for (;;) {",
            "    if (row < 0) {",
            "        row = (long long)atomicAdd(next, 1ULL);",
            "        if (row >= count) break;",
            *(f"        {line}" for line in taken),
            "    }",
            *(f"    {line}" for line in turn),
            "}",
        ]
        text = kernel_text(head, str(self.threads), function, ", ".join(arguments), body)
        return CudaSource(text, function, self.threads, 0)
