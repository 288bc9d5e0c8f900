"""Rigid bodies about a point against the closed forms of Poinsot, Lagrange and Kovalevskaya."""

import numpy as np
import pytest
from scipy.special import ellipj

import dalembert as dl
from dalembert.spatial.quaternions import integrate, matrix_from_quaternion

G = 9.81
EXACT = {"rtol": 1e-12, "atol": 1e-13, "progress": False}
UP = np.array([0.0, 0.0, 1.0])


def body(inertia, com=(0.0, 0.0, 0.0), mass=1.0, gravity=(0.0, 0.0, -G)):
    """A body on a ball joint; `inertia` (3,) are the principal moments about the point."""
    x = np.array(com)
    central = np.diag(inertia) - mass * ((x @ x) * np.eye(3) - np.outer(x, x))
    joint = {"type": "spherical", "name": "point"}
    link = {"name": "top", "joint": joint, "mass": mass, "com": com, "inertia": central}
    return dl.Robot.from_links([link], gravity=gravity, name="top")


def poinsot(I, w1, w3, t):
    """ω (..., 3) of a free body, I₁ < I₂ < I₃, from (w1, 0, w3) (Landau and Lifshitz §37)."""
    I1, I2, I3 = I
    double, square = I1 * w1**2 + I3 * w3**2, (I1 * w1) ** 2 + (I3 * w3) ** 2  # 2E and M²
    assert square > double * I2  # else the body turns about the first axis
    low, high = square - double * I1, double * I3 - square
    rate = np.sqrt((I3 - I2) * low / (I1 * I2 * I3))
    sn, cn, dn, _ = ellipj(rate * t, (I2 - I1) * high / ((I3 - I2) * low))
    size = [high / (I1 * (I3 - I1)), high / (I2 * (I3 - I2)), low / (I3 * (I3 - I1))]
    return np.stack([cn, sn, dn], axis=-1) * np.sqrt(size)


@pytest.mark.parametrize(
    ("method", "dt", "tolerance"), [("DOP853", 0.1, 1e-9), ("stormer_verlet", 2e-3, 3e-4)]
)
def test_a_free_body_moves_by_jacobis_elliptic_functions(method, dt, tolerance):
    I, start = np.array([0.2, 0.35, 0.5]), np.array([1.2, 0.0, 1.1])
    robot = body(I, gravity=(0.0, 0.0, 0.0))
    every = max(1, round(0.1 / dt))
    run = dl.simulate(
        robot, None, start, duration=20.0, dt=dt, method=method, save_every=every, **EXACT
    )
    np.testing.assert_allclose(
        run.qd, poinsot(I, 1.2, 1.1, run.time.values), atol=tolerance, rtol=0.0
    )
    # the momentum stays in space, the symplectic method keeps it and its length to rounding
    states = zip(run.q.values, run.qd.values, strict=True)
    M = np.array([matrix_from_quaternion(q) @ (I * w) for q, w in states])
    np.testing.assert_allclose(M - M[0], 0.0, atol=1e-11)


def lagrange_top():
    """A = 0.35 and C = 0.08 about the point, m g l = 0.4 g."""
    return body((0.35, 0.35, 0.08), com=(0.0, 0.0, 0.4)), 0.35, 0.08, 0.4 * G


@pytest.mark.parametrize("branch", [0, 1])
def test_steady_precession_of_the_heavy_top(branch):
    """A φ̇² cos θ − C ω₃ φ̇ + m g l = 0: slow and fast precession at the inclination θ."""
    robot, A, C, mgl = lagrange_top()
    theta, spin = 0.6, 60.0
    rate = sorted(np.roots([A * np.cos(theta), -C * spin, mgl]).real)[branch]
    q0 = integrate(np.array([0.0, 0.0, 0.0, 1.0]), np.array([theta, 0.0, 0.0]))
    axis = matrix_from_quaternion(q0).T @ UP  # of the precession, in the body
    omega = rate * axis
    omega[2] = spin
    run = dl.simulate(robot, q0, omega, duration=5.0, dt=0.05, **EXACT)
    figure = np.array([matrix_from_quaternion(q)[:, 2] for q in run.q.values])
    np.testing.assert_allclose(np.arccos(figure[:, 2]), theta, atol=1e-8)
    azimuth = np.unwrap(np.arctan2(figure[:, 1], figure[:, 0]))
    np.testing.assert_allclose(azimuth - azimuth[0], rate * run.time, atol=1e-7)
    np.testing.assert_allclose(run.qd[:, 2], spin, rtol=1e-12)


def test_lagranges_top_conserves_its_spin_and_the_vertical_momentum():
    robot, _, C, _ = lagrange_top()
    vertical = lambda q, p: (matrix_from_quaternion(q) @ p)[2]  # noqa: E731
    assert robot.is_conserved(lambda q, p: p[2]) and robot.is_conserved(vertical)
    assert robot.is_conserved(robot.hamiltonian)
    involution = robot.poisson_bracket(vertical, lambda q, p: p[2])
    q, qd, _ = robot.random_state(np.random.default_rng(1))
    p = robot.generalized_momentum(q, qd)
    assert p[2] == pytest.approx(C * qd[2]) and abs(involution(q, p)) < 1e-14
    assert set(robot.noether_momenta(q, qd)) == {"angular_z"}


def kovalevskaya(A, C, mgl):
    """|(p + i q)² − (m g l / C) (γ₁ + i γ₂)|² with γ = up in the body, as a function of (q, p)."""

    def function(q, momenta):
        w1, w2 = momenta[0] / A, momenta[1] / A
        up = matrix_from_quaternion(q).T @ UP
        real = w1 * w1 - w2 * w2 - mgl / C * up[0]
        imaginary = 2.0 * w1 * w2 - mgl / C * up[1]
        return real * real + imaginary * imaginary

    return function


def test_kovalevskayas_integral():
    """A = B = 2 C with the centre in the equator is the third integrable case (1889)."""
    C, l = 0.3, 0.25
    robot, integral = body((2 * C, 2 * C, C), com=(l, 0.0, 0.0)), kovalevskaya(2 * C, C, l * G)
    assert robot.is_conserved(integral)
    other = body((2.1 * C, 2.1 * C, C), com=(l, 0.0, 0.0))
    assert not other.is_conserved(kovalevskaya(2.1 * C, C, l * G))
    bracket = robot.poisson_bracket(integral, robot.hamiltonian)
    q, qd, _ = robot.random_state(np.random.default_rng(2))
    p = robot.generalized_momentum(q, qd)
    assert abs(bracket(q, p)) <= 1e-12 * integral(q, p)
    run = dl.simulate(robot, q, qd, duration=20.0, dt=0.1, **EXACT)
    momenta = robot.generalized_momentum(run.q.values, run.qd.values)
    values = [integral(*state) for state in zip(run.q.values, momenta, strict=True)]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)
    assert np.ptp(momenta[:, 2]) > 0.1  # no other integral is behind it
