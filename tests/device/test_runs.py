"""Rollouts, actuators and closed chains of CuPy arrays, with the stand-in of conftest.py."""

import shutil

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError, ConstraintError
from dalembert.kernels.cuda import device
from dalembert.kernels.cuda.iterations import cuda_rollout
from dalembert.systems import rollout
from dalembert.systems.rollout_kernels import iteration
from tests.constraints.states import load_states
from tests.device.cupy_on_host import DeviceArray, plain

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_closed_chains_where_their_arrays_lie(cupy, dtype):
    closed, *state = load_states("four_bar", count=5)
    inputs = [x.astype(dtype) for x in state]
    qdd, lam = closed.forward_dynamics(*map(cupy.asarray, inputs))
    expected = closed.forward_dynamics(*inputs)
    assert isinstance(qdd, DeviceArray) and qdd.dtype == dtype
    atol = 1e4 * np.finfo(dtype).eps * np.abs(expected[1]).max()
    np.testing.assert_allclose(plain(qdd), expected[0], rtol=0, atol=atol)
    np.testing.assert_allclose(plain(lam), expected[1], rtol=0, atol=atol)
    inputs[0][2], inputs[2][4] = inputs[0][2] + 0.1, np.nan
    on_device = [cupy.asarray(x) for x in inputs]
    results = closed.forward_dynamics(*on_device, errors="flag")
    np.testing.assert_array_equal(plain(results.status), [0, 0, 2, 0, 4])
    assert isinstance(results.status, DeviceArray)
    np.testing.assert_allclose(plain(results.qdd)[:2], expected[0][:2], rtol=0, atol=atol)
    results = closed.inverse_dynamics(*on_device, errors="flag")
    np.testing.assert_array_equal(plain(results.status), [0, 0, 2, 0, 4])


def test_results_too_wide_for_rows_lie_in_columns(cupy):
    """Six slopes of a gripper are more than a warp's shared memory holds in double precision."""
    closed = dl.load("robotiq_2f85")
    q = closed.neutral()
    inputs = [np.stack([x] * 3) for x in (q, np.zeros(closed.nv), np.ones(closed.nv))]
    results = closed.forward_dynamics_derivatives(*map(cupy.asarray, inputs))
    expected = closed.forward_dynamics_derivatives(*inputs)
    for a, b in zip(results, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(plain(a), b, rtol=0, atol=1e-9 * (1.0 + np.abs(b).max()))


def test_bad_states_on_the_device_are_said_in_words(cupy):
    closed, *state = load_states("pendulum_constrained", count=3)
    q = np.zeros((3, 2))  # where the rod is not there
    with pytest.raises(ConstraintError, match="2 other states"):
        closed.forward_dynamics(*map(cupy.asarray, (q, state[1], state[2])))
    side = np.array([[1.0, 0.0], [0.0, -1.0]])
    rest = cupy.asarray(np.zeros((2, 2)))
    results = closed.forward_dynamics(cupy.asarray(side), rest, rest, formulation="elimination")
    np.testing.assert_allclose(plain(results[0]), [[0.0, -9.81], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
@pytest.mark.parametrize("moving", [False, True])
def test_rollouts(cupy, robot, states, method, moving):
    q, qd, tau = states
    tau = np.stack([tau * k for k in range(6)]) if moving else tau
    arguments = {"steps": 6, "dt": 1e-3, "method": method, "every": 2}
    results = robot.rollout(*map(cupy.asarray, (q, qd, tau)), **arguments)
    for a, b in zip(results, robot.rollout(q, qd, tau, **arguments), strict=True):
        assert isinstance(a, DeviceArray)
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)


def test_free_runs_on_a_card_are_waited_for_only_if_errors_are_asked_for(cupy, monkeypatch):
    arm, q = dl.load("pendulum"), np.array([[0.1], [np.nan]])
    inputs = (cupy.asarray(q), *map(cupy.asarray, np.zeros((2, 2, 1))))
    with pytest.raises(dl.SimulationError, match="q of run 1 has entries that are not finite"):
        arm.rollout(*inputs, 2, 1e-3, errors="raise")

    def looked(x):
        raise AssertionError("a result was waited for")

    monkeypatch.setattr(rollout, "finite_states", looked)
    results = arm.rollout(*inputs, 2, 1e-3)[0]
    np.testing.assert_array_equal(np.isnan(plain(results))[-1, :, 0], [False, True])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rollouts_of_closed_chains_and_laws_where_their_arrays_lie(cupy, dtype):
    """Newton's steps, time and a controller inside the kernel; lost runs are flagged on the device."""
    closed, *state = load_states("four_bar", count=37)
    q, qd, tau = (x.astype(dtype) for x in state)
    options = {"steps": 4, "dt": 1e-3, "every": 2, "errors": "flag"}
    tau[3], q[5, 0] = 1e9, np.nan
    results = closed.rollout(*map(cupy.asarray, (q, qd, tau)), **options)
    expected = closed.rollout(q, qd, tau, **options)
    assert isinstance(results.status, DeviceArray) and results.q.dtype == dtype
    np.testing.assert_array_equal(plain(results.status), expected.status)
    assert (expected.status[[3, 5]] == [dl.Status.LOST, dl.Status.NOT_FINITE]).all()
    atol = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(plain(results.q), expected.q, rtol=0, atol=atol)
    controller = dl.control.ComputedTorque(closed, target=closed.neutral(), kp=5.0, kd=1.0)
    results = closed.rollout(cupy.asarray(q[:3]), cupy.asarray(qd[:3]), controller, 4, 1e-3)
    expected = closed.rollout(q[:3], qd[:3], controller, 4, 1e-3)
    np.testing.assert_allclose(plain(results[0]), expected[0], rtol=0, atol=atol)


def test_runs_with_steps_of_their_own_where_their_arrays_lie(cupy, monkeypatch):
    """Tries, states within steps and flags as on the CPU; more runs than a warp has, one no number."""
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot = dl.load("planar_2r")
    speeds = np.geomspace(0.1, 10.0, 37)[:, None]
    q, qd, tau = robot.random_state(np.random.default_rng(0), 37)
    qd, q[5, 0] = speeds * qd, np.nan
    how = {"steps": 10, "dt": 0.02, "every": 2, "method": "RK45", "rtol": 1e-7}
    results = robot.rollout(*map(cupy.asarray, (q, qd)), tau[0], **how, errors="flag")
    expected = robot.rollout(q, qd, tau[0], **how, errors="flag")
    assert isinstance(results.q, DeviceArray) and isinstance(results.qd, DeviceArray)
    np.testing.assert_array_equal(plain(results.status), expected.status)
    assert expected.status[5] == dl.Status.NOT_FINITE and (expected.status[6:] == 0).all()
    np.testing.assert_array_equal(plain(results.attempts), expected.attempts)
    assert expected.attempts.max() > 5 * expected.attempts[0]
    for a, b in zip(results[:2], expected[:2], strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-9, atol=1e-9)
    with pytest.raises(dl.SimulationError, match="after 3 of max_steps=3 steps tried"):
        robot.rollout(*map(cupy.asarray, (q[:2], qd[:2])), tau[0], **how, max_steps=3)
    assert robot.rollout(*map(cupy.asarray, (q[:0], qd[:0])), tau[0], **how)[0].shape == (5, 0, 2)


def test_closed_chains_with_steps_of_their_own_where_their_arrays_lie(cupy):
    """Newton's steps after every try and at every saved time, with the state of a law."""
    closed, q, qd, _ = load_states("four_bar", count=3)
    controller = dl.control.ComputedTorque(closed, target=closed.neutral(), kp=5.0, kd=1.0)
    how = {"steps": 20, "dt": 1e-3, "every": 5, "method": "RK23", "rtol": 1e-6}
    results = closed.rollout(cupy.asarray(q), cupy.asarray(qd), controller, **how)
    for a, b in zip(results, closed.rollout(q, qd, controller, **how), strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=0, atol=1e-9)
    assert np.abs(closed.residual(plain(results[0]))).max() < 1e-13


def test_actuators_and_runs_under_controls_where_their_arrays_lie(cupy):
    """A servo with an activation and limits: forces, rates, and activations in a rollout."""
    arm = dl.load("planar_2r")
    joints = arm.model.velocities
    servo = {"gain": [9.0], "bias": [0.0, -9.0, -1.0], "force_range": (-4.0, 5.0)}
    filtered = dl.Actuator("a", joints[0], dynamics="filter", time_constant=0.1, **servo)
    robot = arm.with_actuators([filtered, dl.Actuator("b", joints[1], **servo)])
    q, qd, u = arm.random_state(np.random.default_rng(0), 37)
    w = 0.1 * u[:, :1]
    on = [cupy.asarray(x) for x in (q, qd, u, w)]
    forces = robot.actuator_forces(*on)
    assert isinstance(forces, DeviceArray)
    np.testing.assert_allclose(plain(forces), robot.actuator_forces(q, qd, u, w), atol=1e-12)
    rate = robot.activation_rate(*on[2:])
    np.testing.assert_allclose(plain(rate), robot.activation_rate(u, w), rtol=1e-12)
    options = {"steps": 3, "dt": 1e-3}
    results = robot.rollout(*on[:2], None, controls=on[2], activation=on[3], **options)
    expected = robot.rollout(q, qd, None, controls=u, activation=w, **options)
    assert len(results) == 3
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("moving", [False, True])
def test_a_rollout_that_is_not_its_programs_is_found_by_the_check(cupy, monkeypatch, moving):
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    q, qd, tau = np.random.default_rng(0).standard_normal((3, 20, 2))
    inputs = [cupy.asarray(x) for x in (q, qd, np.stack([tau] * 4) if moving else tau)]
    mistaken = iteration(other.dynamics.bound(), "rk4")
    with monkeypatch.context() as patch:
        patch.setattr(device, "cuda_rollout", lambda _, *rest: cuda_rollout(mistaken, *rest))
        for _ in range(2):
            with pytest.raises(CompileError, match="the CUDA kernel gives q"):
                robot.rollout(*inputs, steps=4, dt=0.01)
    results = dl.load("planar_2r").rollout(*inputs, steps=4, dt=0.01)
    expected = robot.rollout(*(plain(x) for x in inputs), steps=4, dt=0.01)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)
