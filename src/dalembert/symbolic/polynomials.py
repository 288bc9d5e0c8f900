"""A program as polynomials in its inputs and in the cosines and sines of its angles.

The arithmetic runs in one of SymPy's polynomial rings over the rationals, so that equal things
cancel and zero is zero. Whatever is no polynomial (a root, a quotient) becomes a generator itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

from dalembert.errors import EquationError
from dalembert.symbolic.affine import affine_forms
from dalembert.symbolic.budget import Budget
from dalembert.symbolic.operations import apply, exact, input_symbols, number
from dalembert.tracing.program import BINARY, Op, Program

LIMIT = 60_000  # terms of one polynomial: more is nothing to read
WORK = 1_000_000  # products of terms in one multiplication
QUICK = 200_000  # products of terms that are made even when the time is over


class TooLargeError(EquationError):
    """Multiplied out, the program is too large, or the time for it is over."""


@dataclass(frozen=True)
class Angle:
    """Positions of cos and sin of an angle among the generators."""

    cos: int
    sin: int
    argument: sympy.Expr


@dataclass(frozen=True)
class Polynomials:
    """The outputs of a program, flat in C order, as elements of `ring`.

    `generators[k]` is what generator k stands for; `angles` are reduced by sin² = 1 − cos². Where it
    stands for 1/d, `reciprocals[k]` is the polynomial d.
    """

    ring: PolyRing
    generators: tuple[sympy.Expr, ...]
    angles: tuple[Angle, ...]
    entries: tuple[PolyElement, ...]
    reciprocals: Mapping[int, PolyElement] = field(default_factory=dict)

    def positions(self, symbols: Sequence[sympy.Expr]) -> tuple[int, ...]:
        """Where these symbols are among the generators."""
        return tuple(self.generators.index(symbol) for symbol in symbols)

    def widened(self, count: int) -> Polynomials:
        """The same with `count` more angles, which no entry has yet."""
        size = len(self.generators)
        ring = PolyRing([f"x{k}" for k in range(size + 2 * count)], QQ, "lex")
        free = (0,) * (2 * count)

        def lifted(f: PolyElement) -> PolyElement:
            return ring.from_dict({m + free: c for m, c in f.items()})

        entries = tuple(map(lifted, self.entries))
        below = {k: lifted(f) for k, f in self.reciprocals.items()}
        pairs = [(size + 2 * k, size + 2 * k + 1) for k in range(count)]
        angles = [Angle(c, s, sympy.S.Zero) for c, s in pairs]
        # an angle of zero until it is given a meaning
        meaning = (*self.generators, *[sympy.S.One, sympy.S.Zero] * count)
        return Polynomials(ring, meaning, (*self.angles, *angles), entries, below)


def polynomials(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]] | None = None,
    budget: Budget | None = None,
) -> Polynomials:
    """Run the program on polynomials; `TooLargeError` if that leads nowhere.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> p = trace(lambda q: np.cos(q) ** 2 + np.sin(q) ** 2, {"q": (1,)})
    >>> polynomials(p).entries
    (1,)
    """
    return _Machine(program, input_symbols(program, symbols)).run(budget or Budget(None))


def linear_parameters(
    source: Polynomials, candidates: Sequence[sympy.Symbol]
) -> tuple[sympy.Symbol, ...]:
    """Candidates that occur, in the first degree only and never two of them in one product."""
    monomials = {m for f in source.entries for m in f}
    found: list[int] = []
    for k in source.positions([s for s in candidates if s in source.generators]):
        own = [m for m in monomials if m[k]]
        if own and all(m[k] == 1 and not any(m[j] for j in found) for m in own):
            found.append(k)
    return tuple(source.generators[k] for k in found)


def reduce_sines(f: PolyElement, angles: Sequence[Angle]) -> PolyElement:
    """The polynomial with every sin² replaced by 1 − cos²."""
    for angle in angles:
        f = _reduce(f, angle.sin, angle.cos)
    return f


def _reduce(f: PolyElement, high: int, low: int) -> PolyElement:
    """x² → 1 − y² for generators x (`high`) and y (`low`), until x is of degree one at most."""
    if not any(monomial[high] > 1 for monomial in f):
        return f
    done: dict[tuple[int, ...], Any] = {}
    work = list(f.items())
    for monomial, coefficient in work:  # grows while it is read
        if monomial[high] > 1:
            lower = list(monomial)
            lower[high] -= 2
            work.append((tuple(lower), coefficient))
            lower[low] += 2
            work.append((tuple(lower), -coefficient))
        elif monomial in done:
            done[monomial] += coefficient
        else:
            done[monomial] = coefficient
    return f.new({m: c for m, c in done.items() if c})


class _Machine:
    """Executes a program with polynomials for numbers."""

    def __init__(self, program: Program, symbols: Mapping[str, tuple[sympy.Expr, ...]]):
        self.program = program
        self.inputs = [s for port in symbols.values() for s in port]
        self.code = program.rows
        self.affine = affine_forms(program)
        # angles: an input, or the value number of an argument that is no integer sum of inputs
        self.turned: dict[tuple[str, int], int] = {}
        self.opaque: dict[int, int] = {}
        self.atoms: dict[sympy.Expr, int] = {}
        for k, (op, a, _) in enumerate(self.code):
            if op in (Op.SIN, Op.COS):
                self.turned |= dict.fromkeys(self._angle_keys(a), 0)
            elif not self._is_polynomial(k):
                self.opaque[k] = len(self.opaque)
        # in the order of the inputs, so that what is written does not depend on that of the program
        self.turned = {key: k for k, key in enumerate(sorted(self.turned))}
        count = len(self.inputs) + 2 * len(self.turned) + len(self.opaque)
        self.ring = PolyRing([f"x{k}" for k in range(count)], QQ, "lex")
        self.meaning: list[Any] = [*self.inputs, *[sympy.S.One] * (count - len(self.inputs))]
        self.values: list[PolyElement] = []
        self.angles: list[Angle] = []
        self.reciprocals: dict[int, PolyElement] = {}
        self.work = 0

    def run(self, budget: Budget) -> Polynomials:
        for key, k in self.turned.items():
            at = len(self.inputs) + 2 * k
            self.angles.append(Angle(at, at + 1, sympy.S.Zero))
            if key[0] == "input":
                self._name_angle(k, self.inputs[key[1]])
        for k in range(len(self.code)):
            self.values.append(self._step(k))
            late = self.work > QUICK and budget.exhausted()
            if late or len(self.values[-1]) > LIMIT:
                raise TooLargeError(f"{self.program.name} is too large to be multiplied out")
            budget.report(f"{self.program.name}: multiplying out", k, len(self.code))
        found = _without_rounding([self.values[k] for k in self.program.results.tolist()])
        named = (self.ring, tuple(self.meaning), tuple(self.angles), found)
        return Polynomials(*named, self.reciprocals)

    def _name_angle(self, k: int, argument: sympy.Expr) -> None:
        at = self.angles[k].cos
        self.angles[k] = Angle(at, at + 1, argument)
        self.meaning[at], self.meaning[at + 1] = sympy.cos(argument), sympy.sin(argument)

    def _angle_keys(self, argument: int) -> list[tuple[str, int]]:
        form = self.affine[argument]
        if form and not form[1] and all(c.denominator == 1 for c in form[0].values()):
            return [("input", k) for k in form[0]]
        return [("value", argument)]

    def _is_polynomial(self, k: int) -> bool:
        op, _, b = self.code[k]
        if op == Op.DIV:
            return self.code[b][0] == Op.CONST
        return op in (Op.INPUT, Op.CONST, Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.SQ)

    def _step(self, k: int) -> PolyElement:
        op, a, b = self.code[k]
        if op == Op.INPUT:
            return self.ring.gens[a]
        if op == Op.CONST:
            return self.ring(_rational(exact(float(self.program.constants[a]))))
        if op in (Op.SIN, Op.COS):
            return self._turn(a)[op == Op.SIN]
        x = self.values[a]
        y = self.values[b] if op in BINARY else x
        if op == Op.NEG:
            return -x
        if op == Op.ADD:
            return x + y
        if op == Op.SUB:
            return x - y
        if op in (Op.MUL, Op.SQ):
            self.work += len(x) * len(y)
            if len(x) * len(y) > WORK:
                raise TooLargeError(f"{self.program.name} is too large to be multiplied out")
            return reduce_sines(x * y, self.angles)
        if k not in self.opaque:  # a quotient by a number
            return x * (1 / QQ(y.coeff(1)))
        return self._atom(k, x, y)

    def _turn(self, argument: int) -> tuple[PolyElement, PolyElement]:
        """(cos, sin) of a value: of an integer sum of angles by their addition."""
        keys = self._angle_keys(argument)
        form = self.affine[argument]
        if keys[0][0] == "value" or form is None:
            k = self.turned[keys[0]]
            self._name_angle(k, self.expression(self.values[argument]))
            return self._pair(k)
        cos, sin = self.ring.one, self.ring.zero
        for key in keys:
            times = int(form[0][key[1]])
            c, s = self._pair(self.turned[key])
            s = s if times > 0 else -s
            for _ in range(abs(times)):
                cos, sin = cos * c - sin * s, sin * c + cos * s
                cos, sin = reduce_sines(cos, self.angles), reduce_sines(sin, self.angles)
        return cos, sin

    def _pair(self, k: int) -> tuple[PolyElement, PolyElement]:
        angle = self.angles[k]
        return self.ring.gens[angle.cos], self.ring.gens[angle.sin]

    def _atom(self, k: int, x: PolyElement, y: PolyElement) -> PolyElement:
        """A generator for what is no polynomial; a quotient is a product with 1/y."""
        op = Op(self.code[k][0])
        if op == Op.DIV:
            meaning = self._reciprocal(y)
        else:
            arguments = (x, y) if op in BINARY else (x,)
            meaning = apply(op, *map(self.expression, arguments))
        at = len(self.inputs) + 2 * len(self.turned) + self.opaque[k]
        at = self.atoms.setdefault(meaning, at)
        self.meaning[at] = meaning
        if op == Op.DIV:
            self.reciprocals[at] = y
        return x * self.ring.gens[at] if op == Op.DIV else self.ring.gens[at]

    def _reciprocal(self, y: PolyElement) -> sympy.Expr:
        """1/y with the number and the powers in common of its terms apart, so that they cancel."""
        content, primitive = y.primitive()
        common = tuple(map(min, zip(*primitive, strict=True)))
        rest = primitive.new(
            {tuple(a - b for a, b in zip(m, common, strict=True)): c for m, c in primitive.items()}
        )
        return 1 / (term(common, content, self.meaning) * self.expression(rest))

    def expression(self, f: PolyElement) -> sympy.Expr:
        return to_expression(f, self.meaning)


def _without_rounding(entries: list[PolyElement]) -> tuple[PolyElement, ...]:
    """The entries without terms that only rounding of the program's numbers has left."""
    largest = max((abs(c) for f in entries for c in f.values()), default=0)
    least = _rational(Fraction(1, 10**14)) * largest
    return tuple(
        f.new({m: c for m, c in f.items() if abs(c) > least})
        if any(abs(c) <= least for c in f.values())
        else f
        for f in entries
    )


def to_expression(f: PolyElement, meaning: Sequence[sympy.Expr]) -> sympy.Expr:
    """The polynomial as a SymPy sum, with `meaning[k]` for generator k."""
    return sympy.Add(*(term(m, c, meaning) for m, c in f.terms()))


def term(monomial: Sequence[int], coefficient: Any, meaning: Sequence[sympy.Expr]) -> sympy.Expr:
    """One term of a polynomial as a SymPy product."""
    factors = [meaning[k] ** power for k, power in enumerate(monomial) if power]
    return sympy.Mul(number(fraction(coefficient)), *factors)


def fraction(coefficient: Any) -> Fraction:
    """An element of QQ as a Python fraction."""
    return Fraction(int(coefficient.numerator), int(coefficient.denominator))


def _rational(value: Fraction) -> Any:
    return QQ(value.numerator, value.denominator)
