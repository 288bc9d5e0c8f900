"""What goes wrong is said in the user's terms, and nothing computed is lost."""

import numpy as np
import pytest

import dalembert as dl
from tests.systems.test_interface import floating


def pendulum(**options: object):
    return dl.simulate(
        dl.load("pendulum"), **{"q0": [0.1], "qd0": [0.0], "duration": 0.1, **options}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q0": [0.1, 0.2]}, r"q0 of pendulum must have the shape \(1,\)"),
        ({"qd0": [np.nan]}, "qd0 has entries that are not finite"),
        ({"tau": [1.0, 2.0]}, r"tau has the shape \(2,\); it must be \(1,\)"),
        ({"tau": [np.inf]}, "not finite"),
        ({"duration": -1.0}, "duration must be a positive"),
        ({"dt": 0.0}, "dt must be a positive"),
        ({"dt": 0.03}, "not a whole number of steps"),
        ({"save_every": 0}, "save_every"),
        ({"save_every": 10**400}, "save_every must be a positive whole number"),
        ({"dt": 1e-300}, "more steps of 1e-300 s than can be counted"),
        ({"dt": 5e-324}, "than can be counted"),
        ({"method": "rk5"}, "no method 'rk5'; did you mean 'rk4'"),
        ({"friction": "sticky"}, "no friction 'sticky'"),
        ({"method": "rk4", "restitution": 0.5}, "restitution needs located events"),
        ({"restitution": 2.0}, "restitution must lie between 0 and 1"),
        ({"parameters": {"m": 1.0}}, "'m'"),
        ({"rtol": np.nan}, "rtol must lie between"),
        ({"rtol": 0.0}, "rtol must lie between"),
        ({"atol": 0.0}, "atol must be a positive"),
        ({"atol": np.inf}, "atol must be a positive"),
        ({"smoothing": np.inf}, "smoothing must be a positive"),
        ({"duration": np.nan}, "duration must be a positive"),
    ],
)
def test_arguments_are_checked(options: dict, message: str) -> None:
    with pytest.raises(dl.DalembertError, match=message):
        pendulum(**options)


def test_samples_are_checked() -> None:
    with pytest.raises(dl.DalembertError, match="times must increase"):
        dl.Samples([0.0, 0.0], [[1.0], [2.0]])
    with pytest.raises(dl.DalembertError, match="one row of values"):
        dl.Samples([0.0, 1.0], [[1.0]])
    with pytest.raises(dl.DalembertError, match="each row of Samples has the shape"):
        pendulum(tau=dl.Samples([0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize("method", ["DOP853", "rk4", "semi_implicit"])
def test_torque_functions_of_the_wrong_shape(method: str) -> None:
    with pytest.raises(dl.DalembertError, match=r"returned an array of shape \(2,\) at t = 0"):
        pendulum(tau=lambda t, q, qd: np.zeros(2), method=method)


def test_adaptive_batches_are_refused_with_a_way_out() -> None:
    with pytest.raises(dl.DalembertError, match="a batch takes one of euler"):
        pendulum(q0=np.zeros((3, 1)), qd0=np.zeros((3, 1)), method="DOP853")


def test_nan_during_integration_keeps_what_was_computed() -> None:
    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([np.nan if t > 0.05 else 0.0])

    with pytest.warns(dl.SimulationWarning, match="cannot go on from t = 0.0"):
        run = pendulum(tau=torque)
    assert run.attrs["status"] == "stalled"
    assert 0.0 < float(run.time[-1]) <= 0.051
    with pytest.warns(
        dl.SimulationWarning, match="torque of 'link1_joint' is not finite at t = 0.05"
    ):
        run = pendulum(tau=torque, method="rk4")
    assert run.attrs["status"] == "diverged"
    assert float(run.time[-1]) == pytest.approx(0.05)
    assert np.isfinite(run.q).all()


def test_a_step_that_blows_up_is_located() -> None:
    # stiff: a viscous joint of rate 1e5 1/s with steps of 1 ms
    wheel = {
        "name": "wheel",
        "joint": {"type": "revolute", "name": "axle", "viscous": 1e5},
        "mass": 1.0,
        "inertia": np.eye(3),
    }
    robot = dl.Robot.from_links([wheel])
    with pytest.warns(dl.SimulationWarning, match=r"joint 'axle' fastest, at t = .* smaller dt"):
        run = dl.simulate(robot, [0.0], [1.0], duration=1.0, dt=1e-3, method="rk4")
    assert run.attrs["status"] == "diverged" and run.sizes["time"] > 1
    stiff = dl.simulate(robot, [0.0], [1.0], duration=1.0, dt=0.1, method="Radau")
    assert abs(float(stiff.qd[-1, 0])) < 1e-9


def test_one_bad_sample_does_not_stop_the_others() -> None:
    q0 = np.array([[0.1], [0.2]])

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([[0.0], [np.nan if t > 0.05 else 0.0]])

    with pytest.warns(dl.SimulationWarning, match="1 of 2 samples"):
        run = pendulum(q0=q0, qd0=np.zeros((2, 1)), tau=torque)
    assert np.isfinite(run.q[:, 0]).all() and not np.isfinite(run.q[-1, 1]).all()
    assert run.sizes["time"] == 101


@pytest.mark.parametrize("quaternion", [(0.0, 0.0, 0.0, 0.0), (0.0, 1e200, 0.0, 0.0)])
def test_a_quaternion_without_a_direction_is_no_start(quaternion):
    with pytest.raises(dl.ShapeError, match="quaternion whose length is zero or overflows"):
        dl.simulate(floating(), [0, 0, 0, *quaternion, 0], duration=0.1, progress=False)
