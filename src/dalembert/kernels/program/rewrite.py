"""Programs rewritten with fewer divisions, and several programs joined into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.tracing.program import LEAVES, Op, Port, Program, program


def reciprocals(source: Program) -> Program:
    """Quotients that share a divisor become products with its reciprocal, taken once.

    A division takes as long as ten products. The results change in the last place.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> made = reciprocals(trace(lambda x, d: x / d, {"x": (3,), "d": ()}))
    >>> int(np.sum(made.op == Op.DIV)), int(np.sum(made.op == Op.MUL))
    (1, 3)
    """
    rows = source.rows
    shared = Counter(b for op, _, b in rows if op == Op.DIV)
    instructions: list[tuple[int, int, int]] = []
    constants = source.constants.tolist()
    numbers: list[int] = []  # of the old values among the new
    inverses: dict[int, int] = {}
    ones: list[int] = []

    def emit(op: int, a: int, b: int = -1) -> int:
        instructions.append((op, a, b))
        return len(instructions) - 1

    def inverse(divisor: int) -> int:
        if not ones:
            constants.append(1.0)
            ones.append(emit(Op.CONST, len(constants) - 1))
        if divisor not in inverses:
            inverses[divisor] = emit(Op.DIV, ones[0], numbers[divisor])
        return inverses[divisor]

    for op, a, b in rows:
        if op in LEAVES:
            numbers.append(emit(op, a))
        elif op == Op.DIV and shared[b] > 1:
            factor = inverse(b)
            is_one = rows[a][0] == Op.CONST and source.constants[rows[a][1]] == 1.0
            numbers.append(factor if is_one else emit(Op.MUL, numbers[a], factor))
        else:
            numbers.append(emit(op, numbers[a], numbers[b] if b >= 0 else -1))
    results = [numbers[k] for k in source.results.tolist()]
    return program(source.name, source.inputs, source.outputs, instructions, constants, results)


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
    >>> from dalembert.tracing.interpret import interpret
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
