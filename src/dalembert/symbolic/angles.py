"""Sums of angles and squares of sines: the same polynomial with fewer terms.

A `Form` is a polynomial together with what each pair of cos and sin generators stands for. Turning
the pair of θ_b into the pair of ψ = θ_a ± θ_b is a substitution in place, since
θ_b = ±(ψ − θ_a); it is kept where terms disappear, as in (c₂c₃ − s₂s₃)² = c₂₃². Pairs of terms
that are left are taken together one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.polynomials import Angle, Polynomials, _reduce, reduce_sines
from dalembert.symbolic.sums import together

SAMPLE = 6  # polynomials on which a sum of two angles is tried before it is used everywhere


class Move(NamedTuple):
    """Replace angle b by θ_b + sign·θ_a, with a kept."""

    a: int
    b: int
    sign: int


class Form(NamedTuple):
    """A polynomial whose k-th pair (cos, sin) is that of `arguments[k]`."""

    polynomial: PolyElement
    arguments: tuple[sympy.Expr, ...]

    def meaning(self, source: Polynomials) -> list[sympy.Expr]:
        """What the generators stand for in this form."""
        meaning = list(source.generators)
        for angle, argument in zip(source.angles, self.arguments, strict=True):
            if argument is not angle.argument:
                meaning[angle.cos], meaning[angle.sin] = _cos_sin(argument)
        return meaning


@lru_cache(maxsize=1024)
def _cos_sin(argument: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    return sympy.cos(argument), sympy.sin(argument)


class Angles:
    """Finds the shortest form of polynomials over the angles of `source`."""

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
            for i, a in enumerate(present):
                for b in present[i + 1 :]:
                    pairs.setdefault((a, b), []).append(f)
        useful = []
        for (a, b), found in pairs.items():
            sample = sorted(set(found), key=len)[:SAMPLE]
            for sign in (1, -1):
                if any(self._shortens(f, (Move(a, b, sign), Move(b, a, sign))) for f in sample):
                    useful += [Move(a, b, sign), Move(b, a, sign)]
        self.moves = tuple(useful)

    def adopt(self, other: Angles) -> None:
        """Use the sums that were found elsewhere, for the angles that are here as well."""
        places = {angle.argument: k for k, angle in enumerate(self.angles)}
        there = [angle.argument for angle in other.angles]
        self.moves = tuple(
            Move(places[there[a]], places[there[b]], sign)
            for a, b, sign in other.moves
            if there[a] in places and there[b] in places
        )

    def shortest(self, f: PolyElement, squares: bool = True) -> Form:
        """The form of fewest terms; with `squares`, sin² is written for 1 − cos² where shorter."""
        key = (f, squares)
        if key not in self._known:
            self._known[key] = self._search(f, squares)
        return self._known[key]

    def _search(self, f: PolyElement, squares: bool) -> Form:
        arguments = tuple(angle.argument for angle in self.angles)
        best, found = f, self._finished(f, arguments, squares)
        improved = True
        while improved and len(found.polynomial) > 1:
            improved = False
            for move in self.moves:
                moved = self._moved(best, move)
                if moved is None:
                    continue
                shifted = _shifted(arguments, move)
                trial = self._finished(moved, shifted, squares)
                if len(trial.polynomial) < len(found.polynomial):
                    best, arguments, found = moved, shifted, trial
                    improved = True
                    break
        return found

    def _finished(self, f: PolyElement, arguments: tuple[sympy.Expr, ...], squares: bool) -> Form:
        """f with pairs of terms as sums of angles and, with `squares`, sin² for 1 − cos²."""
        f, arguments = together(f, self.angles, arguments)
        return Form(self._squares(f) if squares else f, arguments)

    def _shortens(self, f: PolyElement, moves: Sequence[Move]) -> bool:
        length = len(self._squares(f))
        moved = [self._moved(f, move) for move in moves]
        return any(g is not None and len(self._squares(g)) < length for g in moved)

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
                    made = _raised(lower, other, 2)
                    terms[made] = terms.get(made, 0) - coefficient
        return f if len(terms) == len(f) else f.new({m: c for m, c in terms.items() if c})

    def _moved(self, f: PolyElement, move: Move) -> PolyElement | None:
        """f with θ_b = ψ − sign·θ_a, the pair of b now that of ψ; None if it lacks one of them."""
        a, b = self.angles[move.a], self.angles[move.b]
        if not (_contains(f, a) and _contains(f, b)):
            return None
        parts: dict[tuple[int, int], dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in f.items():
            rest = list(monomial)
            rest[b.cos] = rest[b.sin] = 0
            powers = (monomial[b.cos], monomial[b.sin])
            parts.setdefault(powers, {})[tuple(rest)] = coefficient
        total = f.ring.zero
        for powers, part in parts.items():
            total += f.new(part) * self._power(move, *powers)
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


def _shifted(arguments: tuple[sympy.Expr, ...], move: Move) -> tuple[sympy.Expr, ...]:
    changed = list(arguments)
    changed[move.b] = arguments[move.b] + move.sign * arguments[move.a]
    return tuple(changed)


def _contains(f: PolyElement, angle: Angle) -> bool:
    return any(m[angle.cos] or m[angle.sin] for m in f)


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
