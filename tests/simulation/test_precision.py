"""Runs in single precision: a start in float32 is integrated and kept in it."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import PDGravity

Q0, QD0 = np.array([[0.3, 0.2], [0.1, -0.4]]), np.array([[0.0, 1.0], [0.5, 0.0]])
TORQUES = {
    "constant": lambda robot: np.array([0.5, -0.2]),
    "samples": lambda robot: dl.Samples([0.0, 0.1], [[0.0, 0.0], [1.0, 0.5]]),
    "function": lambda robot: lambda t, q, qd: -q,
    "law": lambda robot: PDGravity(robot, [0.2, 0.3], 20.0, 5.0),
}


@pytest.mark.parametrize("kind", TORQUES)
def test_a_start_in_float32_gives_a_run_in_float32(kind):
    robot = dl.load("planar_2r")
    tau, options = TORQUES[kind](robot), {"duration": 0.1, "dt": 1e-3, "save_every": 20}
    single = dl.simulate(robot, Q0.astype(np.float32), QD0.astype(np.float32), tau, **options)
    double = dl.simulate(robot, Q0, QD0, tau, **options)
    for name in ("q", "qd", "tau", "kinetic", "potential", "work", "balance"):
        assert single[name].dtype == np.float32 and double[name].dtype == np.float64
        np.testing.assert_allclose(single[name], double[name], rtol=1e-4, atol=2e-5)
    assert not np.array_equal(single.q, double.q.astype(np.float32))  # computed in it, not cast
    assert single.attrs["precision"] == "float32" and "precision" not in double.attrs


def test_what_needs_its_digits_is_computed_in_double():
    closed = dl.load("four_bar")
    run = dl.simulate(closed, closed.neutral().astype(np.float32), duration=0.01, method="rk4")
    assert run.q.dtype == np.float64
    robot = dl.load("pendulum")
    adaptive = dl.simulate(robot, np.array([0.1], np.float32), duration=0.1, dt=0.01)
    assert adaptive.q.dtype == np.float64
