"""Tracing without CasADi gives the programs that tracing with it gives."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import bridge
from dalembert.bridge.primitives import Unrecorded
from dalembert.kernels.program.interpret import interpret
from dalembert.kernels.program.program import Op
from dalembert.kernels.program.trace import _recorded, trace
from dalembert.progress import counting


def both(function, **shapes):
    """(recorded, by CasADi)."""
    return _recorded(function, shapes, "f"), trace(function, shapes, name="f")


def assert_same(function, **shapes):
    recorded, traced = both(function, **shapes)
    assert recorded.signature == traced.signature
    rng = np.random.default_rng(0)
    states = [rng.normal(size=(4, *shape)) for shape in shapes.values()]
    for got, expected in zip(interpret(recorded, *states), interpret(traced, *states), strict=True):
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-14, nan_ok=True)
    return recorded, traced


WAYS = {
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


@pytest.mark.parametrize("way", WAYS)
def test_what_is_done_with_arrays_is_recorded(way):
    assert_same(WAYS[way], x=(3,), A=(3, 3))


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_formulations_record_what_casadi_traces(quantity):
    """Instruction by instruction as many, so that kernels are as quick as they were."""
    robot = dl.load("scara")
    variant = robot._variant(quantity, None, {})
    shapes = {port.name: port.shape for port in robot.ports(variant)[0]}
    recorded, traced = assert_same(robot._traceable(variant), **shapes)
    assert len(recorded) <= len(traced)


def test_reciprocals_that_meet_their_divisor_cancel():
    """As in U D⁻¹ Uᵀ of an articulated body, where D is an entry of U."""
    recorded, _ = both(
        lambda x: np.stack([x[0] * (1.0 / x[1]) * x[1], 3.0 * (1 / x[0]) * x[0]]), x=(2,)
    )
    assert set(recorded.op.tolist()) == {Op.INPUT, Op.CONST}


def test_what_cannot_be_recorded_is_traced_with_casadi():
    def slope(x):
        y = bridge.symbol("y", 2)
        return bridge.at([bridge.jacobian(y * y, y)], [y], [x])[0]

    with pytest.raises(Exception, match=r"."):
        _recorded(slope, {"x": (2,)}, "f")
    made = trace(slope, {"x": (2,)}, plain=True)
    assert interpret(made, np.array([1.0, 2.0]))[0].tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_bar_moves_while_a_function_is_recorded():
    def long(x):
        for _ in range(2000):
            x = np.sin(x)
        return x

    told = []
    with counting(told.append, 0.4):
        trace(long, {"x": (1,)}, plain=True)
    assert len(told) >= 10 and told == sorted(told) and 0.0 < told[0] < told[-1] < 0.4


def test_branches_on_values_are_refused():
    with pytest.raises(Unrecorded, match="in place of a branch on it"):
        _recorded(lambda x: x if x[0] > 0.0 else -x, {"x": (2,)}, "f")


def test_what_is_done_in_place_is_recorded():
    """NumPy asked for the sum again and again, until the stack ended."""

    def function(x):
        y = 2.0 * x
        y += 1.0
        return y

    made = _recorded(function, {"x": (3,)}, "f")
    np.testing.assert_array_equal(interpret(made, np.arange(3.0))[0], 2.0 * np.arange(3.0) + 1.0)


def test_symbols_are_not_added_to_an_array_of_numbers():
    def function(x):
        y = np.zeros(3)
        y += x
        return y

    with pytest.raises(Unrecorded, match=r"np\.add of symbols into an array of numbers"):
        _recorded(function, {"x": (3,)}, "f")
