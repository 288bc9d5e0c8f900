"""Programs on Taylor series, against SymPy's derivatives."""

from math import factorial, prod

import numpy as np
import pytest
import sympy

from dalembert.errors import CompileError
from dalembert.kernels.program.taylor import algebra, taylor, variables
from dalembert.kernels.program.trace import trace

POINT, ORDER = np.array([0.4, 0.7]), 4


def around(function, point=POINT, order=ORDER):
    return taylor(trace(function, {"x": (len(point),)}), np.asarray(point, dtype=float), order)[0]


def by_sympy(expression, symbols, point=POINT, order=ORDER):
    """∂^α f / α! for every monomial of the algebra."""
    values = dict(zip(symbols, point, strict=True))
    coefficients = []
    for word in algebra(len(symbols), order).words:
        partial = expression
        for k in word:
            partial = partial.diff(symbols[k])
        counts = [word.count(k) for k in range(len(symbols))]
        coefficients.append(float(partial.subs(values)) / prod(map(factorial, counts)))
    return np.array(coefficients)


A, B = sympy.symbols("a b", positive=True)
SINGLE = {
    "sin": (np.sin, sympy.sin),
    "cos": (np.cos, sympy.cos),
    "tan": (np.tan, sympy.tan),
    "arcsin": (np.arcsin, sympy.asin),
    "arccos": (np.arccos, sympy.acos),
    "arctan": (np.arctan, sympy.atan),
    "sinh": (np.sinh, sympy.sinh),
    "cosh": (np.cosh, sympy.cosh),
    "tanh": (np.tanh, sympy.tanh),
    "arcsinh": (np.arcsinh, sympy.asinh),
    "arccosh": (lambda x: np.arccosh(2.0 + x), lambda x: sympy.acosh(2 + x)),
    "arctanh": (np.arctanh, sympy.atanh),
    "exp": (np.exp, sympy.exp),
    "expm1": (np.expm1, lambda x: sympy.exp(x) - 1),
    "log": (np.log, sympy.log),
    "log1p": (np.log1p, lambda x: sympy.log(1 + x)),
    "sqrt": (np.sqrt, sympy.sqrt),
    "power": (lambda x: x**2.5, lambda x: x ** sympy.Rational(5, 2)),
    "cube": (lambda x: x**3, lambda x: x**3),
    "quotient": (lambda x: 1.0 / (1.0 + x), lambda x: 1 / (1 + x)),
    "absolute": (lambda x: np.abs(-x), lambda x: x),
}


@pytest.mark.parametrize("name", SINGLE)
def test_functions_of_a_product(name):
    ours, theirs = SINGLE[name]
    coefficients = around(lambda x: ours(x[0] * x[1] + 0.1 * x[0]))
    expected = by_sympy(theirs(A * B + A / 10), (A, B))
    np.testing.assert_allclose(coefficients, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1), (5, 1), (1, 5)])
def test_functions_of_two_arguments(signs):
    s, t = signs
    coefficients = around(lambda x: np.arctan2(s * x[0], t * x[1]))
    expected = by_sympy(sympy.atan2(s * A, t * B), (A, B))
    np.testing.assert_allclose(coefficients, expected, rtol=1e-11, atol=1e-11)
    coefficients = around(lambda x: np.hypot(s * x[0], t * x[1]) + x[0] ** x[1])
    expected = by_sympy(sympy.sqrt((s * A) ** 2 + (t * B) ** 2) + A**B, (A, B))
    np.testing.assert_allclose(coefficients, expected, rtol=1e-11, atol=1e-11)


def test_pieces_are_those_of_the_point():
    coefficients = around(
        lambda x: np.where(x[0] < x[1], x[0] * x[1], np.sin(x[0])) + np.sign(x[0])
    )
    np.testing.assert_allclose(coefficients, by_sympy(A * B + 1, (A, B)), atol=1e-15)
    coefficients = around(lambda x: np.maximum(x[0], x[1]) * np.minimum(x[0], x[1]))
    np.testing.assert_allclose(coefficients, by_sympy(A * B, (A, B)), atol=1e-15)


def test_a_kink_has_no_series():
    with pytest.raises(CompileError, match="kink"):
        around(lambda x: np.abs(x[0]), point=[0.0])
    with pytest.raises(CompileError, match="kink"):
        around(lambda x: np.maximum(x[0], x[1]), point=[1.0, 1.0])


def test_a_whole_power_of_zero_is_smooth():
    np.testing.assert_allclose(around(lambda x: x[0] ** 3, point=[0.0]), [0, 0, 0, 1, 0])


def test_only_inputs_that_are_read_are_variables():
    program = trace(lambda x: np.stack([x[2] ** 2, x[0]]), {"x": (4,)})
    assert variables(program).tolist() == [0, 2]
    (coefficients,) = taylor(program, np.arange(4.0), 2)
    np.testing.assert_allclose(coefficients[:, 0], [4, 0, 4, 0, 0, 1])
    assert coefficients.shape == (6, 2)


def test_slopes_are_derivatives_of_the_series():
    series = algebra(2, 4)
    f = around(lambda x: np.exp(x[0]) * np.sin(x[1]))
    expected = [sympy.exp(A) * sympy.sin(B), sympy.exp(A) * sympy.cos(B)]
    for k in range(2):
        np.testing.assert_allclose(
            series.gradient(f)[:, k], by_sympy(expected[k], (A, B), order=3), rtol=1e-12
        )


def test_long_products_are_formed_in_parts(monkeypatch):
    series, rng = algebra(3, 5), np.random.default_rng(1)
    a, b = rng.normal(size=(2, series.size, 2, 2))
    whole = series.product(a, b)
    monkeypatch.setattr("dalembert.kernels.program.taylor.CHUNK", 7)
    np.testing.assert_allclose(series.product(a, b), whole, rtol=1e-13, atol=1e-13)
