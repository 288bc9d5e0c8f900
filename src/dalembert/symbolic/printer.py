"""From SymPy to print, in the order in which books write: constants, lengths, sums, sines, rates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import sympy

from dalembert.symbolic.marks import Marks, Text, join
from dalembert.symbolic.names import parts

LONG = 1_000_000  # characters: no line is broken


class Printer:
    """Writes expressions with given `marks`.

    `rates` maps velocity symbols to the coordinates they are rates of, printed with a dot, and
    accelerations to velocities, with two; `first` are symbols that lead a product, such as masses.
    With `short`, cos(θ₂ + θ₃) is c₂₃; decimals have at most so many `digits`. `marked` is given the
    value and the text of every term of a formula that has several, and gives back what is printed.
    """

    def __init__(
        self,
        marks: Marks,
        rates: Mapping[sympy.Symbol, sympy.Symbol],
        first: Collection[sympy.Symbol] = (),
        short: bool = False,
        digits: int | None = None,
        marked: Callable[[sympy.Expr, str], str] | None = None,
    ) -> None:
        self.marks = marks
        self.digits = digits
        self.marked = marked
        self.rates = dict(rates)
        self.coordinates = set(rates.values()) - rates.keys()
        self.first = set(first)
        self.short = short
        # the order of terms is that of their text, in whichever language they are written
        self.reader = (
            self if isinstance(marks, Text) else Printer(Text(), rates, first, short, digits)
        )
        self._known: dict[sympy.Expr, str] = {}

    def expression(self, e: sympy.Expr) -> str:
        """The whole expression, without marks."""
        if e not in self._known:
            if e.is_Add:
                self._known[e] = self._sum(e)
            elif e.is_Mul:
                self._known[e] = self._product(e)
            else:
                self._known[e] = self._single(e)
        return self._known[e]

    def pieces(self, e: sympy.Expr, width: int) -> list[list[str]]:
        """The terms, each in pieces between which a line may end; see `lines`."""
        terms = self.ordered_terms(e)
        if len(terms) > 1 or self.marked is None:
            return [self._term_pieces(term, k == 0, width) for k, term in enumerate(terms)]
        # alone, a product is worth the whole formula: the terms are those of the sum in it
        pieces = self._opened(terms[0], True) if self._is_marked_inside(terms[0], width) else []
        pieces = pieces or [self._signed(terms[0], True)]
        return [pieces if self._is_long(terms[0], width) else ["".join(pieces)]]

    def _is_marked_inside(self, term: sympy.Expr, width: int) -> bool:
        return sympy.fraction(term)[1] == 1 or self._is_long(term, width)

    def formula(self, e: sympy.Expr) -> str:
        """The whole expression, its terms marked."""
        return "".join(piece for term in self.pieces(e, LONG) for piece in term)

    def ordered_terms(self, e: sympy.Expr) -> list[sympy.Expr]:
        """Terms of a sum: without sines first, a positive one in front if there is any."""
        split = [(t.as_coeff_Mul()[0] < 0, t) for t in sympy.Add.make_args(e)]
        ordered = sorted(split, key=lambda pair: self.reader.order(pair[1]))
        lead = next((k for k, (negative, _) in enumerate(ordered) if not negative), 0)
        ordered.insert(0, ordered.pop(lead))
        return [term for _, term in ordered]

    def order(self, term: sympy.Expr) -> tuple[bool, str]:
        """Place of a term within a sum: sines and cosines last, else as in a dictionary."""
        return term.has(sympy.sin, sympy.cos), self.expression(term.as_coeff_Mul()[1])

    def _sum(self, e: sympy.Expr) -> str:
        return "".join(self._signed(t, k == 0) for k, t in enumerate(self.ordered_terms(e)))

    def _signed(self, term: sympy.Expr, first: bool, value: sympy.Expr | None = None) -> str:
        """A term with its sign; marked if its value is said."""
        coefficient, _ = term.as_coeff_Mul()
        negative = bool(coefficient < 0)
        body = self.expression(-term) if negative else self.expression(term)
        if negative and (-term).is_Add:
            body = self.marks.parentheses(body)
        if value is not None and self.marked is not None:
            body = self.marked(value, body)
        return self.marks.operator("-" if negative else "+", first) + body

    def _term_pieces(self, term: sympy.Expr, first: bool, width: int) -> list[str]:
        """One term; if it is longer than a line and holds one long sum, that sum in pieces."""
        opened = self._opened(term, first) if self._is_long(term, width) else []
        return opened or [self._signed(term, first, term)]

    def _is_long(self, term: sympy.Expr, width: int) -> bool:
        return len(self.reader.expression(term)) > width

    def _opened(self, term: sympy.Expr, first: bool) -> list[str]:
        """A product around its longest sum, whose terms are pieces; empty if there is no sum."""
        sums = [f for f in term.args if f.is_Add] if term.is_Mul else []
        if not sums:
            return []
        longest = max(sums, key=lambda f: len(f.args))
        coefficient, rest = term.as_coeff_Mul()
        if sympy.fraction(term)[1] != 1:
            # a line must not end inside a fraction: the sum stands behind it
            before, after = self._signed(term / longest, first) + self.marks.times, ""
        else:
            before, after = self._around(abs(coefficient), rest, longest)
            before = self.marks.operator("-" if coefficient < 0 else "+", first) + before
        opening, closing = self.marks.parentheses("\0").split("\0")
        others = sympy.Mul(*(f for f in term.args if f is not longest))
        inner = [
            self._signed(t, k == 0, others * t) for k, t in enumerate(self.ordered_terms(longest))
        ]
        return [before + opening + inner[0], *inner[1:-1], inner[-1] + closing + after]

    def _around(
        self, coefficient: sympy.Expr, rest: sympy.Expr, longest: sympy.Expr
    ) -> tuple[str, str]:
        """What stands before and behind one sum of a product."""
        factors = sorted(sympy.Mul.make_args(rest), key=self._rank)
        place = factors.index(longest)
        written = [] if coefficient == 1 else [self._single(coefficient)]
        written += map(self._factor, factors[:place])
        before = "".join(f + self.marks.times for f in written)
        return before, "".join(self.marks.times + self._factor(f) for f in factors[place + 1 :])

    def _product(self, e: sympy.Expr) -> str:
        coefficient, rest = e.as_coeff_Mul()
        if coefficient < 0:
            return self._signed(e, first=True)
        above, below = sympy.fraction(rest)
        factors = sorted(sympy.Mul.make_args(above), key=self._rank)
        written = [] if coefficient == 1 else [self._single(coefficient)]
        written += [self._factor(f) for f in factors if f != 1]
        if below == 1:
            return join(written, self.marks)
        if len(factors) == 1 and factors[0].is_Add and coefficient == 1 and self.marks.barred:
            written = [self._sum(factors[0])]  # the bar holds it together
        return self.marks.fraction(
            join(written, self.marks) or self._digits(1), self.expression(below)
        )

    def _rank(self, f: sympy.Expr) -> tuple[int, bool, str]:
        """Place of a factor within a product."""
        base = f.as_base_exp()[0]
        if f.free_symbols & self.rates.keys():
            place = 5
        elif isinstance(base, (sympy.sin, sympy.cos)):
            place = 4
        elif base.is_Add:
            place = 3
        elif base in self.coordinates:
            place = 2
        else:
            place = 1 if base.is_Symbol else 3
        return place, base not in self.first, self.reader.expression(base)

    def _factor(self, f: sympy.Expr) -> str:
        return self.marks.parentheses(self._sum(f)) if f.is_Add else self._single(f)

    def _single(self, e: sympy.Expr) -> str:
        if e.is_Rational and not e.is_Integer:
            sign = "-" if e < 0 else ""
            body = self.marks.fraction(self._digits(abs(e.p)), self._digits(e.q))
            return self.marks.operator("-", True) + body if sign else body
        if e.is_Number:
            return self._number(e)
        if e.is_Symbol:
            dots = 0
            while e in self.rates:
                e, dots = self.rates[e], dots + 1
            return self.marks.name(e.name, dots)
        if e.is_Pow:
            return self._power(*e.as_base_exp())
        if e.is_Add or e.is_Mul:
            return self.expression(e)
        return self._function(e, "")

    def _digits(self, value: int) -> str:
        return self.marks.number(str(value))

    def _number(self, e: sympy.Number) -> str:
        body = self.marks.number(self._decimal(abs(float(e))) if e.is_Float else str(abs(e)))
        return self.marks.operator("-", True) + body if e < 0 else body

    def _decimal(self, value: float) -> str:
        return repr(value if self.digits is None else float(f"{value:.{self.digits}g}"))

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> str:
        if exponent == sympy.Rational(1, 2):
            return self.marks.root(self.expression(base))
        if exponent.is_negative:
            return self.marks.fraction(self._digits(1), self.expression(base**-exponent))
        raised = self.expression(exponent)
        if isinstance(base, (sympy.sin, sympy.cos)):
            return self._function(base, raised)
        bare = self._single(base) if base.is_Symbol else None
        return self.marks.power(bare or self.marks.parentheses(self.expression(base)), raised)

    def _function(self, e: sympy.Expr, exponent: str) -> str:
        name = type(e).__name__
        if name in ("sin", "cos") and self.short:
            label = short_label(e.args[0], self.coordinates)
            if label is not None:
                body = self.marks.name(f"{name[0]}{label}")
                return self.marks.power(body, exponent) if exponent else body
        inner = ", ".join(self.expression(a) for a in e.args)
        return self.marks.function(name, inner, exponent, e.args[0].is_Symbol)


def short_label(argument: sympy.Expr, coordinates: Collection[sympy.Symbol]) -> str | None:
    """The subscript of c or s for a sum of numbered angles: 23 for θ₂ + θ₃; None for others."""
    symbols = sympy.Add.make_args(argument)
    if not all(s in coordinates for s in symbols):
        return None
    indices = [parts(s.name)[1] for s in symbols]
    if not all(len(index) == 1 and index.isdigit() for index in indices):
        return None
    return "".join(sorted(indices))


def lines(terms: list[list[str]], lengths: list[list[int]], width: int) -> list[str]:
    """Pieces joined into lines; a term that takes several lines begins and ends with its own."""
    made: list[str] = []
    used = width + 1
    for pieces, sizes in zip(terms, lengths, strict=True):
        used = width + 1 if len(pieces) > 1 else used
        for piece, size in zip(pieces, sizes, strict=True):
            if used + size > width:
                made.append(piece)
                used = size
            else:
                made[-1] += piece
                used += size
        used = width + 1 if len(pieces) > 1 else used
    return made
