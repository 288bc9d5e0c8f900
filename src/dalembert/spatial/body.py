"""Newton–Euler equations of one rigid body (000 p.33–36), its momentum and energy."""

import numpy as np

from dalembert.spatial.arrays import (
    Array,
    ArrayLike,
    Matrix3,
    Matrix6,
    Pose,
    Scalar,
    Twist,
    Wrench,
    as_array,
)
from dalembert.spatial.inertia import rotate_tensor
from dalembert.spatial.se3 import Ad_inv, ad


def newton_euler_spatial(
    mass: Scalar,
    tensor: Matrix3,
    R: Matrix3,
    omega: ArrayLike,
    p_ddot: ArrayLike,
    omega_dot: ArrayLike,
) -> Wrench:
    """The wrench (f, τ) (6,) about the centre of mass, in spatial axes (000 p.33–34).

    f = m p̈ and τ = I^s ω̇ + ω × I^s ω with I^s = R I Rᵀ; p is the centre of mass, `tensor` is I in
    the body frame, and ω, ω̇ are in spatial axes. N and N m.

    >>> newton_euler_spatial(2.0, np.eye(3), np.eye(3), [0, 0, 1.0], [1.0, 0, 0], [0, 0, 3.0])
    array([2., 0., 0., 0., 0., 3.])
    """
    w = as_array(omega)
    I_s = rotate_tensor(tensor, R)
    torque = I_s @ as_array(omega_dot) + np.cross(w, I_s @ w)
    return np.concatenate([mass * as_array(p_ddot), torque])


def newton_euler_body(M: Matrix6, V: ArrayLike, V_dot: ArrayLike) -> Wrench:
    """The body wrench F = M V̇ − ad_Vᵀ M V (6,) for the 6×6 inertia M in any body frame (p.35).

    >>> newton_euler_body(np.eye(6), [1.0, 0, 0, 0, 0, 2.0], np.zeros(6))
    array([0., 2., 0., 0., 0., 0.])
    """
    V = as_array(V)
    return M @ as_array(V_dot) - ad(V).T @ (M @ V)


def body_acceleration(M: Matrix6, V: ArrayLike, F: ArrayLike) -> Twist:
    """V̇ = M⁻¹ (F + ad_Vᵀ M V) (6,), the body's motion under the body wrench F."""
    V = as_array(V)
    acceleration: Array = np.linalg.solve(M, as_array(F) + ad(V).T @ (M @ V))
    return acceleration


def body_momentum(M: Matrix6, V: ArrayLike) -> Twist:
    """M V (6,), linear and angular momentum in the body frame."""
    return M @ as_array(V)


def spatial_momentum(M: Matrix6, V: ArrayLike, g: Pose) -> Twist:
    """Ad_{g⁻¹}ᵀ M V (6,), the momentum in the spatial frame: constant when no wrench acts."""
    return Ad_inv(g).T @ (M @ as_array(V))


def kinetic_energy(M: Matrix6, V: ArrayLike) -> Scalar:
    """½ Vᵀ M V in J (000 p.14)."""
    V = as_array(V)
    return 0.5 * (V @ (M @ V))


def rotational_energy(W_dot: Matrix3, J: Matrix3) -> Scalar:
    """½ tr(Ẇ J Ẇᵀ) in J, with J = ½ tr(I) 1 − I: equal to ½ ω·I ω (001, eq. 2.8)."""
    return 0.5 * np.sum(W_dot * (W_dot @ J))
