"""Trajectories: boundary values, continuity, limits, and the same numbers traced as called."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dalembert as dl
from dalembert.control import Line, hold, quintic, trapezoidal, via_points, within_limits
from dalembert.errors import TrajectoryError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret

numbers = st.floats(-3.0, 3.0)


def test_quintic_starts_and_ends_at_rest() -> None:
    path = quintic([0.0, 1.0], [1.0, -1.0], 2.0)
    for t, q in ((0.0, [0.0, 1.0]), (2.0, [1.0, -1.0]), (5.0, [1.0, -1.0]), (-1.0, [0.0, 1.0])):
        point = path(t)
        np.testing.assert_allclose(point.q, q, atol=1e-15)
        np.testing.assert_allclose(point.qd, 0.0, atol=1e-14)
        np.testing.assert_allclose(point.qdd, 0.0, atol=1e-13)


@given(st.lists(numbers, min_size=2, max_size=2), st.lists(numbers, min_size=2, max_size=2))
@example([0.0, 0.0], [0.0, 1.1125369292536007e-308])
@settings(max_examples=50, deadline=None)
def test_trapezoidal_keeps_its_limits_and_uses_one(start: list, goal: list) -> None:
    path = trapezoidal(start, goal, velocity=[1.0, 0.5], acceleration=[2.0, 3.0])
    t = np.linspace(0.0, path.duration, 2001)
    point = path(t)
    np.testing.assert_allclose(point.q[0], start, atol=1e-12)
    np.testing.assert_allclose(path(path.duration).q, goal, atol=1e-9)
    speed, push = np.abs(point.qd).max(axis=0), np.abs(point.qdd).max(axis=0)
    assert (speed <= np.array([1.0, 0.5]) + 1e-9).all()
    assert (push <= np.array([2.0, 3.0]) + 1e-9).all()
    if np.abs(np.subtract(goal, start)).max() > 1e-3:
        used = max((speed / [1.0, 0.5]).max(), (push / [2.0, 3.0]).max())
        assert used == pytest.approx(1.0, abs=5e-3)


def test_via_points_are_met_and_smooth() -> None:
    points = np.array([[0.0, 0.0], [1.0, -1.0], [0.5, 2.0], [0.0, 0.0]])
    times = [0.0, 1.0, 1.7, 3.0]
    path = via_points(points, times)
    np.testing.assert_allclose(path(times).q, points, atol=1e-12)
    for t in times[1:-1]:
        before, after = path(t - 1e-9), path(t + 1e-9)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_allclose(path(0.0).qd, 0.0, atol=1e-12)
    np.testing.assert_allclose(path(3.0 - 1e-12).qd, 0.0, atol=1e-9)


def test_derivatives_are_those_of_the_values() -> None:
    path = via_points(np.random.default_rng(0).normal(size=(4, 3)), [0.0, 1.0, 2.5, 3.0])
    t, h = np.linspace(0.1, 2.9, 41), 1e-5
    ahead, back, here = path(t + h), path(t - h), path(t)
    np.testing.assert_allclose((ahead.q - back.q) / (2 * h), here.qd, atol=1e-6)
    np.testing.assert_allclose((ahead.qd - back.qd) / (2 * h), here.qdd, atol=1e-5)


@pytest.mark.parametrize(
    "path",
    [
        quintic([0.0, 1.0], [1.0, 2.0], 1.0),
        trapezoidal([0.0, 1.0], [3.0, 2.0], 1.0, 1.0),
        via_points([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]], [0.0, 0.5, 2.0]),
        hold([1.0, 2.0]),
    ],
)
def test_traced_is_called(path) -> None:
    shapes = {"t": (), **{k: v.shape for k, v in path.constants.items()}}
    program = trace(lambda t, **c: tuple(path.at(t, c)), shapes)
    for t in (-0.5, 0.0, 0.3, 0.5, 1.0, 2.2, 9.0):
        traced = interpret(program, np.array(t), *path.constants.values())
        for a, b in zip(traced, path(t), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-13)


# limits


def test_scaling_by_velocity_and_acceleration() -> None:
    path = quintic([0.0], [1.0], 1.0)
    for limits in (
        {"velocity": 0.5},
        {"acceleration": 0.7},
        {"velocity": 4.0, "acceleration": 9.0},
    ):
        scaled = within_limits(path, **limits)
        point = scaled(np.linspace(0.0, scaled.duration, 5001))
        used = [np.abs(point.qd).max() / limits.get("velocity", np.inf)]
        used += [np.abs(point.qdd).max() / limits.get("acceleration", np.inf)]
        assert max(used) == pytest.approx(1.0, abs=1e-4)


def test_scaling_by_torque_reaches_exactly_the_limit() -> None:
    robot = dl.load("puma560")
    q0 = np.array([0.0, 0.8, -2.4, -0.6, 0.9, 0.2])
    path = quintic(q0, q0 + np.array([0.5, -0.4, 0.6, 0.3, -0.5, 1.0]), 1.0)
    most = np.array([60.0, 90.0, 50.0, 12.0, 12.0, 12.0])
    scaled = within_limits(path, robot, torque=most)
    # the samples of the scaled path are those of the path itself
    t = np.linspace(0.0, scaled.duration, 1001)[:-1]
    used = np.abs(robot.inverse_dynamics(*scaled(t))) / most
    assert used.max() == pytest.approx(1.0, abs=1e-9)


def test_infeasible_paths_are_refused() -> None:
    robot = dl.load("pendulum")
    with pytest.raises(TrajectoryError, match=r"only to hold .* no speed"):
        within_limits(quintic([0.0], [1.5], 1.0), robot, torque=5.0)
    with pytest.raises(TrajectoryError, match="needs the system"):
        within_limits(quintic([0.0], [1.5], 1.0), torque=5.0)
    with pytest.raises(TrajectoryError, match="at least one"):
        within_limits(quintic([0.0], [1.5], 1.0))
    with pytest.raises(TrajectoryError, match="velocity limits must be a positive number"):
        trapezoidal([0.0], [1.0], velocity=-1.0, acceleration=1.0)
    with pytest.raises(TrajectoryError, match="duration"):
        quintic([0.0], [1.0], 0.0)
    with pytest.raises(TrajectoryError, match="same length"):
        quintic([0.0], [1.0, 2.0], 1.0)
    with pytest.raises(TrajectoryError, match="times must increase"):
        via_points([[0.0], [1.0]], [1.0, 0.0])
    with pytest.raises(TrajectoryError, match="pose"):
        Line.quintic(np.eye(3), np.eye(4), 1.0)
    with pytest.raises(TrajectoryError, match="same point"):
        Line.trapezoidal(np.eye(4), np.eye(4), 1.0, 1.0)
