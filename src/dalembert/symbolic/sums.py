"""Pairs of terms that are one sine or cosine of a sum, taken together here and there.

x c_a c_b − x s_a s_b = x cos(a + b) and the three others like it. Unlike a substitution of one angle
for another this leaves the rest of a polynomial alone: c₂, c₃ and c₂₃ may stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.polynomials import Angle

LONGEST = 400  # terms of a polynomial in which pairs are looked for
Monomial = tuple[int, ...]


class Pair(NamedTuple):
    """Two terms, the angles they turn by, and what they make: cos or sin of θ_a + sign θ_b."""

    terms: tuple[Monomial, Monomial]
    a: int
    b: int
    sign: int
    cosine: bool


def sums_in(polynomials: Iterable[PolyElement], angles: Sequence[Angle]) -> int:
    """How many different sums or differences of two angles stand in pairs of terms."""
    found = set()
    for f in polynomials:
        if len(f) <= LONGEST:
            found |= {(p.a, p.b, p.sign) for p in _pairs(dict(f), angles)}
    return len(found)


def together(
    f: PolyElement, angles: Sequence[Angle], arguments: tuple[sympy.Expr, ...]
) -> tuple[PolyElement, tuple[sympy.Expr, ...]]:
    """f with its pairs as one term each, and the arguments of the angles it now has.

    An angle whose argument is zero is free to stand for a new sum; when none is left, pairs stay.
    """
    if len(f) > LONGEST:
        return f, arguments
    terms, known = dict(f), list(arguments)
    while True:
        made = next(_made(terms, angles, known), None)
        if made is None:
            break
        (kept, gone), monomial, scale, place, argument = made
        coefficient = terms.pop(kept)
        del terms[gone]
        known[place] = argument
        terms[monomial] = terms.get(monomial, 0) + scale * coefficient
        if not terms[monomial]:
            del terms[monomial]
    return (f if len(terms) == len(f) else f.new(terms)), tuple(known)


def _made(
    terms: dict[Monomial, Any], angles: Sequence[Angle], known: list[sympy.Expr]
) -> Iterator[tuple[tuple[Monomial, Monomial], Monomial, int, int, sympy.Expr]]:
    """Pairs with an angle to stand for them: terms, the new one, its sign, the angle, its argument."""
    for pair in _pairs(terms, angles):
        total = known[pair.a] + pair.sign * known[pair.b]
        place, flipped = _place(known, total)
        if place is None:
            continue
        first, second = angles[pair.a], angles[pair.b]
        new = list(pair.terms[0])
        for k in (first.cos if pair.cosine else first.sin, second.cos):
            new[k] -= 1
        new[angles[place].cos if pair.cosine else angles[place].sin] += 1
        scale = -1 if flipped and not pair.cosine else 1
        yield pair.terms, tuple(new), scale, place, known[place] if flipped else total


def _place(known: list[sympy.Expr], total: sympy.Expr) -> tuple[int | None, bool]:
    """The angle that stands for this argument or, flipped, for minus it; else one that is free.

    Nobody writes sin(2θ₂ + θ₃) for s₂c₂₃ + c₂s₂₃: no angle is to be counted twice.
    """
    if total == 0 or any(abs(c) != 1 for c in total.as_coefficients_dict().values()):
        return None, False
    for argument, flipped in ((total, False), (-total, True)):
        if argument in known:
            return known.index(argument), flipped
    return (known.index(sympy.S.Zero), False) if sympy.S.Zero in known else (None, False)


def _pairs(terms: dict[Monomial, Any], angles: Sequence[Angle]) -> Iterator[Pair]:
    for monomial, coefficient in terms.items():
        present = [k for k, x in enumerate(angles) if monomial[x.cos] or monomial[x.sin]]
        for a, b in combinations(present, 2):
            yield from _of_two(terms, angles, monomial, coefficient, (a, b))


def _of_two(
    terms: dict[Monomial, Any],
    angles: Sequence[Angle],
    monomial: Monomial,
    coefficient: Any,
    pair: tuple[int, int],
) -> Iterator[Pair]:
    """c_a c_b with s_a s_b, and s_a c_b with c_a s_b."""
    (ca, sa), (cb, sb) = ((angles[k].cos, angles[k].sin) for k in pair)
    for cosine, here, there in ((True, (ca, cb), (sa, sb)), (False, (sa, cb), (ca, sb))):
        if not (monomial[here[0]] and monomial[here[1]]):
            continue
        other = list(monomial)
        for k, by in ((here[0], -1), (here[1], -1), (there[0], 1), (there[1], 1)):
            other[k] += by
        ratio = terms.get(tuple(other), 0) / coefficient
        if ratio in (1, -1):
            # cos(a + b) has −s_a s_b, sin(a + b) has +c_a s_b
            sign = int(-ratio) if cosine else int(ratio)
            yield Pair((monomial, tuple(other)), *pair, sign, cosine)
