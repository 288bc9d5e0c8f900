"""Arrays through the bridge: the same values from numbers and from symbols, derivatives as known."""

import pickle
import subprocess
import sys

import numpy as np

from dalembert import bridge
from dalembert.kernels.program.trace import trace


def numbers(symbols, results, *values):
    """Arrays of symbols at these values."""
    return bridge.Function(symbols, results)(*values)


def test_jacobian_has_the_axes_of_both_arrays():
    x = bridge.symbol("x", 2, 3)
    values = np.arange(6.0).reshape(2, 3)
    (slope,) = numbers([x], [bridge.jacobian(x @ x.T, x)], values)
    assert slope.shape == (2, 2, 2, 3)
    step = np.random.default_rng(0).normal(size=(2, 3))
    along = np.tensordot(slope, step, 2)
    np.testing.assert_allclose(along, step @ values.T + values @ step.T, rtol=1e-14)


def test_slopes_of_numbers_are_zero():
    x = bridge.symbol("x", 2)
    for slope, shape in (
        (bridge.jacobian(np.eye(2), x), (2, 2, 2)),
        (bridge.gradient(3.0, x), (2,)),
        (bridge.directional(np.ones(3), x, x), (3,)),
    ):
        (found,) = numbers([x], [slope], np.ones(2))
        assert found.shape == shape
        assert not found.any()


def test_transposed_is_the_transpose_of_directional():
    x, d, f = bridge.symbol("x", 3), bridge.symbol("d", 3), bridge.symbol("f", 2, 2)
    y = np.stack([np.stack([x[0] * x[1], np.sin(x[2])]), np.stack([x[1], x[0] * x[2]])])
    rng = np.random.default_rng(1)
    at = [rng.normal(size=shape) for shape in ((3,), (3,), (2, 2))]
    forward, reverse = numbers(
        [x, d, f], [bridge.directional(y, x, d), bridge.transposed(y, x, f)], *at
    )
    np.testing.assert_allclose((forward * at[2]).sum(), reverse @ at[1], rtol=1e-14)


def test_values_in_place_of_symbols_give_numbers_only_where_no_symbol_is_left():
    x, y = bridge.symbol("x", 2), bridge.symbol("y", 2)
    known, open_ = bridge.at([x * x, x * y], [x], [np.array([2.0, 3.0])])
    np.testing.assert_array_equal(known, [4.0, 9.0])
    assert bridge.is_symbolic(open_)
    assert not bridge.depends_on(open_, x)
    assert bridge.depends_on(open_, y)


def test_a_function_called_in_a_trace_is_the_same_arithmetic():
    x = bridge.symbol("x", 2)
    f = bridge.Function([x], [np.sin(x) * x[0]])
    inside = trace(lambda q: f(q)[0], {"q": (2,)})
    plain = trace(lambda q: np.sin(q) * q[0], {"q": (2,)})
    assert inside.digest == plain.digest


def test_a_function_survives_pickling():
    x = bridge.symbol("x", 2, 2)
    f = bridge.Function([x], [x.T, x[0, 1]])
    again = pickle.loads(pickle.dumps(f))
    assert again.serialize() == f.serialize()
    np.testing.assert_array_equal(again(np.arange(4.0).reshape(2, 2))[0], [[0.0, 2.0], [1.0, 3.0]])


def test_casadi_is_not_imported_with_the_package():
    text = "import sys, dalembert, dalembert.bridge; sys.exit('casadi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0
