"""Arrays through the bridge: the same values from numbers and from symbols, derivatives as known."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert import tracing
from dalembert.errors import CompileError
from dalembert.kernels.program.trace import trace


def numbers(symbols, results, *values):
    """Arrays of symbols at these values."""
    return tracing.Function(symbols, results)(*values)


def test_jacobian_has_the_axes_of_both_arrays():
    x = tracing.symbol("x", 2, 3)
    values = np.arange(6.0).reshape(2, 3)
    (derivative,) = numbers([x], [tracing.jacobian(x @ x.T, x)], values)
    assert derivative.shape == (2, 2, 2, 3)
    step = np.random.default_rng(0).normal(size=(2, 3))
    along = np.tensordot(derivative, step, 2)
    np.testing.assert_allclose(along, step @ values.T + values @ step.T, rtol=1e-14)


def test_slopes_of_numbers_are_zero():
    x = tracing.symbol("x", 2)
    for derivative, shape in (
        (tracing.jacobian(np.eye(2), x), (2, 2, 2)),
        (tracing.gradient(3.0, x), (2,)),
        (tracing.directional(np.ones(3), x, x), (3,)),
    ):
        (result,) = numbers([x], [derivative], np.ones(2))
        assert result.shape == shape
        assert not result.any()


def test_transposed_is_the_transpose_of_directional():
    x, d, f = tracing.symbol("x", 3), tracing.symbol("d", 3), tracing.symbol("f", 2, 2)
    y = np.stack([np.stack([x[0] * x[1], np.sin(x[2])]), np.stack([x[1], x[0] * x[2]])])
    rng = np.random.default_rng(1)
    at = [rng.normal(size=shape) for shape in ((3,), (3,), (2, 2))]
    forward, reverse = numbers(
        [x, d, f], [tracing.directional(y, x, d), tracing.transposed(y, x, f)], *at
    )
    np.testing.assert_allclose((forward * at[2]).sum(), reverse @ at[1], rtol=1e-14)


def test_values_in_place_of_symbols_give_numbers_only_where_no_symbol_is_left():
    x, y = tracing.symbol("x", 2), tracing.symbol("y", 2)
    known, open_ = tracing.at([x * x, x * y], [x], [np.array([2.0, 3.0])])
    np.testing.assert_array_equal(known, [4.0, 9.0])
    assert tracing.is_symbolic(open_)
    assert not tracing.depends_on(open_, x)
    assert tracing.depends_on(open_, y)


def test_a_function_called_in_a_trace_is_the_same_arithmetic():
    x = tracing.symbol("x", 2)
    f = tracing.Function([x], [np.sin(x) * x[0]])
    inside = trace(lambda q: f(q)[0], {"q": (2,)})
    plain = trace(lambda q: np.sin(q) * q[0], {"q": (2,)})
    assert inside.digest == plain.digest


def test_a_function_survives_pickling():
    x = tracing.symbol("x", 2, 2)
    f = tracing.Function([x], [x.T, x[0, 1]])
    again = pickle.loads(pickle.dumps(f))
    assert again.serialize() == f.serialize()
    np.testing.assert_array_equal(again(np.arange(4.0).reshape(2, 2))[0], [[0.0, 2.0], [1.0, 3.0]])


WITHOUT_CASADI = """
import sys
sys.modules["casadi"] = None  # an import raises, as where it is not installed
import numpy as np
import dalembert as dl

robot, closed = dl.load("planar_2r"), dl.load("four_bar")
state = [0.3, -0.2], [0.1, 0.4], [0.0, 0.0]
dl.simulate(robot, *state[:2], lambda t, q, qd: -np.sin(q), duration=0.05, dt=0.01, method="rk4")
robot.derivative("forward_dynamics", state, "q")
wall = dl.Holonomic(lambda q: robot.pose(q)[1, 3] - 0.4, name="wall")
dl.Constrained(robot, [wall], guess=[0.3, 0.2]).neutral()
closed.forward_dynamics(closed.neutral(), np.zeros(closed.nv), np.zeros(closed.nv))
try:
    robot.casadi_function("bias")
except dl.CompileError as error:
    assert "dalembert[casadi]" in str(error)
else:
    sys.exit("a function of CasADi without CasADi")
"""


def test_everything_but_the_extra_works_without_casadi():
    subprocess.run([sys.executable, "-c", WITHOUT_CASADI], check=True)


def test_casadi_is_not_imported_with_the_package():
    text = "import sys, dalembert, dalembert.tracing; sys.exit('casadi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0


def test_parameters_are_symbols_among_symbols():
    """A `Parameter` on either side, in lists and in NumPy's functions, as a function may use it."""
    length, q = dl.Parameter("l", 0.5), tracing.symbol("q", 2)
    symbol = length.symbol()

    def values(x, r):
        yield x / r
        yield r / x
        yield x**r - r * x
        yield np.stack([r, x[0], 2.0 * r])
        yield np.concatenate([x, [r]])
        yield np.arctan2(x[0], r)
        yield np.array([r, 1.0]) @ x
        yield np.eye(2) * r @ x
        yield np.where(x > r, r, x)
        yield np.cross(np.array([r, 0.0, 1.0]), np.concatenate([x, x[:1]]))
        yield np.outer(x, [r, 1.0])
        yield np.stack([r * x])

    at = np.array([0.3, 0.8])
    for result, expected in zip(values(q, length), values(at, 0.5), strict=True):
        assert tracing.is_array(result)
        (number,) = tracing.Function([q, symbol], [result])(at, 0.5)
        np.testing.assert_allclose(number, expected, rtol=1e-15)


def test_sympy_does_not_mix_with_arrays_of_symbols():
    s, q = sympy.Symbol("s"), tracing.symbol("q", 2)
    for mixed in (lambda: q - s**2, lambda: s * q[0], lambda: np.stack([q[0], s])):
        with pytest.raises(CompileError, match=r"SymPy's .* does not mix"):
            mixed()
    with pytest.raises(CompileError, match="SymPy's arithmetic"):
        sympy.cos(q[0])
    assert tracing.constant((q - q + sympy.pi)[0]) == np.pi
