"""What a digital controller reads, and what its drives can give."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from tests.simulation.plain_pid import PID, wheel


def test_an_encoder_rounds_positions_and_velocities_are_their_differences() -> None:
    step = 2.0 * np.pi / 4096
    controller = PID([0.3], 20.0, 0.0, 6.0, 0.01)
    run = dl.simulate(
        wheel(), [1.0], [-0.5], controller, duration=1.0, dt=0.01, control_dt=0.01, encoder=step
    )
    counts = run.sampled_q.values / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert float(abs(run.sampled_q.values - run.q.values[:-1]).max()) <= 0.5 * step + 1e-12
    np.testing.assert_allclose(run.sampled_qd[1:], np.diff(run.sampled_q, axis=0) / 0.01)
    assert float(abs(run.sampled_qd[0, 0] + 0.5)) <= step / 0.01


def test_noise_has_its_deviation_and_its_seed() -> None:
    robot, q0 = dl.load("planar_2r"), np.zeros((200, 2))
    options = {"duration": 0.5, "dt": 0.01, "control_dt": 0.01, "noise": [1e-3, 2e-3]}
    options["velocity_noise"] = 0.1

    def run(seed: int) -> Any:
        controller = dl.control.PDGravity(robot, [0.0, 0.0], 10.0, 2.0)
        return dl.simulate(robot, q0, None, controller, seed=seed, **options)

    first = run(1)
    off = (first.sampled_q.values - first.q.values[:-1]).reshape(-1, 2)
    np.testing.assert_allclose(off.std(axis=0), [1e-3, 2e-3], rtol=0.03)
    speeds = (first.sampled_qd.values - first.qd.values[:-1]).reshape(-1, 2)
    np.testing.assert_allclose(speeds.std(axis=0), 0.1, rtol=0.03)
    np.testing.assert_array_equal(first.q, run(1).q)
    assert not np.array_equal(first.q, run(2).q)


def test_a_saturated_drive_holds_what_it_can_give() -> None:
    robot = wheel(effort_limit=2.0)
    options = {"duration": 0.5, "dt": 0.01, "control_dt": 0.05}
    with pytest.warns(dl.SimulationWarning, match="axle: effort -20 beyond -2 at t = 0 s"):
        free = dl.simulate(robot, [1.0], [0.0], PID([0.0], 20.0, 0.0, 1.0, 0.05), **options)
    assert free.beyond.any()
    # at the third sample, which is not saved
    brief = {**options, "save_every": 50}
    with pytest.warns(dl.SimulationWarning, match=r"axle: effort 5 beyond 2 at t = 0\.1 s"):
        dl.simulate(robot, tau=lambda t, q, qd: [5.0 if 0.09 < t < 0.11 else 0.0], **brief)
    saturated = dl.simulate(
        robot, [1.0], [0.0], PID([0.0], 20.0, 0.0, 1.0, 0.05), saturate=True, **options
    )
    assert float(abs(saturated.tau).max()) == 2.0 and float(abs(saturated.commanded).max()) == 20.0
    assert "beyond" not in saturated
