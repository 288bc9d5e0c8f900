"""Local derivatives of the operations of a program, in one table.

`LOCAL[op](t, x, y, f)` gives, for f = op(x, y), one linear map per operand: from a change of the
operand to the change of f, which is also the map from a weight of f to that of the operand. An
operation that is constant where it has a derivative (a comparison, `floor`) has none and is not
listed. Where a function has a kink, its derivative is that of one side or the mean of both.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from dalembert.tracing.program import Op
from dalembert.tracing.table import Signed, Table

Map = Callable[[Signed], Signed]
Rule = Callable[[Table, Signed, Signed, Signed], tuple[Map | None, ...]]


def _factor(factor: Callable[[Table, Signed, Signed], Signed]) -> Rule:
    """A function of one operand: f′(x), from x and f."""

    def rule(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
        slope = factor(t, x, f)
        return (lambda s: t.product(slope, s),)

    return rule


def _over(divisor: Callable[[Table, Signed, Signed], Signed]) -> Rule:
    """The same where 1 / f′(x) is at hand."""

    def rule(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
        inverse = divisor(t, x, f)
        return (lambda s: t.binary(Op.DIV, s, inverse),)

    return rule


def _negative(x: Signed) -> Signed:
    return x[0], -x[1]


def _one_plus(t: Table, x: Signed, sign: int = 1) -> Signed:
    """1 ± x."""
    return t.sum(t.constant(1.0), (x[0], sign * x[1]))


def _square(t: Table, x: Signed) -> Signed:
    return t.product(x, x)


def _root(t: Table, x: Signed) -> Signed:
    return t.unary(Op.SQRT, x)


def _divide(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
    """d(x/y) = (dx − f dy) / y: the quotient s/y is shared by both."""
    return (
        lambda s: t.binary(Op.DIV, s, y),
        lambda s: _negative(t.product(f, t.binary(Op.DIV, s, y))),
    )


def _power(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map | None, ...]:
    """d(xʸ) = y xʸ⁻¹ dx + ln x xʸ dy."""
    below = t.binary(Op.POW, x, t.sum(y, t.constant(-1.0)))
    slope = t.product(y, below)

    def of_exponent(s: Signed) -> Signed:
        return t.product(t.product(t.unary(Op.LOG, x), f), s)

    return (lambda s: t.product(slope, s)), of_exponent


def _atan2(t: Table, y: Signed, x: Signed, f: Signed) -> tuple[Map, ...]:
    """d atan2(y, x) = (x dy − y dx) / (x² + y²)."""
    length = t.sum(_square(t, x), _square(t, y))
    return (
        lambda s: t.product(t.binary(Op.DIV, x, length), s),
        lambda s: _negative(t.product(t.binary(Op.DIV, y, length), s)),
    )


def _hypot(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
    return (
        lambda s: t.product(t.binary(Op.DIV, x, f), s),
        lambda s: t.product(t.binary(Op.DIV, y, f), s),
    )


def _chosen(comparison: Callable[[Table, Signed, Signed], tuple[Signed, Signed]]) -> Rule:
    """MIN and MAX: the operand that is taken, half of each where they are equal."""

    def rule(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
        first, second = comparison(t, x, y)
        both = t.sum(first, second)
        return (
            lambda s: t.product(t.binary(Op.DIV, first, both), s),
            lambda s: t.product(t.binary(Op.DIV, second, both), s),
        )

    return rule


def _modulo(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map, ...]:
    """x − n y with a whole number n of the quotient."""

    def of_divisor(s: Signed) -> Signed:
        whole = t.binary(Op.DIV, t.sum(x, _negative(f)), y)
        return _negative(t.product(whole, s))

    return (lambda s: s), of_divisor


def _copysign(t: Table, x: Signed, y: Signed, f: Signed) -> tuple[Map | None, ...]:
    """|x| with the sign of y: −1 where the sign is turned."""
    turned = t.product(t.unary(Op.SIGN, x), t.binary(Op.COPYSIGN, t.constant(1.0), y))
    return (lambda s: t.product(turned, s)), None


LOCAL: dict[int, Rule] = {
    Op.NEG: lambda t, x, y, f: (_negative,),
    Op.ADD: lambda t, x, y, f: ((lambda s: s), (lambda s: s)),
    Op.SUB: lambda t, x, y, f: ((lambda s: s), _negative),
    Op.MUL: lambda t, x, y, f: ((lambda s: t.product(y, s)), (lambda s: t.product(x, s))),
    Op.DIV: _divide,
    Op.SQ: _factor(lambda t, x, f: t.sum(x, x)),
    Op.SQRT: _over(lambda t, x, f: t.sum(f, f)),
    Op.SIN: _factor(lambda t, x, f: t.unary(Op.COS, x)),
    Op.COS: _factor(lambda t, x, f: _negative(t.unary(Op.SIN, x))),
    Op.TAN: _factor(lambda t, x, f: _one_plus(t, _square(t, f))),
    Op.ASIN: _over(lambda t, x, f: _root(t, _one_plus(t, _square(t, x), -1))),
    Op.ACOS: _over(lambda t, x, f: _negative(_root(t, _one_plus(t, _square(t, x), -1)))),
    Op.ATAN: _over(lambda t, x, f: _one_plus(t, _square(t, x))),
    Op.ATAN2: _atan2,
    Op.SINH: _factor(lambda t, x, f: t.unary(Op.COSH, x)),
    Op.COSH: _factor(lambda t, x, f: t.unary(Op.SINH, x)),
    Op.TANH: _factor(lambda t, x, f: _one_plus(t, _square(t, f), -1)),
    Op.ASINH: _over(lambda t, x, f: _root(t, _one_plus(t, _square(t, x)))),
    Op.ACOSH: _over(lambda t, x, f: _root(t, t.sum(_square(t, x), t.constant(-1.0)))),
    Op.ATANH: _over(lambda t, x, f: _one_plus(t, _square(t, x), -1)),
    Op.EXP: _factor(lambda t, x, f: f),
    Op.EXPM1: _factor(lambda t, x, f: t.unary(Op.EXP, x)),
    Op.LOG: _over(lambda t, x, f: x),
    Op.LOG1P: _over(lambda t, x, f: _one_plus(t, x)),
    Op.POW: _power,
    Op.HYPOT: _hypot,
    Op.ERF: _factor(
        lambda t, x, f: t.product(
            t.constant(2.0 / sqrt(pi)), t.unary(Op.EXP, _negative(_square(t, x)))
        )
    ),
    Op.ABS: _factor(lambda t, x, f: t.unary(Op.SIGN, x)),
    Op.FMOD: _modulo,
    Op.REMAINDER: _modulo,
    Op.COPYSIGN: _copysign,
    Op.MIN: _chosen(lambda t, x, y: (t.binary(Op.LE, x, y), t.binary(Op.LE, y, x))),
    Op.MAX: _chosen(lambda t, x, y: (t.binary(Op.LE, y, x), t.binary(Op.LE, x, y))),
    Op.SELECT0: lambda t, c, y, f: (None, lambda s: t.binary(Op.SELECT0, c, s)),
}
