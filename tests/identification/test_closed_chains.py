"""A four-bar linkage with friction in all its pins, driven at the crank, identified against truth."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.identification.columns import columns_of
from dalembert.identification.record import Record
from dalembert.simulation.log_closing import closed as closed_rows
from tests.identification.logs import other_robot, with_drive


def crank_motion(t, seed=0, harmonics=7):
    """x, ẋ, ẍ (n,) of a periodic motion of the crank."""
    rng = np.random.default_rng(seed)
    k = np.arange(1, harmonics + 1)
    a, phase = rng.normal(size=harmonics) / np.sqrt(k), rng.uniform(0.0, 6.0, harmonics)
    w = 2.0 * np.pi * k / t[-1]
    s, c = (a * f(np.outer(t, w) + phase) for f in (np.sin, np.cos))
    return 1.2 + s.sum(axis=1), (w * c).sum(axis=1), -(w**2 * s).sum(axis=1)


def driven(truth, t):
    """q, q̇, q̈ (n, 3) of a motion of the crank, and the torque that it takes there."""
    x, xd, xdd = crank_motion(t)
    q = closed_rows(truth, {0: x}, t)
    qd = np.outer(xd, [1.0, 0.0, 0.0])
    made = truth.reduced(q, qd, ["crank"])
    qd = made.N[..., 0] * xd[:, None]
    tau = np.zeros_like(q)
    lost = (made.N[..., 0] * truth.generalized_forces(q, qd)).sum(axis=1)
    tau[:, 0] = made.M_r[:, 0, 0] * xdd + made.h_r[:, 0] - lost
    return q, qd, truth.forward_dynamics(q, qd, tau)[0], tau


@pytest.fixture(scope="module")
def linkage():
    return dl.load("four_bar")


@pytest.fixture(scope="module")
def truth(linkage):
    other = other_robot(linkage.robot, seed=1)
    return linkage.with_robot(with_drive(other, [0.05, 0.02, 0.03], [0.1, 0.03, 0.05]))


def test_a_four_bar_with_friction_is_found_to_the_last_digits(linkage, truth):
    """Only the crank's torque is known; those of the passive pins were not measured."""
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd, tau = driven(truth, t)
    none = np.zeros(3)
    log = Record(t, q, qd, qdd, np.where([True, False, False], tau, np.nan), none, none)
    fit = dl.identify(linkage, log, consistent=False)
    true = fit.grouping.matrix @ columns_of(truth).values
    assert len(true) == 18 and not fit.unseen
    np.testing.assert_allclose(fit.base.value, true, atol=1e-8)
    assert fit.robot.rows == linkage.rows  # a closed chain again
    lost = fit.robot.robot.model.drive
    # inertias of real bodies are near the prior as far as ten digits of torque allow, and one equation
    # for eighteen numbers is badly conditioned
    np.testing.assert_allclose(lost.viscous, [0.05, 0.02, 0.03], atol=1e-5)
    np.testing.assert_allclose(lost.coulomb_positive, [0.1, 0.03, 0.05], atol=1e-5)
