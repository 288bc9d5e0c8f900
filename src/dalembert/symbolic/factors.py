"""Polynomials as products: content, monomials and irreducible factors, with a textbook's signs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import sympy
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

from dalembert.symbolic.operations import number
from dalembert.symbolic.polynomials import fraction, to_expression

LARGEST = 80  # terms above which factors are not looked for
LARGE = 10_000  # integer coefficients above which there is no common measure worth printing


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
    content, f = f.primitive()
    monomial = tuple(min(column) for column in zip(*f, strict=True))
    rest = f
    if any(monomial):
        rest = f.new(
            {tuple(e - m for e, m in zip(key, monomial, strict=True)): c for key, c in f.items()}
        )
    scale = fraction(content)
    if len(rest) == 1:
        return Product(scale * fraction(rest.LC), monomial, ())
    factors = [(rest, 1)]
    if max(map(abs, rest.values())) > LARGE:  # numbers without a common measure
        return _signed(Product(Fraction(1), monomial, ((rest * content, 1),)))
    if deep and len(rest) <= LARGEST and not _surely_irreducible(rest):
        unit, factors = _irreducible(rest)
        scale *= unit
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
    simple = max(abs(ratio.numerator), ratio.denominator) <= LARGE
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


def _irreducible(f: PolyElement) -> tuple[Fraction, list[tuple[PolyElement, int]]]:
    """Factors over the rationals, found in the ring of those generators that occur."""
    used = [k for k in range(f.ring.ngens) if any(m[k] for m in f)]
    small = PolyRing([f"x{k}" for k in used], QQ, "lex")
    unit, factors = small.from_dict(
        {tuple(m[k] for k in used): c for m, c in f.items()}
    ).factor_list()
    return fraction(unit), [(_lift(g, f.ring, used), power) for g, power in factors]


def _lift(g: PolyElement, ring: PolyRing, used: Sequence[int]) -> PolyElement:
    lifted: dict[tuple[int, ...], Any] = {}
    for monomial, coefficient in g.items():
        full = [0] * ring.ngens
        for k, power in zip(used, monomial, strict=True):
            full[k] = power
        lifted[tuple(full)] = coefficient
    return ring.zero.new(lifted)


def _signed(found: Product) -> Product:
    """No factor all negative; a minus sign left over goes into the first sum of mixed signs."""
    scale, factors = found.number, list(found.factors)
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
    return Product(scale, found.monomial, tuple(factors))
