"""Laws that raise or return nonsense end a run with a sentence, and what was computed stays."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo.constrained_loops import build_slider_crank

SYSTEMS = {
    "open": (lambda: dl.load("pendulum"), "link1_joint"),
    "closed": (build_slider_crank, "crank"),
}
LATER = 0.205


def going_wrong(answer: Any) -> Any:
    """A law that is fine for a while."""

    def controller(t: float, q: np.ndarray, qd: np.ndarray) -> Any:
        if t < LATER:
            return np.zeros(len(qd))
        return answer(len(qd))

    return controller


def raising(n: int) -> Any:
    raise ZeroDivisionError("no more")


WRONG = {
    "raises": (raising, "raised ZeroDivisionError at t = 0.2"),
    "nan": (lambda n: np.full(n, np.nan), "torque of '{joint}' is not finite at t = 0.2"),
    "shape": (lambda n: np.zeros(n + 1), "returned an array of shape .* at t = 0.2"),
    "type": (lambda n: "fast", "returned 'fast' at t = 0.2.*no real numbers"),
    "none": (lambda n: None, "returned None at t = 0.2.*no real numbers"),
    "complex": (lambda n: np.full(n, 1j), "returned .*1.j.* at t = 0.2.*no real numbers"),
}


@pytest.mark.parametrize("control_dt", [None, 0.01])
@pytest.mark.parametrize("method", ["rk4", "DOP853"])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_law_that_goes_wrong_keeps_what_was_computed(
    kind: str, wrong: str, method: str, control_dt: float | None
) -> None:
    make, joint = SYSTEMS[kind]
    answer, message = WRONG[wrong]
    options = {"duration": 0.5, "dt": 0.01, "method": method, "control_dt": control_dt}
    with pytest.warns(dl.SimulationWarning, match=message.format(joint=joint)):
        run = dl.simulate(make(), tau=going_wrong(answer), **options)
    assert run.attrs["status"] in ("failed", "stalled", "diverged")
    assert 0.1 < float(run.time[-1]) < 0.22 and np.isfinite(run.q).all()


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_sampled_law_that_never_works_is_refused(method: str) -> None:
    options = {"duration": 0.5, "dt": 0.01, "method": method, "control_dt": 0.01}
    pendulum = dl.load("pendulum")
    with pytest.raises(dl.SimulationError, match="torque of 'link1_joint' is not finite at t = 0"):
        dl.simulate(pendulum, tau=lambda t, q, qd: np.array([np.nan]), **options)
    with pytest.raises(ZeroDivisionError):
        dl.simulate(pendulum, tau=lambda t, q, qd: 1 / 0, **options)
    with pytest.raises(dl.ShapeError, match=r"shape \(2,\) at t = 0 s; it must be \(1,\)"):
        dl.simulate(pendulum, tau=lambda t, q, qd: np.zeros(2), **options)


@pytest.mark.parametrize("control_dt", [None, 0.01])
def test_a_law_of_other_arguments_is_refused(control_dt: float | None) -> None:
    for controller in (
        lambda t, q: np.zeros(1),
        lambda t, q, qd, more: np.zeros(1),
        lambda *, t: 0.0,
    ):
        with pytest.raises(
            dl.SettingError, match=r"torque function must take \(t, q, qd\), not \("
        ):
            dl.simulate(dl.load("pendulum"), tau=controller, duration=0.1, control_dt=control_dt)


@pytest.mark.parametrize("control_dt", [None, 0.01])
def test_one_sample_of_a_batch_that_goes_wrong_is_named_and_the_others_go_on(
    control_dt: float | None,
) -> None:
    robot = dl.load("pendulum")

    def controller(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.where((np.arange(3)[:, None] == 1) & (t > LATER), np.nan, -q)

    with pytest.warns(
        dl.SimulationWarning, match="1 of 3 .*'link1_joint' of sample 1 is not finite at"
    ):
        run = dl.simulate(
            robot, np.ones((3, 1)), tau=controller, duration=0.5, control_dt=control_dt
        )
    assert np.isfinite(run.q[:, [0, 2]]).all() and run.attrs["status"] == "diverged"


@pytest.mark.parametrize("kind", SYSTEMS)
def test_an_implicit_method_names_the_torque_and_not_stiffness(kind: str) -> None:
    make, joint = SYSTEMS[kind]
    options = {"duration": 0.5, "dt": 0.01, "method": "generalized_alpha"}
    with pytest.warns(dl.SimulationWarning, match=f"torque of '{joint}' is not finite at t = 0.2"):
        run = dl.simulate(make(), tau=going_wrong(WRONG["nan"][0]), **options)
    assert run.attrs["status"] == "stalled" and float(run.time[-1]) > 0.1


def test_a_law_is_not_blamed_for_a_motion_that_is_lost() -> None:
    """It raises where it is asked about states that are no numbers, as steps are far too long."""

    def controller(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if not np.isfinite(q).all():
            raise ValueError("where is it?")
        return np.zeros(1)

    joint = {"type": "revolute", "name": "axle", "viscous": 1e5}
    link = {"name": "w", "joint": joint, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([link])
    options = {"duration": 1.0, "dt": 0.01, "save_every": 50, "control_dt": 0.01}
    with pytest.warns(dl.SimulationWarning, match="beyond all bounds, joint 'axle' fastest"):
        run = dl.simulate(robot, [0.1], [1.0], controller, **options)
    assert run.attrs["status"] == "diverged"


# laws that are compiled


class Compiled:
    """A law that is traced, of any function."""

    def __init__(self, function: Any) -> None:
        self.function, self.initial, self.structure = function, np.zeros(0), id(function)
        self.constants: dict[str, np.ndarray] = {}

    def command(self, t: Any, q: Any, qd: Any, z: Any, constants: Any) -> Any:
        return self.function(t, q, qd)


NO_LAWS = {
    "shape": (lambda t, q, qd: (np.zeros(7), np.zeros(0)), r"τ must be .* it is of shape \(7,\)"),
    "state": (lambda t, q, qd: (0.0 * qd, np.zeros(3)), r"ż must be .* \(0,\), it is of shape"),
    "one": (lambda t, q, qd: 0.0 * qd, "must return a pair .* not one array"),
    "none": (lambda t, q, qd: None, "must return a pair .* not NoneType"),
    "branch": (lambda t, q, qd: (qd if q[0] > 0 else -qd, np.zeros(0)), "branches with np.where"),
}


@pytest.mark.parametrize("control_dt", [None, 0.01])
@pytest.mark.parametrize("wrong", NO_LAWS)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_compiled_law_that_is_none_is_refused(
    kind: str, wrong: str, control_dt: float | None
) -> None:
    function, message = NO_LAWS[wrong]
    with pytest.raises(dl.DalembertError, match=f"Compiled.command.*{message}"):
        dl.simulate(SYSTEMS[kind][0](), tau=Compiled(function), duration=0.1, control_dt=control_dt)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_compiled_law_that_stops_being_a_number_is_named(kind: str, method: str) -> None:
    make, joint = SYSTEMS[kind]
    controller = Compiled(lambda t, q, qd: (np.sqrt(0.2 - t) + 0.0 * qd, np.zeros(0)))
    with pytest.warns(dl.SimulationWarning, match=f"torque of '{joint}' is not finite at t = 0.2"):
        run = dl.simulate(make(), tau=controller, duration=0.5, dt=0.01, method=method)
    assert 0.15 < float(run.time[-1]) < 0.22 and np.isfinite(run.q).all()


def test_a_law_of_other_arguments_is_refused_before_it_is_compiled() -> None:
    class Short(Compiled):
        def command(self, t: Any, q: Any, qd: Any) -> Any:  # type: ignore[override]
            return qd

    with pytest.raises(
        dl.SettingError, match=r"Short.command must take \(t, q, qd, z, constants\)"
    ):
        dl.simulate(dl.load("pendulum"), tau=Short(None), duration=0.1)


# settings of a digital controller


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control_dt": 0.0}, "control_dt must be a positive time"),
        ({"control_dt": 0.015}, "control_dt 0.015 s is not a whole number of steps of dt = 0.01 s"),
        ({"control_dt": 0.01, "control_delay": 0.005}, "control_delay 0.005 s is not a whole"),
        ({"control_dt": 0.01, "control_delay": -1.0}, "control_delay must be a time"),
        ({"encoder": 0.1}, "encoder= is of a digital controller: give its control_dt="),
        ({"control_dt": 0.01, "encoder": [0.1, 0.1]}, r"encoder must be .* not \(2,\)"),
        ({"control_dt": 0.01, "noise": -1.0}, "noise must not be negative"),
        ({"control_dt": 0.01, "seed": 1.5}, "seed must be a whole number"),
        ({"control_dt": 0.01, "tau": [1.0]}, "must be a function"),
        ({"control_dt": 0.01, "tau": None}, "must be a function"),
    ],
)
def test_what_does_not_fit_is_said(options: dict[str, Any], message: str) -> None:
    settings = {"tau": lambda t, q, qd: np.zeros(1), "duration": 1.0, "dt": 0.01, **options}
    with pytest.raises(dl.DalembertError, match=message):
        dl.simulate(dl.load("pendulum"), [0.0], **settings)


def test_encoders_read_joints_of_one_degree() -> None:
    ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([ball])
    options = {"duration": 0.1, "dt": 0.01, "control_dt": 0.01, "tau": lambda t, q, qd: -qd}
    with pytest.raises(dl.ModelError, match="whose coordinates no encoder reads"):
        dl.simulate(robot, encoder=0.1, **options)
    assert dl.simulate(robot, velocity_noise=0.1, **options).attrs["status"] == "complete"


def test_forces_of_constraints_are_not_sampled() -> None:
    closed = dl.load("pendulum_constrained")
    controller = dl.control.Hybrid(closed, ["x"], [0.3], kp=25.0, kd=10.0, lam=[20.0], ki=1.0)
    with pytest.raises(dl.FormulationError, match="not measured at samples"):
        dl.simulate(closed, tau=controller, duration=1.0, control_dt=0.01, dt=0.01)
