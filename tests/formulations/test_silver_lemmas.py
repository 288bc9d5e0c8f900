"""The lemmas by which Lagrange's equation with ω becomes Newton and Euler's (001 §3, appendix A)."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import spatial

SCREWS = np.array(
    [[0, 0, 0, 0, 0, 1], [0, -0.4, 0, -1, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]],
    dtype=float,
)
POINTS = ((0.0, 0.2), (0.2, 0.4), (0.5, 0.4), (0.8, 0.1))
TENSORS = [m * np.diag([0.03, 0.01, 0.02]) for m in (6.0, 4.0, 2.0, 1.0)]
MASSES = (6.0, 4.0, 2.0, 1.0)
H, CLOSE = 1e-5, {"atol": 1e-7}  # central differences: h² and ε/h of numbers of order ten


@pytest.fixture(scope="module")
def arm():
    """Three turning joints and a sliding one, link frames at the centres of mass."""
    frames = [spatial.pose(p=[0, y, z]) for y, z in POINTS]
    return dl.Robot.from_screws(SCREWS, frames, list(zip(MASSES, TENSORS, strict=True)), name="arm")


@pytest.fixture
def state():
    return np.random.default_rng(0).normal(size=(3, 4))


def derivative(f, q, dq):
    """The derivative of f along dq, by differences."""
    return (f(q + H * dq) - f(q - H * dq)) / (2 * H)


def partial_velocities(arm, q, k):
    """∂v/∂q̇ and ∂ω/∂q̇ (2, 3, n) of link k."""
    J = arm.jacobian(q, frame=f"link{k + 1}", expressed_in="world")
    return np.stack([J[:3], J[3:]])


def tensor(arm, q, k):
    """I of link k along fixed axes."""
    return spatial.rotate_tensor(TENSORS[k], arm.pose(q, frame=f"link{k + 1}")[:3, :3])


@pytest.mark.parametrize("k", range(4))
def test_lemmas(arm, state, k):
    """(3.4)–(3.7) and (3.10), link by link."""
    q, qd, _ = state
    (_, w), I = partial_velocities(arm, q, k), tensor(arm, q, k)
    omega = w @ qd
    gyro = np.cross(omega, I @ omega)
    v_rate, w_rate = derivative(lambda x: partial_velocities(arm, x, k), q, qd)
    by_q = [derivative(lambda x: partial_velocities(arm, x, k) @ qd, q, e) for e in np.eye(4)]
    dv, dw = np.stack(by_q, axis=-1)
    np.testing.assert_allclose(v_rate, dv, **CLOSE)
    np.testing.assert_allclose(w_rate, dw + np.cross(omega, w.T).T, **CLOSE)
    I_dot = derivative(lambda x: tensor(arm, x, k), q, qd)
    np.testing.assert_allclose(omega @ I_dot @ w, gyro @ w, **CLOSE)
    np.testing.assert_allclose((I @ omega) @ np.cross(omega, w.T).T, -gyro @ w, atol=1e-12)
    half = [0.5 * omega @ derivative(lambda x: tensor(arm, x, k), q, e) @ omega for e in np.eye(4)]
    np.testing.assert_allclose(half, -gyro @ w, **CLOSE)


def test_rates_of_the_momenta(arm, state):
    """(3.2), (3.3) and (3.8) summed over the links, (3.9), and their difference (1.1)."""
    q, qd, qdd = state
    p, p_dot, dK = np.zeros(4), np.zeros(4), np.zeros(4)
    for k, m in enumerate(MASSES):
        (v, w), I = partial_velocities(arm, q, k), tensor(arm, q, k)
        v_rate, w_rate = derivative(lambda x, k=k: partial_velocities(arm, x, k), q, qd)
        I_dot = derivative(lambda x, k=k: tensor(arm, x, k), q, qd)
        p += m * (v @ qd) @ v + (w @ qd) @ I @ w
        v_dot, w_dot = v @ qdd + v_rate @ qd, w @ qdd + w_rate @ qd
        p_dot += m * (v_dot @ v + (v @ qd) @ v_rate)
        p_dot += w_dot @ I @ w + (w @ qd) @ I_dot @ w + (w @ qd) @ I @ w_rate
        for j, e in enumerate(np.eye(4)):
            dv, dw = derivative(lambda x, k=k: partial_velocities(arm, x, k) @ qd, q, e)
            dI = derivative(lambda x, k=k: tensor(arm, x, k), q, e)
            dK[j] += m * (v @ qd) @ dv + (w @ qd) @ I @ dw + 0.5 * (w @ qd) @ dI @ (w @ qd)
    np.testing.assert_allclose(arm.generalized_momentum(q, qd), p, atol=1e-12)
    by_q = [derivative(lambda x: arm.kinetic_energy(x, qd), q, e) for e in np.eye(4)]
    np.testing.assert_allclose(dK, by_q, **CLOSE)
    tau = arm.inverse_dynamics(q, qd, qdd, formulation="silver")
    np.testing.assert_allclose(p_dot - dK + arm.gravity_torque(q), tau, **CLOSE)


def test_axes(arm, state):
    """(A.1)–(A.3)."""
    q, qd, _ = state

    def axis(x, k):
        return partial_velocities(arm, x, k)[1][:, k]

    for j, e in enumerate(np.eye(4)):
        centre = derivative(lambda x: arm.pose(x, frame="link4")[:3, 3], q, e)
        np.testing.assert_allclose(partial_velocities(arm, q, 3)[0][:, j], centre, **CLOSE)
    for k in (0, 1, 3):
        omega = partial_velocities(arm, q, k)[1] @ qd
        np.testing.assert_allclose(
            derivative(lambda x, k=k: axis(x, k), q, qd), np.cross(omega, axis(q, k)), **CLOSE
        )
        for j in range(k):
            rotated = np.cross(axis(q, j), axis(q, k))
            actual = derivative(lambda x, k=k: axis(x, k), q, np.eye(4)[j])
            np.testing.assert_allclose(actual, rotated, **CLOSE)
