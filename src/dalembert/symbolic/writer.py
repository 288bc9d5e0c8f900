"""Polynomials in textbook form: collected, factored, in sums of angles, constants named.

Three styles of collecting: "parameters", for a mass matrix, with short sums multiplied out:
I + m r² + m l r c₃ + m (l c₂ + r c₂₃)²; "bodies", for an energy: m₂ g (l₀ − r₁ s₂) + m₃ g (…);
"angles", for derivatives: (I_y − I_z − m r²) c₂ s₂. Groups of parameters that appear together may get
names, as in α + 2β cos θ₂.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import chain, count
from typing import Any

import sympy
from sympy.polys.rings import PolyElement

from dalembert.symbolic.angles import Angles, Form, sums_in
from dalembert.symbolic.budget import Budget, TimeOver
from dalembert.symbolic.check import require_agreement, sample
from dalembert.symbolic.operations import input_symbols, number, shaped
from dalembert.symbolic.polynomials import (
    Polynomials,
    Product,
    TooLargeError,
    fraction,
    multiple,
    polynomials,
    product,
    split,
    term,
    to_expression,
)
from dalembert.tracing.program import Program

# without gamma and lambda, which are other quantities, and without those of the coordinates
GREEK = ("alpha", "beta", "delta", "epsilon", "zeta", "eta", "kappa", "mu", "nu", "xi")
Key = frozenset[tuple[tuple[tuple[str, int], ...], Fraction]]


class Constants:
    """Named sums and products of parameters, each with its definition.

    Multiples of one another share a name: 2 m l r is 2β where m l r is β.
    """

    def __init__(self, names: Sequence[str] | None = None, taken: Collection[str] = ()) -> None:
        self.definitions: dict[sympy.Symbol, sympy.Expr] = {}
        self._keys: dict[Key, sympy.Symbol] = {}
        preferred = tuple(names or ())
        used = {*taken, *preferred}
        others = chain(GREEK, (f"kappa{k}" for k in count(1)))
        self._names = chain(preferred, (name for name in others if name not in used))

    def name(
        self, f: PolyElement, meaning: Sequence[sympy.Expr], linear: Collection[int]
    ) -> sympy.Expr:
        """The polynomial in parameters as a number times a name; a single symbol stays itself."""
        content, primitive = f.primitive()
        scale = fraction(content)
        if primitive.LC < 0:
            primitive, scale = -primitive, -scale
        if len(f) == 1 and sum(next(iter(f))) <= 1:
            return to_expression(f, meaning)
        # the same in every ring: monomials by the names of their generators
        key = frozenset(
            (tuple(sorted((str(meaning[k]), e) for k, e in enumerate(m) if e)), fraction(c))
            for m, c in primitive.items()
        )
        if key not in self._keys:
            symbol = sympy.Symbol(next(self._names))
            self._keys[key] = symbol
            # collected by the linear parameters: I₁ + m₁r₁² + m₂(l₁² + r₂²)
            one, parts = f.ring.domain.one, split(primitive, linear).items()
            terms = [term(m, one, meaning) * to_expression(c, meaning) for m, c in parts]
            self.definitions[symbol] = sympy.Add(*terms)
        return number(scale) * self._keys[key]


STYLES = ("parameters", "bodies", "angles")
MORE_ANGLES = 8  # sums of angles that may stand beside their parts in one polynomial
SHORT_SUM = 3  # a coefficient that is one sum of so many terms is multiplied out


class Writer:
    """Writes the entries of one program.

    `linear` are symbols in which everything is linear (masses, moments), by which terms are
    collected; `constant` the symbols that do not move. While the budget lasts, factors are computed.
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
        self.linear = frozenset(source.positions(linear))
        self.constant = frozenset(source.positions(constant))
        trig = [p for angle in source.angles for p in (angle.cos, angle.sin)]
        moving = {k for k, g in enumerate(source.generators) if k not in self.constant}
        # sines and cosines whose argument contains no moving symbol; unused ones may get one later
        symbols = {source.generators[k] for k in moving if source.generators[k].is_Symbol}
        functions = ((p, source.generators[p]) for p in trig)
        fixed = {p for p, e in functions if not e.is_Number and not e.free_symbols & symbols}
        self.constant |= fixed
        self.trig = frozenset(trig) - fixed
        self.moving = frozenset(range(len(source.generators))) - self.constant
        if like is not None:
            self.angles.adopt(like.angles)
        elif not budget.exhausted():
            self.angles.learn(
                c for f in set(source.entries) for c in split(f, self.linear).values()
            )
        self._known: dict[tuple[PolyElement, str], sympy.Expr] = {}

    def write(self, f: PolyElement, style: str) -> sympy.Expr:
        """One entry, collected in one of the `STYLES`."""
        if (f, style) not in self._known:
            if style == "angles":
                self._known[f, style] = self._by_angles(f)
            else:
                longest = SHORT_SUM if style == "parameters" else 0
                self._known[f, style] = self._by_parameters(f, longest)
        return self._known[f, style]

    def write_grouped(self, f: PolyElement, constants: Constants) -> sympy.Expr:
        """One entry as Σ constant × function of the configuration, the constants by name."""
        form = self.angles.shortest(f, squares=False)
        meaning = form.meaning(self.source)
        parts = split(form.polynomial, self.moving)
        # constants first, then by degree, then in the order of the coordinates
        ordered = sorted(parts.items(), key=lambda part: (sum(part[0]), [-e for e in part[0]]))
        one = f.ring.domain.one
        named = [
            (constants.name(c, meaning, self.linear), term(m, one, meaning)) for m, c in ordered
        ]
        return sympy.Add(*(sympy.Mul(*factors) for factors in named))

    def is_simple(self, f: PolyElement) -> bool:
        """True if, constants named, f is linear in sines and cosines and has nothing else."""
        form = self.angles.shortest(f, squares=False)
        moving = split(form.polynomial, self.moving)
        powers = [[k for k, e in enumerate(m) if e] for m in moving]
        return all(sum(m) <= 1 for m in moving) and all(k in self.trig for p in powers for k in p)

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
            factored = self._product(form)
            turning = any(factored.monomial[k] for k in self.trig)
            short = factored.sums == 1 and not turning and len(form.polynomial) <= longest
            if short and len(shared) == 1:
                terms += [parameter * term(m, c, meaning) for m, c in form.polynomial.terms()]
            else:
                terms.append(factored.expression(meaning, parameter))
        return sympy.Add(*terms)

    def _shared(self, f: PolyElement) -> list[tuple[PolyElement, PolyElement]]:
        """Sums of parameters with the coefficient they share: (m + 2 m_tip) × l cos θ."""
        groups: list[tuple[PolyElement, PolyElement]] = []
        for monomial, coefficient in split(f, self.linear).items():
            own = f.new({monomial: f.ring.domain.one})
            for k, (parameters, other) in enumerate(groups):
                ratio = multiple(coefficient, other)
                if ratio is not None:
                    groups[k] = (parameters + own * ratio, other)
                    break
            else:
                groups.append((own, coefficient))
        # no fractions inside the sum: 2 l (½ m + m_tip) is l (m + 2 m_tip)
        whole = [(parameters.primitive(), other) for parameters, other in groups]
        return [(sum_, other * content) for (content, sum_), other in whole]

    def _by_angles(self, f: PolyElement) -> sympy.Expr:
        """Sums times sums or sines stand alone; other terms are collected by sines and cosines."""
        terms: list[sympy.Expr] = []
        pool: dict[sympy.Expr, PolyElement] = {}
        for monomial, coefficient in split(f, self.linear).items():
            form = self._form(coefficient)
            meaning = form.meaning(self.source)
            parameter = f.new({monomial: f.ring.domain.one})
            factored = self._product(form) if self.deep and len(form.polynomial) > 1 else None
            if factored and (
                factored.sums > 1
                or (factored.sums == 1 and any(factored.monomial[k] for k in self.trig))
            ):
                terms.append(factored.expression(meaning, to_expression(parameter, meaning)))
                continue
            for m, c in split(form.polynomial, self.trig).items():
                factor = term(m, f.ring.domain.one, meaning)
                pool[factor] = pool.get(factor, f.ring.zero) + c * parameter
        for factor, c in pool.items():
            if c:
                terms.append(self._product(Form(c, ())).expression(self.source.generators, factor))
        return sympy.Add(*terms)


def textbook(
    program: Program,
    symbols: Mapping[str, Sequence[sympy.Expr]] | None = None,
    style: str = "angles",
    linear: Sequence[sympy.Expr] = (),
    parameters: Sequence[sympy.Expr] = (),
    simplify: str = "full",
    timeout: float | None = 10.0,
) -> dict[str, Any]:
    """Every output of any program in textbook form, checked; see `Writer` for styles.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> def f(q):
    ...     return np.cos(q[0]) * np.cos(q[1]) - np.sin(q[0]) * np.sin(q[1])
    >>> textbook(trace(f, {"q": (2,)}))["out"]
    cos(q1 + q2)
    """
    named = input_symbols(program, symbols)
    budget = Budget(timeout)
    try:
        with budget.limit():
            source = polynomials(program, named, budget)
            writer = Writer(source, linear, parameters, budget, simplify == "full")
            written = shaped(program, [writer.write(f, style) for f in writer.source.entries])
    except TimeOver:
        raise TooLargeError(f"{program.name} is not written within {timeout:g} s") from None
    require_agreement(sample(program, named), written)
    return written
