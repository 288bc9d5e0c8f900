"""Kernels whose threads each take the next row as soon as one is done: none waits for another's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dalembert.kernels.cuda.source import CudaSource
from dalembert.kernels.cuda.text import with_specials


class Grid(NamedTuple):
    """Threads of a block, and blocks at most: more than a card runs at once, few enough to share."""

    threads: int
    most: int

    def blocks(self, count: int) -> int:
        """How many blocks take so many rows.

        >>> Grid(32, 100).blocks(33), Grid(32, 100).blocks(10**6)
        (2, 100)
        """
        return min(-(-count // self.threads), self.most)

    def source(
        self, head: Sequence[str], function: str, arguments: str, body: Iterable[str]
    ) -> CudaSource:
        """The kernel `function(arguments)`."""
        lines = [
            *head,
            f'extern "C" __global__ void __launch_bounds__({self.threads})',
            f"{function}({arguments})",
            "{",
            *(f"    {line}" for line in body),
            "}",
            "",
        ]
        return CudaSource(with_specials("\n".join(lines)), function, self.threads, 0)
