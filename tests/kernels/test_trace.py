"""Tracing: what comes out is what the function computes, in C order, whatever the shapes."""

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.program.trace import from_casadi, trace
from dalembert.tracing.interpreter import interpret
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
    (actual,) = interpret(trace(function, {"x": shape}), x)
    expected = np.asarray(function(x))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-15)


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
    (actual,) = interpret(trace(function, {"x": (3,)}), x)
    np.testing.assert_array_equal(actual, [2.0, 3.0, 0.0])


def test_from_casadi_keeps_positions_of_sparse_matrices(casadi):
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


def test_from_casadi_expands_matrix_functions(casadi):
    x = casadi.MX.sym("x", 2, 2)
    p = from_casadi(casadi.Function("f", [x], [casadi.sin(x) @ x]))
    a = RNG.standard_normal((2, 2))
    np.testing.assert_allclose(interpret(p, a)[0], np.sin(a) @ a, rtol=1e-14)


def test_numerical_solvers_are_refused(casadi):
    x = casadi.MX.sym("x", 2, 2)
    with pytest.raises(CompileError, match="f cannot be written as scalar operations"):
        from_casadi(casadi.Function("f", [x], [casadi.inv(x)]))


def test_what_has_no_compiled_form_is_named(casadi):
    x = casadi.SX.sym("x")
    with pytest.raises(CompileError, match="ERFINV"):
        from_casadi(casadi.Function("f", [x], [casadi.erfinv(x)]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if float(x[0]) > 0.1 else -x,
        lambda x: math.sin(x[0]) * x,
        lambda x: x[int(x[0])] * x,
    ],
)
def test_a_value_that_is_not_there_yet_is_refused(function):
    """CasADi's float of a symbol is NaN: one branch would be taken for all states."""
    with pytest.raises(CompileError, match=r"no value yet: use NumPy's functions"):
        dl.compile_function(function, {"x": 3})
    with pytest.raises(dl.DalembertError, match="no value yet"):
        dl.Constrained(dl.load("planar_2r"), [dl.Holonomic(lambda q: function(q)[:1])])


def test_a_mask_chooses_entries():
    mask = np.array([True, False, True])
    x, A = np.array([0.5, -0.4, 1.3]), np.arange(6.0).reshape(3, 2)
    for index in (mask, mask.tolist(), [0, 2]):
        f = dl.compile_function(lambda x, A, i=index: (x[i], A[i]), {"x": 3, "A": (3, 2)})
        np.testing.assert_array_equal(f(x, A)[0], x[index])
        np.testing.assert_array_equal(f(x, A)[1], A[index])
    with pytest.raises(IndexError, match="boolean index did not match"):
        dl.compile_function(lambda x: x[np.array([True, False])], {"x": 3})


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: None, "function cannot be traced: its output 'out' is None; is a return"),
        (lambda x: (x, None), "output 'out1' is None"),
        (lambda x: {"a": x, "b": None}, "output 'b' is None"),
        (lambda x: (), "function returns no output"),
        (lambda x: {}, "function returns no output"),
        (lambda x: "abc", "output 'out' is 'abc', which is no array of numbers"),
        (lambda x: {"a": {"b": 1.0}}, "output 'a' is {'b': 1.0}, which is no array"),
        (lambda x: np.array([None, 1.0]), "function cannot be traced: .* not 'NoneType'"),
        (lambda x: x * "a", "function cannot be traced: "),
        (lambda x: np.fromiter((a for a in x), float), "function cannot be traced: "),
        (lambda x: x @ np.zeros(4), "function cannot be traced: .*mismatch"),
    ],
)
def test_a_function_without_numbers_to_return_is_refused(function, reason):
    """A forgotten return was NaN, and what has no outputs failed where it was called."""
    with pytest.raises(CompileError, match=reason):
        dl.compile_function(function, {"x": 3})


def test_errors_that_explain_themselves_go_through_a_trace():
    def wrong(x):
        raise ShapeError("q has five entries")

    with pytest.raises(ShapeError, match=r"^q has five entries$"):
        dl.compile_function(wrong, {"x": 3})
