"""Fused rollouts on the CPU: the same steps as one at a time, orders, energies, shapes, threads."""

from itertools import pairwise

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.systems.friction import smoothing_width
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, random_state


def rate(robot, q, qd, tau):
    return qd, robot.forward_dynamics(q, qd, tau)


def taken(robot, method, q, qd, tau, dt):
    """One step, as a textbook writes it, for joints whose q̇ is the rate of q."""
    if method == "semi_implicit":
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        return q + dt * qd, qd
    k1 = rate(robot, q, qd, tau)
    k2 = rate(robot, q + dt / 2 * k1[0], qd + dt / 2 * k1[1], tau)
    k3 = rate(robot, q + dt / 2 * k2[0], qd + dt / 2 * k2[1], tau)
    k4 = rate(robot, q + dt * k3[0], qd + dt * k3[1], tau)
    rows = zip(k1, k2, k3, k4, strict=True)
    dq, dqd = (dt / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in rows)
    return q + dq, qd + dqd


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_step_by_step(method, moving):
    robot = dl.load("puma560").with_parameters(dl.load("puma560").parameters)
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 13, 6))
    tau = rng.normal(size=(6, 13, 6)) if moving else rng.normal(size=(13, 6))
    plain = {"method": method, "friction": "plain"}
    got = robot.rollout(q, qd, tau, steps=6, dt=1e-3, every=2, **plain)
    for step in range(6):
        q, qd = taken(robot, method, q, qd, tau[step] if moving else tau, 1e-3)
        if step % 2:
            np.testing.assert_allclose(got[0][step // 2], q, atol=1e-13)
            np.testing.assert_allclose(got[1][step // 2], qd, atol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("heun", 2), ("semi_implicit", 1)])
def test_order(method, order):
    """Halving the step divides the error by 2^order."""
    robot, start = dl.load("elbow_3r"), ([0.3, 0.8, -0.5], [1.0, 0.0, 0.5], np.zeros(3))
    ends = [
        robot.rollout(*start, steps=n, dt=0.4 / n, method=method, every=n)[0][0]
        for n in (320, 640, 1280)
    ]
    errors = [abs(a - b).max() for a, b in pairwise(ends)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_quaternions_stay_unit_and_energy_stays():
    rng = np.random.default_rng(3)
    model = random_model(rng, kinds=("spherical", "revolute", "free"), n=3, drives=False)
    robot = Robot(model)
    q, qd, _ = random_state(model, rng)
    end = robot.rollout(q, qd, np.zeros(model.nv), steps=300, dt=1e-3, every=100)
    for body in model.bodies:
        if body.chart.nq in (4, 7):
            turn = end[0][:, body.q][:, -4:]
            np.testing.assert_allclose(np.linalg.norm(turn, axis=1), 1.0, atol=1e-15)
    energy = robot.kinetic_energy(*end) + robot.potential_energy(end[0])
    start = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    np.testing.assert_allclose(energy, start, rtol=1e-9)


def test_shapes_and_precision():
    robot = dl.load("planar_2r")
    q = np.zeros((4, 5, 2), np.float32)
    got = robot.rollout(q, q[0], q[0, 0] + np.float32(0.1), steps=7, dt=0.01, every=3)
    assert [x.shape for x in got] == [(2, 4, 5, 2)] * 2
    assert {x.dtype for x in got} == {np.dtype(np.float32)}
    single = robot.rollout([0.0, 0.0], [0.0, 0.0], [0.1, 0.1], steps=6, dt=0.01, every=3)
    np.testing.assert_allclose(got[0][:, 2, 3], single[0], atol=1e-6)


def test_threads_change_nothing():
    robot = dl.load("elbow_3r")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 200)
    before = dl.get_num_threads()
    results = []
    for threads in (1, 3):
        dl.set_num_threads(threads)
        results.append(robot.rollout(q, qd, tau, steps=5, dt=1e-3))
    dl.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


def test_what_cannot_be():
    robot = dl.load("planar_2r")
    zero = np.zeros(2)
    with pytest.raises(dl.UnknownNameError, match="no method 'eulr'; did you mean 'euler'"):
        robot.rollout(zero, zero, zero, 1, 0.1, method="eulr")
    with pytest.raises(dl.UnknownNameError, match="no friction 'events'"):
        robot.rollout(zero, zero, zero, 1, 0.1, friction="events")
    with pytest.raises(dl.DalembertError, match="smoothing must be a positive"):
        robot.rollout(zero, zero, zero, 1, 0.1, smoothing=-1.0)
    with pytest.raises(dl.ShapeError, match="1 <= every <= steps"):
        robot.rollout(zero, zero, zero, 4, 0.1, every=5)
    with pytest.raises(dl.ShapeError, match="must have 4 steps in front"):
        robot.rollout(zero, zero, np.zeros((3, 2)), 4, 0.1)
    with pytest.raises(dl.ShapeError, match="q must be"):
        robot.rollout(np.zeros(3), zero, zero, 4, 0.1)


# the same name is the same method: `simulate` and `rollout`


def free_body() -> tuple[dl.Robot, np.ndarray, np.ndarray]:
    inertia = np.diag([1.0, 2.0, 3.0])
    body = {"name": "body", "joint": {"type": "free"}, "mass": 2.0, "inertia": inertia}
    q = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5])
    return dl.Robot.from_links([body]), q, np.array([0.3, -0.2, 0.1, 1.0, 2.0, -1.5])


def ball_and_hinge() -> tuple[dl.Robot, np.ndarray, np.ndarray]:
    part = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": np.diag([0.3, 0.4, 0.5])}
    ball = {"name": "a", "joint": {"type": "spherical"}, **part}
    arm = {"name": "b", "parent": "a", "joint": {"type": "revolute", "coulomb": 0.2}, **part}
    q = np.array([0.5, -0.5, 0.5, 0.5, 0.3])
    return dl.Robot.from_links([ball, arm]), q, np.array([0.5, -1.0, 0.7, 0.4])


def puma() -> tuple[dl.Robot, np.ndarray, np.ndarray]:
    return dl.load("puma560"), np.array([0.0, 0.3, 0.2, 0.1, 0.4, 0.5]), np.full(6, 0.3)


MIMIC = """<robot name="gripper"><link name="base"/>
{links}{joints}</robot>"""


def coupled() -> tuple[dl.Robot, np.ndarray, np.ndarray]:
    link = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0.2 0.1 0"/>
    <inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="j{1}" type="continuous"><parent link="{0}"/><child link="{1}"/>
    <axis xyz="0 1 0"/><origin xyz="0.3 0 0"/><dynamics damping="0.1" friction="0.3"/>{2}</joint>"""
    follow = '<mimic joint="ja" multiplier="-0.5" offset="0.1"/>'
    text = MIMIC.format(
        links="".join(map(link.format, "abc")),
        joints=joint.format("base", "a", "")
        + joint.format("a", "b", "")
        + joint.format("b", "c", follow),
    )
    return dl.Robot.from_urdf(text), np.array([0.4, -0.2]), np.array([0.6, 0.1])


@pytest.mark.parametrize("method", ["rk4", "heun", "euler", "semi_implicit"])
@pytest.mark.parametrize("case", [puma, free_body, ball_and_hinge, coupled])
def test_rollout_and_simulate_are_one_method(case, method):
    robot, q0, qd0 = case()
    tau, dt, steps = np.full(robot.nv, 0.2), 1e-3, 1000
    q, qd = robot.rollout(q0, qd0, tau, steps, dt, method=method, every=100)
    run = dl.simulate(
        robot, q0, qd0, tau, duration=steps * dt, dt=dt, save_every=100, method=method
    )
    np.testing.assert_allclose(q, run.q[1:], atol=1e-11)
    np.testing.assert_allclose(qd, run.qd[1:], atol=1e-10)


def test_rollouts_of_any_free_system():
    x, v = sympy.symbols("x v")
    system = dl.Lagrangian(x, v**2 / 2, 9.81 * (1 - sympy.cos(x)), forces=[-0.3 * v], qd=v)
    q, _ = system.rollout([0.4], [0.0], [0.0], 100, 1e-2, every=10)
    run = dl.simulate(system, [0.4], [0.0], duration=1.0, dt=1e-2, save_every=10, method="rk4")
    np.testing.assert_allclose(q, run.q[1:], atol=1e-13)
    units = dl.load("n_four_bar")
    with pytest.raises(dl.DalembertError, match=r"on numbers, unit by unit.*dl\.simulate"):
        units.rollout(units.neutral(), np.zeros(units.nv), np.zeros(units.nv), 1, 1e-3)


@pytest.mark.parametrize("moving", [False, True])
def test_widths_of_friction_follow_batches_and_steps(moving):
    robot, q0, qd0 = puma()
    q = q0 + 0.1 * np.arange(3)[:, None]
    tau = np.full((5, 3, 6) if moving else (3, 6), 0.3)
    batch = robot.rollout(q, qd0, tau, 5, 1e-3, smoothing=0.05)
    for k in range(3):
        one = robot.rollout(q[k], qd0, tau[..., k, :], 5, 1e-3, smoothing=0.05)
        np.testing.assert_allclose(batch[0][:, k], one[0], atol=1e-14)


def test_rollouts_of_plain_robots_cost_what_they_did():
    """Instructions of a stage, as they were when it was written by hand for joints of one degree."""
    from dalembert.systems.rollout_kernels import iteration

    most = {"ur5": (784, 736), "panda": (1488, 1432)}
    for name, counts in most.items():
        for method, count in zip(("rk4", "semi_implicit"), counts, strict=True):
            stepped = iteration(dl.load(name).dynamics, method)
            assert len(stepped.stage) <= count
            assert len(stepped.finish) == 2 * stepped.base[0].size


@pytest.mark.parametrize("name", ["planar_2r", "puma560"])  # without friction, and with it
@pytest.mark.parametrize("moving", [False, True])
def test_no_states_roll_out_to_none(name, moving):
    """The compiled loop takes one block at least; with none it wrote beyond its arrays."""
    robot = dl.load(name)
    q = np.zeros((3, 0, robot.nv))
    tau = np.zeros((4, 3, 0, robot.nv)) if moving else q
    for end in robot.rollout(q, q, tau, steps=4, dt=1e-3, every=2):
        assert end.shape == (2, 3, 0, robot.nv)


def test_friction_rises_over_the_width_of_the_parameters_given():
    """A larger friction would make the steps unstable over the width of the default one."""
    joint = {"type": "revolute", "axis": (0, 1, 0)}
    body = {"name": "arm", "mass": 1.0, "com": (0.3, 0, 0), "inertia": 0.02 * np.eye(3)}

    def arm(c):
        return Robot.from_links([{**body, "joint": {**joint, "coulomb": c}}], name="arm")

    stiffness = np.array([[5.0], [30.0]])
    open_ = arm(dl.Parameter("c", 1.0))
    for values, frictions in ((stiffness[1], 30.0), (stiffness, [5.0, 30.0]), (None, 1.0)):
        result = smoothing_width(open_, 1e-2, parameters=values)
        each = [smoothing_width(arm(c), 1e-2) for c in np.atleast_1d(frictions)]
        np.testing.assert_allclose(result, each if np.ndim(frictions) else each[0], rtol=1e-14)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_a_run_with_friction_is_what_it_is_alone(method, moving):
    """Bit for bit, whoever its neighbours are; a start that is NaN is its own."""
    robot = dl.load("puma560")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 9)
    tau = 0.1 * np.stack([tau] * 20) if moving else 0.1 * tau
    good, how = np.arange(9) != 4, {"steps": 20, "dt": 1e-2, "method": method}
    q[4] = np.nan
    result = robot.rollout(q, 0.2 * qd, tau, **how, errors="flag")
    assert (result.status == np.where(good, dl.Status.OK, dl.Status.NOT_FINITE)).all()
    for k in np.flatnonzero(good):
        alone = robot.rollout(q[k], 0.2 * qd[k], tau[..., k, :], **how)
        np.testing.assert_array_equal(alone[0], result.q[:, k])


def test_simulate_and_rollout_smooth_friction_alike_in_a_batch():
    robot = dl.load("puma560")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 3)
    how = {"dt": 1e-2, "method": "rk4"}
    run = dl.simulate(robot, q, 0.2 * qd, 0 * tau, duration=0.2, **how)
    result = robot.rollout(q, 0.2 * qd, 0 * tau, steps=20, **how)
    np.testing.assert_allclose(result[0], run.q[1:], atol=1e-11)
    widths = ", ".join(f"{x:g}" for x in smoothing_width(robot, 1e-2))
    assert run.attrs["smoothing"] == widths


def test_arguments_are_refused_in_words():
    robot, zero = dl.load("planar_2r"), np.zeros(2)
    whole, number = "steps must be a positive whole number", "dt must be a finite number"
    for steps, dt, message in (
        (4.0, 0.1, whole),
        (10**400, 0.1, whole),
        (4, np.nan, number),
        (4, np.inf, number),
        (4, "a", number),
        (4, None, number),
        (4, [0.1], number),
    ):
        with pytest.raises(dl.SettingError, match=message):
            robot.rollout(zero, zero, zero, steps, dt)
    with pytest.raises(
        dl.ShapeError, match=r"q \(3, 2\), qd \(2,\), tau \(5, 2\): the axes before"
    ):
        robot.rollout(np.zeros((3, 2)), zero, np.zeros((5, 2)), 4, 0.1)
    with pytest.raises(dl.ShapeError, match="q must be real numbers, not complex128"):
        robot.rollout(zero + 1j, zero, zero, 4, 0.1)
    with pytest.raises(dl.UnknownNameError, match="no method 'RK46'; did you mean 'RK45'"):
        robot.rollout(zero, zero, zero, 4, 0.1, method="RK46")
    with pytest.raises(dl.SettingError, match="PID, without a law"):
        robot.rollout(zero, zero, dl.control.PID(robot, zero, 1.0, 1.0, 1.0), 4, 0.1)
    back, _ = robot.rollout(*robot.rollout(zero, zero, zero, 4, 0.01), zero, 4, -0.01)
    np.testing.assert_allclose(back[-1, -1], zero, atol=1e-8)


def test_torques_that_are_no_numbers_are_told_apart():
    robot, q = dl.load("planar_2r"), np.zeros((3, 2))
    tau = np.zeros((4, 3, 2))
    tau[2, 1, 0] = np.nan
    result = robot.rollout(q, q, tau, 4, 0.1, errors="flag")
    assert result.status.tolist() == [dl.Status.OK, dl.Status.NOT_FINITE, dl.Status.OK]
    assert np.isfinite(result.q[:2]).all()  # until then
    closed = dl.load("four_bar")
    with pytest.raises(dl.SimulationError, match=r"tau.*has entries that are not finite"):
        closed.rollout(closed.neutral(), np.zeros(3), np.full(3, np.nan), 4, 1e-3)


@pytest.mark.parametrize("method", ["rk4", "RK45"])
def test_bad_input_never_comes_back_as_nan_in_silence(method):
    """The run and the argument are named; free systems returned NaN for all that was NaN."""
    robot = dl.load("planar_2r")
    for k, name in enumerate(("q", "qd", "tau")):
        state = np.zeros((3, 3, 2))
        state[k, 1, 0] = np.inf if name == "qd" else np.nan
        with pytest.raises(dl.SimulationError, match=f"{name} of run 1 has entries that are not"):
            robot.rollout(*state, 4, 0.1, method=method)
        with pytest.raises(dl.SimulationError, match=f"rollout: {name} has entries that are not"):
            robot.rollout(*state[:, 1], 4, 0.1, method=method)
    result = robot.rollout(*state, 4, 0.1, method=method, errors="flag")
    assert result.status.tolist() == [dl.Status.OK, dl.Status.NOT_FINITE, dl.Status.OK]


def test_torques_of_a_step_and_states_that_overflow_are_named():
    robot, still = dl.load("planar_2r"), np.zeros((3, 2))
    tau = np.zeros((4, 3, 2))
    tau[2, 2] = np.nan
    with pytest.raises(dl.SimulationError, match="tau of run 2 has entries that are not finite"):
        robot.rollout(still, still, tau, 4, 0.1)
    ends = robot.rollout(still, still, tau, 4, 0.1, every=2, errors="flag")
    assert np.isfinite(ends.q[0]).all()  # until then
    fast = np.zeros((3, 2))
    fast[1] = 1e200
    with pytest.raises(dl.SimulationError, match="run 1 is no longer finite before saved state 0"):
        robot.rollout(still, fast, still, 4, 0.1)


def test_a_quaternion_of_length_zero_is_no_start():
    body, q, qd = free_body()
    q[3:] = 0.0
    for method in ("rk4", "RK45"):
        result = body.rollout(q, qd, np.zeros(6), 2, 1e-3, method=method, errors="flag")
        assert result.status == dl.Status.NOT_FINITE
