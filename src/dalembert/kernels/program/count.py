"""How many arithmetic operations one evaluation of a program takes."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from dalembert.kernels.program.program import BINARY, LEAVES, Op, Program

_KINDS: dict[str, frozenset[Op]] = {
    "multiplications": frozenset({Op.MUL, Op.SQ}),
    "additions": frozenset({Op.ADD, Op.SUB}),
    "divisions": frozenset({Op.DIV}),
    "square_roots": frozenset({Op.SQRT}),
    "trigonometric": frozenset(
        {Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2}
        | {Op.SINH, Op.COSH, Op.TANH, Op.ASINH, Op.ACOSH, Op.ATANH}
    ),
}


@dataclass(frozen=True)
class Count:
    """Operations per state; subtractions are additions, squares are multiplications."""

    multiplications: int
    additions: int
    divisions: int
    square_roots: int
    trigonometric: int
    other: int

    @property
    def total(self) -> int:
        """All operations together."""
        return sum(vars(self).values())


def count(program: Program, varying: Collection[str] | None = None) -> Count:
    """Count a program's operations; constants, inputs and changes of sign are free.

    A factor of two, as any other constant factor, counts as a multiplication. With `varying`, only
    operations whose value depends on one of these inputs count: the others are done once, before.
    """
    ops = program.op if varying is None else program.op[_dependent(program, varying)]
    free = [*LEAVES, Op.NEG]
    kinds = {kind: int(np.isin(ops, list(members)).sum()) for kind, members in _KINDS.items()}
    counted = sum(kinds.values()) + int(np.isin(ops, free).sum())
    return Count(**kinds, other=len(ops) - counted)


def _dependent(program: Program, varying: Collection[str]) -> np.ndarray:
    """Mask of the instructions that depend on one of the inputs named."""
    sizes = [port.size for port in program.inputs]
    moving = np.repeat([port.name in varying for port in program.inputs], sizes)
    depends = np.zeros(len(program), dtype=bool)
    for i, (op, a, b) in enumerate(zip(program.op, program.a, program.b, strict=True)):
        if op == Op.INPUT:
            depends[i] = moving[a]
        elif op != Op.CONST:
            depends[i] = depends[a] or (op in BINARY and depends[b])
    return depends
