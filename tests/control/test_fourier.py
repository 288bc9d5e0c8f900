"""Fourier series as trajectories: their polynomials, their sines in a kernel, slower ones."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import fourier
from dalembert.errors import TrajectoryError

SUMS = np.random.default_rng(0).normal(size=(11, 2))


def by_hand(t, period):
    """q, q̇, q̈ (t, n), term by term."""
    result = np.zeros((3, len(t), 2))
    result[0] += SUMS[0]
    for k in range(1, 6):
        w = 2.0 * np.pi * k / period
        c, s, a, b = np.cos(w * t)[:, None], np.sin(w * t)[:, None], SUMS[k], SUMS[5 + k]
        result += [a * c + b * s, w * (b * c - a * s), -w * w * (a * c + b * s)]
    return result


def test_polynomials_are_the_series_to_rounding():
    t = np.linspace(0.0, 20.9, 1001)
    for have, want in zip(fourier(SUMS, 7.0, 3)(t), by_hand(t, 7.0), strict=True):
        np.testing.assert_allclose(have, want, atol=1e-11)


def test_traced_it_is_the_same_motion():
    robot, path = dl.load("planar_2r"), fourier(SUMS, 7.0, 3)
    controller = dl.control.ComputedTorque(robot, path, 100.0, 20.0)
    run = dl.simulate(robot, path(0.0).q, path(0.0).qd, controller, duration=1.0)
    np.testing.assert_allclose(run.q.values, path(run.time.values).q, atol=1e-8)


def test_outside_it_stands_still():
    path = fourier(SUMS, 7.0)
    for t, end in ((-1.0, 0.0), (9.0, 7.0)):
        q, qd, qdd = path(t)
        np.testing.assert_allclose(q, by_hand(np.array([end]), 7.0)[0, 0], atol=1e-12)
        assert not qd.any() and not qdd.any()


def test_slower_it_is_a_series_again():
    slow = fourier(SUMS, 7.0, 2).slowed(2.0)
    t = np.linspace(0.0, 27.9, 301)
    np.testing.assert_allclose(slow(t).qd, by_hand(t, 14.0)[1], atol=1e-11)
    assert slow.period == 14.0 and slow.harmonics == 5


@pytest.mark.parametrize(
    ("sums", "period", "periods"),
    [(np.zeros((4, 2)), 1.0, 1), (np.zeros(3), 1.0, 1), (SUMS, 0.0, 1), (SUMS, 1.0, 0)],
)
def test_series_that_are_none_are_refused(sums, period, periods):
    with pytest.raises(TrajectoryError):
        fourier(sums, period, periods)
