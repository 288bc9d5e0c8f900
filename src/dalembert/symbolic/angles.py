"""Sums of angles and squares of sines: the same polynomial with fewer terms.

A `Form` is a polynomial together with the argument of each pair of cos and sin generators. Replacing
the pair of θ_b by that of ψ = θ_a ± θ_b is a substitution in place, since θ_b = ±(ψ − θ_a); it is
accepted where terms disappear, as in (c₂c₃ − s₂s₃)² = c₂₃². Remaining pairs of terms that are one sine
or cosine of a sum, x c_a c_b − x s_a s_b = x cos(a + b) and the three others like it, are combined one
by one, which leaves the rest of a polynomial alone: c₂, c₃ and c₂₃ may stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.polynomials import Angle, Polynomials, _reduce, reduce_sines, split

SAMPLE = 6  # polynomials on which a sum of two angles is tried before it is used everywhere


class Move(NamedTuple):
    """Replace angle b by θ_b + sign·θ_a; a stays."""

    a: int
    b: int
    sign: int


class Form(NamedTuple):
    """A polynomial whose k-th pair (cos, sin) is that of `arguments[k]`."""

    polynomial: PolyElement
    arguments: tuple[sympy.Expr, ...]

    def meaning(self, source: Polynomials) -> list[sympy.Expr]:
        """The expressions of the generators in this form."""
        meaning = list(source.generators)
        for angle, argument in zip(source.angles, self.arguments, strict=True):
            if argument is not angle.argument:
                meaning[angle.cos], meaning[angle.sin] = sympy.cos(argument), sympy.sin(argument)
        return meaning


class Angles:
    """The shortest forms of polynomials over the angles of `source`."""

    def __init__(self, source: Polynomials) -> None:
        self.source = source
        self.angles = source.angles
        self.moves: tuple[Move, ...] = ()
        self._known: dict[tuple[PolyElement, bool], Form] = {}
        self._powers: dict[tuple[Move, int, int], PolyElement] = {}

    def learn(self, polynomials: Iterable[PolyElement]) -> None:
        """Find the sums of two angles that shorten some of these polynomials."""
        pairs: dict[tuple[int, int], list[PolyElement]] = {}
        for f in polynomials:
            present = [k for k, angle in enumerate(self.angles) if _contains(f, angle)]
            for pair in combinations(present, 2):
                pairs.setdefault(pair, []).append(f)
        useful = []
        for (a, b), polynomials_with_both in pairs.items():
            sample = sorted(set(polynomials_with_both), key=len)[:SAMPLE]
            lengths = {f: len(self._squares(f)) for f in sample}
            for sign in (1, -1):
                moves = [Move(a, b, sign), Move(b, a, sign)]
                trials = ((f, self._substituted(f, move)) for f in sample for move in moves)
                if any(g is not None and len(self._squares(g)) < lengths[f] for f, g in trials):
                    useful += moves
        self.moves = tuple(useful)

    def adopt(self, other: Angles) -> None:
        """Use the sums of another instance, for the angles that both have."""
        numbers = {angle.argument: k for k, angle in enumerate(self.angles)}
        arguments = [angle.argument for angle in other.angles]
        self.moves = tuple(
            Move(numbers[arguments[a]], numbers[arguments[b]], sign)
            for a, b, sign in other.moves
            if arguments[a] in numbers and arguments[b] in numbers
        )

    def shortest(self, f: PolyElement, squares: bool = True) -> Form:
        """The form of fewest terms; with `squares`, sin² is written for 1 − cos² where shorter."""
        if (f, squares) in self._known:
            return self._known[f, squares]
        arguments = tuple(angle.argument for angle in self.angles)
        best, shortest = f, self._finished(f, arguments, squares)
        improved = True
        while improved and len(shortest.polynomial) > 1:
            improved = False
            for move in self.moves:
                changed_f = self._substituted(best, move)
                if changed_f is None:
                    continue
                changed = list(arguments)
                changed[move.b] = arguments[move.b] + move.sign * arguments[move.a]
                trial = self._finished(changed_f, tuple(changed), squares)
                if len(trial.polynomial) < len(shortest.polynomial):
                    best, arguments, shortest = changed_f, tuple(changed), trial
                    improved = True
                    break
        self._known[f, squares] = shortest
        return shortest

    def _finished(self, f: PolyElement, arguments: tuple[sympy.Expr, ...], squares: bool) -> Form:
        """f with pairs of terms as sums of angles and, with `squares`, sin² for 1 − cos²."""
        f, arguments = combined(f, self.angles, arguments)
        return Form(self._squares(f) if squares else f, arguments)

    def _squares(self, f: PolyElement) -> PolyElement:
        """1 − cos² as sin² where that saves terms, here and there or for an angle as a whole."""
        best = self._paired(f)
        for angle in self.angles:
            if any(m[angle.cos] > 1 for m in f):
                other = _reduce(f, angle.cos, angle.sin)
                f = other if len(other) < len(f) else f
        other = self._paired(f)
        return other if len(other) < len(best) else best

    def _paired(self, f: PolyElement) -> PolyElement:
        """x − x cos² → x sin² and x − x sin² → x cos², term by term."""
        terms = dict(f)
        pairs = [(a.cos, a.sin) for a in self.angles] + [(a.sin, a.cos) for a in self.angles]
        for squared, other in pairs:
            for monomial in [m for m in terms if m[squared] > 1]:
                coefficient = terms.get(monomial)
                lower = _raised(monomial, squared, -2)
                if coefficient is not None and terms.get(lower) == -coefficient:
                    del terms[monomial], terms[lower]
                    square = _raised(lower, other, 2)
                    terms[square] = terms.get(square, 0) - coefficient
        return f if len(terms) == len(f) else f.new({m: c for m, c in terms.items() if c})

    def _substituted(self, f: PolyElement, move: Move) -> PolyElement | None:
        """f with θ_b = ψ − sign·θ_a, the pair of b now that of ψ; None if it lacks one of them."""
        a, b = self.angles[move.a], self.angles[move.b]
        if not (_contains(f, a) and _contains(f, b)):
            return None
        total = f.ring.zero
        for powers, part in split(f, (b.cos, b.sin)).items():
            total += part * self._power(move, powers[b.cos], powers[b.sin])
        return reduce_sines(total, (a, b))

    def _power(self, move: Move, i: int, j: int) -> PolyElement:
        """cos(ψ − sign θ_a)^i sin(ψ − sign θ_a)^j."""
        if (move, i, j) not in self._powers:
            gens = self.source.ring.gens
            a, b = self.angles[move.a], self.angles[move.b]
            ca, sa, cp, sp = gens[a.cos], move.sign * gens[a.sin], gens[b.cos], gens[b.sin]
            cos, sin = cp * ca + sp * sa, sp * ca - cp * sa
            self._powers[move, i, j] = reduce_sines(cos**i * sin**j, (a, b))
        return self._powers[move, i, j]


def _raised(monomial: tuple[int, ...], k: int, by: int) -> tuple[int, ...]:
    return (*monomial[:k], monomial[k] + by, *monomial[k + 1 :])


def _contains(f: PolyElement, angle: Angle) -> bool:
    return any(m[angle.cos] or m[angle.sin] for m in f)


LONGEST = 400  # terms of a polynomial in which pairs are looked for
Monomial = tuple[int, ...]


class Pair(NamedTuple):
    """Two terms, their angles, and their sum: cos or sin of θ_a + sign θ_b."""

    terms: tuple[Monomial, Monomial]
    a: int
    b: int
    sign: int
    cosine: bool


def sums_in(polynomials: Iterable[PolyElement], angles: Sequence[Angle]) -> int:
    """The number of different sums or differences of two angles in pairs of terms."""
    sums = set()
    for f in polynomials:
        if len(f) <= LONGEST:
            sums |= {(p.a, p.b, p.sign) for p in _pairs(dict(f), angles)}
    return len(sums)


def combined(
    f: PolyElement, angles: Sequence[Angle], arguments: tuple[sympy.Expr, ...]
) -> tuple[PolyElement, tuple[sympy.Expr, ...]]:
    """f with its pairs as one term each, and the arguments of its angles after that.

    An angle whose argument is zero is free to stand for a new sum; when none is left, pairs stay.
    """
    if len(f) > LONGEST:
        return f, arguments
    terms, known = dict(f), list(arguments)
    while True:
        # the first pair with an angle for its sum
        for pair in _pairs(terms, angles):
            total = known[pair.a] + pair.sign * known[pair.b]
            number, flipped = _angle_number(known, total)
            if number is not None:
                break
        else:
            return (f if len(terms) == len(f) else f.new(terms)), tuple(known)
        first, second = pair.terms
        changed = list(first)
        a = angles[pair.a]
        for k in (a.cos if pair.cosine else a.sin, angles[pair.b].cos):
            changed[k] -= 1
        changed[angles[number].cos if pair.cosine else angles[number].sin] += 1
        monomial = tuple(changed)
        coefficient = terms.pop(first)
        del terms[second]
        if not flipped:
            known[number] = total
        scale = -1 if flipped and not pair.cosine else 1
        terms[monomial] = terms.get(monomial, 0) + scale * coefficient
        if not terms[monomial]:
            del terms[monomial]


def _angle_number(known: list[sympy.Expr], total: sympy.Expr) -> tuple[int | None, bool]:
    """The angle with this argument or, flipped, with minus it; else one that is free.

    Nobody writes sin(2θ₂ + θ₃) for s₂c₂₃ + c₂s₂₃: no angle is to be counted twice.
    """
    if total == 0 or any(abs(c) != 1 for c in total.as_coefficients_dict().values()):
        return None, False
    for argument, flipped in ((total, False), (-total, True)):
        if argument in known:
            return known.index(argument), flipped
    return (known.index(sympy.S.Zero), False) if sympy.S.Zero in known else (None, False)


def _pairs(terms: dict[Monomial, Any], angles: Sequence[Angle]) -> Iterator[Pair]:
    """c_a c_b with s_a s_b, and s_a c_b with c_a s_b, for all angles a and b of a term."""
    for monomial, coefficient in terms.items():
        present = [k for k, x in enumerate(angles) if monomial[x.cos] or monomial[x.sin]]
        for a, b in combinations(present, 2):
            (ca, sa), (cb, sb) = ((angles[k].cos, angles[k].sin) for k in (a, b))
            for cosine, own, missing in ((True, (ca, cb), (sa, sb)), (False, (sa, cb), (ca, sb))):
                if not all(monomial[k] for k in own):
                    continue
                other = list(monomial)
                for k, new in zip(own, missing, strict=True):
                    other[k] -= 1
                    other[new] += 1
                ratio = terms.get(tuple(other), 0) / coefficient
                if ratio in (1, -1):
                    # cos(a + b) has −s_a s_b, sin(a + b) has +c_a s_b
                    sign = int(-ratio) if cosine else int(ratio)
                    yield Pair((monomial, tuple(other)), a, b, sign, cosine)
