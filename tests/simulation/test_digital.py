"""Digital controllers: laws called once a sample, their commands held, late, and badly measured."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo.constrained_loops import build_slider_crank
from tests.simulation.plain_pid import PID, wheel

METHODS = ("rk4", "heun", "semi_implicit", "DOP853", "RK45", "Radau", "LSODA")


def by_hand(x: np.ndarray, T: float, count: int, controller: Any, late: float = 0.0) -> np.ndarray:
    """(q, q̇) of q̈ = τ at every sample, the motion between the changes of τ in closed form."""
    result, before = [x], 0.0
    for k in range(count):
        command = controller(k * T, x[:1], x[1:])[0]
        for tau, h in ((before, late), (command, T - late)):
            x = np.array([x[0] + h * x[1] + 0.5 * h * h * tau, x[1] + h * tau])
        result.append(x)
        before = command
    return np.array(result)


# the hold


@pytest.mark.parametrize("method", METHODS)
def test_commands_are_held_between_samples(method: str) -> None:
    T, start = 0.05, np.array([1.0, 0.0])
    controller = PID([0.0], 20.0, 5.0, 4.0, T)
    run = dl.simulate(
        *(wheel(), start[:1], start[1:], controller),
        **{"duration": 1.0, "dt": 0.01, "control_dt": T, "save_every": 5, "method": method},
    )
    expected = by_hand(start, T, 20, PID([0.0], 20.0, 5.0, 4.0, T))
    # the semi-implicit method moves q by the velocity at the end of its step
    exact = {"rtol": 1e-9, "atol": 1e-8} if method != "semi_implicit" else {"atol": 0.05}
    np.testing.assert_allclose(run.q[:, 0], expected[:, 0], **exact)
    np.testing.assert_allclose(run.tick, T * np.arange(20), rtol=1e-12)
    assert controller.times == run.tick.values.tolist()
    np.testing.assert_array_equal(run.sampled_q, run.q[:-1].values)
    np.testing.assert_array_equal(run.tau[:-1], run.commanded)  # as it acts from there on


@pytest.mark.parametrize("method", ["rk4", "DOP853", "BDF"])
@pytest.mark.parametrize("late", [0.02, 0.05, 0.15])
def test_commands_act_after_their_delay(method: str, late: float) -> None:
    T, count = 0.05, 20
    controller, again = PID([0.0], 10.0, 0.0, 3.0, T), PID([0.0], 10.0, 0.0, 3.0, T)
    options = {"duration": 1.0, "dt": 0.01, "save_every": 5, "method": method}
    run = dl.simulate(
        wheel(), [1.0], [0.0], controller, control_dt=T, control_delay=late, atol=1e-10, **options
    )
    if late < T:
        expected = by_hand(np.array([1.0, 0.0]), T, count, again, late)
        np.testing.assert_allclose(run.q[:, 0], expected[:, 0], rtol=1e-7, atol=1e-7)
    lag = int(np.ceil(late / T - 1e-9))  # as it is seen at the samples
    assert len(controller.times) == count
    np.testing.assert_array_equal(run.commanded[: count - lag], run.tau[lag:count])
    assert not run.tau[:lag].any() and float(run.tau[lag + 1, 0]) != 0.0


def test_saved_times_and_samples_need_not_agree() -> None:
    """An adaptive method stops at each sample, wherever states are saved."""
    options = {"duration": 1.0, "method": "DOP853", "control_dt": 0.03}
    fine, coarse = (
        dl.simulate(
            wheel(), [1.0], [0.0], PID([0.0], 20.0, 5.0, 4.0, 0.03), dt=dt, save_every=m, **options
        )
        for dt, m in ((0.01, 1), (0.25, 2))
    )
    np.testing.assert_allclose(fine.q[[0, 50, 100]], coarse.q, rtol=1e-12)
    np.testing.assert_allclose(fine.commanded, coarse.commanded, rtol=1e-9, atol=1e-12)
    assert len(coarse.tick) == 34


def test_a_pid_with_an_integral_runs_at_a_kilohertz_on_the_panda() -> None:
    robot = dl.load("panda")
    q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
    kp = np.array([600.0, 600.0, 600.0, 600.0, 50.0, 40.0, 3.0])
    controller = PID(q0, kp, 2.0 * kp, 0.1 * kp, 1e-3)
    run = dl.simulate(robot, q0 + 0.1, None, controller, duration=10.0, control_dt=1e-3)
    assert run.attrs["status"] == "complete" and len(controller.times) == 10_000
    # the integral has taken over the weight, which it does not know
    np.testing.assert_allclose(run.q[-1], q0, atol=2e-3)
    np.testing.assert_allclose(run.tau[-1], robot.gravity_torque(q0), atol=0.5)


def test_a_compiled_law_that_is_sampled_comes_near_the_continuous_one() -> None:
    robot = dl.load("planar_2r")
    controller = dl.control.PDGravity(robot, [0.5, -0.3], kp=40.0, kd=10.0, ki=20.0)
    settings = (robot, [0.0, 0.0], None, controller)
    continuous = dl.simulate(*settings, duration=1.0, dt=0.01, save_every=20)
    errors = []
    for T in (0.01, 0.005):
        run = dl.simulate(*settings, duration=1.0, dt=T, control_dt=T, save_every=round(0.2 / T))
        errors.append(float(abs(run.q - continuous.q).max()))
    assert errors[0] < 0.05 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)


def test_friction_is_located_under_commands_that_jump() -> None:
    """A joint that sticks is let go when a command overcomes its friction."""
    robot = wheel(coulomb=1.0)
    run = dl.simulate(
        *(robot, [0.0], [0.0], lambda t, q, qd: np.array([0.5 if t < 0.499 else 3.0])),
        **{"duration": 1.0, "dt": 0.01, "method": "DOP853", "control_dt": 0.1},
    )
    np.testing.assert_array_equal(run.q[:51], 0.0)
    assert float(run.q[-1, 0]) == pytest.approx(0.5 * 2.0 * 0.25, rel=1e-9)


# batches, closed chains, coupled joints, actuators


def test_a_batch_is_its_samples_and_the_law_sees_arrays() -> None:
    robot, q0 = dl.load("planar_2r"), np.array([[0.1, 0.2], [0.5, -0.4], [-0.3, 0.0]])
    options = {"duration": 0.2, "dt": 0.005, "control_dt": 0.01, "control_delay": 0.005}

    def controller() -> PID:
        return PID([0.0, 0.0], 30.0, 10.0, 5.0, 0.01)

    run = dl.simulate(robot, q0, None, controller(), **options)
    assert run.commanded.dims == ("tick", "sample", "joint")
    for k, q in enumerate(q0):
        alone = dl.simulate(robot, q, None, controller(), **options)
        np.testing.assert_allclose(run.q[:, k], alone.q, atol=1e-12)
        np.testing.assert_allclose(run.commanded[:, k], alone.commanded, atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "DOP853", "generalized_alpha"])
@pytest.mark.parametrize("formulation", [None, "elimination", "kane"])
def test_a_closed_chain_takes_its_commands(method: str, formulation: str | None) -> None:
    if formulation and method == "generalized_alpha":
        return  # it solves equations of its own
    closed = build_slider_crank()
    controller = PID(closed.neutral(), [30.0, 0.0, 0.0], 0.0, [3.0, 0.0, 0.0], 0.01)
    options = {"duration": 0.4, "dt": 0.001, "method": method, "formulation": formulation}
    options["control_delay"] = 0.004
    run = dl.simulate(closed, tau=controller, control_dt=0.01, **options)
    finer = {**options, "dt": 5e-4, "method": "rk4"}
    again = PID(closed.neutral(), [30.0, 0.0, 0.0], 0.0, [3.0, 0.0, 0.0], 0.01)
    reference = dl.simulate(closed, tau=again, control_dt=0.01, **finer)
    assert len(controller.times) == 40 and float(run.residual.max()) < 1e-6
    np.testing.assert_allclose(run.q[-1], reference.q[-1], atol=1e-5)
    if method != "generalized_alpha":
        np.testing.assert_allclose(run.q[-1], reference.q[-1], atol=1e-8)
        assert abs(float(run.balance[-1])) < 1e-7


def test_an_implicit_method_keeps_its_order_across_commands_that_jump() -> None:
    """Its accelerations are those of the new command, not of the old one."""
    robot = dl.load("planar_2r")
    settings = {"q0": [0.1, 0.2], "duration": 0.4, "control_dt": 0.02}
    settings["tau"] = lambda t, q, qd: (
        np.array([3.0 * np.sign(np.sin(40.0 * t)), 1.0]) - 2.0 * q - qd
    )
    reference = dl.simulate(robot, dt=1e-3, **settings).q[-1]
    errors = [
        float(
            abs(
                dl.simulate(robot, dt=h, method="generalized_alpha", **settings).q[-1] - reference
            ).max()
        )
        for h in (4e-3, 2e-3)
    ]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_joints_that_follow_others_are_driven_by_their_leaders() -> None:
    robot = _coupled()
    controller = PID([0.4], 40.0, 60.0, 8.0, 0.01)
    run = dl.simulate(robot, [0.0], None, controller, duration=6.0, dt=0.01, control_dt=0.01)
    assert run.commanded.shape == (600, 1)
    assert float(run.q[-1, 0]) == pytest.approx(0.4, abs=1e-3)


def _coupled() -> dl.Robot:
    link = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="j{1}" type="continuous"><parent link="{0}"/><child link="{1}"/>
    <axis xyz="0 1 0"/>{2}</joint>"""
    text = '<robot name="pair"><link name="base"/>' + "".join(map(link.format, "ab"))
    text += joint.format("base", "a", "")
    text += joint.format("a", "b", '<mimic joint="ja" multiplier="2"/>') + "</robot>"
    return dl.Robot.from_urdf(text)


def test_actuators_take_sampled_controls() -> None:
    text = """<mujoco><worldbody><body name="w"><joint name="axle" type="hinge" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
    <actuator><motor name="m" joint="axle" gear="2"/></actuator></mujoco>"""
    robot = dl.Robot.from_mjcf(text)
    settings = {"duration": 0.5, "dt": 0.01, "control_dt": 0.05}
    run = dl.simulate(robot, [1.0], [0.0], controls=PID([0.0], 10.0, 2.0, 1.0, 0.05), **settings)
    direct = dl.simulate(robot, [1.0], [0.0], PID([0.0], 20.0, 4.0, 2.0, 0.05), **settings)
    np.testing.assert_allclose(run.q, direct.q, atol=1e-12)
    assert run.commanded.dims == ("tick", "actuator")


def test_a_batch_keeps_the_samples_that_its_saved_states_need() -> None:
    options = {"duration": 0.4, "dt": 0.01, "control_dt": 0.02, "control_delay": 0.03}
    controller = {"tau": lambda t, q, qd: -q + t}
    every = dl.simulate(wheel(), np.ones((2, 1)), **controller, **options)
    few = dl.simulate(wheel(), np.ones((2, 1)), **controller, save_every=10, **options)
    np.testing.assert_array_equal(few.tau, every.tau[::10])
    assert len(few.tick) < 8 and len(every.tick) == 20
    np.testing.assert_array_equal(few.commanded, every.commanded.sel(tick=few.tick))


def test_a_law_with_a_reset_starts_anew_with_every_run() -> None:
    class Counting:
        def reset(self) -> None:
            self.calls = 0

        def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            self.calls += 1
            return np.array([float(self.calls)])

    controller = Counting()
    runs = [dl.simulate(wheel(), tau=controller, duration=0.5, control_dt=0.1) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].commanded, runs[1].commanded)
    assert controller.calls == 5


def test_held_torques_are_plotted_as_steps() -> None:
    controller = PID([0.0], 20.0, 0.0, 1.0, 0.05)
    run = dl.simulate(wheel(), [1.0], [0.0], controller, duration=0.5, dt=0.01, control_dt=0.05)
    figure = run.dl.plot(["q", "tau"])
    assert [axes.lines[0].get_drawstyle() for axes in figure.axes] == ["default", "steps-post"]


# stability


def test_a_loop_that_is_too_slow_is_said_to_be_unstable() -> None:
    controller = PID([0.0], 0.0, 0.0, 1e4, 0.01)
    with pytest.warns(dl.SimulationWarning, match="may be unstable at control_dt = 0.01 s"):
        dl.simulate(wheel(), [0.0], [1.0], controller, duration=1.0, dt=0.01, control_dt=0.01)


def test_a_law_may_return_the_same_array_every_time():
    own = np.zeros(2)

    def controller(t, q, qd):
        own[:] = t
        return own

    timing = {"duration": 0.05, "control_dt": 0.01, "control_delay": 0.02}
    run = dl.simulate(dl.load("planar_2r"), tau=controller, **timing)
    fresh = dl.simulate(dl.load("planar_2r"), tau=lambda t, q, qd: np.full(2, t), **timing)
    assert np.array_equal(run.tau, fresh.tau) and np.array_equal(run.q, fresh.q)
    assert np.array_equal(run.commanded[:, 0], run.tick)
