"""Torques are found for every motion the actuators can give: at rest, in free motion, loaded."""

import numpy as np
import pytest
from scipy.linalg import null_space

import dalembert as dl
from dalembert.control import RedundantActuation
from dalembert.errors import ConstraintError
from tests.constraints.states import SMALL, consistent_states


def test_a_load_at_rest_is_no_motion_out_of_reach():
    """At rest in the horizontal plane nothing but the wanted λ is left of the forces."""
    closed, desired = dl.load("parallel_3rr"), np.array([200.0, -100.0, 50.0, 100.0])
    q, rest = closed.neutral(), np.zeros(6)
    tau, lam = closed.inverse_dynamics(q, rest, rest, lam=desired)
    np.testing.assert_allclose(lam, desired, atol=1e-6)
    np.testing.assert_allclose(tau, closed.jacobian(q).T @ desired, atol=1e-5)


@pytest.mark.parametrize("name", [*SMALL, "arm_on_sphere", "arm_rolling_on_sphere"])
def test_free_motion_needs_no_torques(name):
    closed = dl.load(name)
    q, qd, _ = consistent_states(closed, np.random.default_rng(0), 40, spread=0.2)
    qdd, lam = closed.forward_dynamics(q, qd, np.zeros(closed.nv))
    tau, multipliers = closed.inverse_dynamics(q, qd, qdd)
    scale = max(1.0, np.abs(lam).max())
    np.testing.assert_allclose(tau, 0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(multipliers, lam, atol=1e-7 * scale)


def test_a_motion_out_of_reach_is_still_refused():
    closed = dl.load("parallel_3rr")
    rest, moving = np.zeros(6), np.array([1e-3, 0, 0, 0, 0, 0])
    q = closed.neutral()
    desired = closed.project_velocity(q, moving)
    with pytest.raises(ConstraintError, match="cannot give this motion"):
        closed.inverse_dynamics(q, rest, desired, actuators=["theta2"])


def test_redundant_actuation_holds_at_rest():
    closed, desired = dl.load("parallel_3rr"), np.array([200.0, -100.0, 50.0, 100.0])
    q = closed.neutral()
    controller = RedundantActuation(
        closed, ("theta1", "theta3"), q[[0, 2]], 25.0, 10.0, lam=desired
    )
    run = dl.simulate(closed, q, None, controller, duration=0.2, dt=0.1)
    np.testing.assert_allclose(run.q.values, np.tile(q, (3, 1)), atol=1e-9)
    np.testing.assert_allclose(run["lambda"].values[-1], desired, atol=1e-5)


def test_few_actuators_bring_the_force_near_in_the_metric_of_the_inverse_mass():
    """No internal force of the actuators makes δᵀ A M⁻¹Aᵀ δ, δ = λ − λ_d, smaller."""
    closed = dl.load("parallel_3rr")
    q, rest, rng = closed.neutral(), np.zeros(6), np.random.default_rng(4)
    names = [closed.dynamics.velocities[k] for k in (0, 1, 2, 4)]
    desired = rng.normal(size=closed.rows)
    _, lam = closed.inverse_dynamics(q, rest, rest, actuators=names, lam=desired)
    A, M = closed.jacobian(q), closed.mass_matrix(q)
    S = A @ np.linalg.solve(M, A.T)
    # B u = Aᵀλ': forces of these drives that move nothing
    B = np.eye(6)[:, [0, 1, 2, 4]]
    pairs = null_space(np.hstack([B, -A.T]))
    assert pairs.shape[1] == 2 and np.abs(lam - desired).max() > 1e-3
    np.testing.assert_allclose(pairs[4:].T @ S @ (lam - desired), 0.0, atol=1e-9)
    assert np.abs(pairs[4:].T @ (lam - desired)).max() > 1e-3  # it is not the plain distance
