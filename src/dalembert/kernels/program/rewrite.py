"""Programs rewritten for machines on which some operations cost more than others."""

from __future__ import annotations

from collections import Counter

from dalembert.kernels.program.program import LEAVES, Op, Program, program


def reciprocals(source: Program) -> Program:
    """Quotients that share a divisor become products with its reciprocal, taken once.

    A division takes as long as ten products. The results change in the last place.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> made = reciprocals(trace(lambda x, d: x / d, {"x": (3,), "d": ()}))
    >>> int(np.sum(made.op == Op.DIV)), int(np.sum(made.op == Op.MUL))
    (1, 3)
    """
    rows = list(zip(source.op.tolist(), source.a.tolist(), source.b.tolist(), strict=True))
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
