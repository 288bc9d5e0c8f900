"""Profiles with limited jerk: closed forms, limits never passed, goals reached, Ruckig's durations."""

import numpy as np
import pytest

from dalembert.control import jerk_limited, jerk_limited_duration
from dalembert.errors import TrajectoryError


def assert_within(path, v, a, j) -> None:
    """No limit is passed anywhere, by values inside the pieces and by the third derivative."""
    t = np.linspace(path.breaks[0], path.breaks[-1], 500)[:-1]
    _, qd, qdd = path(t)
    assert (np.abs(qd) <= v * (1.0 + 1e-9)).all()
    assert (np.abs(qdd) <= a * (1.0 + 1e-9)).all()
    assert (np.abs(6.0 * path.coefficients[:, 3]) <= j * (1.0 + 1e-9)).all()


def random_case(rng, size: int):
    q0, q1 = rng.uniform(-3.0, 3.0, (2, size))
    v, a, j = 10.0 ** rng.uniform(-1.0, 1.5, (3, size))
    return q0, q1, v, a, j


@pytest.mark.parametrize(
    ("distance", "limits", "duration"),
    [
        (1.0, (1.0, 2.0, 8.0), 1.75),  # all seven pieces
        (1.0, (9.0, 9.0, 32.0), 1.0),  # jerk alone: 4 (D/2j)^(1/3)
        (4.0, (9.0, 2.0, 2.0), 2 * (-0.5 + np.sqrt(0.25 + 2.0)) + 2.0),  # no cruise
        (1.0, (0.5, 9.0, 2.0), 2.0 + 2 * 0.5),  # the largest acceleration is not met
    ],
)
def test_durations_in_closed_form(distance: float, limits, duration: float) -> None:
    path = jerk_limited([0.0], [distance], *limits)
    assert path.duration == pytest.approx(duration, rel=1e-13)
    assert jerk_limited_duration([0.0], [distance], *limits) == pytest.approx(duration, rel=1e-13)
    assert_within(path, *limits)


@pytest.mark.parametrize("straight", [False, True])
def test_limits_are_kept_and_goals_met(straight: bool) -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 6, 6, 6):
        q0, q1, v, a, j = random_case(rng, size)
        path = jerk_limited(q0, q1, v, a, j, straight=straight)
        assert_within(path, v, a, j)
        np.testing.assert_allclose(path(path.duration).q, q1, atol=1e-10)
        np.testing.assert_allclose(path(path.duration - 1e-9).qd, 0.0, atol=1e-6)
        if straight:
            t = np.linspace(0.0, path.duration, 50)
            shares = (path(t).q - q0) / (q1 - q0)
            np.testing.assert_allclose(shares, shares[:, :1] * np.ones(size), atol=1e-9)


def test_acceleration_is_continuous() -> None:
    path = jerk_limited([0.0, 1.0], [1.0, -2.0], [1.0, 2.0], [3.0, 2.0], [20.0, 9.0])
    for t in path.breaks[1:-1]:
        for before, after in zip(path(t - 1e-10), path(t + 1e-10), strict=True):
            np.testing.assert_allclose(before, after, atol=1e-7)


def test_durations_of_many_are_those_of_each() -> None:
    rng = np.random.default_rng(2)
    q0, q1, v, a, j = random_case(rng, 4)
    starts = q0 + rng.normal(size=(20, 4))
    many = jerk_limited_duration(starts, q1, v, a, j)
    one = [jerk_limited(q, q1, v, a, j).duration for q in starts]
    np.testing.assert_allclose(many, one, rtol=1e-13)


def test_velocities_at_the_ends_are_met() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 1, 3, 6):
        q0, q1, v, a, j = random_case(rng, size)
        v0, v1 = rng.uniform(-1.0, 1.0, (2, size)) * v
        path = jerk_limited(q0, q1, v, a, j, start_velocity=v0, goal_velocity=v1)
        assert_within(path, v, a, j)
        last = path(path.breaks[-1] * (1.0 - 1e-14))
        np.testing.assert_allclose(path(0.0).qd, v0, atol=1e-12)
        np.testing.assert_allclose(last.q, q1, atol=1e-8)
        np.testing.assert_allclose(last.qd, v1, atol=1e-6 * v.max())


def test_nothing_to_do_is_a_rest() -> None:
    path = jerk_limited([1.0, 2.0], [1.0, 2.0], 1.0, 1.0, 1.0)
    np.testing.assert_array_equal(path(0.5).q, [1.0, 2.0])


def test_one_joint_that_stays_stays() -> None:
    path = jerk_limited([1.0, 2.0], [1.0, 3.0], 1.0, 1.0, 1.0)
    np.testing.assert_array_equal(path(np.linspace(0.0, 5.0, 20)).q[:, 0], 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (([0.0], [1.0, 2.0], 1.0, 1.0, 1.0), "same length"),
        (([0.0], [np.nan], 1.0, 1.0, 1.0), "finite"),
        (([0.0], [1.0], 0.0, 1.0, 1.0), "velocity limits"),
        (([0.0], [1.0], 1.0, [1.0, 1.0], 1.0), "acceleration limits"),
        (([0.0], [1.0], 1.0, 1.0, np.inf), "jerk limits"),
        (([0.0], [1.0], 1.0, 1.0, 1.0, False, 2.0), "start_velocity 2 of joint 1 is above"),
        (([0.0], [1.0], 1.0, 1.0, 1.0, False, [1.0, 1.0]), "start_velocity must be"),
        (([0.0], [1.0], 1.0, 1.0, 1.0, True, 0.5), "rest to rest"),
    ],
)
def test_mistakes_are_said(settings, message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        jerk_limited(*settings)


def test_ruckig_takes_the_same_time() -> None:
    rk = pytest.importorskip("ruckig", reason="the peer is not installed")
    rng = np.random.default_rng(4)
    for k in range(200):
        q0, q1, v, a, j = random_case(rng, 1 + k % 6)
        parameters = rk.InputParameter(len(q0))
        parameters.current_position, parameters.target_position = q0, q1
        parameters.max_velocity, parameters.max_acceleration, parameters.max_jerk = v, a, j
        peer = rk.Trajectory(len(q0))
        rk.Ruckig(len(q0)).calculate(parameters, peer)
        assert jerk_limited(q0, q1, v, a, j).duration == pytest.approx(peer.duration, rel=1e-9)


def test_a_motion_that_takes_no_time_is_said_to():
    with pytest.raises(TrajectoryError, match="no time"):
        jerk_limited([0.0], [0.0], 1.0, 2.0, 8.0, start_velocity=0.5, goal_velocity=0.5)


def test_batches_that_do_not_fit_are_said():
    with pytest.raises(TrajectoryError, match="do not fit"):
        jerk_limited_duration(np.zeros((2, 3)), np.zeros((4, 3)), 1.0, 2.0, 8.0)
