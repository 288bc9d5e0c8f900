"""Vector sine and cosine against 60 digits, for every size of angle."""

import functools
import math

import mpmath
import numpy as np
import pytest

from dalembert.kernels.llvm.mathematics import ACCURACY, LIMIT
from dalembert.kernels.program.trace import trace
from tests.kernels.raw import Raw, runnable_targets


@functools.cache
def _compiled(dtype, target):
    return Raw(trace(lambda x: (np.sin(x), np.cos(x)), {"x": ()}), dtype, target)


def _exact(x):
    with mpmath.workprec(1300):  # enough bits for the largest double
        sines = [float(mpmath.sin(mpmath.mpf(float(value)))) for value in x]
        cosines = [float(mpmath.cos(mpmath.mpf(float(value)))) for value in x]
    return np.array(sines), np.array(cosines)


def _angles(dtype, count=400):
    """Small, ordinary, near multiples of π/2, near the limit, and up to the largest number."""
    rng = np.random.default_rng(5)
    limit, largest = LIMIT[dtype], float(np.finfo(dtype).max)
    multiples = np.pi / 2 * rng.integers(-(10**4), 10**4, count)
    x = np.concatenate(
        [
            10.0 ** rng.uniform(-30, 0, count),
            rng.uniform(-10, 10, 4 * count),
            multiples,
            rng.uniform(-limit, limit, count),
            [limit, np.nextafter(limit, 0), np.nextafter(limit, np.inf), 0.0, -0.0, largest],
            10.0 ** rng.uniform(np.log10(limit), np.log10(largest), count),
        ]
    )
    return x.astype(dtype)


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_accuracy(dtype, target):
    x = _angles(dtype)
    for actual, expected in zip(_compiled(dtype, target).loop(x), _exact(x), strict=True):
        assert np.abs(actual - expected).max() <= ACCURACY[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_small_angles_are_relatively_exact(dtype):
    x = (10.0 ** np.random.default_rng(2).uniform(-30, -1, 500)).astype(dtype)
    sine, _ = _compiled(dtype, "native").loop(x)
    np.testing.assert_allclose(sine, _exact(x)[0], rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_one_lane_never_disturbs_another(dtype, bad):
    x = np.linspace(-3, 3, 37).astype(dtype)
    kernel = _compiled(dtype, "native")
    clean = [y.copy() for y in kernel.loop(x)]
    for position in range(0, 37, 5):
        spoiled = x.copy()
        spoiled[position] = bad
        for y, reference in zip(kernel.loop(spoiled), clean, strict=True):
            others = np.arange(37) != position
            np.testing.assert_array_equal(y[others], reference[others])
            assert np.isfinite(y[position]) == np.isfinite(bad)


def test_angles_that_depend_on_sines():
    """A sine of a sine: the second stage reduces what the first has computed, lane by lane."""
    p = trace(lambda x: np.sin(x + 100.0 * np.cos(x)), {"x": ()})
    x = np.linspace(-2.0, 2.0, 50)
    exact = [mpmath.sin(v + 100 * mpmath.cos(v)) for v in map(mpmath.mpf, x)]
    (actual,) = Raw(p).loop(x)
    # the argument, of size 100, carries a few of its own roundings (1.4e-14 each)
    np.testing.assert_allclose(actual, np.array(exact, float), rtol=0, atol=6e-14)


def test_cold_and_warm_stages_together():
    """Huge angles in some lanes of the second stage leave the other lanes and |value| ≤ 1 alone."""
    p = trace(lambda x, big: np.sin(x + big * np.sin(3.0 * x)), {"x": (), "big": ()})
    x, big = np.linspace(-2.0, 2.0, 50), np.where(np.arange(50) % 3, 0.0, 1e13)
    (actual,) = Raw(p).loop(x, big)
    assert np.all(np.abs(actual) <= 1.0)
    warm = big == 0.0
    np.testing.assert_allclose(actual[warm], np.sin(x[warm]), rtol=0, atol=4e-16)


@pytest.mark.parametrize("target", runnable_targets())
def test_the_angle_of_two_numbers(target):
    """Within two units in the last digit of the C library's, for every sign, zero and infinity."""
    rng = np.random.default_rng(3)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        1.7e308,
        -1.7e308,
        5e-324,
        0.41421356237309503,
    ]
    x, y = (grid.ravel() for grid in np.meshgrid(special, special))
    sizes = np.exp(rng.uniform(-30.0, 30.0, (2, 4000)))
    x = np.concatenate([x, sizes[0] * rng.choice([-1.0, 1.0], 4000), [np.nan, 1.0]])
    y = np.concatenate([y, sizes[1] * rng.choice([-1.0, 1.0], 4000), [1.0, np.nan]])
    raw = Raw(trace(lambda y, x: np.arctan2(y, x), {"y": (), "x": ()}), "float64", target)
    actual = np.ravel(raw.loop(y, x)[0])
    expected = np.array([math.atan2(*pair) for pair in zip(y, x, strict=True)])
    assert np.array_equal(np.isnan(actual), np.isnan(expected))
    assert np.array_equal(np.signbit(actual[:-2]), np.signbit(expected[:-2]))
    assert (np.abs(actual - expected)[:-2] <= 2.0 * np.spacing(np.abs(expected[:-2]))).all()
