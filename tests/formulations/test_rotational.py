"""Rotation described by ω and by Ẇ: the same energy, the same generalised force (001 §2)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert import tracing
from dalembert.formulations.parts import rotational
from dalembert.spatial import exp_so3, hat, rotate_tensor, rotation_x, rotation_z

vectors = arrays(float, 3, elements=st.floats(-2.0, 2.0))
clouds = st.integers(1, 6).flatmap(lambda n: arrays(float, (n, 3), elements=st.floats(-1.0, 1.0)))

# P_ijk of 001 §2.2: +1 for even permutations of 123, −1 for odd ones
P = np.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    P[i, j, k], P[i, k, j] = 1.0, -1.0


def tensors(cloud):
    """I' (2.9) and J (2.7) of unit masses at the points, along the axes of the body."""
    square = np.einsum("ni,nj->ij", cloud, cloud)
    return np.einsum("ni,ni->", cloud, cloud) * np.eye(3) - square, square


def test_identities_of_the_cross_product():
    """(2.3) and (2.4), which the conversions rest on, of P_ijk as `hat` has it."""
    one = np.eye(3)
    np.testing.assert_array_equal(np.stack([hat(e) for e in one], axis=1), P)
    np.testing.assert_array_equal(np.einsum("ijk,ijl->kl", P, P), 2.0 * one)
    expected = np.einsum("jl,km->jklm", one, one) - np.einsum("jm,kl->jklm", one, one)
    np.testing.assert_array_equal(np.einsum("ijk,ilm->jklm", P, P), expected)


@given(vectors, vectors)
def test_conversions_are_the_index_equations(turn, omega):
    """Ẇ_ij = P_ikl ω_k W_lj (2.5) and ω_i = ½ P_ijk W_jl Ẇ_kl (2.6), inverse to each other."""
    W = exp_so3(turn)
    W_dot = rotational.rotation_rate(omega, W)
    np.testing.assert_allclose(W_dot, np.einsum("ikl,k,lj->ij", P, omega, W), atol=1e-14)
    back = rotational.angular_velocity(W, W_dot)
    np.testing.assert_allclose(back, 0.5 * np.einsum("ijk,jl,kl->i", P, W, W_dot), atol=1e-14)
    np.testing.assert_allclose(back, omega, atol=1e-14)


@given(vectors, vectors, vectors)
def test_conversions_of_accelerations(turn, omega, omega_dot):
    W = exp_so3(turn)
    W_ddot = rotational.rotation_acceleration(omega, omega_dot, W)
    np.testing.assert_allclose(rotational.angular_acceleration(W, W_ddot), omega_dot, atol=1e-14)


@given(clouds)
def test_the_two_inertia_tensors(cloud):
    """(2.11), both ways."""
    I, J = tensors(cloud)
    np.testing.assert_allclose(rotational.silver_tensor(I), J, atol=1e-14)
    np.testing.assert_allclose(rotational.from_silver_tensor(J), I, atol=1e-14)


@given(clouds, vectors, vectors, vectors, vectors)
def test_equal_energy_and_generalised_force(cloud, turn, omega, omega_dot, axis):
    """Both rows of the table of 001 §2.4, for any ∂ω/∂q̇."""
    W, (_, J) = exp_so3(turn), tensors(cloud)
    I = rotational.fixed_tensor(J, W)
    rotated = rotate_tensor(rotational.from_silver_tensor(J), W)
    np.testing.assert_allclose(rotated, I, atol=1e-12)
    by_omega = rotational.energy_by_omega(I, omega)
    by_rate = rotational.energy_by_rate(J, rotational.rotation_rate(omega, W))
    # entries are of order one and a cloud has at most six points: rounding stays below 1e-12
    assert by_rate == pytest.approx(by_omega, rel=1e-12, abs=1e-12)
    dW = rotational.rotation_derivative(axis, W)
    W_ddot = rotational.rotation_acceleration(omega, omega_dot, W)
    force = rotational.force_by_omega(I, omega, omega_dot, axis)
    assert rotational.force_by_rate(J, dW, W_ddot) == pytest.approx(force, rel=1e-12, abs=1e-12)


def test_generalised_force_is_lagranges():
    """d/dt ∂K/∂q̇ − ∂K/∂q of a body on two gimbals, by automatic differentiation (1.1)."""
    _, J = tensors(np.random.default_rng(0).normal(size=(4, 3)))
    q, qd, qdd = (tracing.symbol(name, 2) for name in ("q", "qd", "qdd"))

    def motion(q, qd):
        """W, ω and the axes ∂ω/∂q̇_1, ∂ω/∂q̇_2."""
        outer = rotation_z(q[0])
        axes = [np.array([0.0, 0.0, 1.0]), outer @ np.array([1.0, 0.0, 0.0])]
        return outer @ rotation_x(q[1]), axes[0] * qd[0] + axes[1] * qd[1], axes

    W, omega, axes = motion(q, qd)
    K = rotational.energy_by_omega(rotational.fixed_tensor(J, W), omega)
    momentum = tracing.gradient(K, qd)
    state, rate = tracing.flat([q, qd]), tracing.flat([qd, qdd])
    lagrange = tracing.directional(momentum, state, rate) - tracing.gradient(K, q)
    omega_dot = tracing.directional(omega, state, rate)
    evaluate = tracing.Function([q, qd, qdd], [lagrange, omega_dot])

    numbers = np.random.default_rng(1).normal(size=(3, 2))
    expected, omega_dot = evaluate(*numbers)
    W, omega, axes = motion(numbers[0], numbers[1])
    I, W_ddot = rotational.fixed_tensor(J, W), rotational.rotation_acceleration(omega, omega_dot, W)
    for axis, force in zip(axes, expected, strict=True):
        by_omega = rotational.force_by_omega(I, omega, omega_dot, axis)
        by_rate = rotational.force_by_rate(J, rotational.rotation_derivative(axis, W), W_ddot)
        np.testing.assert_allclose([by_omega, by_rate], force, rtol=1e-12)
