"""How many arithmetic operations one evaluation takes: of a program, or of a function as written.

`count` counts a program's instructions. `tally` runs a function on numbers that only count: nothing is
known to be zero or one, nothing is shared that the function does not share itself, and what does not
touch an input costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.program import LEAVES, Op, Program

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
    ops = program.op
    if varying is not None:
        entries = [port.name in varying for port in program.inputs for _ in range(port.size)]
        depends = program.gather([op == Op.INPUT and entries[a] for op, a, _ in program.rows])
        ops = ops[np.array(depends, dtype=bool)]
    free = [*LEAVES, Op.NEG]
    kinds = {kind: int(np.isin(ops, list(members)).sum()) for kind, members in _KINDS.items()}
    counted = sum(kinds.values()) + int(np.isin(ops, free).sum())
    return Count(**kinds, other=len(ops) - counted)


class Counted:
    """A number without a value that counts every operation on it in its tally."""

    def __init__(self, tally: dict[str, int]) -> None:
        self.tally = tally

    def _note(self, kind: str) -> Counted:
        self.tally[kind] += 1
        return self

    def __mul__(self, other: Operand) -> Operand:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy asks again, entry by entry
        return other if isinstance(other, Absent) else self._note("multiplications")

    def __add__(self, other: Operand) -> Operand:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self if isinstance(other, Absent) else self._note("additions")

    def __truediv__(self, other: Operand) -> Operand:
        return NotImplemented if isinstance(other, np.ndarray) else self._note("divisions")

    def sin(self) -> Counted:
        return self._note("trigonometric")

    def sqrt(self) -> Counted:
        return self._note("square_roots")

    def __pow__(self, power: float) -> Counted:
        return self._note("multiplications" if power == 2 else "other")

    def __neg__(self) -> Counted:
        return self

    def __gt__(self, other: Operand) -> bool:
        return True

    __lt__ = __gt__
    __rmul__ = __mul__
    __radd__ = __sub__ = __rsub__ = __add__
    __rtruediv__ = __truediv__
    cos = sin


class Absent:
    """A term that is not there: products with it vanish and sums pass it by, uncounted."""

    def __mul__(self, other: Operand) -> Operand:
        return NotImplemented if isinstance(other, np.ndarray) else self

    def __add__(self, other: Operand) -> Operand:
        return NotImplemented if isinstance(other, np.ndarray) else other

    def __neg__(self) -> Absent:
        return self

    def __sub__(self, other: Operand) -> Operand:
        return NotImplemented if isinstance(other, np.ndarray) else -other

    __rmul__ = __mul__
    __radd__ = __rsub__ = __add__


ABSENT = Absent()
Operand = Counted | Absent | float | np.ndarray


def tally(function: Callable[..., object], inputs: Mapping[str, tuple[int, ...]]) -> Count:
    """Operations that `function` does on arrays of these shapes, called by keyword.

    >>> tally(lambda x: x @ x + 1.0, {"x": (3,)})
    Count(multiplications=3, additions=3, divisions=0, square_roots=0, trigonometric=0, other=0)
    """
    kinds = dict.fromkeys(Count.__dataclass_fields__, 0)
    arrays = {name: np.full(shape, Counted(kinds), object) for name, shape in inputs.items()}
    try:
        function(**arrays)
    except (TypeError, AttributeError, ValueError) as error:
        raise CompileError(f"its operations cannot be counted as written: {error}") from error
    return Count(**kinds)
