"""How many arithmetic operations one evaluation of a program takes."""

from dataclasses import dataclass

import numpy as np

from dalembert.kernels.program import LEAVES, Op, Program

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


def count(program: Program) -> Count:
    """Count a program's operations; constants, inputs and changes of sign are free.

    A factor of two, as any other constant factor, counts as a multiplication.
    """
    free = [*LEAVES, Op.NEG]
    kinds = {kind: int(np.isin(program.op, list(ops)).sum()) for kind, ops in _KINDS.items()}
    counted = sum(kinds.values()) + int(np.isin(program.op, free).sum())
    return Count(**kinds, other=len(program) - counted)
