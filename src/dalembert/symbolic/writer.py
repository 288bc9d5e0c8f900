"""Polynomials as a textbook prints them: collected, factored, in sums of angles, constants named.

Three ways of collecting: "parameters", for a mass matrix, with short sums multiplied out:
I + m r² + m l r c₃ + m (l c₂ + r c₂₃)²; "bodies", for an energy: m₂ g (l₀ − r₁ s₂) + m₃ g (…);
"angles", for what has been differentiated: (I_y − I_z − m r²) c₂ s₂.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.angles import Angles, Form, split
from dalembert.symbolic.budget import Budget
from dalembert.symbolic.constants import Constants
from dalembert.symbolic.factors import Product, multiple, product
from dalembert.symbolic.polynomials import Polynomials, term, to_expression
from dalembert.symbolic.sums import sums_in

STYLES = ("parameters", "bodies", "angles")
MORE_ANGLES = 8  # sums of angles that may stand beside their parts in one polynomial
SHORT_SUM = 3  # a coefficient that is one sum of so many terms is multiplied out


class Writer:
    """Writes the entries of one program.

    `linear` are symbols in which everything is linear (masses, moments), by which terms are
    collected; `constant` the symbols that do not move. While the budget lasts, factors are found.
    Sums of angles are looked for, or taken over from a writer that is `like` this one.
    """

    def __init__(
        self,
        source: Polynomials,
        linear: Sequence[sympy.Expr],
        constant: Sequence[sympy.Expr],
        budget: Budget,
        deep: bool = True,
        like: Writer | None = None,
    ) -> None:
        source = source.widened(min(2 * sums_in(source.entries, source.angles), MORE_ANGLES))
        self.source = source
        self.budget = budget
        self.deep = deep
        self.angles = Angles(source)
        self.linear = frozenset(source.positions([s for s in linear if s in source.generators]))
        self.constant = frozenset(source.positions([s for s in constant if s in source.generators]))
        trig = [p for angle in source.angles for p in (angle.cos, angle.sin)]
        moving = {k for k, g in enumerate(source.generators) if k not in self.constant}
        fixed = {p for p in trig if _stands_still(source.generators[p], source, moving)}
        self.constant |= fixed
        self.trig = frozenset(trig) - fixed
        self.moving = frozenset(range(len(source.generators))) - self.constant
        self._parts: dict[PolyElement, dict[tuple[int, ...], PolyElement]] = {}
        if like is not None:
            self.angles.adopt(like.angles)
        elif not budget.exhausted():
            self.angles.learn(
                c for f in set(source.entries) for c in self._coefficients(f).values()
            )
        self._known: dict[tuple[PolyElement, str], sympy.Expr] = {}

    def write(self, f: PolyElement, style: str) -> sympy.Expr:
        """One entry, collected in one of the `STYLES`."""
        if (f, style) not in self._known:
            longest = SHORT_SUM if style == "parameters" else 0
            by_angles = style == "angles"
            self._known[f, style] = (
                self._by_angles(f) if by_angles else self._by_parameters(f, longest)
            )
        return self._known[f, style]

    def write_grouped(self, f: PolyElement, constants: Constants) -> sympy.Expr:
        """One entry as Σ constant × function of the configuration, the constants by name."""
        form = self.angles.shortest(f, squares=False)
        meaning = form.meaning(self.source)
        parts = split(form.polynomial, self.moving)
        ordered = sorted(parts.items(), key=lambda part: _order(part[0]))
        return sympy.Add(
            *(
                sympy.Mul(
                    constants.name(c, meaning, self.linear), term(m, f.ring.domain.one, meaning)
                )
                for m, c in ordered
            )
        )

    def is_simple(self, f: PolyElement) -> bool:
        """True if, constants named, f is linear in sines and cosines and has nothing else."""
        form = self.angles.shortest(f, squares=False)
        moving = split(form.polynomial, self.moving)
        return all(
            sum(m) <= 1 and all(k in self.trig for k, e in enumerate(m) if e) for m in moving
        )

    def _coefficients(self, f: PolyElement) -> dict[tuple[int, ...], PolyElement]:
        if f not in self._parts:
            self._parts[f] = split(f, self.linear)
        return self._parts[f]

    def _form(self, f: PolyElement) -> Form:
        if self.budget.exhausted():
            return Form(f, tuple(angle.argument for angle in self.source.angles))
        return self.angles.shortest(f)

    def _product(self, form: Form) -> Product:
        return product(form.polynomial, deep=self.deep and not self.budget.exhausted())

    def _by_parameters(self, f: PolyElement, longest: int) -> sympy.Expr:
        """Collected; coefficients that are one sum of at most `longest` terms multiplied out."""
        terms = []
        for shared, coefficient in self._shared(f):
            form = self._form(coefficient)
            meaning = form.meaning(self.source)
            parameter = to_expression(shared, meaning)
            found = self._product(form)
            turning = any(found.monomial[k] for k in self.trig)
            short = found.sums == 1 and not turning and len(form.polynomial) <= longest
            if short and len(shared) == 1:
                terms += [parameter * term(m, c, meaning) for m, c in form.polynomial.terms()]
            else:
                terms.append(found.expression(meaning, parameter))
        return sympy.Add(*terms)

    def _shared(self, f: PolyElement) -> list[tuple[PolyElement, PolyElement]]:
        """Sums of parameters with the coefficient they share: (m + 2 m_tip) × l cos θ."""
        found: list[tuple[PolyElement, PolyElement]] = []
        for monomial, coefficient in self._coefficients(f).items():
            own = f.new({monomial: f.ring.domain.one})
            for k, (parameters, other) in enumerate(found):
                ratio = multiple(coefficient, other)
                if ratio is not None:
                    found[k] = (parameters + own * ratio, other)
                    break
            else:
                found.append((own, coefficient))
        # no fractions inside the sum: 2 l (½ m + m_tip) is l (m + 2 m_tip)
        whole = [(parameters.primitive(), other) for parameters, other in found]
        return [(sum_, other * content) for (content, sum_), other in whole]

    def _by_angles(self, f: PolyElement) -> sympy.Expr:
        """Sums times sums or sines stand alone; other terms are collected by sines and cosines."""
        terms: list[sympy.Expr] = []
        pool: dict[sympy.Expr, PolyElement] = {}
        for monomial, coefficient in self._coefficients(f).items():
            form = self._form(coefficient)
            meaning = form.meaning(self.source)
            parameter = f.new({monomial: f.ring.domain.one})
            found = self._product(form) if self.deep and len(form.polynomial) > 1 else None
            if found and self._stands_alone(found):
                terms.append(found.expression(meaning, to_expression(parameter, meaning)))
                continue
            for m, c in split(form.polynomial, self.trig).items():
                turned = term(m, f.ring.domain.one, meaning)
                pool[turned] = pool.get(turned, f.ring.zero) + c * parameter
        for turned, c in pool.items():
            if c:
                terms.append(self._product(Form(c, ())).expression(self.source.generators, turned))
        return sympy.Add(*terms)

    def _stands_alone(self, found: Product) -> bool:
        """Two sums multiplied, or a sum and a sine."""
        return found.sums > 1 or (found.sums == 1 and any(found.monomial[k] for k in self.trig))


def _stands_still(turned: sympy.Expr, source: Polynomials, moving: set[int]) -> bool:
    """True if the argument of this sine or cosine holds no symbol that moves; one still free may."""
    names = {source.generators[k] for k in moving if source.generators[k].is_Symbol}
    return not turned.is_Number and not turned.free_symbols & names


def _order(monomial: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Constants first, then by degree, then in the order of the coordinates."""
    return sum(monomial), tuple(-e for e in monomial)
