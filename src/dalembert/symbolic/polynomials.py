"""A program as polynomials in its inputs and in the cosines and sines of its angles.

The arithmetic runs in one of SymPy's polynomial rings over the rationals, so that equal terms cancel
and zero is zero. A value that is no polynomial (a root, a quotient) becomes a generator itself.
Polynomials are then written as products (content, monomials and irreducible factors, with a
textbook's signs), and entries with denominators as one cancelled quotient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import sympy
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

from dalembert.errors import EquationError
from dalembert.symbolic.budget import Budget
from dalembert.symbolic.operations import affine_forms, apply, exact, input_symbols, number
from dalembert.tracing.program import BINARY, Op, Program

LIMIT = 60_000  # terms of one polynomial: more is nothing to read
WORK = 1_000_000  # products of terms in one multiplication
LONG = 30  # operations of a root or quotient that gets a name where it stands in others
SHORT_CONSTANT = 4  # terms of a sum of constants that needs no name
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
    stands for 1/d, `reciprocals[k]` is the polynomial d. The last entries are what the symbols
    `names` stand for, each in the generators and in names before it. `long` are names of roots and
    quotients that are too long to stand in another one.
    """

    ring: PolyRing
    generators: tuple[sympy.Expr, ...]
    angles: tuple[Angle, ...]
    entries: tuple[PolyElement, ...]
    reciprocals: Mapping[int, PolyElement] = field(default_factory=dict)
    names: tuple[sympy.Symbol, ...] = ()
    long: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)

    def positions(self, symbols: Sequence[sympy.Expr]) -> tuple[int, ...]:
        """Where those of these symbols that are generators are among them."""
        return tuple(self.generators.index(s) for s in symbols if s in self.generators)

    def widened(self, count: int) -> Polynomials:
        """The same with `count` more angles, which no entry has yet."""
        size = len(self.generators)
        ring = PolyRing([f"x{k}" for k in range(size + 2 * count)], QQ, "lex")
        entries = tuple(f.set_ring(ring) for f in self.entries)
        below = {k: f.set_ring(ring) for k, f in self.reciprocals.items()}
        pairs = [(size + 2 * k, size + 2 * k + 1) for k in range(count)]
        angles = [Angle(c, s, sympy.S.Zero) for c, s in pairs]
        # an angle of zero until it gets a meaning
        meaning = (*self.generators, *[sympy.S.One, sympy.S.Zero] * count)
        wider = (*self.angles, *angles)
        return Polynomials(ring, meaning, wider, entries, below, self.names, self.long)


def polynomials(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]] | None = None,
    budget: Budget | None = None,
    names: Mapping[int, sympy.Expr] | None = None,
    constant: Sequence[sympy.Expr] = (),
    limit: int | None = None,
    long: Iterator[str] | None = None,
) -> Polynomials:
    """Run the program on polynomials; `TooLargeError` beyond `limit` (60 000) terms, or without time.

    `names` are symbols, or symbols with a minus sign, for some values by their numbers in the
    program: a sum or a quotient is replaced by its symbol in what is computed from it, unless it
    is a short sum of `constant` symbols. With names, only the first output is written. `long` are
    names for long roots and quotients; by default these stand as they are.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> p = trace(lambda q: np.cos(q) ** 2 + np.sin(q) ** 2, {"q": (1,)})
    >>> polynomials(p).entries
    (1,)
    """
    inputs = input_symbols(program, symbols)
    longest = LIMIT if limit is None else limit
    machine = _PolynomialInterpreter(program, inputs, names or {}, constant, longest, long)
    return machine.run(budget or Budget(None))


def linear_parameters(
    source: Polynomials, candidates: Sequence[sympy.Symbol]
) -> tuple[sympy.Symbol, ...]:
    """Candidates that occur, in the first degree only and never two of them in one product."""
    monomials = {m for f in source.entries for m in f}
    linear: list[int] = []
    for k in source.positions(candidates):
        own = [m for m in monomials if m[k]]
        if own and all(m[k] == 1 and not any(m[j] for j in linear) for m in own):
            linear.append(k)
    return tuple(source.generators[k] for k in linear)


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


POLYNOMIAL = (Op.INPUT, Op.CONST, Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.SQ)


class _PolynomialInterpreter:
    """Executes a program with polynomials for numbers."""

    def __init__(
        self,
        program: Program,
        symbols: Mapping[str, tuple[sympy.Expr, ...]],
        names: Mapping[int, sympy.Expr],
        constant: Sequence[sympy.Expr],
        limit: int,
        long: Iterator[str] | None,
    ) -> None:
        self.program = program
        self.names = names
        self.limit = limit
        self.free_names = long
        self.long: dict[sympy.Symbol, sympy.Expr] = {}
        self.inputs = [s for port in symbols.values() for s in port]
        self.constant = [k for k, s in enumerate(self.inputs) if s in constant]
        self.code = program.rows
        self.affine = affine_forms(program)
        # angles: an input, or the value number of an argument that is no integer sum of inputs
        self.angle_numbers: dict[tuple[str, int], int] = {}
        self.opaque: dict[int, int] = {}
        self.atoms: dict[sympy.Expr, int] = {}
        for k, (op, a, b) in enumerate(self.code):
            if op in (Op.SIN, Op.COS):
                self.angle_numbers |= dict.fromkeys(self._angle_keys(a), 0)
            elif op not in POLYNOMIAL and not (op == Op.DIV and self.code[b][0] == Op.CONST):
                self.opaque[k] = len(self.opaque)
        # in the order of the inputs, so that what is written does not depend on that of the program
        self.angle_numbers = {key: k for k, key in enumerate(sorted(self.angle_numbers))}
        self.first_name = len(self.inputs) + 2 * len(self.angle_numbers) + len(self.opaque)
        count = self.first_name + len(names)
        self.ring = PolyRing([f"x{k}" for k in range(count)], QQ, "lex")
        self.meaning: list[Any] = [*self.inputs, *[sympy.S.One] * (count - len(self.inputs))]
        self.values: list[PolyElement] = []
        self.angles: list[Angle] = []
        self.reciprocals: dict[int, PolyElement] = {}
        self.named: dict[PolyElement, sympy.Symbol] = {}  # in the order of the program
        self.work = 0

    def run(self, budget: Budget) -> Polynomials:
        for key, k in self.angle_numbers.items():
            at = len(self.inputs) + 2 * k
            self.angles.append(Angle(at, at + 1, sympy.S.Zero))
            if key[0] == "input":
                self._name_angle(k, self.inputs[key[1]])
        for k in range(len(self.code)):
            self.values.append(self._step(k))
            if k in self.names:
                self.values[-1] = self._name(self.names[k], self.values[-1])
            late = self.work > QUICK and budget.exhausted()
            if late or len(self.values[-1]) > self.limit:
                raise TooLargeError(f"{self.program.name} is too large to be multiplied out")
            budget.report(0.5 * k / len(self.code))
        count = self.program.outputs[0].size if self.names else len(self.program.results)
        entries = _without_rounding([self.values[k] for k in self.program.results[:count].tolist()])
        meaning, angles = tuple(self.meaning), tuple(self.angles)
        everything, names = (*entries, *self.named), tuple(self.named.values())
        return Polynomials(
            self.ring, meaning, angles, everything, self.reciprocals, names, self.long
        )

    def _name(self, symbol: sympy.Expr, f: PolyElement) -> PolyElement:
        """The generator of a name for a sum or a quotient, or of the earlier one for ±f."""
        if not symbol.is_Symbol:
            return -self._name(-symbol, -f)
        (f,) = _without_rounding([f])
        if len(f) < 2 and not any(m[k] for m in f for k in self.reciprocals):
            return f
        if len(f) <= SHORT_CONSTANT and self._is_constant(f):
            return f
        if -f in self.named:
            return -self._name(symbol, -f)
        name = self.named.setdefault(f, symbol)
        at = self.first_name + list(self.named).index(f)
        self.meaning[at] = name
        return self.ring.gens[at]

    def _is_constant(self, f: PolyElement) -> bool:
        return all(sum(m) == sum(m[k] for k in self.constant) for m in f)

    def _name_angle(self, k: int, argument: sympy.Expr) -> None:
        at = self.angles[k].cos
        self.angles[k] = Angle(at, at + 1, argument)
        self.meaning[at], self.meaning[at + 1] = sympy.cos(argument), sympy.sin(argument)

    def _angle_keys(self, argument: int) -> list[tuple[str, int]]:
        *coefficients, offset = self.affine[argument]
        if offset or any(c % 1 for c in coefficients):  # NaN where it is not affine
            return [("value", argument)]
        return [("input", k) for k, c in enumerate(coefficients) if c]

    def _step(self, k: int) -> PolyElement:
        op, a, b = self.code[k]
        if op == Op.INPUT:
            return self.ring.gens[a]
        if op == Op.CONST:
            value = exact(float(self.program.constants[a]))
            return self.ring(QQ(value.numerator, value.denominator))
        if op in (Op.SIN, Op.COS):
            return self._cos_sin(a)[op == Op.SIN]
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
        # a value that is no polynomial gets a generator; a quotient is a product with 1/y
        if op == Op.DIV:
            # the number and the powers in common of its terms stand apart, so that they cancel
            content, monomial, rest = _without_common(y)
            below = to_expression(rest, self.meaning)
            meaning = 1 / (term(monomial, content, self.meaning) * below)
        else:
            arguments = (x, y) if op in BINARY else (x,)
            meaning = apply(Op(op), *(to_expression(f, self.meaning) for f in arguments))
        at = len(self.inputs) + 2 * len(self.angle_numbers) + self.opaque[k]
        if meaning in self.atoms:
            at = self.atoms[meaning]
        else:
            self.atoms[meaning] = at
            self.meaning[at] = meaning
            if self.free_names is not None and sympy.count_ops(meaning) > LONG:
                self.meaning[at] = sympy.Symbol(next(self.free_names))
                self.long[self.meaning[at]] = meaning
        if op == Op.DIV:
            self.reciprocals[at] = y
            self.constant += [at] * self._is_constant(y)
        return x * self.ring.gens[at] if op == Op.DIV else self.ring.gens[at]

    def _cos_sin(self, argument: int) -> tuple[PolyElement, PolyElement]:
        """(cos, sin) of a value: of an integer sum of angles by their addition."""
        keys = self._angle_keys(argument)
        if keys and keys[0][0] == "value":
            k = self.angle_numbers[keys[0]]
            self._name_angle(k, to_expression(self.values[argument], self.meaning))
            return self.ring.gens[self.angles[k].cos], self.ring.gens[self.angles[k].sin]
        cos, sin = self.ring.one, self.ring.zero
        for key in keys:
            times = int(self.affine[argument][key[1]])
            angle = self.angles[self.angle_numbers[key]]
            c, s = self.ring.gens[angle.cos], self.ring.gens[angle.sin]
            s = s if times > 0 else -s
            for _ in range(abs(times)):
                cos, sin = cos * c - sin * s, sin * c + cos * s
                cos, sin = reduce_sines(cos, self.angles), reduce_sines(sin, self.angles)
        return cos, sin


def _without_rounding(entries: list[PolyElement]) -> list[PolyElement]:
    """Without terms that only rounding of the program's numbers has left."""
    least = QQ(1, 10**14) * max((abs(c) for f in entries for c in f.values()), default=0)
    return [
        f.new({m: c for m, c in f.items() if abs(c) > least})
        if any(abs(c) <= least for c in f.values())
        else f
        for f in entries
    ]


def _without_common(f: PolyElement) -> tuple[Any, tuple[int, ...], PolyElement]:
    """The number and the powers that all terms have in common, and f without them."""
    content, primitive = f.primitive()
    common = tuple(map(min, zip(*primitive, strict=True)))
    return content, common, primitive.quo_term((common, f.ring.domain.one))


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


def split(f: PolyElement, positions: Collection[int]) -> dict[tuple[int, ...], PolyElement]:
    """f as Σ monomial × coefficient, the monomials in the generators at these positions."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    none = (0,) * f.ring.ngens
    for monomial, coefficient in f.items():
        key, rest = list(none), list(monomial)
        for k in positions:
            if rest[k]:
                key[k], rest[k] = rest[k], 0
        parts.setdefault(tuple(key), {})[tuple(rest)] = coefficient
    return {key: f.new(part) for key, part in parts.items()}


FACTORED_TERMS = 80  # terms above which factors are not looked for
# integer coefficients above which there is no common measure worth printing, and those of a fraction
LARGEST_COEFFICIENT = 10_000
LARGEST_ABOVE = 100


class Product(NamedTuple):
    """number × monomial × Π factor^power, the factors sums of at least two terms."""

    number: Fraction
    monomial: tuple[int, ...]
    factors: tuple[tuple[PolyElement, int], ...]

    def expression(self, meaning: Sequence[sympy.Expr], *more: sympy.Expr) -> sympy.Expr:
        """As a SymPy product, times `more`."""
        single = [meaning[k] ** e for k, e in enumerate(self.monomial) if e]
        sums = [to_expression(f, meaning) ** power for f, power in self.factors]
        return sympy.Mul(number(self.number), *more, *single, *sums)

    @property
    def sums(self) -> int:
        """How many sums are multiplied."""
        return sum(power for _, power in self.factors)


def product(f: PolyElement, deep: bool) -> Product:
    """f as a product: what all terms share and, if `deep`, its irreducible factors.

    >>> from sympy import ring
    >>> R, x, y = ring("x, y", QQ)
    >>> product(-2 * x**2 * y - 4 * x * y**2 - 2 * y**3, deep=True)
    Product(number=Fraction(-2, 1), monomial=(0, 1), factors=((x + y, 2),))
    """
    content, monomial, rest = _without_common(f)
    scale = fraction(content)
    if len(rest) == 1:
        return Product(scale * fraction(rest.LC), monomial, ())
    factors = [(rest, 1)]
    # numbers without a common measure: 4.905 and ⅓ are no 2943 and 200 times 1/600
    largest = LARGEST_COEFFICIENT if content.denominator == 1 else LARGEST_ABOVE
    if max(map(abs, rest.values())) > largest:
        return _signed(Product(Fraction(1), monomial, ((rest * content, 1),)))
    if deep and len(rest) <= FACTORED_TERMS and not _surely_irreducible(rest):
        # factors over the rationals, computed in the ring of the generators that occur
        used = [x for k, x in enumerate(f.ring.symbols) if any(m[k] for m in rest)]
        unit, irreducible = rest.set_ring(PolyRing(used, QQ, "lex")).factor_list()
        scale *= fraction(unit)
        factors = [(g.set_ring(f.ring), power) for g, power in irreducible]
    return _signed(Product(scale, monomial, tuple(factors)))


def multiple(f: PolyElement, of: PolyElement) -> Any:
    """f / of if that is a number worth printing, else None.

    >>> from sympy import ring
    >>> R, x, y = ring("x, y", QQ)
    >>> fraction(multiple(2 * x + 4 * y, x + 2 * y)), multiple(x, y)
    (Fraction(2, 1), None)
    """
    if not f or f.keys() != of.keys():
        return None
    ratio = f.LC / of.LC
    simple = max(abs(ratio.numerator), ratio.denominator) <= LARGEST_COEFFICIENT
    return ratio if simple and f == of * ratio else None


def _surely_irreducible(f: PolyElement) -> bool:
    """True if some generator x has f = A x + B with A or B a single term.

    A factor without x would divide both, so it would be a monomial, and f has no monomial factor.
    """
    for k in range(f.ring.ngens):
        degrees = [m[k] for m in f]
        if max(degrees) == 1 and 1 in (sum(degrees), len(degrees) - sum(degrees)):
            return True
    return False


def _signed(value: Product) -> Product:
    """No factor all negative; a minus sign left over goes into the first sum of mixed signs."""
    scale, factors = value.number, list(value.factors)
    for k, (f, power) in enumerate(factors):
        if all(c < 0 for c in f.values()):
            factors[k] = (-f, power)
            scale *= (-1) ** power
    if scale < 0:
        for k, (f, power) in enumerate(factors):
            if power % 2 and any(c < 0 for c in f.values()):
                factors[k] = (-f, power)
                scale = -scale
                break
    return Product(scale, value.monomial, tuple(factors))


CANCELLED_PRODUCTS = 10_000  # products of terms up to which common factors are looked for


class Quotient(NamedTuple):
    """above / below, without common factors."""

    above: PolyElement
    below: PolyElement


def quotient(source: Polynomials, f: PolyElement) -> Quotient | None:
    """f with its reciprocals brought under one line; None where it has none of a polynomial."""
    used = [k for k in source.reciprocals if any(m[k] for m in f)]
    nested = (m[j] for k in used for m in source.reciprocals[k] for j in source.reciprocals)
    if not used or any(nested):
        return None
    above, below = f, f.ring.one
    for k in used:
        # multiply above and below by the highest power of the denominator
        d = source.reciprocals[k]
        parts = {monomial[k]: part for monomial, part in split(above, {k}).items()}
        top = max(parts)
        above = f.ring.zero
        for power, part in parts.items():
            above += part * d ** (top - power)
        above, below = (reduce_sines(g, source.angles) for g in (above, below * d**top))
    candidates = [Quotient(above, below)]
    # sin is no factor of 1 − cos² as a polynomial, so both forms of squares are tried
    for angle in source.angles:
        if any(m[k] > 1 for g in (above, below) for m in g for k in (angle.cos, angle.sin)):
            reduced = (_reduce(g, angle.cos, angle.sin) for g in (above, below))
            candidates.append(Quotient(*reduced))
    return min(map(_cancelled, candidates), key=lambda candidate: sum(map(len, candidate)))


def shortened(ratio: Quotient, relations: Sequence[PolyElement]) -> Quotient:
    """The quotient where the relations are zero, each part reduced by them where that is shorter."""
    rules = [h for h in relations if h]
    if not rules:
        return ratio
    parts = [min((f, f.rem(rules)), key=len) for f in ratio]
    return _cancelled(Quotient(*parts)) if parts[1] else ratio


def _cancelled(ratio: Quotient) -> Quotient:
    """Common factors out, a positive first coefficient below, no fractions inside."""
    above, below = ratio
    if not above:
        return Quotient(above, below.ring.one)
    if len(above) * len(below) <= CANCELLED_PRODUCTS:
        above, below = above.cancel(below)
    content, below = below.primitive()
    above = above * (1 / content)
    if below.LC < 0:
        above, below = -above, -below
    return Quotient(above, below)
