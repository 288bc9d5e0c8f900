"""SE(3): group laws, exp and log against Pinocchio, Ad, ad and the bracket (000 p.35)."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.spatial import (
    Ad,
    Ad_inv,
    ad,
    apply,
    bracket,
    compose,
    exp_se3,
    hat_se3,
    inverse,
    log_se3,
    pose,
    rotation,
    translation,
    vee_se3,
)

twists = arrays(float, 6, elements=st.floats(-1.7, 1.7))
points = arrays(float, 3, elements=st.floats(-2.0, 2.0))


@given(twists, twists, twists, points)
def test_group_axioms(a, b, c, x):
    A, B, C = exp_se3(a), exp_se3(b), exp_se3(c)
    np.testing.assert_allclose(A @ (B @ C), compose(A, B, C), atol=5e-14)
    np.testing.assert_allclose(A @ inverse(A), np.eye(4), atol=1e-14)
    np.testing.assert_array_equal(compose(A, B)[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(compose(), np.eye(4))
    np.testing.assert_allclose(apply(A, apply(B, x)), apply(A @ B, x), atol=5e-14)
    np.testing.assert_array_equal(pose(rotation(A), translation(A)), A)


@given(twists)
def test_hat_and_vee(xi):
    np.testing.assert_array_equal(vee_se3(hat_se3(xi)), xi)
    np.testing.assert_array_equal(hat_se3(xi)[3], np.zeros(4))


@given(twists, st.floats(-300.0, 0.0))
def test_exp_and_log_against_pinocchio(xi, exponent):
    xi = 10.0**exponent * xi
    g = exp_se3(xi)
    np.testing.assert_allclose(g, pin.exp6(xi).homogeneous, atol=2e-15)
    reference = pin.log6(pin.SE3(g)).vector
    # Pinocchio's own logarithm loses a few digits near half a turn
    np.testing.assert_allclose(log_se3(g), reference, atol=1e-11)


@given(twists, st.floats(-300.0, 0.0))
def test_log_inverts_exp(xi, exponent):
    xi = 10.0**exponent * xi  # |w| ≤ 1.7 √3 < π
    error = np.max(np.abs(log_se3(exp_se3(xi)) - xi))
    assert error <= 1e-14 * np.max(np.abs(xi)) + 1e-323


@given(twists.filter(lambda x: np.linalg.norm(x[3:]) > 0.1), st.floats(-15.0, -1.0))
def test_log_near_half_a_turn(xi, exponent):
    xi = xi.copy()
    xi[3:] *= (np.pi - 10.0**exponent) / np.linalg.norm(xi[3:])
    np.testing.assert_allclose(log_se3(exp_se3(xi)), xi, atol=2e-14)


@given(twists, st.floats(-2.0, 2.0))
def test_angle_argument(xi, theta):
    np.testing.assert_allclose(exp_se3(xi, theta), exp_se3(theta * xi), atol=1e-15)


@given(twists, st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_one_parameter_subgroup(xi, s, t):
    np.testing.assert_allclose(exp_se3(xi, s) @ exp_se3(xi, t), exp_se3(xi, s + t), atol=3e-14)


@given(twists, twists, twists)
def test_adjoint(a, b, xi):
    A, B = exp_se3(a), exp_se3(b)
    np.testing.assert_allclose(Ad(A @ B), Ad(A) @ Ad(B), atol=5e-14)
    np.testing.assert_allclose(Ad_inv(A), Ad(inverse(A)), atol=1e-14)
    np.testing.assert_allclose(Ad_inv(A) @ Ad(A), np.eye(6), atol=2e-14)
    # (Ad_g ξ)^ = g ξ̂ g⁻¹
    np.testing.assert_allclose(hat_se3(Ad(A) @ xi), A @ hat_se3(xi) @ inverse(A), atol=3e-14)
    np.testing.assert_allclose(Ad(A), pin.SE3(A).action, atol=1e-14)


@given(twists, twists, twists)
def test_bracket_is_a_lie_bracket(a, b, c):
    A, B = hat_se3(a), hat_se3(b)
    np.testing.assert_allclose(bracket(a, b), vee_se3(A @ B - B @ A), atol=1e-14)
    np.testing.assert_allclose(ad(a) @ b, bracket(a, b), atol=1e-14)
    np.testing.assert_allclose(bracket(a, b), -bracket(b, a), atol=1e-15)
    jacobi = bracket(a, bracket(b, c)) + bracket(b, bracket(c, a)) + bracket(c, bracket(a, b))
    np.testing.assert_allclose(jacobi, 0.0, atol=1e-13)
    np.testing.assert_allclose(ad(a), pin.Motion(a).action, atol=0)


@given(twists, twists, twists)
def test_property_3(a, x, y):
    """Ad_g [ξ₁, ξ₂] = [Ad_g ξ₁, Ad_g ξ₂] and Ad_g ad_ξ = ad_{Ad_g ξ} Ad_g (000 p.35)."""
    A = Ad(exp_se3(a))
    np.testing.assert_allclose(A @ bracket(x, y), bracket(A @ x, A @ y), atol=2e-13)
    np.testing.assert_allclose(A @ ad(x), ad(A @ x) @ A, atol=2e-13)


def test_ad_is_the_derivative_of_Ad():
    xi, h = np.array([0.3, -0.2, 0.5, 0.7, 0.1, -0.4]), 1e-6
    derivative = (Ad(exp_se3(xi, h)) - Ad(exp_se3(xi, -h))) / (2 * h)
    np.testing.assert_allclose(derivative, ad(xi), atol=1e-9)  # EPS/h rounding


@pytest.mark.parametrize("missing", ["R", "p"])
def test_pose_defaults(missing):
    g = pose(p=[1.0, 2.0, 3.0]) if missing == "R" else pose(np.diag([1.0, -1.0, -1.0]))
    np.testing.assert_array_equal(
        rotation(g), np.eye(3) if missing == "R" else np.diag([1, -1, -1])
    )
    np.testing.assert_array_equal(translation(g), [1, 2, 3] if missing == "R" else [0, 0, 0])
