"""A program: straight-line arithmetic on numbers, in single-assignment form.

Value `i` is `op[i]` applied to the earlier values `a[i]` and `b[i]`. There are no loops, no
branches and no arrays inside; the ports say how the flat inputs and outputs are shaped. Everything
else in this folder turns functions into programs, or programs into something that runs.
"""

import enum
import hashlib
import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

Op = enum.IntEnum(
    "Op",
    "CONST INPUT NEG ADD SUB MUL DIV SQ SQRT SIN COS TAN ASIN ACOS ATAN ATAN2 SINH COSH TANH ASINH "
    "ACOSH ATANH EXP EXPM1 LOG LOG1P POW HYPOT ERF ABS SIGN FLOOR CEIL FMOD REMAINDER COPYSIGN MIN "
    "MAX LT LE EQ NE NOT AND OR SELECT0",
    start=0,
)
"""Operation of one instruction; truth values are 1.0 and 0.0, and SELECT0 is `a ? b : 0`.

MIN and MAX are `np.minimum` and `np.maximum`: where one operand is NaN, so is the result. Digests
contain the numbers of the operations: new ones come last.
"""

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
    def operands(self) -> list[tuple[int, ...]]:
        """The values that each instruction reads; none for constants and inputs."""
        return [() if op in LEAVES else (a, b) if b >= 0 else (a,) for op, a, b in self.rows]

    def gather(self, own: Iterable[int]) -> list[int]:
        """For each value its own bits together with those of everything it is computed from."""
        gathered: list[int] = []
        for bits, operands in zip(own, self.operands, strict=True):
            for j in operands:
                bits |= gathered[j]
            gathered.append(bits)
        return gathered

    @property
    def last_uses(self) -> dict[int, int]:
        """The last instruction that reads each value, of those that are read."""
        return {j: i for i, operands in enumerate(self.operands) for j in operands}

    @property
    def digest(self) -> str:
        """Hash of everything that decides what the program computes and how it is called."""
        state = hashlib.sha256(repr((self.name, self.inputs, self.outputs)).encode())
        for array in (self.op, self.a, self.b, self.constants, self.results):
            state.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return state.hexdigest()


def depth_first(
    operands: Callable[[int], Sequence[int]], roots: Sequence[int], known: Container[int] = ()
) -> list[int]:
    """What roots are computed from, operands before values, without what is `known`.

    >>> depth_first([(), (), (0, 1), (1, 0)].__getitem__, [3, 2], known=[1])
    [0, 3, 2]
    """
    order: list[int] = []
    done: set[int] = set()
    stack = [*reversed(roots)]
    while stack:
        k = stack.pop()
        if k in done or k in known:
            continue
        missing = [j for j in reversed(operands(k)) if j not in done and j not in known]
        if missing:
            stack += [k, *missing]
        else:
            done.add(k)
            order.append(k)
    return order


def port_slices(ports: Iterable[Port]) -> list[slice]:
    """Where the entries of each port are, all ports concatenated.

    >>> port_slices([Port("q", (6,)), Port("x", ())])
    [slice(0, 6, None), slice(6, 7, None)]
    """
    ends = accumulate((port.size for port in ports), initial=0)
    return [slice(*span) for span in pairwise(ends)]


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
