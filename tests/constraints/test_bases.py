"""Singular values, bases that stay continuous along a motion, and Kane's equations in them."""

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.linalg.orthogonal import singular
from tests.constraints.states import consistent_states, load_states
from tests.constraints.transformed_mechanisms import closed_in_space


@pytest.mark.parametrize(("m", "n", "rank"), [(1, 4, 1), (3, 5, 3), (6, 3, 3), (5, 8, 4)])
def test_singular_values_are_those_of_lapack(m, n, rank):
    rng = np.random.default_rng(m)
    for _ in range(10):
        rows = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
        result = singular(rows, rank)
        values = np.linalg.svd(rows, compute_uv=False)
        np.testing.assert_allclose(result.sigma, values[:rank], atol=1e-13 * values[0])
        np.testing.assert_allclose(
            result.U * result.sigma @ result.V1.T, rows, atol=1e-13 * values[0]
        )
        for basis in (result.U, result.V1):
            np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-12)


def test_the_gauge_of_singular_values_takes_redundant_rows():
    """λ of least norm and q̈ against NumPy's pseudo-inverse, on rows of which two are redundant."""
    closed = closed_in_space(dl.load("four_bar"), "revolute")
    q, qd, tau = (x[0] for x in consistent_states(closed, np.random.default_rng(0), 1))
    W, U, S, V1, V2 = closed.singular_values(q)
    M, A = closed.mass_matrix(q), closed.jacobian(q)
    Lambda = A @ np.linalg.inv(W).T
    assert closed.rows > len(S) == closed.nv - closed.freedoms
    np.testing.assert_allclose(W @ W.T, M, atol=1e-13)
    np.testing.assert_allclose(U * S @ V1.T, Lambda, atol=1e-12)
    np.testing.assert_allclose(Lambda @ V2, 0.0 * Lambda @ V2, atol=1e-12)
    np.testing.assert_allclose(S, np.linalg.svd(Lambda, compute_uv=False)[: len(S)], atol=1e-12)
    f = tau - closed.bias(q, qd)
    inverse = np.linalg.inv(M)
    expected = np.linalg.pinv(A @ inverse @ A.T, rcond=1e-10) @ (
        A @ inverse @ f - closed.drift(q, qd)
    )
    qdd, lam = closed.forward_dynamics(q, qd, tau, formulation="gauge", basis="svd")
    np.testing.assert_allclose(lam, expected, atol=1e-9)
    np.testing.assert_allclose(qdd, inverse @ (f - A.T @ expected), atol=1e-9)


def test_the_printed_gamma_is_that_of_sympy():
    """Γ = W⁻¹ (Ẇ − ∂vᵀ/∂q) of p.82, derived symbolically for the planar 2R and Cholesky's W."""
    q1, q2, d1, d2, a, b, c = sp.symbols("q1 q2 d1 d2 a b c", positive=True)
    M = sp.Matrix([[a + 2 * b * sp.cos(q2), c + b * sp.cos(q2)], [c + b * sp.cos(q2), c]])
    W, rates = M.cholesky(hermitian=False), sp.Matrix([d1, d2])
    derivatives = (W.T * rates).jacobian([q1, q2]).T  # ∂v_j/∂q_i in row i
    W_dot = W.diff(q1) * d1 + W.diff(q2) * d2
    Gamma = W.inv() * (W_dot - derivatives)
    closed = dl.Constrained(dl.load("planar_2r"), [dl.Holonomic(lambda q: q[0] + q[1] - 1.0)])
    q, qd = np.array([0.4, 0.9]), np.array([0.7, -1.2])
    at = closed.mass_matrix(np.array([0.0, np.pi / 2]))
    beta = closed.mass_matrix(np.zeros(2))[0, 1] - at[0, 1]
    symbols = {a: at[0, 0], c: at[0, 1], b: beta, q1: q[0], q2: q[1], d1: qd[0], d2: qd[1]}
    expected = np.array(Gamma.subs(symbols).evalf(), dtype=float)
    printed = closed.gauge_matrix(q, qd, formulation="printed")
    np.testing.assert_allclose(printed, expected, atol=1e-12)
    # ours is another matrix with the same Γ v, and skew
    ours, v = closed.gauge_matrix(q, qd), closed.singular_values(q).W.T @ qd
    assert np.abs(printed + printed.T).max() > 0.1
    np.testing.assert_allclose(ours, -ours.T, atol=1e-13)
    np.testing.assert_allclose(ours @ v, printed @ v, atol=1e-12)


def turning(name, steps):
    """(mechanism, postures) along a long motion: a turn of the crank, a swing over the top."""
    closed = dl.load(name)
    angles = np.linspace(0.0, 4.0 * np.pi, steps)
    if name == "pendulum_constrained":
        return closed, np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    path = [closed.neutral()]
    for angle in angles[1:]:
        path.append(closed.assemble([angle + closed.neutral()[0], *path[-1][1:]], fixed=["crank"]))
    return closed, np.array(path)


def jumps(bases):
    """The largest change (entry of a basis) from one posture to the next."""
    return np.abs(np.diff(bases, axis=0)).max()


@pytest.mark.parametrize("name", ["pendulum_constrained", "four_bar"])
def test_a_basis_stays_continuous_along_two_turns(name):
    largest = []
    for steps in (200, 400):
        closed, path = turning(name, steps)
        bases = [closed.basis(path[0])]
        for q in path[1:]:
            bases.append(closed.basis(q, near=bases[-1]))
        bases = np.array(bases)
        A, M = closed.jacobian(path), closed.mass_matrix(path)
        np.testing.assert_allclose(A @ bases, 0.0 * A @ bases, atol=1e-10)
        units = np.broadcast_to(np.eye(closed.freedoms), (steps, closed.freedoms, closed.freedoms))
        np.testing.assert_allclose(bases.mT @ M @ bases, units, atol=1e-12)
        largest.append(jumps(bases))
    # half the step, half the change; Householder's V₂ jumps by as much as it is long
    assert 0.4 < largest[1] / largest[0] < 0.6
    still = np.zeros(closed.nv)
    reflected = closed.decoupled(path, still, still)
    assert jumps(np.linalg.inv(reflected.W).mT @ reflected.V2) > 10 * largest[0]
    following = closed.decoupled(path, still, still, near=bases)
    assert jumps(following.V2) < 10 * largest[0] * np.abs(following.W).max()
    np.testing.assert_allclose(following.W.mT @ bases, following.V2, atol=1e-10)


def test_kanes_equations_of_the_sleigh_are_the_published_ones():
    """v̇ = a ω² and (I + m a²) ω̇ = −m a v ω, in the speeds along and about the blade."""
    m, I, a = 1.0, 0.3, 0.5
    sleigh = dl.load("chaplygin_sleigh", m=m, I=I, a=a)
    theta, v, omega = 0.7, 1.3, -0.8

    def along_and_about(angle):
        return np.array([[np.cos(angle), 0.0], [np.sin(angle), 0.0], [0.0, 1.0]])

    q, near = np.array([0.2, -0.1, theta]), along_and_about(theta)
    v_r = np.array([np.sqrt(m) * v, np.sqrt(I + m * a * a) * omega])
    qd, rate, _ = sleigh.kane(q, v_r, np.zeros(3), near=near)
    np.testing.assert_allclose(qd, near @ [v, omega], atol=1e-13)
    published = np.array([a * omega**2, -m * a * v * omega / (I + m * a * a)])
    # near stays behind while the blade turns: v_r by differences along the published motion
    speeds = []
    for s in (1e-5, -1e-5):
        there = q + s * qd
        moving = along_and_about(theta + s * omega) @ ([v, omega] + s * published)
        N = sleigh.basis(there, near=near)
        speeds.append(N.T @ sleigh.mass_matrix(there) @ moving)
    np.testing.assert_allclose(rate, (speeds[0] - speeds[1]) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["four_bar", "parallel_3rr", "arm_rolling_on_sphere"])
def test_kanes_speeds_change_as_the_motion_says(name):
    """v̇_r against differences of v_r = NᵀMq̇ along q̈ of a dense solve of the whole system."""
    closed, q, qd, tau = (x[0] if isinstance(x, np.ndarray) else x for x in load_states(name, 3, 1))
    M, A = closed.mass_matrix(q), closed.jacobian(q)
    f = tau + closed.evaluate("generalized_forces", q, qd) - closed.bias(q, qd)
    whole = np.block([[M, A.T], [A, np.zeros((closed.rows, closed.rows))]])
    qdd = np.linalg.lstsq(whole, np.concatenate([f, closed.drift(q, qd)]), rcond=1e-12)[0][: len(f)]
    near = closed.basis(q)
    speeds = []
    for s in (1e-5, -1e-5):
        there = closed.integrate(q, s * qd + 0.5 * s * s * qdd)
        N = closed.basis(there, near=near)
        speeds.append(N.T @ closed.mass_matrix(there) @ (qd + s * qdd))
    result, rate, _ = closed.kane(q, near.T @ M @ qd, tau, near=near)
    np.testing.assert_allclose(result, qd, atol=1e-10)
    expected = (speeds[0] - speeds[1]) / 2e-5
    np.testing.assert_allclose(rate, expected, atol=1e-6 * (1.0 + np.abs(expected).max()))
