"""Paths of joints: points met, derivatives right, corners found and rounded."""

import numpy as np
import pytest

from dalembert.control import Path, through
from dalembert.errors import TrajectoryError

POINTS = np.array(
    [[0.0, 0.0], [1.0, -1.0], [0.5, 2.0], [0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
)


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_points_are_met(degree: int) -> None:
    path = through(POINTS, degree)
    np.testing.assert_allclose(path(path.breaks).q, POINTS, atol=1e-12)
    assert path.breaks[0] == 0.0 and path.breaks[-1] == 1.0


@pytest.mark.parametrize("degree", [3, 5])
def test_derivatives_are_those_of_the_values(degree: int) -> None:
    path, s, h = through(POINTS, degree), np.linspace(0.01, 0.99, 41), 1e-6
    ahead, back, here = path(s + h), path(s - h), path(s)
    np.testing.assert_allclose((ahead.q - back.q) / (2 * h), here.dq, atol=1e-5)
    np.testing.assert_allclose((ahead.dq - back.dq) / (2 * h), here.ddq, rtol=1e-4, atol=1e-2)


def test_a_spline_of_fifth_degree_is_smoother() -> None:
    """Fourth derivatives are continuous, by the coefficients on both sides of the breaks."""
    path = through(POINTS, 5)
    left = path.taylor(np.nextafter(path.breaks[1:-1], 0.0))
    right = path.coefficients[1:]
    for j in range(5):
        np.testing.assert_allclose(left[:, j], right[:, j], rtol=1e-6, atol=1e-6 * 10.0**j)


def test_taylor_is_the_same_polynomial() -> None:
    path, s = through(POINTS, 5), np.linspace(0.0, 0.95, 20)
    c = path.taylor(s)
    np.testing.assert_allclose(c[:, 0], path(s).q, atol=1e-12)
    np.testing.assert_allclose(c[:, 1], path(s).dq, atol=1e-10)
    np.testing.assert_allclose(2.0 * c[:, 2], path(s).ddq, atol=1e-8)


def test_straight_lines_have_corners_and_blends_have_none() -> None:
    sharp, round_ = through(POINTS, 1), through(POINTS, 1, blend=0.2)
    assert len(sharp.corners) == len(POINTS) - 2
    assert len(round_.corners) == 0
    # a corner is left out by at most half of its blend
    away = [np.linalg.norm(round_(np.linspace(0, 1, 5001)).q - p, axis=1).min() for p in POINTS]
    assert 1e-3 < max(away) <= 0.1 + 1e-3
    np.testing.assert_allclose(round_([0.0, 1.0]).q, POINTS[[0, -1]], atol=1e-12)


def test_a_blend_runs_at_unit_speed_on_its_lines() -> None:
    path = through([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 1, blend=0.25)
    speed = np.linalg.norm(path([0.1, 0.9]).dq, axis=1)
    np.testing.assert_allclose(speed, speed[0])


def test_long_blends_stop_halfway() -> None:
    path = through([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 1, blend=5.0)
    assert len(path.corners) == 0
    np.testing.assert_allclose(path(path.breaks).q[1:-1], [[0.5, 0.0], [1.0, 0.5]], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: through([[0.0]]), "m ≥ 2"),
        (lambda: through([[0.0], [np.nan]]), "finite"),
        (lambda: through([[0.0], [0.0], [1.0]]), "points 0 and 1 are the same"),
        (lambda: through([[0.0], [1.0]], 4), "degree must be 1, 3 or 5"),
        (lambda: through([[0.0], [1.0]], s=[1.0, 0.0]), "increasing"),
        (lambda: through([[0.0], [1.0]], 3, blend=0.1), "straight lines"),
        (lambda: through([[0.0], [1.0]], 1, blend=-0.1), "blend must be"),
        (lambda: Path([0.0, 1.0], np.zeros((2, 2, 1))), "do not fit"),
        (lambda: Path([1.0, 0.0], np.zeros((1, 2, 1))), "must increase"),
    ],
)
def test_mistakes_are_said(make, message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        make()
