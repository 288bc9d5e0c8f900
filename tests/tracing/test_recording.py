"""Traced functions do on numbers what they do in NumPy, or are refused by name."""

import numpy as np
import pytest

from dalembert import tracing
from dalembert.errors import CompileError
from dalembert.kernels.program.trace import trace
from dalembert.progress import counting
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Op


def assert_same(function, **shapes):
    """The traced program does on numbers what the function itself does."""
    program = trace(function, shapes)
    rng = np.random.default_rng(0)
    states = [rng.normal(size=(4, *shape)) for shape in shapes.values()]
    for k in range(4):
        state = {name: x[k] for name, x in zip(shapes, states, strict=True)}
        expected = function(**state)
        values = list(expected.values()) if isinstance(expected, dict) else [expected]
        for got, value in zip(interpret(program, *state.values()), values, strict=True):
            assert got == pytest.approx(value, rel=1e-12, abs=1e-14, nan_ok=True)


FORMS = {
    "where": lambda x, A: np.where(x > 0.1, x * x, np.where(x <= -0.5, -1.0, x[0])),
    "larger": lambda x, A: np.maximum(x, 0.3) + np.minimum(x[::-1], x[0]) + abs(x) + np.sign(x),
    "elementary": lambda x, A: np.exp(np.sin(x)) + np.sqrt(x * x + 1.0) * np.arctan2(x, x[0]),
    "powers": lambda x, A: x**2 + x**3 + 2.0 / (1.0 + x**4) + x / 3.0 - 2 * x,
    "rows": lambda x, A: {"a": np.stack([x, A[0], 0 * x]), "b": (A @ x)[1], "c": np.cross(x, A[1])},
    "inverse": lambda x, A: np.linalg.inv(A @ A.T + np.eye(3)) @ x,
    "root": lambda x, A: np.linalg.cholesky(A @ A.T + np.eye(3)),
    "numbers": lambda x, A: np.linalg.inv(2.0 * np.eye(3) + 0.0 * A) @ np.ones(3),
    "sums": lambda x, A: (
        np.sum(A, axis=0) + np.einsum("ij,j->i", A, x) + np.trace(A) * x.reshape(3)
    ),
    "entries": lambda x, A: (
        np.concatenate([np.stack([x[0], 1.0]), x[1:].reshape(-1)]) * x[2].reshape(1)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_done_with_arrays_is_recorded(form):
    assert_same(FORMS[form], x=(3,), A=(3, 3))


def test_reciprocals_that_meet_their_divisor_cancel():
    """As in U D⁻¹ Uᵀ of an articulated body, where D is an entry of U."""
    program = trace(
        lambda x: np.stack([x[0] * (1.0 / x[1]) * x[1], 3.0 * (1 / x[0]) * x[0]]), {"x": (2,)}
    )
    assert set(program.op.tolist()) == {Op.INPUT, Op.CONST}


def test_derivatives_are_taken_in_mid_trace():
    def function(x):
        y = tracing.symbol("y", 2)
        return tracing.at([tracing.jacobian(y * y, y)], [y], [x])[0]

    built = trace(function, {"x": (2,)})
    assert interpret(built, np.array([1.0, 2.0]))[0].tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_bar_moves_while_a_function_is_recorded():
    def long(x):
        for _ in range(2000):
            x = np.sin(x)
        return x

    message = []
    with counting(message.append, 0.4):
        trace(long, {"x": (1,)})
    assert (
        len(message) >= 10 and message == sorted(message) and 0.0 < message[0] < message[-1] < 0.4
    )


def test_branches_on_values_are_refused():
    with pytest.raises(CompileError, match="in place of a branch on it"):
        trace(lambda x: x if x[0] > 0.0 else -x, {"x": (2,)})


def test_what_is_done_in_place_is_recorded():
    """NumPy asked for the sum again and again, until the stack ended."""

    def function(x):
        y = 2.0 * x
        y += 1.0
        return y

    built = trace(function, {"x": (3,)})
    np.testing.assert_array_equal(interpret(built, np.arange(3.0))[0], 2.0 * np.arange(3.0) + 1.0)


def test_symbols_are_not_added_to_an_array_of_numbers():
    def function(x):
        y = np.zeros(3)
        y += x
        return y

    with pytest.raises(CompileError, match=r"np\.add of symbols into an array of numbers"):
        trace(function, {"x": (3,)})
