"""SO(3): group laws, exponential and logarithm from 0 to π, roll-pitch-yaw, rates."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from dalembert.spatial import (
    angular_velocity,
    axis_angle,
    exp_so3,
    hat,
    left_jacobian_inverse_so3,
    left_jacobian_so3,
    log_so3,
    rotation_from_rpy,
    rotation_rate,
    rotation_x,
    rotation_y,
    rotation_z,
    rpy_from_rotation,
    snap,
    vee,
)
from dalembert.spatial.rotations import exp_coefficients

vectors = arrays(float, 3, elements=st.floats(-3.0, 3.0))
directions = vectors.filter(lambda v: np.linalg.norm(v) > 0.1).map(lambda v: v / np.linalg.norm(v))
EPS = np.finfo(float).eps


@given(vectors, vectors)
def test_hat_is_the_cross_product(a, b):
    np.testing.assert_allclose(hat(a) @ b, np.cross(a, b), rtol=0, atol=20 * EPS)
    np.testing.assert_array_equal(hat(a), -hat(a).T)
    np.testing.assert_array_equal(vee(hat(a)), a)


@given(vectors, vectors)
def test_rotations_are_a_group(a, b):
    A, B = exp_so3(a), exp_so3(b)
    for R in (A, A @ B, A.T):
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(exp_so3(-a), A.T, atol=1e-15)
    # R ŵ Rᵀ = (R w)^
    np.testing.assert_allclose(A @ hat(b) @ A.T, hat(A @ b), atol=2e-14)


@given(vectors)
def test_exponential_against_scipy(w):
    np.testing.assert_allclose(exp_so3(w), Rotation.from_rotvec(w).as_matrix(), atol=3e-15)


@pytest.mark.parametrize("turn, axis", [(rotation_x, 0), (rotation_y, 1), (rotation_z, 2)])
def test_elementary_rotations(turn, axis):
    w = np.eye(3)[axis]
    for angle in (-2.0, 0.0, 0.3, 3.0):
        np.testing.assert_allclose(turn(angle), exp_so3(angle * w), atol=1e-15)
        np.testing.assert_array_equal(turn(angle), axis_angle(w, angle))


@given(directions, st.floats(-300.0, -5.0))
def test_log_near_zero_is_relatively_exact(u, exponent):
    w = 10.0**exponent * u
    error = np.max(np.abs(log_so3(exp_so3(w)) - w))
    assert error <= 1e-15 * np.max(np.abs(w))


@given(directions, st.floats(1e-5, 3.1))
def test_log_between(u, angle):
    np.testing.assert_allclose(log_so3(exp_so3(angle * u)), angle * u, atol=4e-15)


@given(directions, st.floats(-15.5, -1.0))
def test_log_near_half_a_turn(u, exponent):
    w = (np.pi - 10.0**exponent) * u
    # the matrix carries the angle to EPS absolute, so that is what can come back
    np.testing.assert_allclose(log_so3(exp_so3(w)), w, atol=1e-14)


@given(directions)
def test_log_of_half_a_turn_rebuilds_the_rotation(u):
    R = 2.0 * np.outer(u, u) - np.eye(3)
    w = log_so3(R)
    assert np.linalg.norm(w) == pytest.approx(np.pi, abs=1e-14)
    np.testing.assert_allclose(exp_so3(w), R, atol=1e-14)


def test_log_of_identity_is_exactly_zero():
    np.testing.assert_array_equal(log_so3(np.eye(3)), np.zeros(3))
    np.testing.assert_array_equal(exp_so3(np.zeros(3)), np.eye(3))


@pytest.mark.parametrize("t", [0.0, 1e-160, 1e-9, 1e-3, 0.5, 0.999999, 1.000001, 2.0, 3.1, 9.0])
def test_coefficients_against_fifty_digits(t):
    with mpmath.workdps(50):
        t2 = mpmath.mpf(t * t)
        x = mpmath.sqrt(t2)
        s, c = mpmath.sin(x), mpmath.cos(x)
        exact = [1.0, 0.5, 1 / 6] if t2 == 0 else [s / x, (1 - c) / t2, (x - s) / x**3]
        if 0 < t2 < 1e-12:  # fifty digits cancel as well
            exact = [1 - t2 / 6, 0.5 - t2 / 24, mpmath.mpf(1) / 6 - t2 / 120]
        errors = [
            abs(float(a - b))
            for a, b in zip(map(float, exp_coefficients(t * t)), exact, strict=True)
        ]
    # the last loses (θ − sinθ) about 6 EPS at θ = 1, where the closed form takes over
    assert max(errors) <= 2 * EPS


@given(vectors.filter(lambda v: np.linalg.norm(v) < 5.0))
def test_left_jacobian(w):
    J = left_jacobian_so3(w)
    h = 1e-6
    for k, e in enumerate(np.eye(3)):
        derivative = (exp_so3(w + h * e) - exp_so3(w - h * e)) / (2 * h)
        # central difference: h² truncation and EPS/h rounding, both about 1e-10
        np.testing.assert_allclose(hat(J[:, k]) @ exp_so3(w), derivative, atol=3e-9)
    np.testing.assert_allclose(left_jacobian_so3(-w), J.T, atol=1e-15)
    np.testing.assert_allclose(left_jacobian_inverse_so3(w) @ J, np.eye(3), atol=2e-13)


@pytest.mark.parametrize("t", [0.0, 1e-200, 1e-8, 0.49999, 0.50001, 3.14])
def test_inverse_jacobian_across_its_branches(t):
    w = t * np.array([2.0, -1.0, 2.0]) / 3.0
    product = left_jacobian_inverse_so3(w) @ left_jacobian_so3(w)
    np.testing.assert_allclose(product, np.eye(3), atol=3e-15)


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))
def test_rpy_against_scipy(roll, pitch, yaw):
    R = rotation_from_rpy([roll, pitch, yaw])
    reference = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    np.testing.assert_allclose(R, reference, atol=1e-15)
    # cos(1.5) = 0.07: roll and yaw are conditioned 14 times worse than the matrix
    np.testing.assert_allclose(rpy_from_rotation(R), [roll, pitch, yaw], atol=2e-14)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1e-9 - np.pi / 2])
@pytest.mark.parametrize("exact", [False, True])
def test_rpy_rebuilds_the_rotation_at_the_poles(pitch, exact):
    R = rotation_from_rpy([0.4, pitch, -1.1])
    R = snap(R, 1e-15) if exact else R
    np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-15)


def test_snap_makes_exact_zeros_and_ones_only_within_rounding():
    quarter = snap(rotation_x(np.pi / 2))
    np.testing.assert_array_equal(quarter, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    assert not np.signbit(quarter[quarter == 0.0]).any()
    tiny = np.array([1e-15, 1.0 - 1e-15, 2.0 + 4e-16, 0.5])
    np.testing.assert_array_equal(snap(tiny), tiny)


@given(vectors, vectors)
def test_rates_and_angular_velocity(w, omega):
    W = exp_so3(w)
    W_dot = rotation_rate(omega, W)
    np.testing.assert_allclose(angular_velocity(W, W_dot), omega, atol=1e-14)
    np.testing.assert_allclose(vee(W_dot @ W.T), omega, atol=1e-14)
    # W_jl Ẇ_kl P_ijk / 2, index by index (001, eq. 2.6)
    P = np.zeros((3, 3, 3))
    for i, j, k in [(0, 1, 2), (1, 2, 0), (2, 0, 1)]:
        P[i, j, k], P[i, k, j] = 1.0, -1.0
    np.testing.assert_allclose(0.5 * np.einsum("ijk,jl,kl", P, W, W_dot), omega, atol=1e-14)
