"""Controllers hold what their theory promises of the closed loop, in simulation."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.linalg import expm

import dalembert as dl
from dalembert.control import (
    PID,
    Adaptive,
    ComputedTorque,
    FeedForward,
    PDGravity,
    SlidingMode,
    quintic,
)

Q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
ELBOW = np.array([0.4, 0.5, -0.6])


def at(run: Any, controller: Any, quantity: Any) -> np.ndarray:
    """A function of (t, q, q̇) along a run."""
    rows = zip(run.time.values, run.q.values, run.qd.values, strict=True)
    return np.array([quantity(*row) for row in rows])


# feed-forward


def test_feed_forward_leaves_the_linear_error_dynamics_of_the_posture() -> None:
    robot, kp, kd = dl.load("elbow_3r"), 80.0, 12.0
    controller = FeedForward(robot, ELBOW, kp=kp, kd=kd)
    e0 = 1e-5 * np.array([1.0, -2.0, 1.5])
    run = dl.simulate(robot, ELBOW + e0, None, controller, duration=0.5, dt=0.05)
    M = robot.mass_matrix(ELBOW)
    weight = robot.derivative("gravity_torque", (ELBOW,))
    gains = -np.linalg.solve(M, np.concatenate([kp * np.eye(3) + weight, kd * np.eye(3)], axis=1))
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [gains]])
    promised = [(expm(A * t) @ np.concatenate([e0, np.zeros(3)]))[:3] for t in run.time.values]
    np.testing.assert_allclose(run.q - ELBOW, promised, atol=1e-9)


def test_feed_forward_needs_no_feedback_where_its_model_is_true() -> None:
    robot, path = dl.load("ur5"), quintic(Q0, Q0 + 0.5, 1.0)
    run = dl.simulate(robot, Q0, None, FeedForward(robot, path, 0.0, 0.0), duration=1.0, dt=0.1)
    np.testing.assert_allclose(run.q, path(run.time.values).q, atol=1e-6)


# sliding mode


def test_sliding_mode_reaches_its_layer_when_it_is_predicted_to() -> None:
    robot, bandwidth, switching_gain, layer = (
        dl.load("elbow_3r"),
        4.0,
        np.array([10.0, 15.0, 20.0]),
        0.1,
    )
    controller = SlidingMode(robot, ELBOW, bandwidth, switching_gain, layer)
    start = ELBOW + np.array([0.5, -0.4, 0.6])
    run = dl.simulate(
        robot, start, [0.3, 0.0, -0.2], controller, duration=0.6, dt=0.005, method="RK45"
    )
    s = controller.surface(run.time.values, run.q.values, run.qd.values)
    s0 = s[0]
    arrival = controller.reaching_time(start, [0.3, 0.0, -0.2])
    np.testing.assert_allclose(arrival, (abs(s0) - layer) / switching_gain)
    assert arrival.min() > 0.05 and arrival.max() < 0.3
    t = run.time.values[:, None]
    outside = s0 - np.sign(s0) * switching_gain * t
    inside = np.sign(s0) * layer * np.exp(-switching_gain / layer * np.maximum(t - arrival, 0.0))
    np.testing.assert_allclose(s, np.where(t < arrival, outside, inside), atol=2e-7)


def test_sliding_mode_bears_a_model_that_is_wrong() -> None:
    """The error stays within layer/slope although the arm carries what the law does not know."""
    believed = dl.load("elbow_3r")
    loaded = believed.with_payload(1.0, [0.0, 0.0, 0.0])
    path = quintic(ELBOW, ELBOW + np.array([0.5, 0.4, -0.4]), 1.0)
    controller = SlidingMode(believed, path, bandwidth=10.0, switching_gain=60.0, layer=0.2)
    run = dl.simulate(loaded, ELBOW, None, controller, duration=1.5, dt=0.05)
    s = controller.surface(run.time.values, run.q.values, run.qd.values)
    assert 1e-3 < float(abs(s).max()) < 0.2
    assert float(abs(run.q - path(run.time.values).q).max()) < 0.2 / 10.0


# adaptive


def test_the_regressor_of_slotine_and_li_is_that_of_christoffels_symbols() -> None:
    robot = dl.load("elbow_3r")
    controller = Adaptive(robot, ELBOW, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(3)
    q, qd, qd_r, qdd_r = rng.normal(size=(4, 3))
    C = robot.coriolis_matrix(q, qd)
    expected = robot.mass_matrix(q) @ qdd_r + C @ qd_r + robot.gravity_torque(q)
    np.testing.assert_allclose(
        controller.regressor(q, qd, qd_r, qdd_r) @ robot.parameters, expected
    )


def test_adaptive_control_tracks_and_its_lyapunov_function_falls_as_promised() -> None:
    robot = dl.load("elbow_3r")
    believed = robot.with_parameters(0.6 * robot.parameters)
    path = quintic(ELBOW, ELBOW + np.array([0.8, -0.6, 0.7]), 2.0)
    bandwidth, kd, rate = 5.0, 30.0, 0.5
    controller = Adaptive(believed, path, bandwidth, kd, rate)
    run = dl.simulate(robot, ELBOW, None, controller, duration=8.0, dt=0.005)
    s = at(
        run, controller, lambda t, q, qd: controller.reference(t, q, qd, controller.constants)[2]
    )
    kinetic = 0.5 * np.einsum("ti,tij,tj->t", s, robot.mass_matrix(run.q.values), s)
    off = run.controller.values - robot.parameters
    V = kinetic + 0.5 * (off**2).sum(axis=1) / rate
    assert (np.diff(V) <= 1e-9 * V[0]).all()
    lost = cumulative_simpson(kd * (s**2).sum(axis=1), x=run.time.values, initial=0.0)
    np.testing.assert_allclose(V[0] - V, lost, rtol=1e-5, atol=1e-6 * V[0])
    error = abs(run.q - path(run.time.values).q).max(axis=1)
    assert float(error[-1]) < 0.05 * float(error.max())
    # without adaptation the same feedback stays off by what the model is wrong
    fixed = dl.simulate(
        robot, ELBOW, None, Adaptive(believed, path, bandwidth, kd, 0.0), duration=8.0, dt=0.1
    )
    assert float(abs(fixed.q[-1] - path(8.0).q).max()) > 5.0 * float(error[-1])


def test_adaptive_control_counts_rotors_and_friction_as_they_are() -> None:
    """With the true inertias s = 0 is kept, whatever else the model has."""
    drive = {"rotor_inertia": 1e-3, "gear_ratio": 50.0, "viscous": 0.5, "stiffness": 2.0}
    body = {"mass": 1.0, "com": (0.2, 0.0, 0.1), "inertia": 0.05 * np.eye(3)}
    turn, lift = ({"type": "revolute", "axis": axis, **drive} for axis in ((0, 0, 1), (0, 1, 0)))
    links = [{"name": "a", "joint": turn, **body}, {"name": "b", "parent": "a", "joint": lift}]
    robot = dl.Robot.from_links([links[0], {**links[1], **body}])
    path = quintic([0.0, 0.0], [0.5, -0.4], 1.0)
    controller = Adaptive(robot, path, bandwidth=10.0, kd=20.0, rate=1.0)
    run = dl.simulate(robot, [0.0, 0.0], None, controller, duration=1.0, dt=0.1)
    np.testing.assert_allclose(run.q, path(run.time.values).q, atol=1e-8)
    np.testing.assert_allclose(run.controller[-1], robot.parameters, atol=1e-6)


# bad input


def test_what_does_not_fit_is_said() -> None:
    robot, closed = dl.load("planar_2r"), dl.load("four_bar")
    fits = dl.DalembertError
    with pytest.raises(fits, match="layer must be positive"):
        SlidingMode(robot, [0.0, 0.0], 1.0, 1.0, 0.0)
    with pytest.raises(fits, match="limit must be positive"):
        PID(robot, [0.0, 0.0], 1.0, 1.0, 1.0, limit=0.0)
    with pytest.raises(fits, match=r"estimate must have the shape \(20,\)"):
        Adaptive(robot, [0.0, 0.0], 1.0, 1.0, 1.0, estimate=[1.0])
    with pytest.raises(fits, match="without constraints"):
        Adaptive(closed, closed.neutral(), 1.0, 1.0, 1.0)


BALL = {"name": "ball", "mass": 1.0, "inertia": np.eye(3), "joint": {"type": "spherical"}}


@pytest.mark.parametrize("controller", ["PID", "PDGravity", "FeedForward", "SlidingMode"])
def test_joints_of_several_degrees_are_refused_where_a_law_is_made(controller):
    robot = dl.Robot.from_links([BALL])
    gains = {"SlidingMode": ("bandwidth", "switching_gain", "layer"), "PID": ("kp", "ki", "kd")}
    settings = dict.fromkeys(gains.get(controller, ("kp", "kd")), 1.0)
    with pytest.raises(dl.ModelError, match="spherical or free"):
        getattr(dl.control, controller)(robot, np.zeros(3), **settings)


# integral action


@pytest.mark.parametrize("method", [None, "rk4"])
@pytest.mark.parametrize("controller", [ComputedTorque, FeedForward, PDGravity])
def test_the_integral_of_the_error_has_its_rate(controller: Any, method: str | None) -> None:
    """M ë + K_d ė + K_p e + K_i z = 0 with ż = e, M a number, in closed form."""
    m, kp, kd, ki = 2.0, 12.0, 6.0, 5.0
    block = dl.Robot.from_links(
        [
            {
                "name": "block",
                "mass": m,
                "joint": {"name": "x", "type": "prismatic", "axis": (1, 0, 0)},
            }
        ],
        gravity=(0.0, 0.0, 0.0),
    )
    inertia = 1.0 if controller is ComputedTorque else m  # which multiplies the feedback by M
    controller = controller(block, [0.2], kp=kp, kd=kd, ki=ki)
    how = {} if method is None else {"method": method}
    run = dl.simulate(block, [0.7], [0.1], controller, duration=1.0, dt=1e-3, **how)
    rates = np.array([[0, 1, 0], np.array([-kp, -kd, -ki]) / inertia, [1, 0, 0]])
    e, de, z = expm(rates) @ [0.5, 0.1, 0.0]
    np.testing.assert_allclose(run.q[-1], [0.2 + e], atol=1e-9)
    np.testing.assert_allclose(run.qd[-1], [de], atol=1e-9)
    np.testing.assert_allclose(run.controller[-1], [z], atol=1e-9)


def test_the_integral_of_a_digital_pid_grows_by_the_error_of_each_sample() -> None:
    block = dl.load("pendulum")
    controller = PID(block, [0.0], kp=0.0, kd=0.0, ki=3.0)
    taus = [controller(t, np.array([0.5]), np.array([0.0])).item() for t in (0.0, 0.1, 0.3)]
    np.testing.assert_allclose(taus, [0.0, -0.15, -0.45], atol=1e-15)


def test_old_names_of_options_warn():
    robot = dl.load("pendulum")
    with pytest.warns(DeprecationWarning, match=r"SlidingMode\(reach=\) is now switching_gain="):
        old = SlidingMode(robot, [1.0], bandwidth=5.0, reach=20.0, layer=0.1)
    with pytest.warns(DeprecationWarning, match=r"Adaptive\(slope=\) is now bandwidth="):
        adaptive = Adaptive(robot, [1.0], slope=4.0, kd=1.0, rate=0.0)
    assert old.switching_gain == 20.0 and adaptive.bandwidth == 4.0
