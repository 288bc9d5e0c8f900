"""Rotation of one body twice, by its angular velocity ω and by Ẇ (001 §2).

W takes components along axes that rotate with the body to components along fixed axes (2.1). In the
table of 001 §2.4, I is the tensor along fixed axes and J along those of the body:

    velocity             ω_i = ½ P_ijk W_jl Ẇ_kl    (2.6)       Ẇ = ω × W             (2.5)
    inertia              I' = tr(J) 1 − J          (2.11)       J = ½ tr(I') 1 − I'   (2.11)
    kinetic energy       ½ ω·I·ω                   (2.10)       ½ tr(Ẇ J Ẇᵀ)           (2.8)
    generalised force    [I·ω̇ + ω × (I·ω)]·∂ω/∂q̇                tr(∂W/∂q J Ẅᵀ)
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.parts.rigid_body import acceleration_matrix
from dalembert.spatial.arrays import Matrix3, Scalar, Vector3
from dalembert.spatial.body import rotational_energy
from dalembert.spatial.inertia import from_silver_tensor, rotate_tensor, silver_tensor
from dalembert.spatial.rotations import angular_velocity, rotation_rate

__all__ = [
    "angular_acceleration",
    "angular_velocity",
    "energy_by_omega",
    "energy_by_rate",
    "fixed_tensor",
    "force_by_omega",
    "force_by_rate",
    "from_silver_tensor",
    "rotation_acceleration",
    "rotation_derivative",
    "rotation_rate",
    "silver_tensor",
]


def rotation_acceleration(omega: Vector3, omega_dot: Vector3, W: Matrix3) -> Matrix3:
    """Ẅ = (ω̇^ + ω^ω^) W (3, 3): the rate of (2.5)."""
    return acceleration_matrix(omega, omega_dot) @ W


def angular_acceleration(W: Matrix3, W_ddot: Matrix3) -> Vector3:
    """ω̇_i = ½ P_ijk W_jl Ẅ_kl (3,): the rate of (2.6), where P_ijk Ẇ_jl Ẇ_kl = 0."""
    return angular_velocity(W, W_ddot)


def rotation_derivative(axis: Vector3, W: Matrix3) -> Matrix3:
    """∂W/∂q = ∂ω/∂q̇ × W (3, 3): (2.5) differentiated by q̇, since ∂Ẇ/∂q̇ = ∂W/∂q."""
    return rotation_rate(axis, W)


def fixed_tensor(J: Matrix3, W: Matrix3) -> Matrix3:
    """I (3, 3) along fixed axes, from J along the axes of the body turned by W (2.11)."""
    return rotate_tensor(from_silver_tensor(J), W)


def energy_by_omega(I: Matrix3, omega: Vector3) -> Scalar:
    """½ ω·I·ω in joules (2.10).

    >>> W_dot = rotation_rate([0.0, 0.0, 2.0], np.eye(3))
    >>> I = np.diag([5.0, 4.0, 3.0])
    >>> energy_by_omega(I, np.array([0.0, 0.0, 2.0])), energy_by_rate(silver_tensor(I), W_dot)
    (np.float64(6.0), np.float64(6.0))
    """
    return 0.5 * (omega @ (I @ omega))


def energy_by_rate(J: Matrix3, W_dot: Matrix3) -> Scalar:
    """½ tr(Ẇ J Ẇᵀ) in joules (2.8)."""
    return rotational_energy(W_dot, J)


def force_by_omega(I: Matrix3, omega: Vector3, omega_dot: Vector3, axis: Vector3) -> Scalar:
    """[I·ω̇ + ω × (I·ω)]·∂ω/∂q̇ in N m: the generalised force of q, with axis = ∂ω/∂q̇ (3.11)."""
    return (I @ omega_dot + np.cross(omega, I @ omega)) @ axis


def force_by_rate(J: Matrix3, dW: Matrix3, W_ddot: Matrix3) -> Scalar:
    """tr(∂W/∂q J Ẅᵀ) in N m: the generalised force of q, with dW = ∂W/∂q (001 §2.4)."""
    return np.sum((dW @ J) * W_ddot)
