"""All routes agree, and what they return satisfies the equations."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Holonomic, Pfaffian
from tests.constraints.states import ROUTES, SMALL, load_states

AGREE = 1e-10  # beside the largest entry, as promised


def relative(actual, expected):
    return np.abs(actual - expected).max() / max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", SMALL)
def test_routes_agree_and_meet_the_equations(name):
    closed, q, qd, tau = load_states(name)
    expected = closed.forward_dynamics(q, qd, tau)
    plant = closed.system
    f = tau + (plant.forward_dynamics(q, qd, 0 * tau)[..., None, :] @ plant.mass_matrix(q))[:, 0]
    A, M = closed.jacobian(q), closed.mass_matrix(q)
    for route in ROUTES:
        qdd, lam = closed.forward_dynamics(q, qd, tau, formulation=route)
        assert relative(qdd, expected[0]) < AGREE
        assert relative(lam, expected[1]) < AGREE
        balance = np.einsum("nij,nj->ni", M, qdd) + np.einsum("nji,nj->ni", A, lam) - f
        assert relative(balance, 0 * f) < AGREE * max(1.0, np.abs(f).max())
        constrained = np.einsum("nij,nj->ni", A, qdd) - closed.drift(q, qd)
        assert np.abs(constrained).max() < AGREE * max(1.0, np.abs(closed.drift(q, qd)).max())


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", ["rolling_disk", "parallel_3rr"])
def test_reference_is_the_same_as_compiled(name, route):
    closed, q, qd, tau = load_states(name, count=3)
    compiled = closed.forward_dynamics(q, qd, tau, formulation=route)
    for k in range(3):
        plain = closed.reference("forward_dynamics", q[k], qd[k], tau[k], formulation=route)
        assert relative(plain[0], compiled[0][k]) < AGREE
        assert relative(plain[1], compiled[1][k]) < AGREE


@pytest.mark.parametrize("root", ["cholesky", "articulated", "symmetric"])
@pytest.mark.parametrize("basis", ["gram_schmidt", "householder", "svd"])
@pytest.mark.parametrize("name", ["chaplygin_sleigh", "four_bar", "parallel_3rr"])
def test_gauge_invariance(name, root, basis):
    closed, q, qd, tau = load_states(name, count=10)
    expected = closed.forward_dynamics(q, qd, tau)
    result = closed.forward_dynamics(q, qd, tau, formulation="gauge", root=root, basis=basis)
    assert relative(result[0], expected[0]) < AGREE
    assert relative(result[1], expected[1]) < AGREE


@pytest.mark.parametrize(
    "name", ["chaplygin_sleigh", "parallel_3rr", "spherical_pendulum_constrained"]
)
def test_constraint_forces_do_no_virtual_work(name):
    closed, q, qd, tau = load_states(name)
    _, lam = closed.forward_dynamics(q, qd, tau)
    allowed = closed.project_velocity(q, np.random.default_rng(5).normal(size=qd.shape))
    force = closed.constraint_force(q, lam)
    np.testing.assert_allclose(force, -np.einsum("kij,ki->kj", closed.jacobian(q), lam), atol=1e-12)
    work = dl.virtual_work(closed, q, force, allowed)
    assert np.abs(work).max() < 1e-12 * max(1.0, np.abs(lam).max())


def redundant_set() -> Constrained:
    """A particle on a circle, held three times over: twice by the same rod, once by a plane."""
    particle = dl.load("spherical_pendulum_constrained").system
    return Constrained(
        particle,
        [
            Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod"),
            Holonomic(lambda q: q @ q - 1.0, name="twice"),
            Holonomic(lambda q: q[1], name="plane"),
        ],
        guess=[0.3, 0.0, -1.0],
    )


@pytest.mark.parametrize("route", ROUTES)
def test_redundant_rows_give_the_multipliers_of_least_norm(route):
    closed = redundant_set()
    rng = np.random.default_rng(1)
    q = np.stack([closed.assemble(x) for x in rng.normal(size=(10, 3))])
    qd = closed.project_velocity(q, rng.normal(size=(10, 3)))
    tau = rng.normal(size=(10, 3))
    qdd, lam = closed.forward_dynamics(q, qd, tau, formulation=route)
    for k in range(10):
        A = closed.jacobian(q[k])
        f = tau[k] - closed.bias(q[k], qd[k])
        # M = 1: q̈ by the pseudo-inverse, λ the solution of least norm
        expected = np.linalg.pinv(A @ A.T, rcond=1e-10) @ (A @ f - closed.drift(q[k], qd[k]))
        np.testing.assert_allclose(lam[k], expected, atol=1e-7)
        np.testing.assert_allclose(qdd[k], f - A.T @ expected, atol=1e-10)


def test_elimination_is_answered_where_its_own_coordinates_become_singular():
    closed = dl.load("pendulum_constrained")
    # at the side, y no longer determines x: the choice of the bottom is singular there
    angles = np.linspace(0.0, 2 * np.pi, 33)
    q = np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    qd = 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    expected = closed.forward_dynamics(q, qd, np.zeros(2))
    raw = closed.kernel("forward_dynamics", "elimination")(q, qd, np.zeros(2))
    assert np.isnan(raw[1]).any()
    result = closed.forward_dynamics(q, qd, np.zeros(2), formulation="elimination")
    np.testing.assert_allclose(result[0], expected[0], atol=1e-10)
    np.testing.assert_allclose(result[1], expected[1], atol=1e-10)


def test_pivots_hold_at_the_posture_where_a_system_stands():
    """Cassie stands where its foot cranks are no pivots, though they are around there."""
    closed = dl.load("cassie")
    q, qd, _ = closed.random_state(np.random.default_rng(0), size=1)
    tau = np.random.default_rng(1).normal(size=(1, closed.nv))
    expected = closed.forward_dynamics(q, qd, tau)
    result = closed.reference("forward_dynamics", q[0], qd[0], tau[0], formulation="elimination")
    np.testing.assert_allclose(result[0], expected[0][0], rtol=1e-9, atol=1e-9)


def test_time_dependent_rows():
    # a particle on a wire that turns with ω: x sin ωt − y cos ωt = 0 gives r̈ = ω² r on the wire
    particle = dl.load("pendulum_constrained", g=0.0).system
    omega = 1.3
    wire = dl.Driver(lambda q, t: np.stack([q[0] * np.sin(omega * t) - q[1] * np.cos(omega * t)]))
    closed = Constrained(particle, [wire], guess=[1.0, 0.0])
    t, r, r_dot = 0.4, 0.8, 0.5
    along = np.array([np.cos(omega * t), np.sin(omega * t)])
    across = np.array([-along[1], along[0]])
    q, qd = r * along, r_dot * along + r * omega * across
    assert abs(closed.residual(q, t=t)) < 1e-15
    assert abs(closed.velocity_residual(q, qd, t=t)) < 1e-15
    for route in ROUTES:
        qdd, lam = closed.forward_dynamics(q, qd, [0.0, 0.0], t=t, formulation=route)
        np.testing.assert_allclose(qdd @ along, 0.0, atol=1e-12)
        np.testing.assert_allclose(qdd @ across, 2 * omega * r_dot, atol=1e-12)
        np.testing.assert_allclose(-closed.jacobian(q, t=t)[0] * lam, qdd, atol=1e-12)
        drift = closed.drift(q, qd, t=t)
        np.testing.assert_allclose(closed.jacobian(q, t=t) @ qdd, drift, atol=1e-12)


def test_a_right_hand_side_that_depends_on_time():
    particle = dl.load("pendulum_constrained", g=0.0).system
    pushed = Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([np.sin(t)]), name="pushed")
    closed = Constrained(particle, [pushed])
    qdd, lam = closed.forward_dynamics([0.0, 0.0], [np.sin(0.3), 0.0], [0.0, 2.0], t=0.3)
    np.testing.assert_allclose(qdd, [np.cos(0.3), 2.0], atol=1e-12)
    np.testing.assert_allclose(lam, [-np.cos(0.3)], atol=1e-12)


@pytest.mark.parametrize("route", ["elimination", "gauge"])
def test_states_with_poor_pivots_fill_the_arrays_given(route):
    closed = dl.load("pendulum_constrained")
    q, qd = np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros((2, 2))
    out = np.empty((2, 2)), np.empty((2, 1))
    result = closed.forward_dynamics(q, qd, np.zeros(2), formulation=route, out=out)
    np.testing.assert_allclose(out[0], [[0.0, -9.81], [0.0, 0.0]], atol=1e-12)
    assert result[0] is out[0]
