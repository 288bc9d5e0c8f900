"""One rigid body: the two forms of Newton–Euler, their invariance, momentum and energy."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.spatial import (
    Ad,
    Ad_inv,
    body_acceleration,
    body_momentum,
    box_inertia,
    change_frame,
    exp_se3,
    exp_so3,
    kinetic_energy,
    newton_euler_body,
    newton_euler_spatial,
    point_masses,
    pose,
    rotation_rate,
    rotational_energy,
    silver_tensor,
    spatial_inertia,
    spatial_momentum,
)

twists = arrays(float, 6, elements=st.floats(-1.5, 1.5))
points = arrays(float, 3, elements=st.floats(-1.0, 1.0))
MASS, TENSOR = 2.0, box_inertia(2.0, [0.3, 0.5, 0.8])
CENTRE = np.array([0.1, -0.2, 0.3])
M = spatial_inertia(MASS, CENTRE, TENSOR)


@given(points, twists, twists)
def test_spatial_and_body_frame_agree(w, V, V_dot):
    """f^s = R f^b, τ^s = R τ^b with p̈ = R (v̇ + ω × v) (000 p.33–34)."""
    R = exp_so3(w)
    v, omega, v_dot, omega_dot = V[:3], V[3:], V_dot[:3], V_dot[3:]
    p_ddot = R @ (v_dot + np.cross(omega, v))
    F_s = newton_euler_spatial(MASS, TENSOR, R, R @ omega, p_ddot, R @ omega_dot)
    F_b = newton_euler_body(spatial_inertia(MASS, np.zeros(3), TENSOR), V, V_dot)
    np.testing.assert_allclose(F_s, np.concatenate([R @ F_b[:3], R @ F_b[3:]]), atol=3e-14)
    # the component form (*) of p.34
    expected = np.concatenate(
        [
            MASS * v_dot + np.cross(omega, MASS * v),
            TENSOR @ omega_dot + np.cross(omega, TENSOR @ omega),
        ]
    )
    np.testing.assert_allclose(F_b, expected, atol=3e-14)


@given(twists, twists, twists)
def test_coordinate_invariance(xi, V2, V2_dot):
    """With V₁ = Ad_g V₂, F₁ = Ad_{g⁻¹}ᵀ F₂ the equation keeps its form in any frame (000 p.36)."""
    g = exp_se3(xi)
    F1 = newton_euler_body(M, Ad(g) @ V2, Ad(g) @ V2_dot)
    F2 = newton_euler_body(change_frame(M, g), V2, V2_dot)
    np.testing.assert_allclose(F1, Ad_inv(g).T @ F2, atol=2e-12)


@given(twists, twists)
def test_against_pinocchio(V, V_dot):
    inertia, velocity = pin.Inertia(MASS, CENTRE, TENSOR), pin.Motion(V)
    expected = inertia * pin.Motion(V_dot) + velocity.cross(inertia * velocity)
    np.testing.assert_allclose(newton_euler_body(M, V, V_dot), expected.vector, atol=3e-14)
    assert kinetic_energy(M, V) == pytest.approx(inertia.vtiv(velocity) / 2, rel=1e-13, abs=1e-15)


@given(twists, twists)
def test_acceleration_inverts(V, V_dot):
    F = newton_euler_body(M, V, V_dot)
    np.testing.assert_allclose(body_acceleration(M, V, F), V_dot, atol=1e-12)


@given(twists, twists)
def test_power_is_the_rate_of_energy(V, V_dot):
    """F·V = d/dt ½ VᵀMV: the term ad_Vᵀ M V does no work."""
    F = newton_euler_body(M, V, V_dot)
    assert pytest.approx(V @ M @ V_dot, abs=3e-14) == F @ V


@given(points, points)
def test_silver_energy(w, omega):
    """½ tr(Ẇ J Ẇᵀ) = ½ ω·Iω, ω in the body where I is given (001, eq. 2.8 and 2.10)."""
    W = exp_so3(w)
    W_dot = rotation_rate(W @ omega, W)
    energy = rotational_energy(W_dot, silver_tensor(TENSOR))
    assert energy == pytest.approx(0.5 * omega @ TENSOR @ omega, abs=1e-15)


def test_free_flight_keeps_spatial_momentum_and_energy():
    """A tumbling box without any wrench: RK4 for V̇, the mean of V over each step for ġ = g V̂."""
    g, V, h = pose(p=[0.4, 0.0, -0.2]), np.array([0.3, -0.1, 0.2, 2.0, 0.1, -1.0]), 1e-3
    momentum, energy = spatial_momentum(M, V, g), kinetic_energy(M, V)

    def derivative(velocity):
        return body_acceleration(M, velocity, np.zeros(6))

    for _ in range(500):
        k1 = derivative(V)
        k2 = derivative(V + h / 2 * k1)
        k3 = derivative(V + h / 2 * k2)
        k4 = derivative(V + h * k3)
        V_mid, V_end = V + h / 2 * k2, V + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        g = g @ exp_se3(h / 6 * (V + 4 * V_mid + V_end))
        V = V_end
    assert kinetic_energy(M, V) == pytest.approx(energy, rel=1e-11)
    # the mean leaves out commutators of order h³ per step: second order, h² = 1e-6
    np.testing.assert_allclose(spatial_momentum(M, V, g), momentum, atol=1e-6)
    np.testing.assert_allclose(Ad(g).T @ momentum, body_momentum(M, V), atol=1e-6)


@given(arrays(float, (4, 3), elements=st.floats(-1.0, 1.0)), twists, twists)
def test_momentum_is_the_sum_over_particles(cloud, V, xi):
    """Σ m ẋ and Σ x × m ẋ, in the body frame and in the spatial frame."""
    masses = np.array([1.0, 2.0, 0.5, 3.0])
    inertia, g = spatial_inertia(*point_masses(masses, cloud)), exp_se3(xi)
    velocities = V[:3] + np.cross(V[3:], cloud)
    for momentum, x, x_dot in (
        (body_momentum(inertia, V), cloud, velocities),
        (
            spatial_momentum(inertia, V, g),
            cloud @ g[:3, :3].T + g[:3, 3],
            velocities @ g[:3, :3].T,
        ),
    ):
        expected = np.concatenate([masses @ x_dot, masses @ np.cross(x, x_dot)])
        np.testing.assert_allclose(momentum, expected, atol=3e-13)
    energy = 0.5 * masses @ (velocities * velocities).sum(axis=1)
    np.testing.assert_allclose(kinetic_energy(inertia, V), energy, rtol=1e-12, atol=1e-13)
