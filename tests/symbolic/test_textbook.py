"""Textbook form of any program: zeros, sums of angles, squares, factors."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import cos, sin

from dalembert.errors import EquationError
from dalembert.kernels.program.trace import trace
from dalembert.symbolic import check, require_agreement, sample, textbook, to_sympy
from dalembert.symbolic.operations import input_symbols
from dalembert.symbolic.polynomials import TooLargeError, linear_parameters, polynomials

A, B, C = sympy.symbols("q1 q2 q3")


def written(function, size=3, **options):
    return textbook(trace(function, {"q": (size,)}), **options)["out"]


def test_zero_is_zero():
    assert written(lambda q: np.sin(q[0]) ** 2 + np.cos(q[0]) ** 2 - 1.0) == 0
    assert written(lambda q: (q[0] + q[1]) ** 2 - q[0] ** 2 - 2 * q[0] * q[1] - q[1] ** 2) == 0


def test_sums_and_differences_of_angles():
    def c(q, i):
        return np.cos(q[i])

    def s(q, i):
        return np.sin(q[i])

    assert written(lambda q: c(q, 0) * c(q, 1) - s(q, 0) * s(q, 1)) == cos(A + B)
    assert written(lambda q: s(q, 0) * c(q, 1) - c(q, 0) * s(q, 1)) == sin(A - B)
    assert written(lambda q: np.cos(q[0] + q[1] + q[2])) == cos(A + B + C)
    assert written(lambda q: c(q, 0) * c(q, 1)) == cos(A) * cos(B)


def test_squares_as_sines_where_shorter():
    assert written(lambda q: 1.0 - np.cos(q[0]) ** 2) == sin(A) ** 2
    assert written(lambda q: 1.0 - np.sin(q[0]) ** 2) == cos(A) ** 2

    def square(q):
        x = np.cos(q[0]) * np.sin(q[1]) + np.sin(q[0]) * np.cos(q[1]) * np.cos(q[2])
        return x * x

    assert written(square) == (cos(A) * sin(B) + sin(A) * cos(B) * cos(C)) ** 2


def test_factors_and_fast_form():
    def function(q):
        return (q[0] * np.cos(q[1]) + q[2]) ** 2

    assert written(function) == (A * cos(B) + C) ** 2
    assert written(function, simplify="fast") == sympy.expand((A * cos(B) + C) ** 2)


def test_what_is_no_polynomial_stays():
    """Roots and quotients become generators of the ring, and come back as they were."""
    assert written(lambda q: q[2] * np.sqrt(q[0] ** 2 + q[1] ** 2)) == C * sympy.sqrt(A**2 + B**2)
    assert written(lambda q: q[0] / q[1] + q[2] / q[1]) == (A + C) / B
    assert written(lambda q: np.cos(q[0] / 2.0) * np.exp(-q[1])) == cos(A / 2) * sympy.exp(-B)


def test_an_angle_with_an_offset_keeps_it():
    assert written(lambda q: q[1] * np.cos(q[0] + 0.3)) == B * cos(A + sympy.Float(0.3))


def test_cosines_of_parameters():
    """A twist that is a parameter gives cos α as a coefficient."""

    def function(q, parameters):
        return np.cos(parameters[0]) * np.cos(q[0]) - np.sin(parameters[0]) * np.sin(q[0])

    alpha = sympy.Symbol("alpha")
    program = trace(function, {"q": (1,), "parameters": (1,)})
    symbols = {"q": [A], "parameters": [alpha]}
    assert textbook(program, symbols, parameters=[alpha])["out"] == cos(A + alpha)


def test_linear_parameters_are_found():
    m, l, r = sympy.symbols("m l r")
    program = trace(lambda p: p[0] * p[1] ** 2 + p[0] * p[1] * p[2], {"p": (3,)})
    source = polynomials(program, {"p": [m, l, r]})
    assert linear_parameters(source, [m, l, r]) == (m,)


def test_too_large_is_said(monkeypatch):
    monkeypatch.setattr("dalembert.symbolic.polynomials.LIMIT", 10)
    program = trace(lambda q: (q[0] + q[1] + q[2] + 1.0) ** 4, {"q": (3,)})
    with pytest.raises(TooLargeError, match="too large"):
        polynomials(program)


def test_a_wrong_form_is_withheld():
    """One sign changed in one entry is an error that names the entry."""
    program = trace(lambda q: np.stack([np.sin(q[0]), q[0] + np.cos(q[1])]), {"q": (2,)})
    right = to_sympy(program)["out"]
    actual = sample(program, input_symbols(program))
    require_agreement(actual, {"out": right})
    wrong = sympy.Matrix([right[0], A - cos(B)])
    with pytest.raises(EquationError, match=r"out\[2\] differs"):
        require_agreement(actual, {"out": wrong})
    with pytest.raises(EquationError, match="neither an input nor a defined constant"):
        require_agreement(actual, {"out": sympy.Matrix([right[0], sympy.Symbol("z")])})


def test_a_rewriting_error_never_leaves(monkeypatch):
    """If factoring lost a term, nothing would be returned."""
    monkeypatch.setattr(
        "dalembert.symbolic.polynomials.to_expression", lambda f, meaning: sympy.Integer(7)
    )
    with pytest.raises(EquationError, match="withheld"):
        written(lambda q: np.cos(q[1]) * (q[0] * np.cos(q[1]) + q[2]) ** 2)


def test_points_without_a_value_are_left_out():
    program = trace(lambda q: np.sqrt(q[0] - q[1]), {"q": (2,)})
    actual = sample(program, input_symbols(program))
    assert np.isfinite(actual.outputs["out"]).all()
    assert (actual.symbols[A] > actual.symbols[B]).all()
    nowhere = trace(lambda q: np.sqrt(-1.0 - q[0] ** 2), {"q": (1,)})
    with pytest.raises(EquationError, match="no value"):
        sample(nowhere, input_symbols(nowhere))


TERMS = st.lists(
    st.tuples(
        st.integers(-3, 3),
        st.lists(st.tuples(st.sampled_from("csx"), st.integers(0, 2)), max_size=4),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(TERMS, st.sampled_from(["angles", "parameters", "bodies"]), st.booleans())
def test_any_polynomial_in_sines_and_cosines(terms, style, squared):
    """Whatever is rewritten is what it was: `textbook` raises otherwise, and here SymPy agrees."""

    def function(q):
        total = 0.0 * q[0]
        for scale, factors in terms:
            product = float(scale)
            for kind, k in factors:
                product = product * {"c": np.cos, "s": np.sin, "x": np.positive}[kind](q[k])
            total = total + product
        return total * total if squared else total

    program = trace(function, {"q": (3,)})
    actual = textbook(program, style=style, linear=[C])["out"]
    point = {A: 0.7, B: -1.3, C: 0.4}
    plain = to_sympy(program)["out"]
    assert float(actual.subs(point)) == pytest.approx(float(plain.subs(point)), rel=1e-9, abs=1e-9)


def test_the_tolerance_is_that_of_the_documentation():
    assert check.RELATIVE == 1e-9


def test_a_sum_of_angles_stands_beside_its_parts():
    """c₂₃ is written although c₂ and c₃ are there too; no pair of products is left."""

    def function(q):
        both = np.cos(q[1]) * np.cos(q[2]) - np.sin(q[1]) * np.sin(q[2])
        return np.cos(q[1]) + np.cos(q[2]) + q[0] * both

    assert written(function) == cos(B) + cos(C) + A * cos(B + C)

    def three(q):
        return np.cos(q[0]) + np.cos(q[1]) + np.cos(q[2]) + np.sin(q[0] + q[1] + q[2])

    assert written(three) == cos(A) + cos(B) + cos(C) + sin(A + B + C)
    assert written(lambda q: np.cos(q[0]) + np.cos(q[1]) + np.cos(q[0] - q[1])) == (
        cos(A) + cos(B) + cos(A - B)
    )


def test_no_angle_is_counted_twice_in_a_sum():
    def function(q):
        return np.sin(q[0]) * np.cos(q[0] + q[1]) + np.cos(q[0]) * np.sin(q[0] + q[1])

    assert not written(function, size=2).has(2 * A)


def test_parameters_with_one_coefficient_share_it():
    """l (m + 2 m_tip) cos θ, in M as in what is differentiated from it."""
    m, tip, l = sympy.symbols("m m_tip l")

    def function(q, p):
        return p[0] * p[2] * np.cos(q[0]) + 2.0 * p[1] * p[2] * np.cos(q[0])

    program = trace(function, {"q": (1,), "p": (3,)})
    symbols = {"q": [A], "p": [m, tip, l]}
    for style in ("parameters", "bodies", "angles"):
        form = textbook(program, symbols, style, linear=[m, tip], parameters=[m, tip, l])["out"]
        assert form == l * (m + 2 * tip) * cos(A)
