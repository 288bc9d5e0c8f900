"""A run says what became of it: nothing hangs, nothing is lost, nothing diverged is complete."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo.constrained_loops import build_slider_crank


def wheel(**joint: Any) -> dl.Robot:
    axle = {"type": "revolute", "name": "axle", **joint}
    return dl.Robot.from_links([{"name": "w", "joint": axle, "mass": 1.0, "inertia": np.eye(3)}])


def stopped(match: str, *arguments: Any, **options: Any) -> Any:
    with pytest.warns(dl.SimulationWarning, match=match):
        return dl.simulate(*arguments, **{"duration": 1.0, "dt": 0.01, **options})


# functions of the user


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "rk4", "semi_implicit", "variational"])
def test_a_torque_function_cannot_change_the_state(method: str) -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        q += 1.0
        qd *= 0.0
        return 0.0 * q

    options = {"duration": 0.2, "dt": 0.01, "method": method}
    pendulum = dl.load("pendulum")
    touched = dl.simulate(pendulum, [0.5], [0.1], torque, **options)
    plain = dl.simulate(pendulum, [0.5], [0.1], lambda t, q, qd: np.zeros(1), **options)
    np.testing.assert_array_equal(touched.q, plain.q)


def test_until_cannot_change_the_state() -> None:
    def until(t: float, q: np.ndarray, qd: np.ndarray) -> float:
        q += 5.0
        return 1.0

    options = {"duration": 0.2, "dt": 0.01}
    touched = dl.simulate(dl.load("pendulum"), [0.5], [0.1], until=until, **options)
    plain = dl.simulate(dl.load("pendulum"), [0.5], [0.1], until=lambda *s: 1.0, **options)
    np.testing.assert_array_equal(touched.q, plain.q)


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "Radau", "rk4", "variational"])
def test_a_controller_that_raises_keeps_what_was_computed(method: str) -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if t > 0.5:
            raise ZeroDivisionError("no torque any more")
        return np.zeros(1)

    message = "torque function raised ZeroDivisionError at t = 0.5.*no torque any more"
    run = stopped(message, dl.load("pendulum"), [0.5], [0.0], torque, method=method)
    assert run.attrs["status"] == "failed" and "no torque" in run.attrs["message"]
    assert float(run.time[-1]) == pytest.approx(0.5, abs=0.011)
    assert np.isfinite(run.q).all() and run.sizes["time"] > 40


def test_a_controller_that_never_works_raises_itself() -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("never")

    for method in ("DOP853", "rk4"):
        with pytest.raises(ZeroDivisionError, match="never"):
            dl.simulate(dl.load("pendulum"), [0.5], [0.0], torque, duration=1.0, method=method)


def test_until_that_raises_keeps_what_was_computed() -> None:
    def until(t: float, q: np.ndarray, qd: np.ndarray) -> float:
        return 1.0 if t < 0.5 else [][0]

    run = stopped("until raised IndexError", dl.load("pendulum"), [0.5], [0.0], until=until)
    assert run.attrs["status"] == "failed" and float(run.time[-1]) > 0.3


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["DOP853", "LSODA", "Radau", "BDF", "rk4"])
def test_torques_that_are_not_finite_are_named(method: str, value: float) -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([value if t > 0.5 else 0.0])

    run = stopped("torque.*is not finite", dl.load("pendulum"), [0.5], [0], torque, method=method)
    assert run.attrs["status"] in ("stalled", "diverged")
    assert 0.4 < float(run.time[-1]) < 0.52 and np.isfinite(run.q).all()


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "Radau", "rk4"])
def test_infinite_torques_from_the_start_do_not_hang(method: str) -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([np.inf])

    run = stopped("not finite", dl.load("pendulum"), [0.5], [0.0], torque, method=method)
    assert run.attrs["status"] in ("stalled", "diverged")


def test_nan_torques_do_not_hang_a_closed_system() -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.full(3, np.nan if t > 0.2 else 0.0)

    run = stopped("torque of 'crank' is not finite", build_slider_crank(), tau=torque)
    assert run.attrs["status"] == "stalled" and 0.1 < float(run.time[-1]) <= 0.2


# no progress


class Integral:
    """A law with a memory of its own: the same question has another answer every time."""

    def __init__(self) -> None:
        self.sum = 0.0

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        self.sum += 1e-3 * float(q[0])
        return np.array([-10.0 * q[0] - 5.0 * self.sum])


def switching(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return -30.0 * np.sign(q + 0.5 * qd)


@pytest.mark.parametrize("torque", [Integral, lambda: switching])
@pytest.mark.parametrize("method", ["DOP853", "LSODA", "Radau"])
def test_torques_no_adaptive_method_can_follow(torque: Callable[[], Any], method: str) -> None:
    message = "cannot go on from t = .* fixed step, such as method='rk4'"
    run = stopped(message, dl.load("pendulum"), [0.5], [0.0], torque(), method=method)
    assert run.attrs["status"] == "stalled"
    fixed = dl.simulate(
        dl.load("pendulum"), [0.5], [0.0], torque(), duration=1.0, dt=0.01, method="rk4"
    )
    assert fixed.attrs["status"] == "complete"


def test_stiff_friction_under_an_explicit_method_names_a_stiff_one() -> None:
    robot = wheel(viscous=1e9)
    run = stopped("method='Radau'", robot, [0.0], [1.0], [1.0])
    assert run.attrs["status"] == "stalled"
    stiff = dl.simulate(robot, [0.0], [1.0], [1.0], duration=1.0, dt=0.01, method="Radau")
    assert stiff.attrs["status"] == "complete"


def test_stops_a_nanometre_apart_do_not_hang() -> None:
    run = stopped("steps gained", wheel(limits=(0.0, 1e-9)), [0.0], [1.0], restitution=1.0)
    assert run.attrs["status"] == "stalled"


def test_a_joint_that_follows_another_with_friction_comes_to_rest() -> None:
    link = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="j{1}" type="continuous"><parent link="{0}"/><child link="{1}"/>
    <axis xyz="0 0 1"/><dynamics friction="0.3"/>{2}</joint>"""
    text = '<robot name="pair"><link name="base"/>' + "".join(map(link.format, "ab"))
    text += joint.format("base", "a", "")
    text += joint.format("a", "b", '<mimic joint="ja" multiplier="2"/>') + "</robot>"
    robot = dl.Robot.from_urdf(text)
    for friction in ("events", "smooth"):
        run = dl.simulate(robot, [0.0], [1.0], duration=3.0, dt=0.1, friction=friction)
        assert run.attrs["status"] == "complete" and abs(float(run.qd[-1, 0])) < 1e-3
        # 0.3 N m at the leader, and at the follower twice that seen from the leader
        assert float(run.dissipated[-1]) == pytest.approx(0.9 * float(run.q[-1, 0]), rel=1e-2)


# divergence


def test_a_run_beyond_all_bounds_is_not_complete() -> None:
    # q̈ = q by a spring of the wrong sign grows by e^t: 1e140 after 322 s
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return 1e4 * q

    options = {"duration": 4.0, "dt": 0.01, "method": "rk4"}
    run = stopped("beyond all bounds, joint 'axle'", wheel(), [1.0], [0.0], torque, **options)
    assert run.attrs["status"] == "diverged"
    assert float(np.abs(run.q).max()) < 1e16


def test_samples_beyond_all_bounds_make_a_batch_diverged() -> None:
    q0 = np.array([[0.0], [1.0]])
    options = {"duration": 4.0, "dt": 0.01}
    run = stopped("1 of 2 samples", wheel(), q0, tau=lambda t, q, qd: 1e4 * q, **options)
    assert run.attrs["status"] == "diverged" and np.all(run.q[:, 0] == 0.0)


# closed chains


def pushed() -> tuple[dl.Constrained, np.ndarray, np.ndarray]:
    """A piston pushed at 0.2 m/s, further than crank and rod reach: they are straight at 0.5 s."""
    pin = dl.Loop("rod_tip", "piston", "pin", along="world", name="pin")
    push = dl.Driver(lambda q, t: q[2] - 0.7 - 0.2 * t, name="push")
    closed = dl.Constrained(build_slider_crank().system, [pin, push], guess=[0.8, -1.0, 0.7])
    q0 = closed.assemble([0.8, -1.0, 0.7])
    return closed, q0, closed.project_velocity(q0, np.zeros(3), t=0.0)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_a_dead_point_is_explained(method: str) -> None:
    run = stopped(r"singular posture \(a dead point\) of slider_crank", *pushed(), method=method)
    assert run.attrs["status"] == "stalled"
    assert float(run.time[-1]) <= 0.5 and float(run.residual.max()) < 1e-4
