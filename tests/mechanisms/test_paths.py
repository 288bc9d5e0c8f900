"""Paths of `dalembert.control` as drivers: torques against what a pendulum on that path needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.control import Line, Trajectory, quintic, trapezoidal, via_points
from dalembert.errors import DalembertError, ImportFileError, TrajectoryError
from dalembert.mechanisms import Quintic, Spline, Trapezoid, read_mechanism

M, J, A, G = 1.3, 0.2, 0.4, 9.81  # kg, kg m² about the centre, m from the pin, m/s²


def rod(motion: Any) -> PlanarMechanism:
    return (
        PlanarMechanism("rod")
        .body("rod", M, J, at=(A, 0.0), points={"O": (-A, 0.0)})
        .revolute("pin", "ground", "rod.O")
        .drive("motor", "pin", motion)
    )


def needed(theta: float, acceleration: float) -> float:
    """T = (J + m a²) θ̈ + m g a cos θ."""
    return (J + M * A * A) * acceleration + M * G * A * float(np.cos(theta))


def quintic_by_hand(t: float) -> tuple[float, float]:
    """θ and θ̈ of 0.1 + 0.8 (10x³ − 15x⁴ + 6x⁵), x = t/2."""
    x, distance = t / 2.0, 0.8
    return 0.1 + distance * (10 * x**3 - 15 * x**4 + 6 * x**5), distance * (
        60 * x - 180 * x**2 + 120 * x**3
    ) / 4.0


@pytest.mark.parametrize("motion", [quintic([0.1], [0.9], 2.0), Quintic(0.1, 0.9, 2.0)])
@pytest.mark.parametrize("t", [0.3, 1.0, 1.9])
def test_a_quintic_of_control_drives(motion: Any, t: float) -> None:
    theta, acceleration = quintic_by_hand(t)
    state = rod(motion).inverse_dynamics(t)
    assert abs(state.q[2] - theta) < 1e-12
    assert abs(state.torque("motor") - needed(theta, acceleration)) < 1e-10


@pytest.mark.parametrize("path", [Spline, lambda p, t: via_points(np.array(p)[:, None], t)])
def test_a_spline_through_points_drives(path: Any) -> None:
    points, times = [0.1, 0.9, 0.4, -0.5], [0.0, 0.8, 1.3, 2.0]
    still = [(1, 0.0), (2, 0.0)]
    exact = make_interp_spline(times, points, k=5, bc_type=(still, still))
    mechanism = rod(path(points, times))
    for t in (0.2, 0.8, 1.0, 1.7):
        state = mechanism.inverse_dynamics(t)
        assert abs(state.q[2] - exact(t)) < 1e-11
        assert abs(state.v[2] - exact(t, 1)) < 1e-10
        expected = needed(float(exact(t)), float(exact(t, 2)))
        assert abs(state.torque("motor") - expected) < 1e-9


def test_a_trapezoid_is_the_path_of_control() -> None:
    """Half a second up to 1 m/s, one second along, half a second down: 1.5 m."""
    own, path = Trapezoid(0.2, 1.7, 2.0, ramp=0.25), trapezoidal([0.2], [1.7], 1.0, 2.0)
    for t in (0.1, 0.4, 0.5, 1.2, 1.9, 2.5):
        assert abs(own(t) - path(t).q[0]) < 1e-14
    assert abs(rod(own).inverse_dynamics(0.25).a[2] - 2.0) < 1e-12


def test_a_point_is_led_along_a_line_of_poses() -> None:
    """A ball in space on `Line`: the force is m (p̈ − g) with p̈ of the quintic."""
    start, goal = np.eye(4), np.eye(4)
    goal[:3, 3] = 1.0, 2.0, -1.0
    mechanism = (
        SpatialMechanism("ball")
        .body("ball", 2.0, (0.1, 0.1, 0.1))
        .drive("hand", "ball", Line.quintic(start, goal, 2.0))
    )
    state = mechanism.forward_dynamics(t=0.6)
    x = 0.3
    second = goal[:3, 3] * (60 * x - 180 * x**2 + 120 * x**3) / 4.0
    expected = 2.0 * (second + np.array([0.0, 0.0, 9.81]))
    np.testing.assert_allclose(state.effort("hand"), expected, atol=1e-10)


def test_a_spline_in_a_file() -> None:
    text = """
name = "rod"
[[body]]
name = "rod"
mass = 1.3
inertia = 0.2
at = [0.4, 0.0]
[[joint]]
name = "pin"
type = "revolute"
between = ["ground", ["rod", [-0.4, 0.0]]]
[[driver]]
name = "motor"
on = "pin"
motion = "spline"
points = [0.0, 1.0, 0.5]
times = [0.0, 1.0, 2.0]
"""
    state = read_mechanism(text).inverse_dynamics(1.0)
    assert abs(state.q[2] - 1.0) < 1e-12
    with pytest.raises(ImportFileError, match=r"line 17: .*times must increase"):
        read_mechanism(text.replace("[0.0, 1.0, 2.0]", "[0.0, 3.0, 2.0]"))


def test_paths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TrajectoryError, match="duration"):
        Quintic(0.0, 1.0, 0.0)
    with pytest.raises(TrajectoryError, match="points"):
        Spline([0.0, 1.0, 2.0], [0.0, 1.0])
    wide = Trajectory(np.array([0.0, 1.0]), np.zeros((1, 2, 2)))
    with pytest.raises(DalembertError, match="1 rows, its motion 2"):
        rod(wide).forward_dynamics()
