"""Inertias as arguments in JAX: their slopes are the regressor, and steps stay physical."""

import pickle

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.jax_here import jax
from tests.frameworks.six import system

jnp = jax.numpy


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("elbow_3r"))


def test_slopes_by_inertias_are_the_regressor(arm):
    robot, x = arm.system, np.random.default_rng(0).normal(size=(3, 4, 3))
    theta = robot.parameters
    torque = lambda theta: arm.with_inertia(theta).inverse_dynamics(*x)  # noqa: E731
    np.testing.assert_allclose(torque(theta), robot.inverse_dynamics(*x), atol=1e-13)
    np.testing.assert_allclose(jax.jacrev(torque)(theta), robot.regressor(*x), atol=1e-12)
    many = jax.vmap(lambda k: torque(k * theta))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(many[1], 2 * many[0], atol=1e-12)


def test_free_numbers_for_real_bodies():
    mechanism = system("free")
    there = dl.jax(dl.load("ur5"))
    robot = there.system
    np.testing.assert_allclose(there.inertia_of(there.log_cholesky), robot.parameters, atol=1e-13)
    derivative = jax.jacfwd(there.inertia_of)(there.log_cholesky)
    assert np.isfinite(derivative).all() and derivative.shape == (60, 60)
    heavier = there.log_cholesky.copy()
    heavier[::10] += np.log(2.0) / 2  # e^2α is the mass
    np.testing.assert_allclose(there.inertia_of(heavier), 2 * robot.parameters, atol=1e-13)
    assert mechanism.nv  # a random model has points and rods among its bodies
    with pytest.raises(dl.InertiaError, match="without extent"):
        dl.jax(dl.load("pendulum")).log_cholesky  # noqa: B018


def test_fitted_inertias_stay_physical(arm):
    """Gauss–Newton on the free numbers: torques are met, and every mass is positive."""
    robot, rng = arm.system, np.random.default_rng(1)
    x = rng.normal(size=(3, 60, 3))
    bodies = dl.jax(_solid(robot))
    goal = 1.5 * bodies.system.inverse_dynamics(*x)
    misfit = lambda logs: (  # noqa: E731
        bodies.with_inertia(bodies.inertia_of(logs)).inverse_dynamics(*x) - goal
    ).ravel()
    both = jax.jit(lambda logs: (misfit(logs), jax.jacfwd(misfit)(logs)))
    logs = bodies.log_cholesky
    for _ in range(6):
        r, J = both(logs)
        logs = logs - np.linalg.lstsq(J, r, rcond=1e-9)[0]
    assert np.abs(misfit(logs)).max() < 1e-8 * np.abs(goal).max()
    assert (np.asarray(bodies.inertia_of(logs))[::10] > 0).all()


def _solid(robot):
    """The robot with some extent of every body in every direction."""
    theta = robot.parameters.reshape(-1, 10).copy()
    theta[:, [4, 7, 9]] += 1e-2 * theta[:, :1]
    return robot.with_parameters(theta.ravel())


def test_what_has_no_bodies_and_what_are_no_inertias(arm):
    with pytest.raises(dl.FormulationError, match="no bodies"):
        dl.jax(system("lagrangian")).with_inertia(np.ones(10))
    with pytest.raises(dl.ShapeError, match=r"inertia has shape \(3,\), expected \(..., 30\)"):
        arm.with_inertia(np.ones(3)).gravity_torque(np.ones(3))


def test_pickled_with_its_inertias(arm):
    other = arm.with_inertia(2.0 * arm.system.parameters)
    again = pickle.loads(pickle.dumps(other))
    assert other != arm
    q = np.ones(3)
    np.testing.assert_array_equal(again.gravity_torque(q), other.gravity_torque(q))
