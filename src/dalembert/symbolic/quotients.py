"""Entries with denominators as one cancelled quotient of polynomials, shorter where h = 0 helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sympy.polys.rings import PolyElement

from dalembert.symbolic.angles import split
from dalembert.symbolic.polynomials import Polynomials, _reduce, reduce_sines

LARGEST = 10_000  # products of terms up to which common factors are looked for


class Quotient(NamedTuple):
    """above / below, without common factors."""

    above: PolyElement
    below: PolyElement

    @property
    def length(self) -> int:
        """Terms to write."""
        return len(self.above) + len(self.below)


def quotient(source: Polynomials, f: PolyElement) -> Quotient | None:
    """f with its reciprocals brought under one line; None where it has none of a polynomial."""
    used = [k for k in source.reciprocals if any(m[k] for m in f)]
    nested = (m[j] for k in used for m in source.reciprocals[k] for j in source.reciprocals)
    if not used or any(nested):
        return None
    found = Quotient(f, f.ring.one)
    for k in used:
        found = _cleared(source, found, k)
    ways = [found]
    # sin is not seen as a factor of 1 − cos², so both ways of writing squares are tried
    for angle in source.angles:
        if any(g[m] > 1 for part in found for g in part for m in (angle.cos, angle.sin)):
            ways.append(Quotient(*(_reduce(part, angle.cos, angle.sin) for part in found)))
    return min((_cancelled(way) for way in ways), key=lambda way: way.length)


def shortened(found: Quotient, relations: Sequence[PolyElement]) -> Quotient:
    """The same where the relations are zero, each part reduced by them where that is shorter."""
    rules = [h for h in relations if h]
    if not rules:
        return found
    parts = [min((f, f.rem(rules)), key=len) for f in found]
    return _cancelled(Quotient(*parts)) if parts[1] else found


def _cleared(source: Polynomials, found: Quotient, k: int) -> Quotient:
    """Multiplied above and below by the highest power of the denominator."""
    d = source.reciprocals[k]
    parts = {monomial[k]: part for monomial, part in split(found.above, {k}).items()}
    top = max(parts)
    above = found.above.ring.zero
    for power, part in parts.items():
        above += part * d ** (top - power)
    return Quotient(*(reduce_sines(f, source.angles) for f in (above, found.below * d**top)))


def _cancelled(found: Quotient) -> Quotient:
    """Common factors out, a positive first coefficient below, no fractions inside."""
    above, below = found
    if not above:
        return Quotient(above, below.ring.one)
    if len(above) * len(below) <= LARGEST:
        above, below = above.cancel(below)
    content, below = below.primitive()
    above = above * (1 / content)
    if below.LC < 0:
        above, below = -above, -below
    return Quotient(above, below)
