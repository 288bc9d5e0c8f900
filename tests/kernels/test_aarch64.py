"""Kernels and exported C on an emulated AArch64 processor: the numbers of this machine."""

import functools

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.llvm.mathematics import ACCURACY
from dalembert.kernels.program.trace import trace
from tests.kernels.emulated import Emulated
from tests.kernels.raw import Raw
from tests.kernels.test_sincos import _angles, _exact

pytestmark = Emulated.needed()
# quantities of robots with every kind of code: wide results, a solve, a division, quaternions
KERNELS = [
    ("ur5", "inverse_dynamics"),
    ("ur5", "forward_dynamics"),
    ("ur5", "mass_matrix"),
    ("ur5", "inverse_dynamics_derivatives"),
    ("panda", "inverse_dynamics"),
    ("panda", "forward_dynamics"),
    ("puma560", "coriolis_matrix"),
    ("scara", "pose"),
    ("stanford", "regressor"),
    ("four_bar", "forward_dynamics"),
]
CLOSE = {"float64": 1e-12, "float32": 2e-4}  # of the largest entry; single precision has 6e-8
STATES = 37  # whole registers of every width, and a rest


@functools.cache
def program(robot, quantity):
    return dl.load(robot).program(quantity)


def states(program, dtype, count=STATES):
    rng = np.random.default_rng(3)
    return [rng.uniform(-2, 2, (count, *port.shape)).astype(dtype) for port in program.inputs]


def same(actual, expected, dtype):
    for mine, other in zip(actual, expected, strict=True):
        scale = np.abs(other).reshape(len(other), -1).max(axis=1).max()
        assert np.isfinite(mine).all()
        assert np.abs(mine - other).max() <= CLOSE[dtype] * scale


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("robot", "quantity"), KERNELS)
def test_a_kernel_gives_the_numbers_of_this_machine(robot, quantity, dtype):
    traced = program(robot, quantity)
    inputs = states(traced, dtype)
    same(Emulated(traced, dtype).loop(*inputs), Raw(traced, dtype).loop(*inputs), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_state_columns_and_threads(dtype):
    """The second function, arrays column by column, a broadcast input, and several threads."""
    traced = program("ur5", "inverse_dynamics")
    here, there = Raw(traced, dtype), Emulated(traced, dtype)
    q, qd, qdd = states(traced, dtype, 501)
    one = [there.one(*(x[k] for x in (q, qd, qdd)))[0] for k in (0, 5)]
    expected = here.loop(q, qd, qdd)
    same([np.array(one)], [expected[0][[0, 5]]], dtype)
    columns = [np.asfortranarray(x) for x in (q, qd, qdd)]
    same(there.loop(*columns), expected, dtype)
    same(there.loop(q, qd[0], qdd), here.loop(q, qd[0], qdd), dtype)
    many = [np.tile(x, (60, 1)) for x in (q, qd, qdd)]
    same(there.loop(*many, threads=4), [np.tile(expected[0], (60, 1))], dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sine_and_cosine_over_their_whole_range(dtype):
    x = _angles(dtype)
    actual = Emulated(trace(lambda x: (np.sin(x), np.cos(x)), {"x": ()}), dtype).loop(x)
    for mine, exact in zip(actual, _exact(x), strict=True):
        assert np.abs(mine - exact).max() <= ACCURACY[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "pose"])
def test_exported_c_gives_the_numbers_of_this_machine(quantity, dtype):
    robot, traced = dl.load("ur5"), program("ur5", quantity)
    text = robot.source(quantity, dtype=dtype)
    there = Emulated.from_c(traced, text, f"dalembert_ur5_{quantity}", dtype)
    inputs = states(traced, dtype, 3)
    expected = Raw(traced, dtype).loop(*inputs)
    for k in range(3):
        actual = there.one(*(x[k] for x in inputs))
        same([y[None] for y in actual], [y[k : k + 1] for y in expected], dtype)
