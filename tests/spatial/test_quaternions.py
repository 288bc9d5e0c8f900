"""Quaternions (x, y, z, w) against matrices, SciPy and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from dalembert.spatial import (
    conjugate,
    difference,
    exp_quaternion,
    exp_so3,
    identity_quaternion,
    integrate,
    log_quaternion,
    matrix_from_quaternion,
    normalise,
    product,
    quaternion_from_matrix,
    rate_map,
)

vectors = arrays(float, 3, elements=st.floats(-3.0, 3.0))
quaternions = arrays(float, 4, elements=st.floats(-2.0, 2.0)).filter(lambda q: q @ q > 0.01)


@given(quaternions, st.floats(0.01, 100.0))
def test_matrix_of_any_nonzero_quaternion(q, scale):
    R = matrix_from_quaternion(scale * q)
    np.testing.assert_allclose(R, Rotation.from_quat(q).as_matrix(), atol=2e-15)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=2e-15)


@given(quaternions)
def test_matrix_and_back(q):
    back = quaternion_from_matrix(matrix_from_quaternion(q))
    unit = normalise(q)
    assert back[3] >= 0.0
    error = min(np.max(np.abs(back - unit)), np.max(np.abs(back + unit)))
    assert error <= 1e-15


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_about_the_axes(axis):
    R = 2.0 * np.diag(np.eye(3)[axis]) - np.eye(3)
    np.testing.assert_array_equal(quaternion_from_matrix(R), np.eye(4)[axis])


@given(quaternions, quaternions, quaternions)
def test_group_axioms(a, b, c):
    np.testing.assert_allclose(product(product(a, b), c), product(a, product(b, c)), atol=1e-13)
    np.testing.assert_array_equal(product(a, identity_quaternion()), a)
    np.testing.assert_allclose(product(a, conjugate(a)), [0, 0, 0, a @ a], atol=1e-15 * (a @ a))
    R = matrix_from_quaternion
    np.testing.assert_allclose(R(product(a, b)), R(a) @ R(b), atol=4e-15)


@given(vectors)
def test_exponential_is_the_rotation(w):
    q = exp_quaternion(w)
    assert q @ q == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(matrix_from_quaternion(q), exp_so3(w), atol=3e-15)


@given(vectors.filter(lambda v: np.linalg.norm(v) > 0.1), st.floats(-300.0, 0.49))
def test_log_inverts_exp(v, exponent):
    w = 10.0**exponent * v / np.linalg.norm(v)
    back = log_quaternion(exp_quaternion(w))
    assert np.max(np.abs(back - w)) <= 2e-15 * np.linalg.norm(w / np.max(np.abs(w))) * np.max(
        np.abs(w)
    )


@given(vectors, st.sampled_from([-1.0, 0.5, 30.0]))
def test_log_ignores_length_and_sign(w, scale):
    q = exp_quaternion(w / 2)
    np.testing.assert_allclose(log_quaternion(scale * q), w / 2, atol=4e-15)


@given(quaternions, vectors)
def test_integrate_turns_in_the_body(q, phi):
    rotated = matrix_from_quaternion(integrate(q, phi))
    np.testing.assert_allclose(rotated, matrix_from_quaternion(q) @ exp_so3(phi), atol=5e-15)


@given(quaternions, vectors)
def test_difference_is_what_integrate_needs(q, phi):
    q, phi = normalise(q), phi / 2
    np.testing.assert_allclose(difference(q, integrate(q, phi)), phi, atol=5e-15)


@given(quaternions, vectors)
def test_rate_map_is_the_derivative_of_integrate(q, omega):
    h = 1e-6
    derivative = (integrate(q, h * omega) - integrate(q, -h * omega)) / (2 * h)
    # central difference: rounding EPS/h ≈ 2e-10 for |q| up to 4
    np.testing.assert_allclose(rate_map(q) @ omega, derivative, atol=3e-9)
    pure = np.append(omega, 0.0)
    np.testing.assert_allclose(rate_map(q) @ omega, 0.5 * product(q, pure), atol=1e-14)
