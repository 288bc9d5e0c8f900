"""The exported loops: batches, threads, one state, quiet flags."""

import functools

import numpy as np
import pytest

from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from tests.kernels.arm import SHAPES, inverse_dynamics
from tests.kernels.raw import Raw, runnable_targets

# rounding of some 500 operations, relative to the largest torque
TOLERANCE = {"float64": 1e-13, "float32": 2e-5}


@functools.cache
def _arm():
    return trace(inverse_dynamics, SHAPES, name="arm")


@functools.cache
def _compiled(dtype="float64", target="native"):
    return Raw(_arm(), dtype, target)


def _states(count, dtype="float64"):
    return np.random.default_rng(count).uniform(-3, 3, (3, count, 6)).astype(dtype)


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 100])
def test_arm_on_every_instruction_set(count, dtype, target):
    x = _states(count, dtype)
    expected = interpret(_arm(), *x.astype(float))[0]
    (actual,) = _compiled(dtype, target).loop(*x)
    assert np.abs(actual - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_state(dtype):
    x = _states(5, dtype)
    batch = _compiled(dtype).loop(*x)[0]
    for k in range(5):
        np.testing.assert_array_equal(_compiled(dtype).one(*x[:, k])[0], batch[k])


def test_a_state_does_not_depend_on_its_neighbours():
    x = _states(64)
    whole = _compiled().loop(*x)[0]
    for start, stop in ((0, 1), (3, 20), (11, 64), (63, 64)):
        part = _compiled().loop(*x[:, start:stop])[0]
        np.testing.assert_array_equal(part, whole[start:stop])


@pytest.mark.parametrize("order", ["row", "column", "one of each"])
@pytest.mark.parametrize("count", [3, 8, 16, 41])
def test_results_may_take_the_place_of_inputs(count, order):
    """States are brought in before, and taken out after, those that are computed."""
    x = list(_states(count))
    expected = _compiled().loop(*x)[0]
    for k in range(3):
        if order == "column" or (order == "one of each" and k):
            x[k] = np.asfortranarray(x[k])
        copies = [y.copy(order="K") for y in x]
        _compiled().loop(*copies, outputs=[copies[k]])
        np.testing.assert_array_equal(copies[k], expected)


def test_a_huge_angle_beside_one_that_is_none_is_reduced():
    p = trace(lambda x: (np.sin(x[0]), np.sin(x[1]), np.sin(x[2])), {"x": (3,)})
    x = np.array([[1e300, np.nan, 0.5], [np.nan, 1e300, 0.5], [0.5, np.nan, 1e300]])
    for actual, angle in zip(Raw(p).loop(x), x.T, strict=True):
        np.testing.assert_allclose(actual, np.sin(angle), rtol=0, atol=2e-15)


def test_empty_batch():
    assert _compiled().loop(*_states(0))[0].shape == (0, 6)


@pytest.mark.parametrize("threads", [1, 2, 5, 1000])
def test_threads_compute_the_same(threads):
    x = _states(50_001)
    alone = _compiled().loop(*x)[0]
    together = _compiled().loop(*x, threads=threads)[0]
    np.testing.assert_array_equal(together, alone)


def test_flags_stay_clean():
    """NumPy looks at the flags after its loops: a kernel that overflows must not set them."""
    import ctypes
    import ctypes.util

    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    p = trace(lambda x: (1.0 / x, np.sqrt(x), np.exp(x), np.sin(x)), {"x": ()})
    kernel = Raw(p)
    libm.feclearexcept(0x3F)
    kernel.loop(np.array([0.0, -1.0, 1e9, 1e300, np.inf]))
    # invalid, division by zero, overflow on x86; the same set on AArch64
    assert libm.fetestexcept(0x1 | 0x4 | 0x8) == 0
    kernel.one(np.array(0.0))
    assert libm.fetestexcept(0x1 | 0x4 | 0x8) == 0


def test_not_a_number_stays_in_its_state():
    x = _states(33)
    clean = _compiled().loop(*x)[0]
    x[0, 12, 2], x[1, 20, 5] = np.nan, np.inf
    spoiled = _compiled().loop(*x)[0]
    others = ~np.isin(np.arange(33), [12, 20])
    np.testing.assert_array_equal(spoiled[others], clean[others])
    assert np.isnan(spoiled[12]).any() and not np.isfinite(spoiled[20]).all()
