"""A program: straight-line arithmetic on numbers, in single-assignment form.

Value `i` is `op[i]` applied to the earlier values `a[i]` and `b[i]`. There are no loops, no
branches and no arrays inside; the ports say how the flat inputs and outputs are shaped. Everything
else in this folder turns functions into programs, or programs into something that runs.
"""

import enum
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


class Op(enum.IntEnum):
    """Operation of one instruction; truth values are 1.0 and 0.0.

    MIN and MAX are `np.minimum` and `np.maximum`: where one operand is NaN, so is the result.
    """

    CONST = 0
    INPUT = 1
    NEG = 2
    ADD = 3
    SUB = 4
    MUL = 5
    DIV = 6
    SQ = 7
    SQRT = 8
    SIN = 9
    COS = 10
    TAN = 11
    ASIN = 12
    ACOS = 13
    ATAN = 14
    ATAN2 = 15
    SINH = 16
    COSH = 17
    TANH = 18
    ASINH = 19
    ACOSH = 20
    ATANH = 21
    EXP = 22
    EXPM1 = 23
    LOG = 24
    LOG1P = 25
    POW = 26
    HYPOT = 27
    ERF = 28
    ABS = 29
    SIGN = 30
    FLOOR = 31
    CEIL = 32
    FMOD = 33
    REMAINDER = 34
    COPYSIGN = 35
    MIN = 36
    MAX = 37
    LT = 38
    LE = 39
    EQ = 40
    NE = 41
    NOT = 42
    AND = 43
    OR = 44
    SELECT0 = 45  # a ? b : 0


LEAVES = frozenset({Op.CONST, Op.INPUT})
BINARY = frozenset(
    {Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ATAN2, Op.POW, Op.HYPOT, Op.FMOD, Op.REMAINDER}
    | {Op.COPYSIGN, Op.MIN, Op.MAX, Op.LT, Op.LE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.SELECT0}
)


@dataclass(frozen=True)
class Port:
    """A named input or output array of one state.

    >>> Port("pose", (4, 4)).size, Port("mass", ()).size
    (16, 1)
    """

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions and ports; `a` and `b` are value numbers smaller than the instruction's own.

    For INPUT, `a` is the flat position over all inputs concatenated in C order; for CONST, the
    index into `constants`. Unused operands are -1. `results` holds the value number of every entry
    of all outputs, concatenated in C order.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    op: np.ndarray
    a: np.ndarray
    b: np.ndarray
    constants: np.ndarray
    results: np.ndarray

    def __len__(self) -> int:
        return len(self.op)

    @property
    def signature(self) -> str:
        """The generalized-ufunc signature, with frozen sizes: `"(6),()->(6,6)"`."""
        return signature(self.inputs, self.outputs)

    @property
    def rows(self) -> list[tuple[int, int, int]]:
        """(op, a, b) of every instruction."""
        return list(zip(self.op.tolist(), self.a.tolist(), self.b.tolist(), strict=True))

    @property
    def digest(self) -> str:
        """Hash of everything that decides what the program computes and how it is called."""
        state = hashlib.sha256(repr((self.name, self.inputs, self.outputs)).encode())
        for array in (self.op, self.a, self.b, self.constants, self.results):
            state.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return state.hexdigest()


def signature(inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """The gufunc signature of ports, with sizes as they are.

    >>> signature([Port("q", (6,)), Port("x", ())], [Port("M", (6, 6))])
    '(6),()->(6,6)'
    """
    sides = (
        ",".join(f"({','.join(map(str, port.shape))})" for port in s) for s in (inputs, outputs)
    )
    return "->".join(sides)


def program(
    name: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    instructions: Sequence[tuple[int, int, int]] | np.ndarray,
    constants: Sequence[float] | np.ndarray,
    results: Sequence[int] | np.ndarray,
) -> Program:
    """Assemble a program from lists or arrays; its own arrays are read-only."""
    table = np.array(instructions, dtype=np.int32).reshape(-1, 3).T
    op, a, b = (np.ascontiguousarray(row) for row in table)
    arrays = (op, a, b, np.array(constants, dtype=float), np.array(results, dtype=np.int32))
    for array in arrays:
        array.flags.writeable = False
    return Program(name, inputs, outputs, *arrays)
