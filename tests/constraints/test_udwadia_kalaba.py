"""Udwadia and Kalaba's equation: singular mass matrices, and what it refuses."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.constraints.udwadia_kalaba import stacked_at
from dalembert.errors import SingularMassMatrixError
from tests.constraints.states import load_states
from tests.constraints.test_interface import differences

ROUTE = "udwadia_kalaba"
INERTIA = np.diag([1.0, 2.0, 2.5])


def rates(e):
    """E (3, 4) with ω = 2 E ė in the axes of the body, e = (cos φ/2, n sin φ/2)."""
    return [[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]]


def quaternion_body() -> dl.Constrained:
    """A free rigid body in four Euler parameters: M = 4 EᵀJE has rank 3."""
    e, ed = sympy.symbols("e0:4"), sympy.symbols("d0:4")
    omega = 2 * sympy.Matrix(rates(e)) * sympy.Matrix(ed)
    kinetic = (omega.T * sympy.Matrix(INERTIA) * omega)[0] / 2
    body = dl.Lagrangian(list(e), sympy.expand(kinetic), 0, qd=list(ed), name="turning")
    unit = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="unit")
    return dl.Constrained(body, [unit], guess=[1.0, 0.0, 0.0, 0.0])


def two_masses(joined) -> dl.Constrained:
    """Two carts and springs, the place of the second measured from a point without mass.

    The example of Udwadia and Phohomsiri 2006, §5: x₁ of cart 1, q₁ of the point, and x₂ of cart 2
    from there; M has the rows (0, m₂, m₂) twice.
    """
    x1, q1, x2, v1, w1, v2 = sympy.symbols("x1 q1 x2 v1 w1 v2")
    kinetic = v1**2 / 2 + (w1 + v2) ** 2  # m₁ = 1, m₂ = 2
    potential = 1.5 * x1**2 + 2 * x2**2  # k₁ = 3, k₂ = 4
    carts = dl.Lagrangian([x1, q1, x2], kinetic, potential, qd=[v1, w1, v2], name="carts")
    return dl.Constrained(carts, [dl.Holonomic(joined, name="joined")], guess=[0.1, 0.6, 0.2])


def test_four_euler_parameters_obey_eulers_equations():
    body, rng = quaternion_body(), np.random.default_rng(0)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    E, omega, moment = np.array(rates(q)), *rng.normal(size=(2, 3))
    qd, tau = 0.5 * E.T @ omega, 2.0 * E.T @ moment  # δW = m·ω
    qdd, lam = body.forward_dynamics(q, qd, tau, formulation=ROUTE)
    expected = np.linalg.solve(INERTIA, moment - np.cross(omega, INERTIA @ omega))
    np.testing.assert_allclose(2.0 * E @ qdd, expected, atol=1e-13)
    np.testing.assert_allclose(q @ qdd, -qd @ qd, atol=1e-14)
    balance = body.mass_matrix(q) @ qdd + body.bias(q, qd) + q * lam - tau
    np.testing.assert_allclose(balance, 0.0, atol=1e-12)


def test_masses_of_a_chain_with_a_massless_point():
    carts = two_masses(lambda q: q[1] - q[0] - 0.5)
    q, tau = np.array([0.1, 0.6, 0.2]), np.array([0.3, -0.2, 0.4])
    qdd, lam = carts.forward_dynamics(q, np.zeros(3), tau, formulation=ROUTE)
    # minimal coordinates x₁, x₂ with q̇₁ = ẋ₁: M = [[3, 2], [2, 2]]
    right = [-3.0 * q[0] + tau[0] + tau[1], -4.0 * q[2] + tau[2]]
    expected = np.linalg.solve([[3.0, 2.0], [2.0, 2.0]], right)
    np.testing.assert_allclose(qdd[[0, 2]], expected, atol=1e-13)
    np.testing.assert_allclose(qdd[1], qdd[0], atol=1e-14)
    # the massless point carries the second cart: m₂ (q̈₁ + ẍ₂) + λ = τ
    np.testing.assert_allclose(2.0 * (qdd[1] + qdd[2]) + lam[0], tau[1], atol=1e-13)
    with pytest.raises(SingularMassMatrixError, match='formulation="udwadia_kalaba"'):
        carts.forward_dynamics(q, np.zeros(3), tau)
    with pytest.raises(SingularMassMatrixError, match="'q1'"):
        dl.simulate(carts, duration=0.1, formulation=ROUTE)


def test_what_neither_mass_nor_constraints_determine_is_named():
    carts = two_masses(lambda q: q[0] - 0.1)
    state = [0.1, 0.6, 0.2], np.zeros(3), np.zeros(3)
    with pytest.raises(SingularMassMatrixError, match=r"carts: .* along q1 − x2 neither inertia"):
        carts.forward_dynamics(*state, formulation=ROUTE)
    flagged = carts.forward_dynamics(*state, formulation=ROUTE, errors="flag")
    assert flagged.status != dl.Status.OK and np.isnan(flagged.qdd).all()
    assert np.isnan(carts.reference("forward_dynamics", *state, formulation=ROUTE)[1]).all()


def test_derivatives_with_a_singular_mass_matrix():
    body, rng = quaternion_body(), np.random.default_rng(3)
    q = body.assemble(rng.normal(size=4))
    inputs = [q, 0.5 * np.array(rates(q)).T @ rng.normal(size=3), rng.normal(size=4)]
    for k, wrt in enumerate(("q", "qd", "tau")):

        def at(x, k=k):
            return body.forward_dynamics(*inputs[:k], x, *inputs[k + 1 :], formulation=ROUTE)

        ours = body.derivative("forward_dynamics", inputs, wrt=wrt, formulation=ROUTE)
        for mine, expected in zip(ours, differences(at, inputs[k]), strict=True):
            np.testing.assert_allclose(mine, expected, atol=1e-8 * np.abs(expected).max())


def test_the_pseudo_inverse_is_that_of_the_printed_matrix():
    """KᵀK, and so the solution, is that of the stacked matrix, on an SVD of NumPy."""
    closed, q, qd, tau = load_states("parallel_3rr", count=3)
    for k in range(3):
        M, A = closed.mass_matrix(q[k]), closed.jacobian(q[k])
        f = tau[k] - closed.bias(q[k], qd[k])
        left = np.concatenate([(np.eye(closed.nv) - np.linalg.pinv(A) @ A) @ M, A])
        expected = np.linalg.pinv(left) @ np.concatenate([f, closed.drift(q[k], qd[k])])
        qdd, _ = closed.forward_dynamics(q[k], qd[k], tau[k], formulation=ROUTE)
        np.testing.assert_allclose(qdd, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
        factors = stacked_at(closed.dynamics, q[k])
        K, P = factors.Q @ factors.R, np.linalg.pinv(factors.B) @ factors.B
        printed = np.concatenate([(np.eye(closed.nv) - P) @ factors.M, P])
        np.testing.assert_allclose(K.T @ K, printed.T @ printed, atol=1e-12)
