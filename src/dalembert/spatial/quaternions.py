"""Quaternions (x, y, z, w), w the scalar part: rotations without singular points."""

import numpy as np

from dalembert.spatial.arrays import (
    Array,
    ArrayLike,
    Matrix,
    Matrix3,
    Quaternion,
    Vector3,
    as_array,
    matrix,
    polynomial,
    vector,
)

# atan(x)/x in powers of x²; for x² < 1e-3 the first omitted term is < 1e-18
_ARCTAN = [(-1) ** k / (2 * k + 1) for k in range(6)]
# cos(h) and sin(h)/h in powers of h²; for h² < 1/4 the first omitted term is < 1e-18
_COS = [1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200]
_SINC = [c / (2 * k + 1) for k, c in enumerate(_COS)]


def identity_quaternion() -> Quaternion:
    """The quaternion (0, 0, 0, 1) of no rotation."""
    return np.array([0.0, 0.0, 0.0, 1.0])


def matrix_from_quaternion(q: ArrayLike) -> Matrix3:
    """Rotation (3, 3) of any nonzero quaternion `q` (4,): the quadratic form divided by |q|².

    >>> matrix_from_quaternion([0.0, 0.0, 2.0, 2.0]) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    q = as_array(q)
    x, y, z, w = q
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    rows = [
        [ww + xx - yy - zz, 2.0 * (xy - wz), 2.0 * (xz + wy)],
        [2.0 * (xy + wz), ww - xx + yy - zz, 2.0 * (yz - wx)],
        [2.0 * (xz - wy), 2.0 * (yz + wx), ww - xx - yy + zz],
    ]
    result: Matrix3 = matrix(rows) / (xx + yy + zz + ww)
    return result


def quaternion_from_matrix(R: ArrayLike) -> Quaternion:
    """The unit quaternion (4,) of a rotation, with w ≥ 0.

    Each column of 4 q qᵀ is linear in R; the one of the largest component, at least 2 long,
    is normalised (Shepperd), so there is no division by a small number anywhere.

    >>> quaternion_from_matrix(np.diag([1.0, -1.0, -1.0]))
    array([1., 0., 0., 0.])
    """
    R = as_array(R)
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[1, 0] + R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2]
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    by_x = vector(1.0 + xx - yy - zz, d, e, a)
    by_y = vector(d, 1.0 - xx + yy - zz, f, b)
    by_z = vector(e, f, 1.0 - xx - yy + zz, c)
    by_w = vector(a, b, c, 1.0 + xx + yy + zz)
    q: Array = np.where(by_x[0] < by_y[1], by_y, by_x)
    q = np.where(np.maximum(by_x[0], by_y[1]) < by_z[2], by_z, q)
    q = np.where(np.maximum(np.maximum(by_x[0], by_y[1]), by_z[2]) < by_w[3], by_w, q)
    result: Quaternion = q * (np.where(q[3] < 0.0, -1.0, 1.0) / np.sqrt(q @ q))
    return result


def product(p: ArrayLike, q: ArrayLike) -> Quaternion:
    """The quaternion product p ⊗ q (4,): first q, then p, as R(p) R(q).

    >>> product([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0])
    array([0., 0., 1., 0.])
    """
    p, q = as_array(p), as_array(q)
    u, v = p[:3], q[:3]
    scalar = p[3] * q[3] - u @ v
    return np.concatenate([p[3] * v + q[3] * u + np.cross(u, v), vector(scalar)])


def conjugate(q: ArrayLike) -> Quaternion:
    """(−x, −y, −z, w) (4,), the inverse of a unit quaternion."""
    result: Quaternion = as_array(q) * np.array([-1.0, -1.0, -1.0, 1.0])
    return result


def normalise(q: ArrayLike) -> Quaternion:
    """q / |q| (4,)."""
    q = as_array(q)
    return q / np.sqrt(q @ q)


def exp_quaternion(w: ArrayLike) -> Quaternion:
    """The unit quaternion (4,) of the rotation vector `w` (3,) in rad: (sin(θ/2) w/θ, cos(θ/2)).

    >>> exp_quaternion([0.0, 0.0, np.pi]).round(15)
    array([0., 0., 1., 0.])
    """
    h = 0.5 * as_array(w)
    h2 = h @ h
    small = h2 < 0.25
    angle = np.sqrt(np.where(small, 1.0, h2))
    s2 = np.where(small, h2, 0.0)
    sinc = np.where(small, polynomial(s2, _SINC), np.sin(angle) / angle)
    cosine = np.where(small, polynomial(s2, _COS), np.cos(angle))
    return np.concatenate([sinc * h, vector(cosine)])


def log_quaternion(q: ArrayLike) -> Vector3:
    """The rotation vector (3,) in rad, |w| ≤ π, of a nonzero quaternion: 2 atan2(|v|, w) v/|v|."""
    q = as_array(q)
    q = q * np.where(q[3] < 0.0, -1.0, 1.0)
    v, w = q[:3], q[3]
    v2 = v @ v
    small = v2 < 1e-3 * w * w
    length = np.sqrt(np.where(small, 1.0, v2))
    positive = np.where(small, w, 1.0)
    series = polynomial(np.where(small, v2, 0.0) / (positive * positive), _ARCTAN) / positive
    result: Vector3 = 2.0 * np.where(small, series, np.arctan2(length, w) / length) * v
    return result


def integrate(q: ArrayLike, body_rotation: Vector3) -> Quaternion:
    """q ⊗ exp(φ) (4,): from `q`, turn by the rotation vector φ = ω Δt (3,) seen in the body.

    >>> integrate([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, np.pi]).round(15)
    array([0., 0., 1., 0.])
    """
    return product(q, exp_quaternion(body_rotation))


def difference(q0: Quaternion, q1: Quaternion) -> Vector3:
    """The rotation vector (3,) in rad in the body of q0 that `integrate` needs to reach q1."""
    return log_quaternion(product(conjugate(q0), q1))


def rate_map(q: ArrayLike) -> Matrix:
    """E(q) (4, 3) in q̇ = ½ q ⊗ (ω, 0) = E(q) ω, ω the body angular velocity.

    >>> rate_map([0.0, 0.0, 0.0, 1.0]) @ [0.0, 0.0, 1.0]
    array([0. , 0. , 0.5, 0. ])
    """
    x, y, z, w = as_array(q)
    return 0.5 * matrix([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
