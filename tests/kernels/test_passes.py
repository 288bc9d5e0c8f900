"""Programs in other orders and with fewer divisions, and derivatives of functions of arrays."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.program import passes
from dalembert.kernels.program.passes import (
    distant_uses,
    mean_alive,
    order_results,
    reciprocals,
    reordered,
)
from dalembert.kernels.program.trace import trace
from dalembert.tracing.casadi_io import to_casadi
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Op, depth_first

QUANTITIES = ("inverse_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def state(program):
    rng = np.random.default_rng(0)
    return [rng.uniform(-2, 2, (5, *port.shape)) for port in program.inputs]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_order_changes_nothing(quantity):
    """The same operations on the same operands: equal to the last bit, and never more waiting."""
    program = dl.load("ur5").program(quantity)
    other = order_results(program)
    assert sorted(program.op) == sorted(other.op)
    assert mean_alive(other) <= mean_alive(program)
    x = state(program)
    for a, b in zip(interpret(program, *x), interpret(other, *x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_order_by_shells():
    """A recursion from the last index on, asked for from the first: the other order waits less."""

    def function(x):
        total, rows = x[0], []
        for k in reversed(range(8)):
            total = np.sin(total) * x[k]
            rows.append(np.stack([total * x[j] + np.cos(total + x[j]) for j in range(8)]))
        return np.stack(rows[::-1])

    program = trace(function, {"x": (8,)})
    order = depth_first(program.operands.__getitem__, program.results.tolist())
    program = reordered(program, order)  # as asked for: the first row first
    assert mean_alive(order_results(program)) < mean_alive(program)


def test_reciprocals():
    program = dl.load("elbow_3r").program("forward_dynamics_derivatives")
    fewer = reciprocals(program)
    # at most one per pivot of M
    assert np.sum(fewer.op == Op.DIV) <= 3 < np.sum(program.op == Op.DIV)
    x = state(program)
    for a, b in zip(interpret(program, *x), interpret(fewer, *x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13 * abs(a).max())


@pytest.mark.parametrize("quantity", [*QUANTITIES, "pose"])
def test_casadi_function(casadi, quantity):
    robot = dl.load("elbow_3r")
    program, function = robot.program(quantity), robot.casadi_function(quantity)
    x = [array[0] for array in state(program)]
    returned = function(*x)
    returned = returned if isinstance(returned, tuple) else (returned,)
    for mine, other in zip(returned, interpret(program, *x), strict=True):
        np.testing.assert_allclose(np.array(mine).reshape(other.shape), other, atol=1e-12)


def test_casadi_operations(casadi):
    def function(x, y):
        parts = [np.where(x < y, x, y), np.arctan2(x, y), np.maximum(x, y), abs(x), np.sign(y)]
        return np.stack([*parts, np.logical_and(x < y, y < 1.0) * x, np.floor(x), np.fmod(x, y)])

    program = trace(function, {"x": (), "y": ()})
    exported = to_casadi(program)
    for x, y in ((0.3, 0.7), (-1.2, 0.4), (2.5, -0.6)):
        np.testing.assert_allclose(
            np.array(exported(x, y)).ravel(),
            interpret(program, np.array(x), np.array(y))[0],
            atol=1e-15,
        )


def test_compile_a_function():
    def spring(x, k):
        return {"energy": 0.5 * k * (x @ x), "force": -k * x}

    compiled = dl.compile_function(spring, {"x": 3, "k": ()})
    x = np.arange(12.0).reshape(4, 3)
    energy, force = compiled(x, 2.0)
    np.testing.assert_allclose(energy, (x**2).sum(axis=1))
    np.testing.assert_allclose(force, -2.0 * x)
    derivative = compiled.jvp("x")(x, 2.0, np.ones(3))
    np.testing.assert_allclose(derivative[0], 2.0 * x.sum(axis=1))
    gradient = compiled.vjp("x", "k")(x, 2.0, 1.0, np.zeros(3))
    np.testing.assert_allclose(gradient[0], 2.0 * x)
    np.testing.assert_allclose(gradient[1], 0.5 * (x**2).sum(axis=1))
    hessian = compiled.vjp("x").jacobian("x")(x, 2.0, 1.0, np.zeros(3))
    np.testing.assert_allclose(hessian, np.broadcast_to(2.0 * np.eye(3), (4, 3, 3)))
    assert "void spring(" in compiled.source("c")
    assert "__global__" in compiled.source("cuda", dtype="float32")


def test_compile_a_casadi_function(casadi):
    x = casadi.SX.sym("x", 2)
    compiled = dl.compile_function(casadi.Function("f", [x], [casadi.sin(x), casadi.dot(x, x)]))
    sine, square = compiled([0.5, 2.0])
    np.testing.assert_allclose(sine, np.sin([0.5, 2.0]))
    assert square == pytest.approx(4.25)


def test_compile_needs_shapes():
    with pytest.raises(dl.CompileError, match="a shape for each argument"):
        dl.compile_function(np.sin)
    with pytest.raises(dl.CompileError, match="spring"):
        dl.compile_function(lambda x: x, {"x": 3}, name="spring")(np.zeros(4))


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_export(tmp_path, target):
    from dalembert.systems.export import export

    files = export(dl.load("planar_2r"), "bias", target, tmp_path / "out")
    suffixes = {"c": [".c", ".h"], "cuda": [".cu"]}
    assert [file.suffix for file in files] == suffixes[target]


def test_export_to_casadi(casadi, tmp_path):
    from dalembert.systems.export import export

    (file,) = export(dl.load("planar_2r"), "bias", "casadi", tmp_path / "out")
    assert file.suffix == ".casadi"
    loaded = casadi.Function.load(str(file))
    expected = dl.load("planar_2r").bias([0.1, 0.2], [0.3, 0.4])
    np.testing.assert_allclose(np.array(loaded([0.1, 0.2], [0.3, 0.4])).ravel(), expected)


def test_long_solutions_for_many_right_sides_go_by_columns(monkeypatch):
    """K Kᵀ B and K Kᵀ C, as slopes are multiplied by M⁻¹: a column takes all of K, again and again."""
    mask = np.tril(np.ones((10, 10)))

    def solutions(K, B, C):
        return tuple((K * mask) @ ((K * mask).T @ X) for X in (B, C))

    shapes = dict.fromkeys("KBC", (10, 10))
    monkeypatch.setattr(passes, "_DISTANT", 50)
    by_waiting = trace(solutions, shapes)
    monkeypatch.setattr(passes, "_MAX_INSTRUCTIONS", 100)
    by_uses = trace(solutions, shapes)
    assert distant_uses(by_uses) < distant_uses(by_waiting)
    inputs = np.random.default_rng(0).normal(size=(3, 10, 10))
    for one, other in zip(interpret(by_uses, *inputs), interpret(by_waiting, *inputs), strict=True):
        np.testing.assert_array_equal(one, other)
