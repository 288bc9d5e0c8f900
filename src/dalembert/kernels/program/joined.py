"""One program from several that share nothing: each reads and writes its own entries of the ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.kernels.program.program import LEAVES, Op, Port, Program, program


class Share(NamedTuple):
    """A program, and which entries of all inputs and outputs of the whole its own are."""

    program: Program
    reads: np.ndarray
    writes: np.ndarray


def joined(
    name: str, inputs: Sequence[Port], outputs: Sequence[Port], shares: Sequence[Share]
) -> Program:
    """The shares one after the other; entries of the outputs that nobody writes are zero.

    >>> from dalembert.kernels.program.trace import trace
    >>> square = trace(lambda x: x * x, {"x": (1,)})
    >>> ports = [Port("x", (2,))], [Port("y", (3,))]
    >>> each = [Share(square, np.array([k]), np.array([k])) for k in range(2)]
    >>> from dalembert.kernels.program.interpret import interpret
    >>> interpret(joined("squares", *ports, each), np.array([2.0, 3.0]))[0]
    array([4., 9., 0.])
    """
    rows, constants = [np.array([[Op.CONST, 0, -1]])], [np.zeros(1)]
    results = np.zeros(sum(port.size for port in outputs), dtype=int)
    start, known = 1, 1
    for part, reads, writes in shares:
        leaf = np.isin(part.op, list(LEAVES))
        a = np.where(leaf, part.a, part.a + start)
        a[part.op == Op.CONST] += known
        a[part.op == Op.INPUT] = reads[part.a[part.op == Op.INPUT]]
        b = np.where(part.b >= 0, part.b + start, -1)
        rows.append(np.stack([part.op, a, b], axis=1))
        constants.append(part.constants)
        results[writes] = part.results + start
        start, known = start + len(part), known + len(part.constants)
    every = np.concatenate(rows)
    ports = tuple(inputs), tuple(outputs)
    return program(name, *ports, every, np.concatenate(constants), results)
