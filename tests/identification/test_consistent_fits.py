"""From base parameters to the robot: what may be negative, how near to the prior, payloads."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.identification.consistency import consistent_parameters
from tests.identification.logs import CLEAN, other_robot, ugly_log

SHORT = replace(CLEAN, rate=200.0, duration=8.0)


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


def test_friction_and_rotors_are_never_negative_and_offsets_may_be(arm):
    """Truth at the border: without friction, noise makes half of the unconstrained numbers negative."""
    log = ugly_log(arm, replace(SHORT, friction=0.0), other_robot(arm, 1)).log
    log.tau.values[:] -= [0.5, 0.3]
    fit = dl.identify(arm, log)
    x = dict(zip(fit.regressor.names, fit.values["unconstrained"], strict=True))
    bounded = [
        f"{joint}:{kind}" for joint in arm.dynamics.velocities for kind in ("viscous", "coulomb")
    ]
    assert min(x[name] for name in bounded) < 0.0
    friction = fit.friction
    assert friction[["viscous", "coulomb", "rotor"]].to_numpy().min() >= 0.0
    np.testing.assert_allclose(friction["offset"], [-0.5, -0.3], atol=0.1)


def test_bodies_are_as_near_to_the_prior_as_noise_allows():
    """Where least squares is real already, the misfit rises by a quarter of the rank, or just less."""
    rng = np.random.default_rng(0)
    robot = dl.load("panda")
    prior, truth = robot.parameters[:20], other_robot(robot, 2, 0.3).parameters[:20]
    A = 1e3 * rng.normal(size=(60, 20)) / np.abs(prior)
    fit = consistent_parameters(A, A @ truth + rng.normal(size=60), prior, ["a", "b"])
    assert fit.rank == 20
    assert 0.15 * fit.rank < fit.rise <= 0.25 * fit.rank


def test_a_payload_is_found_with_the_friction_of_a_fit_of_the_empty_arm(arm):
    """`links` keeps friction as the system has it, so that it is to be fitted before."""
    inertia = np.diag([0.01, 0.012, 0.008])
    empty = other_robot(arm, 3)
    loaded = empty.with_payload(1.0, [0.2, 0.1, 0], inertia)
    first = dl.identify(arm, ugly_log(arm, SHORT, empty).log).robot
    drive = ugly_log(arm, SHORT, empty).robot.description.drive
    synthetic = ugly_log(arm, replace(SHORT, seed=1, friction=0.0), loaded)
    qd = np.gradient(synthetic.log.q.values, synthetic.log.time.values, axis=0)
    synthetic.log.tau.values[:] += drive.viscous * qd + drive.coulomb_positive * np.sign(qd)
    fit = dl.identify(first, synthetic.log, links="link2")
    after, before = (robot.description.drive for robot in (fit.robot, first))
    np.testing.assert_array_equal(after.viscous, before.viscous)
    np.testing.assert_array_equal(after.coulomb_positive, before.coulomb_positive)
    added = fit.grouping.matrix[:, :20] @ (loaded.parameters - empty.parameters)
    change = fit.base["value"] - fit.base["prior"]
    np.testing.assert_allclose(change, added, atol=0.03 * np.abs(added).max())
