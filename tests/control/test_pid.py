"""PID: no error under loads it does not know, and an integral that does not wind up."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import PID, quintic


def test_pid_bears_a_payload_it_does_not_know() -> None:
    robot = dl.load("panda")
    loaded = robot.with_payload(1.5, [0.0, 0.0, 0.1])
    q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
    kp = np.array([600.0, 600.0, 600.0, 600.0, 50.0, 40.0, 3.0])
    ends = {}
    for ki in (0.0, 4.0):
        controller = PID(robot, q0, kp, ki * kp, 0.1 * kp)
        run = dl.simulate(
            loaded,
            q0,
            None,
            controller,
            duration=6.0,
            control_dt=1e-3,
            save_every=100,
            saturate=True,
        )
        ends[ki] = float(abs(run.q[-1] - q0).max())
    assert ends[0.0] > 0.02 and ends[4.0] < 1e-5


def axle(limit: float) -> dl.Robot:
    joint = {"type": "revolute", "name": "axle", "effort_limit": limit}
    link = {"name": "w", "joint": joint, "mass": 1.0, "inertia": np.eye(3)}
    return dl.Robot.from_links([link], gravity=(0.0, 0.0, 0.0))


def test_an_integral_at_its_limit_does_not_wind_up() -> None:
    """A long way at the drive's limit: without back-calculation it shoots over, and comes back late."""
    robot = axle(1.0)
    over, late = {}, {}
    for tracking in (None, 1e9):
        controller = PID(robot, [3.0], kp=8.0, ki=4.0, kd=6.0, tracking=tracking)
        run = dl.simulate(robot, [0.0], [0.0], controller, duration=30.0, dt=0.01, control_dt=0.01)
        over[tracking] = float(run.q.max()) - 3.0
        off = np.flatnonzero(abs(run.q.values[:, 0] - 3.0) > 0.02)
        late[tracking] = float(run.time[off[-1]])
        assert float(abs(run.commanded).max()) <= 1.0
        if tracking is None:
            assert float(run.q[-1, 0]) == pytest.approx(3.0, abs=1e-3)
    assert over[None] < 0.3 * over[1e9] and late[None] < 0.5 * late[1e9]


def test_pid_runs_batches_and_is_digital() -> None:
    robot = axle(5.0)
    controller = PID(robot, quintic([0.0], [1.0], 1.0), 40.0, 20.0, 10.0)
    options = {"duration": 1.0, "dt": 0.01, "control_dt": 0.01}
    many = dl.simulate(robot, [[0.0], [0.2]], None, controller, **options)
    alone = dl.simulate(robot, [0.2], None, controller, **options)  # reset in between
    np.testing.assert_allclose(many.q[:, 1], alone.q, atol=1e-12)
    with pytest.raises(dl.SettingError, match="PID is a digital controller"):
        dl.simulate(robot, [0.0], None, controller, duration=1.0)
