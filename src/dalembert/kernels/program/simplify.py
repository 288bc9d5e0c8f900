"""The same program with fewer operations: signed, commutative value numbering.

Every value is a pair (number, sign), so that `a - b` and `b - a`, `(-a) * b` and `a * b`, `sin(-x)`
and `sin(x)` are one operation each. Signs are carried through products and sums, where they
cost nothing, and become a NEG only where nothing else can absorb them.
"""

import numpy as np

from dalembert.kernels.program.interpret import MEANING
from dalembert.kernels.program.program import BINARY, LEAVES, Op, Program, program

_ODD = frozenset(
    {Op.SIN, Op.TAN, Op.ASIN, Op.ATAN, Op.SINH, Op.TANH, Op.ASINH, Op.ATANH, Op.ERF, Op.SIGN}
)
_EVEN = frozenset({Op.COS, Op.COSH, Op.ABS, Op.SQ})
_COMMUTE = frozenset({Op.MIN, Op.MAX, Op.EQ, Op.NE, Op.AND, Op.OR, Op.HYPOT})

Signed = tuple[int, int]
"""A value number and its sign, +1 or -1."""


def simplify(source: Program) -> Program:
    """An equivalent program without repeated, trivial or unused operations.

    Sums and products are treated as for real numbers (`x - x` is 0 and `0 * x` is 0, also where x
    may be infinite), and a quotient by a constant becomes a product.
    """
    table = _Table()
    values: list[Signed] = []
    instructions = zip(source.op.tolist(), source.a.tolist(), source.b.tolist(), strict=True)
    for op, a, b in instructions:
        if op == Op.INPUT:
            values.append((table.node(Op.INPUT, a), 1))
        elif op == Op.CONST:
            values.append(table.constant(float(source.constants[a])))
        elif op in BINARY:
            values.append(table.binary(Op(op), values[a], values[b]))
        else:
            values.append(table.unary(Op(op), values[a]))
    results = [table.plain(values[k]) for k in source.results.tolist()]
    return _sweep(source, table, results)


class _Table:
    """Instructions without duplicates: asking again for a value returns its number."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, int, int]] = []
        self.numbers: dict[tuple[int, int, int], int] = {}
        self.constants: list[float] = []
        self.known: dict[float, int] = {}

    def node(self, op: Op, a: int, b: int = -1) -> int:
        key = (int(op), a, b)
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return self.numbers[key]

    def constant(self, value: float) -> Signed:
        sign = -1 if value < 0.0 else 1
        return self._literal(sign * value), sign

    def _literal(self, value: float) -> int:
        if value not in self.known:
            self.known[value] = self.node(Op.CONST, len(self.constants))
            self.constants.append(value)
        return self.known[value]

    def number(self, x: Signed) -> float | None:
        """The value of a constant, None of anything else."""
        op, a, _ = self.nodes[x[0]]
        return x[1] * self.constants[a] if op == Op.CONST else None

    def plain(self, x: Signed) -> int:
        """The number of a value whose sign its user cannot absorb."""
        if x[1] > 0:
            return x[0]
        value = self.number(x)
        return self.node(Op.NEG, x[0]) if value is None else self._literal(value)

    def unary(self, op: Op, x: Signed) -> Signed:
        value = self.number(x)
        if op == Op.NEG:
            return x[0], -x[1]
        if value is not None:
            return self._fold(op, value)
        if op in _ODD:
            return self.node(op, x[0]), x[1]
        return self.node(op, x[0] if op in _EVEN else self.plain(x)), 1

    def binary(self, op: Op, x: Signed, y: Signed) -> Signed:
        p, q = self.number(x), self.number(y)
        if p is not None and q is not None:
            return self._fold(op, p, q)
        if op == Op.ADD:
            return self._sum(x, y)
        if op == Op.SUB:
            return self._sum(x, (y[0], -y[1]))
        if op == Op.MUL:
            return self._product(x, y)
        if op == Op.DIV:
            return self._quotient(x, y)
        if op == Op.POW and q is not None:
            return self._power(x, q)
        if op == Op.SELECT0:
            return self._select(x, y)
        a, b = self.plain(x), self.plain(y)
        return self.node(op, *(sorted((a, b)) if op in _COMMUTE else (a, b))), 1

    def _fold(self, op: Op, *numbers: float) -> Signed:
        with np.errstate(all="ignore"):
            return self.constant(float(MEANING[op](*map(np.float64, numbers))))

    def _sum(self, x: Signed, y: Signed) -> Signed:
        if self.number(x) == 0.0:
            return y
        if self.number(y) == 0.0:
            return x
        (a, s), (b, t) = x, y
        if s == t:  # s (a + b)
            return self.node(Op.ADD, min(a, b), max(a, b)), s
        if a == b:
            return self.constant(0.0)
        if (int(Op.SUB), b, a) in self.numbers:  # s (a - b) = -s (b - a), which is there already
            return self.node(Op.SUB, b, a), -s
        return (self.node(Op.SUB, a, b), 1) if s > 0 else (self.node(Op.SUB, b, a), 1)

    def _product(self, x: Signed, y: Signed) -> Signed:
        if self.number(x) is not None:
            x, y = y, x
        (a, s), (b, t), value = x, y, self.number(y)
        if value == 0.0:
            return y
        if value is not None and abs(value) == 1.0:
            return a, s * t
        op, c, d = self.nodes[a]
        if value is not None and op == Op.MUL and self.number((c, 1)) is not None:  # k (c d)
            scale = self._fold(Op.MUL, value, self.constants[self.nodes[c][1]])
            return self._product((d, s), scale)
        if a == b:
            return self.node(Op.SQ, a), s * t
        # a constant factor stands first
        first, second = (b, a) if value is not None else (min(a, b), max(a, b))
        return self.node(Op.MUL, first, second), s * t

    def _quotient(self, x: Signed, y: Signed) -> Signed:
        value = self.number(y)
        if self.number(x) == 0.0:
            return x
        if value is not None and value != 0.0:
            return self._product(x, self.constant(1.0 / value))
        if x[0] == y[0]:
            return self.constant(float(x[1] * y[1]))
        return self.node(Op.DIV, x[0], y[0]), x[1] * y[1]

    def _power(self, x: Signed, exponent: float) -> Signed:
        if exponent == 0.0:
            return self.constant(1.0)
        if exponent == 0.5:
            return self.unary(Op.SQRT, x)
        if exponent == -1.0:
            return self._quotient(self.constant(1.0), x)
        if exponent in (1.0, 2.0, 3.0, 4.0):
            square = self._product(x, x)
            return {1.0: x, 2.0: square, 3.0: self._product(x, square)}.get(
                exponent, self._product(square, square)
            )
        return self.node(Op.POW, self.plain(x), self.plain(self.constant(exponent))), 1

    def _select(self, x: Signed, y: Signed) -> Signed:
        condition = self.number(x)
        if condition is not None:
            return y if condition != 0.0 else self.constant(0.0)
        if self.number(y) == 0.0:
            return y
        return self.node(Op.SELECT0, x[0], y[0]), y[1]


def _sweep(source: Program, table: _Table, results: list[int]) -> Program:
    """Only what the results need, depth first: a value stands shortly before its first use."""
    order = _depth_first(table.nodes, results)
    renumber = {old: new for new, old in enumerate(order)}
    instructions, constants = [], []
    for old in order:
        op, a, b = table.nodes[old]
        if op == Op.CONST:
            constants.append(table.constants[a])
            instructions.append((op, len(constants) - 1, -1))
        elif op == Op.INPUT:
            instructions.append((op, a, -1))
        else:
            instructions.append((op, renumber[a], renumber[b] if b >= 0 else -1))
    return program(
        source.name,
        source.inputs,
        source.outputs,
        instructions,
        constants,
        [renumber[k] for k in results],
    )


def _depth_first(nodes: list[tuple[int, int, int]], roots: list[int]) -> list[int]:
    order: list[int] = []
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        k = stack.pop()
        if k in done:
            continue
        op, a, b = nodes[k]
        waiting = [] if op in LEAVES else [j for j in (b, a) if j >= 0 and j not in done]
        if waiting:
            stack += [k, *waiting]
        else:
            done.add(k)
            order.append(k)
    return order
