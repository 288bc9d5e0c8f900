"""The value table: instructions without duplicates, by signed, commutative value numbering.

Every value is a pair (number, sign), so that `a - b` and `b - a`, `(-a) * b` and `a * b`, `sin(-x)`
and `sin(x)` are one operation each. Signs are carried through products and sums, where they
cost nothing, and become a NEG only where nothing else can absorb them. Tracing writes into such a
table, derivatives are taken in it, and programs are made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.interpreter import MEANING
from dalembert.tracing.program import Op, Port, Program, depth_first, program

_ODD = frozenset(
    {Op.SIN, Op.TAN, Op.ASIN, Op.ATAN, Op.SINH, Op.TANH, Op.ASINH, Op.ATANH, Op.ERF, Op.SIGN}
)
_EVEN = frozenset({Op.COS, Op.COSH, Op.ABS, Op.SQ})
_COMMUTE = frozenset({Op.MIN, Op.MAX, Op.EQ, Op.NE, Op.AND, Op.OR, Op.HYPOT})

# as numbers, which are read quicker than members
_CONST, _ADD, _SUB, _MUL = map(int, (Op.CONST, Op.ADD, Op.SUB, Op.MUL))
_DIV, _SQ, _INPUT, _NEG = map(int, (Op.DIV, Op.SQ, Op.INPUT, Op.NEG))

Signed = tuple[int, int]
"""A value number and its sign, +1 or -1."""
Node = tuple[int, Any, int]
"""An operation and its operands: value numbers, or the `Symbol` of an INPUT; -1 for none."""


def simplify(source: Program) -> Program:
    """An equivalent program without repeated, trivial or unused operations.

    Sums and products are treated as for real numbers (`x - x` is 0 and `0 * x` is 0, also where x
    may be infinite), and a quotient by a constant becomes a product.
    """
    table = Table()
    count = sum(port.size for port in source.inputs)
    results = table.replayed(source, [table.input(k) for k in range(count)])
    return table.program(source.name, source.inputs, source.outputs, results)


class Symbol:
    """An input that has a name and an identity: two symbols of one name are different inputs."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Table:
    """Instructions without duplicates: asking again for a value returns its number.

    Operands have smaller numbers than what is made of them. The operand of an INPUT is a `Symbol`,
    or the position of an input where a program is being rewritten. A table that `is_trace` belongs
    to a trace in progress: values that meet its own are copied into it.
    """

    def __init__(self, is_trace: bool = False) -> None:
        self.is_trace = is_trace
        self.nodes: list[Node] = []
        self.numbers: dict[Node, int] = {}
        self.constants: list[float] = []
        self.known: dict[float, int] = {}
        self.values: list[float | None] = []  # of constants, None of anything else
        self.copies: WeakKeyDictionary[Table, dict[int, Signed]] = WeakKeyDictionary()

    def input(self, symbol: Symbol | int) -> Signed:
        """The value of an input."""
        return self.node(_INPUT, symbol), 1

    def node(self, op: int, a: Symbol | int, b: int = -1) -> int:
        key = (op, a, b)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
            self.values.append(None)
        return number

    def constant(self, value: float) -> Signed:
        sign = -1 if value == value and value < 0.0 else 1  # comparing NaN raises a flag
        return self._literal(sign * value), sign

    def _literal(self, value: float) -> int:
        number = self.known.get(value)
        if number is None:
            self.constants.append(value)
            number = self.known[value] = self.node(_CONST, len(self.constants) - 1)
            self.values[number] = value
        return number

    def number(self, x: Signed) -> float | None:
        """The value of a constant, None of anything else."""
        value = self.values[x[0]]
        return None if value is None else x[1] * value

    def plain(self, x: Signed) -> int:
        """The number of a value whose sign its user cannot absorb."""
        if x[1] > 0:
            return x[0]
        value = self.number(x)
        return self.node(Op.NEG, x[0]) if value is None else self._literal(value)

    def unary(self, op: int, x: Signed) -> Signed:
        value = self.number(x)
        if op == _NEG:
            return x[0], -x[1]
        if value is not None:
            return self._fold(op, value)
        if op in _ODD:
            return self.node(op, x[0]), x[1]
        return self.node(op, x[0] if op in _EVEN else self.plain(x)), 1

    def binary(self, op: int, x: Signed, y: Signed) -> Signed:
        p, q = self.values[x[0]], self.values[y[0]]
        if p is not None and q is not None:
            return self._fold(op, x[1] * p, y[1] * q)
        if op == _ADD:
            return self.sum(x, y)
        if op == _SUB:
            return self.sum(x, (y[0], -y[1]))
        if op == _MUL:
            return self.product(x, y)
        if op == _DIV:
            return self._quotient(x, y)
        if op == Op.POW and q is not None:
            return self._power(x, y[1] * q)
        if op == Op.SELECT0:
            if p is not None:
                return y if p != 0.0 else self.constant(0.0)
            return y if q == 0.0 else (self.node(op, x[0], y[0]), y[1])
        a, b = self.plain(x), self.plain(y)
        return self.node(op, *(sorted((a, b)) if op in _COMMUTE else (a, b))), 1

    def _fold(self, op: int, *numbers: float) -> Signed:
        with np.errstate(all="ignore"):
            return self.constant(float(MEANING[Op(op)](*map(np.float64, numbers))))

    def sum(self, x: Signed, y: Signed) -> Signed:
        (a, s), (b, t) = x, y
        if self.values[a] == 0.0:
            return y
        if self.values[b] == 0.0:
            return x
        remaining = self._cancelled(a, s, b, t) or self._cancelled(b, t, a, s)
        if remaining is not None:
            return remaining
        if a == b:
            return self._scaled(x, self.constant(float(1 + s * t)))
        if s == t:  # s (a + b)
            op, c, _ = self.nodes[a]
            other, d, _ = self.nodes[b]
            if op == _SQ and other == _SQ:  # sin²x + cos²x
                (first, c, _), (second, d, _) = self.nodes[c], self.nodes[d]
                if c == d and {first, second} == {Op.SIN, Op.COS}:
                    return self.constant(float(s))
            elif op == _MUL and other == _MUL:
                whole = self._complement(a, b)
                if whole is not None:
                    return whole, s
            return self.node(_ADD, a, b) if a < b else self.node(_ADD, b, a), s
        first, second = (a, b) if s > 0 else (b, a)
        if (_SUB, second, first) in self.numbers:  # its negative is there already
            return self.node(_SUB, second, first), -1
        return self.node(_SUB, first, second), 1

    def _cancelled(self, a: int, s: int, b: int, t: int) -> Signed | None:
        """s a + t b where a is itself a sum of which one term is -t b: its other term, else None."""
        op, c, d = self.nodes[a]
        if op == _ADD and s != t:
            return (d, s) if c == b else (c, s) if d == b else None
        if op == _SUB:
            return (d, -s) if c == b and s != t else (c, s) if d == b and s == t else None
        return None

    def _complement(self, a: int, b: int) -> int | None:
        """x where a and b are the products x c and x (1 − c), as in rotations about an axis."""
        _, c, d = self.nodes[a]
        _, e, f = self.nodes[b]
        for x, first in ((c, d), (d, c)):
            second = f if x == e else e if x == f else None
            for c, rest in ((first, second), (second, first)):
                if c is None or rest is None:
                    break
                op, one, less = self.nodes[rest]
                if op == _SUB and less == c and self.values[one] == 1.0:
                    return x
        return None

    def product(self, x: Signed, y: Signed) -> Signed:
        (a, s), (b, t) = x, y
        if self.values[a] is None and self.values[b] is None:
            if a == b:
                return self.node(Op.SQ, a), s * t
            for (op, c, d), other in ((self.nodes[a], b), (self.nodes[b], a)):
                if op == _DIV and d == other:  # (c / d) d
                    return c, s * t
                if op == _DIV and self.values[c] == 1.0:  # (1 / d) x, which may meet d again
                    return self._quotient((other, s * t), (d, 1))
            return self.node(_MUL, a, b) if a < b else self.node(_MUL, b, a), s * t
        return self._scaled(y, x) if self.values[b] is None else self._scaled(x, y)

    def _scaled(self, x: Signed, factor: Signed) -> Signed:
        """The product with a constant, which stands first."""
        (a, s), (b, t) = x, factor
        value = self.values[b]
        if value is None or value == 0.0:
            return factor
        if value == 1.0:
            return a, s * t
        op, c, d = self.nodes[a]
        inner = self.values[c] if op in (_MUL, _DIV) else 2.0 if op == _ADD and c == d else None
        if inner is not None:
            scale, sign = self._fold(Op.MUL, value, inner)
            if op == _DIV:  # k (c / d)
                return self._quotient((scale, s * t * sign), (d, 1))
            return self._scaled((d, s * t), (scale, sign))  # k (c d), and k (d + d)
        return self.node(_ADD, a, a) if value == 2.0 else self.node(_MUL, b, a), s * t

    def _quotient(self, x: Signed, y: Signed) -> Signed:
        value = self.number(y)
        if self.number(x) == 0.0:
            return x
        if value is not None and value != 0.0:
            return self.product(x, self.constant(1.0 / value))
        if x[0] == y[0]:
            return self.constant(float(x[1] * y[1]))
        op, c, d = self.nodes[x[0]]
        if op == _MUL and y[0] in (c, d):  # (c d) / c
            return d if y[0] == c else c, x[1] * y[1]
        return self.node(Op.DIV, x[0], y[0]), x[1] * y[1]

    def _power(self, x: Signed, exponent: float) -> Signed:
        if exponent == 0.0:
            return self.constant(1.0)
        if exponent == 0.5:
            return self.unary(Op.SQRT, x)
        if exponent == -1.0:
            return self._quotient(self.constant(1.0), x)
        if exponent in (1.0, 2.0, 3.0, 4.0):
            square = self.product(x, x)
            powers = (x, square, self.product(x, square), self.product(square, square))
            return powers[int(exponent) - 1]
        return self.node(Op.POW, self.plain(x), self.plain(self.constant(exponent))), 1

    def replayed(self, source: Program, inputs: Sequence[Signed]) -> list[Signed]:
        """The results of a program of these values."""
        values: list[Signed] = []
        for op, a, b in source.rows:
            if op == _INPUT:
                values.append(inputs[a])
            elif op == _CONST:
                values.append(self.constant(float(source.constants[a])))
            elif b >= 0:
                values.append(self.binary(op, values[a], values[b]))
            else:
                values.append(self.unary(op, values[a]))
        return [values[k] for k in source.results.tolist()]

    def substituted(
        self, values: Sequence[Signed], replacements: Mapping[int, Signed]
    ) -> list[Signed]:
        """The values with others in place of some numbers, computed again from there on."""
        return self._copies(self, values, dict(replacements))

    def imported(self, source: Table, values: Iterable[Signed]) -> list[Signed]:
        """Values of another table, computed in this one."""
        values = list(values)
        if source is self:
            return values
        return self._copies(source, values, self.copies.setdefault(source, {}))

    def _copies(
        self, source: Table, values: Sequence[Signed], copied: dict[int, Signed]
    ) -> list[Signed]:
        """Values of a table, computed in this one where they are not `copied` yet."""
        for k in source.below([x for x, _ in values if x not in copied], copied):
            op, a, b = source.nodes[k]
            if op == _CONST:
                copied[k] = self.constant(source.constants[a])
            elif op == _INPUT:
                copied[k] = self.input(a)
            elif b >= 0:
                copied[k] = self.binary(op, copied[a], copied[b])
            else:
                copied[k] = self.unary(op, copied[a])
        return [(copied[x][0], copied[x][1] * s) for x, s in values]

    def below(self, roots: Iterable[int], known: Mapping[int, Any] | None = None) -> list[int]:
        """The numbers that roots are made of, themselves included, rising; not what is `known`."""
        numbers = set(roots)
        stack = list(numbers)
        nodes = self.nodes
        while stack:
            op, a, b = nodes[stack.pop()]
            if op <= _INPUT:  # a leaf
                continue
            for k in (a, b):
                if k >= 0 and k not in numbers and (known is None or k not in known):
                    numbers.add(k)
                    stack.append(k)
        return sorted(numbers)

    def symbols_below(self, values: Iterable[Signed]) -> list[Symbol]:
        """The symbols that values depend on, those of the first value first."""
        rows = (self.nodes[k] for k in depth_first(self._operands, [x for x, _ in values]))
        return [a for op, a, _ in rows if op == _INPUT]

    def _operands(self, k: int) -> tuple[int, ...]:
        op, a, b = self.nodes[k]
        return () if op <= _INPUT else (a, b) if b >= 0 else (a,)

    def program(
        self,
        name: str,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        values: Sequence[Signed],
        symbols: Sequence[Symbol] | None = None,
    ) -> Program:
        """Only what these results need, depth first: a value stands shortly before its first use.

        `symbols` are the entries of all inputs; without them inputs are known by their position.
        """
        position = None if symbols is None else {symbol: k for k, symbol in enumerate(symbols)}
        results = [self.plain(x) for x in values]
        order = depth_first(self._operands, results)
        renumber = {old: new for new, old in enumerate(order)}
        instructions, constants = [], []
        for old in order:
            op, a, b = self.nodes[old]
            if op == _CONST:
                constants.append(self.constants[a])
                instructions.append((op, len(constants) - 1, -1))
            elif op == _INPUT:
                if position is not None and a not in position:
                    raise CompileError(f"{name} depends on {a}, which is none of its inputs")
                instructions.append((op, a if position is None else position[a], -1))
            else:
                instructions.append((op, renumber[a], renumber[b] if b >= 0 else -1))
        numbers = [renumber[k] for k in results]
        return program(name, inputs, outputs, instructions, constants, numbers)
