"""Names for the groups of parameters that appear together, as in α + 2β cos θ₂."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.angles import split
from dalembert.symbolic.operations import number
from dalembert.symbolic.polynomials import fraction, term, to_expression

# without gamma and lambda, which are others' letters, and without those of the coordinates
GREEK = ("alpha", "beta", "delta", "epsilon", "zeta", "eta", "kappa", "mu", "nu", "xi")
Key = frozenset[tuple[tuple[tuple[str, int], ...], Fraction]]


class Constants:
    """Named sums and products of parameters, each with its definition.

    Multiples of one another share a name: 2 m l r is 2β where m l r is β.
    """

    def __init__(self, names: Sequence[str] | None = None, taken: Collection[str] = ()) -> None:
        self.definitions: dict[sympy.Symbol, sympy.Expr] = {}
        self._keys: dict[Key, sympy.Symbol] = {}
        self._names = _names(tuple(names or ()), frozenset(taken))

    def name(
        self, f: PolyElement, meaning: Sequence[sympy.Expr], linear: Collection[int]
    ) -> sympy.Expr:
        """The polynomial in parameters as a number times a name; one letter stays itself."""
        content, primitive = f.primitive()
        scale = fraction(content)
        if primitive.LC < 0:
            primitive, scale = -primitive, -scale
        if len(f) == 1 and sum(next(iter(f))) <= 1:
            return to_expression(f, meaning)
        key = _key(primitive, meaning)
        if key not in self._keys:
            symbol = sympy.Symbol(next(self._names))
            self._keys[key] = symbol
            # collected by the linear parameters: I₁ + m₁r₁² + m₂(l₁² + r₂²)
            self.definitions[symbol] = sympy.Add(
                *(
                    term(m, f.ring.domain.one, meaning) * to_expression(c, meaning)
                    for m, c in split(primitive, linear).items()
                )
            )
        return number(scale) * self._keys[key]


def _names(given: tuple[str, ...], taken: frozenset[str]) -> Iterator[str]:
    used = {*taken, *given}
    yield from given
    yield from (name for name in GREEK if name not in used)
    count = 1
    while True:
        if f"kappa{count}" not in used:
            yield f"kappa{count}"
        count += 1


def _key(f: PolyElement, meaning: Sequence[sympy.Expr]) -> Key:
    """The polynomial told from others by what it means, in whichever ring it lives."""
    return frozenset(
        (tuple(sorted((str(meaning[k]), e) for k, e in enumerate(m) if e)), fraction(c))
        for m, c in f.items()
    )
