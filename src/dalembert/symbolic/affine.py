"""Values of a program that are sums of multiples of its inputs, such as the angle θ₁ + θ₂."""

from __future__ import annotations

from fractions import Fraction

from dalembert.symbolic.operations import exact
from dalembert.tracing.program import Op, Program

Affine = tuple[dict[int, Fraction], Fraction]  # coefficients by input, constant


def affine_forms(program: Program) -> list[Affine | None]:
    """Every value as Σ a_i x_i + b over the inputs, None where it is not.

    >>> from dalembert.kernels.program.trace import trace
    >>> affine_forms(trace(lambda q: q[0] + q[1], {"q": (2,)}))[-1]
    ({0: Fraction(1, 1), 1: Fraction(1, 1)}, Fraction(0, 1))
    """
    forms: list[Affine | None] = []
    for op, a, b in program.rows:
        if op == Op.INPUT:
            forms.append(({a: Fraction(1)}, Fraction(0)))
        elif op == Op.CONST:
            forms.append(({}, exact(float(program.constants[a]))))
        elif op == Op.NEG:
            forms.append(_combined(forms[a], -1, ({}, Fraction(0)), 0))
        elif op in (Op.ADD, Op.SUB):
            forms.append(_combined(forms[a], 1, forms[b], 1 if op == Op.ADD else -1))
        elif op == Op.MUL:
            forms.append(_scaled(forms[a], forms[b]))
        else:
            forms.append(None)
    return forms


def _combined(x: Affine | None, s: int, y: Affine | None, t: int) -> Affine | None:
    """s x + t y."""
    if x is None or y is None:
        return None
    keys = [*x[0], *(k for k in y[0] if k not in x[0])]
    sums = {k: s * x[0].get(k, Fraction(0)) + t * y[0].get(k, Fraction(0)) for k in keys}
    return {k: c for k, c in sums.items() if c}, s * x[1] + t * y[1]


def _scaled(x: Affine | None, y: Affine | None) -> Affine | None:
    """x y, if one of them is a number."""
    if x is None or y is None or (x[0] and y[0]):
        return None
    scale, form = (x[1], y) if not x[0] else (y[1], x)
    return {k: scale * c for k, c in form[0].items() if scale}, scale * form[1]
