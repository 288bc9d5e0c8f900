"""The simulated logs are as ugly as they say, and the same for the same seed."""

import numpy as np
import pytest

import dalembert as dl
from tests.identification.logs import (
    CLEAN,
    REAL,
    ROBOTS,
    Ugly,
    fourier,
    other_robot,
    ugly_log,
    write_csv,
)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_clean_log_is_the_torque_of_the_true_robot(name):
    prior = dl.load(name)
    synthetic = ugly_log(prior, Ugly(**{**vars(CLEAN), "noise": 0.0, "duration": 2.0}))
    motion = fourier(prior, 0)
    want = synthetic.robot.inverse_dynamics(*motion(synthetic.log.time.values))
    assert np.allclose(synthetic.log.tau.values, want, atol=1e-9)
    assert (synthetic.log.q.values >= prior.lower).all() and (
        synthetic.log.q.values <= prior.upper
    ).all()


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("off", (0.2, 1.0))
def test_another_robot_is_a_physical_one(name, off):
    prior = dl.load(name)
    other = other_robot(prior, 1, off)
    q = fourier(prior, 1)(np.linspace(0, 10, 20))[0]
    assert (np.linalg.eigvalsh(other.mass_matrix(q)) > 0).all()
    assert np.abs(other.parameters - prior.parameters).max() > 0.1 * off


def test_the_same_seed_makes_the_same_log_and_another_one_does_not():
    one, same = (ugly_log("planar_2r", Ugly(seed=4, duration=1.0)) for _ in range(2))
    assert one.log.identical(same.log)
    other = ugly_log("planar_2r", Ugly(seed=5, duration=1.0))
    assert not np.allclose(one.log.tau.values[:900], other.log.tau.values[:900])


def test_a_real_looking_log_has_all_that_real_ones_have():
    synthetic = ugly_log("planar_2r", REAL)
    t, q = synthetic.log.time.values, synthetic.log.q.values
    steps = np.diff(t)
    assert (steps[:8] == 0).all() and (steps[8:] > 0).all()  # rows that come twice
    assert (q[:16] == q[0]).all()  # then held
    assert steps.max() > 0.149 and 0.15 < np.std(steps[20:] * 1e3) < 5
    levels = synthetic.log.tau.values[:, 0] / (2e-3 * np.abs(synthetic.log.tau.values[:, 0]).max())
    assert len(np.unique(levels.round(6))) < 1500
    assert 19300 < len(t) < 19700


def test_a_delay_moves_torque_behind_motion():
    now, late = (
        ugly_log(
            "planar_2r",
            Ugly(noise=0, delay=x, drift=0, duration=2, missing=0, jitter=0, torque_step=0),
        )
        for x in (0, 0.05)
    )
    assert np.allclose(late.log.tau.values[100:], now.log.tau.values[50:-50], atol=1e-9)
    assert np.allclose(late.log.q, now.log.q)


def test_a_text_file_holds_the_log(tmp_path):
    synthetic = ugly_log("planar_2r", Ugly(duration=0.2))
    path = write_csv(synthetic.log, tmp_path / "log.csv", "{quantity}{k}")
    assert path.read_text().splitlines()[0] == "time,q1,q2,tau1,tau2"
    assert np.allclose(
        np.loadtxt(path, delimiter=",", skiprows=1)[:, 3:], synthetic.log.tau, rtol=1e-8
    )
