"""Tracing: what comes out is what the function computes, in C order, whatever the shapes."""

import casadi
import numpy as np
import pytest

from dalembert.errors import CompileError
from dalembert.kernels.program.interpret import interpret
from dalembert.kernels.program.trace import from_casadi, trace
from tests.kernels.arm import SHAPES, inverse_dynamics

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("shape", "function"),
    [
        ((), lambda x: x * 2.0),
        ((), lambda x: np.stack([x, x + 1.0])),
        ((1,), lambda x: x + 1.0),
        ((3,), lambda x: x[::-1]),
        ((3,), lambda x: x[1]),
        ((2, 3), lambda x: x.T),
        ((2, 3), lambda x: x @ x.T),
        ((3, 1), lambda x: x * 2.0),
        ((1, 3), lambda x: x * 2.0),
        ((2, 3), lambda x: np.stack([x, 2.0 * x])),
        ((2, 2, 3), lambda x: x.reshape(4, 3).T),
        ((3,), lambda x: np.arange(24.0).reshape(2, 3, 4)),
        ((3,), lambda x: 1.5),
    ],
)
def test_shapes_and_order(shape, function):
    x = RNG.standard_normal(shape)
    (found,) = interpret(trace(function, {"x": shape}), x)
    expected = np.asarray(function(x))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_outputs_are_named():
    p = trace(lambda a: {"twice": a + a, "same": a}, {"a": (2,)}, name="pair")
    assert (p.name, [port.name for port in p.outputs]) == ("pair", ["twice", "same"])
    assert [port.name for port in trace(lambda a: (a, a), {"a": ()}).outputs] == ["out0", "out1"]


def test_arm_agrees_with_numpy():
    p = trace(inverse_dynamics, SHAPES)
    x = RNG.standard_normal((3, 5, 6))
    expected = np.stack([inverse_dynamics(*x[:, k]) for k in range(5)])
    # rounding of some 500 operations on numbers up to 100 N·m
    np.testing.assert_allclose(interpret(p, *x)[0], expected, atol=1e-12)


def test_branches():
    def function(x):
        return np.where(x > 0.0, np.sqrt(x), -x)

    x = np.array([4.0, -3.0, 0.0])
    (found,) = interpret(trace(function, {"x": (3,)}), x)
    np.testing.assert_array_equal(found, [2.0, 3.0, 0.0])


def test_from_casadi_keeps_positions_of_sparse_matrices():
    x = casadi.SX.sym("x", casadi.Sparsity.lower(3))
    scale = casadi.SX.sym("scale")
    y = casadi.sparsify(casadi.diag(casadi.diag(x))) * scale
    p = from_casadi(casadi.Function("f", [x, scale], [y, x.T @ x]))
    assert p.signature == "(3,3),()->(3,3),(3,3)"
    a = RNG.standard_normal((3, 3))
    diagonal, gram = interpret(p, a, np.float64(2.0))
    low = np.tril(a)
    np.testing.assert_allclose(diagonal, 2.0 * np.diag(np.diag(a)), rtol=1e-15)
    np.testing.assert_allclose(gram, low.T @ low, atol=1e-15)


def test_from_casadi_expands_matrix_functions():
    x = casadi.MX.sym("x", 2, 2)
    p = from_casadi(casadi.Function("f", [x], [casadi.sin(x) @ x]))
    a = RNG.standard_normal((2, 2))
    np.testing.assert_allclose(interpret(p, a)[0], np.sin(a) @ a, rtol=1e-14)


def test_numerical_solvers_are_refused():
    x = casadi.MX.sym("x", 2, 2)
    with pytest.raises(CompileError, match="f cannot be written as scalar operations"):
        from_casadi(casadi.Function("f", [x], [casadi.inv(x)]))


def test_what_has_no_compiled_form_is_named():
    x = casadi.SX.sym("x")
    with pytest.raises(CompileError, match="ERFINV"):
        from_casadi(casadi.Function("f", [x], [casadi.erfinv(x)]))
