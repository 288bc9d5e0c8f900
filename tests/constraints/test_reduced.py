"""Independent velocities: q̇ = N ẋ + n, M_r ẍ + h_r = Nᵀ(τ + ψ), frames along them, regressors."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ConstraintError, UnknownNameError
from tests.constraints.states import load_states

MODELS = ("four_bar", "parallel_3rr", "rolling_disk", "bennett", "arm_rolling_on_sphere")


@pytest.mark.parametrize("name", MODELS)
def test_the_reduced_equations_are_those_of_the_whole(name):
    closed, q, qd, tau = load_states(name, count=4)
    own = [closed.dynamics.velocities.index(x) for x in closed.independent]
    M, h, N, n = closed.reduced(q, qd)
    # q̇ = N ẋ + n, A N = 0
    np.testing.assert_allclose((N @ qd[:, own, None])[..., 0] + n, qd, atol=1e-9)
    np.testing.assert_allclose(closed.jacobian(q) @ N, 0.0, atol=1e-9)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    forces = tau + closed.generalized_forces(q, qd)
    right = (np.swapaxes(N, -1, -2) @ forces[..., None])[..., 0]
    left = (M @ qdd[:, own, None])[..., 0] + h
    np.testing.assert_allclose(left, right, atol=1e-8 * (1.0 + np.abs(right).max()))


def test_the_numbers_are_those_of_the_symbolic_form():
    closed, q, qd, _ = load_states("four_bar", count=2)
    symbols = closed.dynamics.symbolic_quantities
    for k in range(2):
        built = closed.reduced(q[k], qd[k])
        for name, own in (("reduced_mass_matrix", built.M_r), ("reduced_bias", built.h_r)):
            inputs = {"q": q[k]} if name == "reduced_mass_matrix" else {"q": q[k], "qd": qd[k]}
            expected = symbols[name].formulation(None).function(closed.dynamics, **inputs)[0]
            np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("view", ("world", "body", "spatial"))
def test_a_frame_follows_the_independent_velocities(view):
    closed, q, qd, _ = load_states("parallel_3rr", count=3)
    for names in (closed.independent, ("theta1", "theta5"), ("theta2", "theta6")):
        own = [closed.dynamics.velocities.index(x) for x in names]
        J = closed.frame_jacobian(q, "tip_b", names, view)
        assert J.shape == (3, 6, 2)
        whole = closed.robot.jacobian(q, "tip_b", view)
        expected = (whole @ qd[..., None])[..., 0]
        np.testing.assert_allclose((J @ qd[:, own, None])[..., 0], expected, atol=1e-9)


def test_a_choice_that_does_not_determine_the_motion():
    closed = dl.load("slider_crank")
    q = closed.assemble([np.pi / 2, -0.5, 0.5], fixed=["crank"])
    dead = closed.assemble([0.0, 0.0, 0.8], fixed=["crank"])  # the slider stands still there
    postures = np.stack([q, dead])
    slider = ["slider"]
    with pytest.raises(ConstraintError, match="do not determine the motion"):
        closed.frame_jacobian(postures, "rod_tip", slider)
    J, status = closed.frame_jacobian(postures, "rod_tip", slider, errors="flag")
    np.testing.assert_array_equal(status, [dl.Status.OK, dl.Status.NOT_DRIVEN])
    assert np.isfinite(J[0]).all() and np.isnan(J[1]).all()
    with pytest.raises(ConstraintError, match=r"1 degrees of freedom.*not 2"):
        closed.reduced(q, np.zeros(3), ["crank", "slider"])
    with pytest.raises(UnknownNameError):
        closed.frame_jacobian(q, "rod_tap", ["crank"])


@pytest.mark.parametrize("name", ("four_bar", "bennett", "arm_rolling_on_sphere"))
def test_regressors_with_lambda_free_and_without_it(name):
    closed, q, qd, tau = load_states(name, count=3)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    theta = closed.robot.parameters
    psi = closed.generalized_forces(q, qd)
    left = closed.regressor(q, qd, qdd) @ theta - closed.constraint_force(q, lam)
    np.testing.assert_allclose(left, tau + psi, atol=1e-8 * (1.0 + np.abs(tau).max()))
    N = closed.reduced(q, qd).N
    reduced = closed.reduced_regressor(q, qd, qdd) @ theta
    expected = (np.swapaxes(N, -1, -2) @ (tau + psi)[..., None])[..., 0]
    np.testing.assert_allclose(reduced, expected, atol=1e-8 * (1.0 + np.abs(expected).max()))


def test_nothing_is_left_to_move():
    particle = dl.load("pendulum_constrained").system
    constrained = dl.Constrained(particle, [dl.Holonomic(lambda q: q, name="held")])
    with pytest.raises(ConstraintError, match="leave nothing to move"):
        constrained.reduced(np.zeros(2), np.zeros(2))
