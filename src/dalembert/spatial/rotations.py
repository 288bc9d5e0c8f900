"""Rotations SO(3): hat and vee, exponential and logarithm, their Jacobians, roll-pitch-yaw.

Every function takes floats or symbols. Where a closed form is 0/0 the series is selected with
`np.where`, and the argument of the form not selected is replaced first, so that neither its value
nor its derivative can be NaN.
"""

from math import factorial

import numpy as np

from dalembert.spatial.arrays import (
    Array,
    ArrayLike,
    Matrix3,
    Scalar,
    Vector3,
    as_array,
    is_numeric,
    matrix,
    polynomial,
    vector,
)
from dalembert.spatial.quaternions import log_quaternion, quaternion_from_matrix

# sinθ/θ, (1 − cosθ)/θ², (θ − sinθ)/θ³ in powers of θ²; on θ² < 1 the first omitted term is < 1e-18
_SINC = [(-1) ** k / factorial(2 * k + 1) for k in range(10)]
_VERSINE = [(-1) ** k / factorial(2 * k + 2) for k in range(10)]
_CUBIC = [(-1) ** k / factorial(2 * k + 3) for k in range(9)]
# (1 − (θ/2) cot(θ/2))/θ² = Σ |B₂ₖ| θ^(2k−2)/(2k)!; on θ² < 1/4 the first omitted term is < 3e-17
_COTANGENT = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000]
_COTANGENT += [1 / 74724249600]


def hat(w: ArrayLike) -> Matrix3:
    """The skew matrix ŵ (3, 3) with ŵ x = w × x.

    >>> hat([1.0, 2.0, 3.0]) @ [0.0, 0.0, 1.0]
    array([ 2., -1.,  0.])
    """
    x, y, z = as_array(w)
    return matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def vee(S: Matrix3) -> Vector3:
    """The vector (3,) of a skew matrix, the inverse of `hat`.

    >>> vee(hat([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return vector(S[2, 1], S[0, 2], S[1, 0])


def rotation_x(angle: Scalar) -> Matrix3:
    """Rotation (3, 3) about x by `angle` rad."""
    c, s = np.cos(angle), np.sin(angle)
    return matrix([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: Scalar) -> Matrix3:
    """Rotation (3, 3) about y by `angle` rad."""
    c, s = np.cos(angle), np.sin(angle)
    return matrix([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: Scalar) -> Matrix3:
    """Rotation (3, 3) about z by `angle` rad.

    >>> snap(rotation_z(np.pi / 2)) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    c, s = np.cos(angle), np.sin(angle)
    return matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def axis_angle(axis: ArrayLike, angle: Scalar) -> Matrix3:
    """Rotation about a unit `axis` (3,) by `angle` rad: w wᵀ + cosθ (1 − w wᵀ) + sinθ ŵ.

    In this form an axis along x, y or z gives a trace that is exactly `rotation_x`, `_y` or `_z`.
    """
    w = as_array(axis)
    along = np.outer(w, w)
    result: Matrix3 = along + np.cos(angle) * (np.eye(3) - along) + np.sin(angle) * hat(w)
    return result


def snap(R: Array, tolerance: float = 4e-16) -> Array:
    """Round entries within `tolerance` of 0, 1 and −1 to exactly these; symbols stay as they are.

    So the cosine of a quarter turn is a zero that a trace can remove.

    >>> float(snap(rotation_x(np.pi / 2))[1, 1])
    0.0
    """
    if not is_numeric(R):
        return R
    R = as_array(R)
    nearest = np.round(R)
    close = (np.abs(R - nearest) <= tolerance) & (np.abs(nearest) <= 1.0)
    return np.where(close, nearest + 0.0, R)


def _angle(t2: Scalar, limit: float) -> tuple[Scalar, Scalar]:
    """(θ² < limit, θ), where θ is 1 in place of an angle too small for the closed form."""
    small = t2 < limit
    return small, np.sqrt(np.where(small, 1.0, t2))


def exp_coefficients(t2: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """sinθ/θ, (1 − cosθ)/θ², (θ − sinθ)/θ³ from θ², accurate for every θ."""
    small, t = _angle(t2, 1.0)
    half = np.sin(0.5 * t) / t
    sine = np.sin(t)
    # the series sees 0 where it is not selected: its powers must not overflow
    s2 = np.where(small, t2, 0.0)
    a = np.where(small, polynomial(s2, _SINC), sine / t)
    b = np.where(small, polynomial(s2, _VERSINE), 2.0 * half * half)
    c = np.where(small, polynomial(s2, _CUBIC), (t - sine) / (t * t * t))
    return a, b, c


def exp_so3(w: ArrayLike) -> Matrix3:
    """Rotation e^ŵ (3, 3) of the rotation vector `w` (3,) in rad: 1 + sinθ/θ ŵ + (1−cosθ)/θ² ŵ².

    >>> np.round(exp_so3([0.0, 0.0, np.pi / 2]), 15) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    w = as_array(w)
    W = hat(w)
    a, b, _ = exp_coefficients(w @ w)
    result: Matrix3 = np.eye(3) + a * W + b * (W @ W)
    return result


def log_so3(R: Matrix3) -> Vector3:
    """The rotation vector (3,) in rad with e^ŵ = R and |w| ≤ π; accurate near 0 and near π.

    It goes through the unit quaternion, whose half angle has no singular point in [0, π].

    >>> log_so3(exp_so3([1e-9, 0.0, 0.0]))
    array([1.e-09, 0.e+00, 0.e+00])
    """
    return log_quaternion(quaternion_from_matrix(R))


def left_jacobian_so3(w: ArrayLike) -> Matrix3:
    """J (3, 3) with d/dt e^ŵ = (J ẇ)^ e^ŵ: 1 + (1−cosθ)/θ² ŵ + (θ−sinθ)/θ³ ŵ².

    The body angular velocity has J(−w) = J(w)ᵀ in its place.
    """
    w = as_array(w)
    W = hat(w)
    _, b, c = exp_coefficients(w @ w)
    result: Matrix3 = np.eye(3) + b * W + c * (W @ W)
    return result


def left_jacobian_inverse_so3(w: ArrayLike) -> Matrix3:
    """J(w)⁻¹ (3, 3) for |w| < 2π: 1 − ½ŵ + (1 − (θ/2) cot(θ/2))/θ² ŵ²."""
    w = as_array(w)
    W = hat(w)
    t2 = w @ w
    small, t = _angle(t2, 0.25)
    half = 0.5 * t
    closed = (1.0 - half * np.cos(half) / np.sin(half)) / (t * t)
    d = np.where(small, polynomial(np.where(small, t2, 0.0), _COTANGENT), closed)
    result: Matrix3 = np.eye(3) - 0.5 * W + d * (W @ W)
    return result


def rotation_from_rpy(rpy: ArrayLike) -> Matrix3:
    """Rz(yaw) Ry(pitch) Rx(roll) from (roll, pitch, yaw) in rad, as in URDF."""
    roll, pitch, yaw = as_array(rpy)
    return rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)


def rpy_from_rotation(R: ArrayLike) -> Vector3:
    """(roll, pitch, yaw) in rad, pitch in [−π/2, π/2]; the inverse of `rotation_from_rpy`.

    At pitch ±π/2 only yaw ∓ roll is determined; the angles returned then still rebuild R, since
    roll is read from what Rz(yaw)ᵀ leaves of R.

    >>> rpy_from_rotation(rotation_from_rpy([0.5, -0.25, 2.0]))
    array([ 0.5 , -0.25,  2.  ])
    """
    R = as_array(R)
    # within rounding of the poles yaw has no meaning left: call it 0
    c2 = R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0]
    pole = c2 < 1e-28
    yaw = np.where(pole, 0.0, np.arctan2(R[1, 0], np.where(pole, 1.0, R[0, 0])))
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return vector(roll, pitch, yaw)


def rotation_rate(omega: ArrayLike, W: Matrix3) -> Matrix3:
    """Ẇ = ω × W (3, 3) of a rotation W with spatial angular velocity ω (001, eq. 2.5)."""
    return hat(omega) @ W


def angular_velocity(W: Matrix3, W_dot: Matrix3) -> Vector3:
    """ω_i = ½ P_ijk W_jl Ẇ_kl (3,), the spatial angular velocity from Ẇ (001, eq. 2.6)."""
    S = W_dot @ W.T
    return 0.5 * (vee(S) - vee(S.T))
