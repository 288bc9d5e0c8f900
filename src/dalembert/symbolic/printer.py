"""From SymPy to print, in the order of textbooks: constants, lengths, sums, sines, rates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import sympy

from dalembert.symbolic.notation import DOTS, Text, parts

TIME = sympy.Symbol("t")
UNBROKEN = 1_000_000  # characters: no line is broken


class Printer:
    """Prints expressions in a `notation`.

    `rates` maps velocity symbols to the coordinates they are rates of, printed with a dot, and
    accelerations to velocities, with two; `first` are symbols that lead a product, such as masses.
    With `short`, cos(θ₂ + θ₃) is c₂₃; decimals have at most so many `digits`. `mark_term` takes the
    value and the text of every term of a formula with several, and returns the text to print.
    """

    def __init__(
        self,
        notation: Text,
        rates: Mapping[sympy.Symbol, sympy.Symbol],
        first: Collection[sympy.Symbol] = (),
        short: bool = False,
        digits: int | None = None,
        mark_term: Callable[[sympy.Expr, str], str] | None = None,
    ) -> None:
        self.notation = notation
        self.digits = digits
        self.mark_term = mark_term
        self.rates = dict(rates)
        self.coordinates = set(rates.values()) - rates.keys()
        self.first = set(first)
        self.short = short
        # the order of terms is that of their plain text, in every notation
        is_plain = type(notation) is Text
        self.plain = self if is_plain else Printer(Text(), rates, first, short, digits)
        self._printed: dict[sympy.Expr, str] = {}

    def expression(self, e: sympy.Expr) -> str:
        """The whole expression, without marks."""
        if e not in self._printed:
            if e.is_Add:
                terms = enumerate(self.ordered_terms(e))
                self._printed[e] = "".join(self._signed(t, k == 0) for k, t in terms)
            elif e.is_Mul:
                self._printed[e] = self._product(e)
            else:
                self._printed[e] = self._single(e)
        return self._printed[e]

    def lines(self, e: sympy.Expr, width: int) -> tuple[str, ...]:
        """The expression over lines of at most `width` characters of its plain text where possible.

        A term that takes several lines begins and ends with its own.
        """
        joined: list[str] = []
        space = 0  # characters left in the last line
        terms = zip(self._pieces(e, width), self.plain._pieces(e, width), strict=True)
        for pieces, plain_pieces in terms:
            space = 0 if len(pieces) > 1 else space
            for piece, plain in zip(pieces, plain_pieces, strict=True):
                size = columns(plain)
                if size > space:
                    joined.append(piece)
                    space = width
                else:
                    joined[-1] += piece
                space -= size
            space = 0 if len(pieces) > 1 else space
        return tuple(joined)

    def _pieces(self, e: sympy.Expr, width: int) -> list[list[str]]:
        """The terms, each in pieces between which a line may end."""
        terms = self.ordered_terms(e)
        if len(terms) > 1 or self.mark_term is None:
            printed = []
            for k, term in enumerate(terms):
                # a term longer than a line that contains a sum is broken inside that sum
                is_long = len(self.plain.expression(term)) > width
                opened = self._opened(term, k == 0) if is_long else []
                printed.append(opened or [self._signed(term, k == 0, term)])
            return printed
        # a single product is the whole formula: the marked terms are those of the sum in it
        (term,) = terms
        is_long = len(self.plain.expression(term)) > width
        is_opened = sympy.fraction(term)[1] == 1 or is_long
        pieces = (self._opened(term, True) if is_opened else []) or [self._signed(term, True)]
        return [pieces if is_long else ["".join(pieces)]]

    def formula(self, e: sympy.Expr) -> str:
        """The whole expression, its terms marked."""
        return "".join(piece for term in self._pieces(e, UNBROKEN) for piece in term)

    def ordered_terms(self, e: sympy.Expr) -> list[sympy.Expr]:
        """Terms of a sum: without sines first, a positive one in front if there is any."""
        ordered = sorted(
            sympy.Add.make_args(e),
            key=lambda term: (
                term.has(sympy.sin, sympy.cos),
                self.plain.expression(term.as_coeff_Mul()[1]),
            ),
        )
        positive = (k for k, term in enumerate(ordered) if not term.as_coeff_Mul()[0] < 0)
        ordered.insert(0, ordered.pop(next(positive, 0)))
        return ordered

    def _signed(self, term: sympy.Expr, first: bool, value: sympy.Expr | None = None) -> str:
        """A term with its sign; marked if its value is given."""
        is_negative = bool(term.as_coeff_Mul()[0] < 0)
        body = self.expression(-term) if is_negative else self.expression(term)
        if is_negative and (-term).is_Add:
            body = self.notation.parentheses(body)
        if value is not None and self.mark_term is not None:
            body = self.mark_term(value, body)
        return self.notation.operator("-" if is_negative else "+", first) + body

    def _opened(self, term: sympy.Expr, first: bool) -> list[str]:
        """A product around its longest sum, whose terms are pieces; empty if there is no sum."""
        sums = [f for f in term.args if f.is_Add] if term.is_Mul else []
        if not sums:
            return []
        longest = max(sums, key=lambda f: len(f.args))
        times = self.notation.times
        if sympy.fraction(term)[1] != 1:
            # a line must not end inside a fraction: the sum stands behind it
            before, after = self._signed(term / longest, first) + times, ""
        else:
            coefficient, rest = term.as_coeff_Mul()
            factors = sorted(sympy.Mul.make_args(rest), key=self._rank)
            position = factors.index(longest)
            leading = self._factors(abs(coefficient), factors[:position])
            before = self.notation.operator("-" if coefficient < 0 else "+", first)
            before += "".join(f + times for f in leading)
            after = "".join(times + self._factor(f) for f in factors[position + 1 :])
        others = sympy.Mul(*(f for f in term.args if f is not longest))
        inner = [
            self._signed(t, k == 0, others * t) for k, t in enumerate(self.ordered_terms(longest))
        ]
        first_piece = before + self.notation.opening + inner[0]
        return [first_piece, *inner[1:-1], inner[-1] + self.notation.closing + after]

    def _factors(self, coefficient: sympy.Expr, factors: list[sympy.Expr]) -> list[str]:
        """The printed factors, led by the coefficient unless it is 1."""
        number = [] if coefficient == 1 else [self._single(coefficient)]
        return number + [self._factor(f) for f in factors if f != 1]

    def _product(self, e: sympy.Expr) -> str:
        coefficient, rest = e.as_coeff_Mul()
        if coefficient < 0:
            return self._signed(e, first=True)
        above, below = sympy.fraction(rest)
        factors = sorted(sympy.Mul.make_args(above), key=self._rank)
        if below == 1:
            return self.notation.join(self._factors(coefficient, factors))
        if len(factors) == 1 and factors[0].is_Add and coefficient == 1 and self.notation.barred:
            numerator = self.expression(factors[0])  # no parentheses above a bar
        else:
            numerator = self.notation.join(self._factors(coefficient, factors))
        return self.notation.fraction(numerator or self._digits(1), self.expression(below))

    def _rank(self, f: sympy.Expr) -> tuple[int, bool, str]:
        """Position of a factor within a product."""
        base = f.as_base_exp()[0]
        if f.free_symbols & self.rates.keys():
            rank = 5
        elif isinstance(base, (sympy.sin, sympy.cos)):
            rank = 4
        elif base.is_Add:
            rank = 3
        elif base in self.coordinates or base == TIME:
            rank = 2
        else:
            rank = 1 if base.is_Symbol else 3
        return rank, base not in self.first, self.plain.expression(base)

    def _factor(self, f: sympy.Expr) -> str:
        return self.notation.parentheses(self.expression(f)) if f.is_Add else self._single(f)

    def _single(self, e: sympy.Expr) -> str:
        if e.is_Number:
            if e.is_Rational and not e.is_Integer:
                body = self.notation.fraction(self._digits(abs(e.p)), self._digits(e.q))
            elif e.is_Float:
                value = abs(float(e))
                rounded = value if self.digits is None else float(f"{value:.{self.digits}g}")
                body = self.notation.number(repr(rounded))
            else:
                body = self.notation.number(str(abs(e)))
            return self.notation.operator("-", True) + body if e < 0 else body
        if e.is_Symbol:
            dots = 0
            while e in self.rates:
                e, dots = self.rates[e], dots + 1
            return self.notation.name(e.name, dots)
        if e.is_Pow:
            return self._power(*e.as_base_exp())
        if e.is_Add or e.is_Mul:
            return self.expression(e)
        return self._function(e, "")

    def _digits(self, value: int) -> str:
        return self.notation.number(str(value))

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> str:
        if exponent == sympy.Rational(1, 2):
            return self.notation.root(self.expression(base))
        if exponent.is_negative:
            return self.notation.fraction(self._digits(1), self.expression(base**-exponent))
        raised = self.expression(exponent)
        if isinstance(base, (sympy.sin, sympy.cos)):
            return self._function(base, raised)
        bare = self._single(base) if base.is_Symbol else None
        return self.notation.power(bare or self.notation.parentheses(self.expression(base)), raised)

    def _function(self, e: sympy.Expr, exponent: str) -> str:
        name = type(e).__name__
        if name in ("sin", "cos") and self.short:
            label = short_label(e.args[0], self.coordinates)
            if label is not None:
                body = self.notation.name(f"{name[0]}{label}")
                return self.notation.power(body, exponent) if exponent else body
        inner = ", ".join(self.expression(a) for a in e.args)
        return self.notation.function(name, inner, exponent, e.args[0].is_Symbol)


def short_label(argument: sympy.Expr, coordinates: Collection[sympy.Symbol]) -> str | None:
    """The subscript of c or s for a sum of numbered angles: 23 for θ₂ + θ₃; None for others."""
    symbols = sympy.Add.make_args(argument)
    if not all(s in coordinates for s in symbols):
        return None
    indices = [parts(s.name)[1] for s in symbols]
    if not all(len(index) == 1 and index.isdigit() for index in indices):
        return None
    return "".join(sorted(indices))


def columns(text: str) -> int:
    """Columns of plain text on a terminal: combining dots take none."""
    return len(text) - sum(map(text.count, DOTS[1:]))
