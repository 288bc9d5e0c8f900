"""Programs as SymPy, instruction by instruction."""

import numpy as np
import pytest
import sympy

from dalembert.errors import EquationError
from dalembert.kernels.program.trace import trace
from dalembert.symbolic import to_sympy
from dalembert.symbolic.operations import exact, number
from dalembert.tracing.interpreter import interpret

X = np.array([0.3, 0.7, 1.1])

FUNCTIONS = {
    "arithmetic": lambda x: (x[0] - x[1]) * x[2] / x[1] + x[0] ** 2 - x[2],
    "powers": lambda x: np.sqrt(x[0]) + x[1] ** 2.5,
    "angles": lambda x: np.sin(x[0]) * np.cos(x[1]) + np.tan(x[2]) + np.arctan2(x[0], x[1]),
    "inverse": lambda x: np.arcsin(x[0]) + np.arccos(x[1]) + np.arctan(x[2]),
    "hyperbolic": lambda x: np.sinh(x[0]) + np.cosh(x[1]) * np.tanh(x[2]),
    "exponential": lambda x: np.exp(x[0]) * np.log(x[1]) + np.log1p(x[2]) + np.expm1(x[0]),
    "pieces": lambda x: np.where(x[0] < x[1], x[2], -x[0]) + np.fmin(x[0], x[1]) + np.abs(-x[1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_operation(name):
    """SymPy's value at a point is that of the program."""
    program = trace(FUNCTIONS[name], {"x": (3,)})
    expression = to_sympy(program)["out"]
    symbols = sympy.symbols("x1 x2 x3")
    value = float(expression.subs(dict(zip(symbols, X, strict=True))))
    assert value == pytest.approx(float(interpret(program, X)[0]), rel=1e-13)


def test_shapes_of_outputs():
    def function(q):
        return {"s": q[0], "v": 2.0 * q, "m": np.outer(q, q), "t": np.stack([np.outer(q, q)] * 2)}

    actual = to_sympy(trace(function, {"q": (2,)}))
    q1, q2 = sympy.symbols("q1 q2")
    assert actual["s"] == q1
    assert actual["v"] == sympy.Matrix([2 * q1, 2 * q2])
    assert actual["m"] == sympy.Matrix([[q1**2, q1 * q2], [q1 * q2, q2**2]])
    assert actual["t"].shape == (2, 2, 2)


def test_given_symbols_and_names_for_repeated_values():
    """With definitions, sin θ is written once."""
    program = trace(lambda q: np.stack([np.sin(q[0]) * 2.0, np.sin(q[0]) + 1.0]), {"q": (1,)})
    theta, w1 = sympy.symbols("theta w1")
    definitions = {}
    actual = to_sympy(program, {"q": [theta]}, definitions)["out"]
    assert definitions == {w1: sympy.sin(theta)}
    assert actual == sympy.Matrix([2 * w1, 1 + w1])


def test_wrong_symbols_are_refused():
    program = trace(lambda q: q[0], {"q": (2,)})
    with pytest.raises(EquationError, match="q needs 2 symbols, got 1"):
        to_sympy(program, {"q": [sympy.Symbol("a")]})
    with pytest.raises(EquationError, match="no input 'p'"):
        to_sympy(program, {"p": []})


def test_numbers_are_fractions_or_decimals():
    assert number(exact(0.5)) == sympy.Rational(1, 2)
    assert number(exact(1 / 12)) == sympy.Rational(1, 12)
    assert str(number(exact(9.81))) == "9.81000000000000"
    assert float(number(exact(np.pi))) == pytest.approx(np.pi, rel=1e-13)
