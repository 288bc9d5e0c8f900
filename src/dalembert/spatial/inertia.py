"""Inertia of rigid bodies: tensor, 6×6 inertia, pseudo-inertias, and their changes of frame.

Inside the package the tensor's off-diagonal entries are −∫xy dm: I = ∫ (|r|² 1 − r rᵀ) dm
(000 p.14, 003). Mass in kg, lengths in m, tensors in kg m².
"""

import numpy as np

from dalembert.errors import InertiaError
from dalembert.spatial.arrays import (
    ArrayLike,
    Matrix3,
    Matrix4,
    Matrix6,
    Pose,
    Scalar,
    Vector3,
    as_array,
    matrix,
)
from dalembert.spatial.rotations import hat, vee
from dalembert.spatial.se3 import Ad


def inertia_tensor(
    ixx: Scalar,
    iyy: Scalar,
    izz: Scalar,
    *,
    ixy: Scalar = 0.0,
    ixz: Scalar = 0.0,
    iyz: Scalar = 0.0,
    products: str = "negative",
) -> Matrix3:
    """The tensor (3, 3) from six numbers.

    `products="negative"`: ixy is the matrix entry −∫xy dm (URDF, MJCF); `"positive"`: ixy is
    the integral ∫xy dm itself (003), which enters the matrix with a minus sign.

    >>> inertia_tensor(2.0, 2.0, 3.0, ixy=0.5, products="positive")[0]
    array([ 2. , -0.5,  0. ])
    """
    if products not in ("negative", "positive"):
        raise InertiaError(
            f"products={products!r}: write 'negative' (−∫xy dm) or 'positive' (∫xy dm)"
        )
    s = 1.0 if products == "negative" else -1.0
    # adding 0 makes −0 a plain 0
    xy, xz, yz = s * ixy + 0.0, s * ixz + 0.0, s * iyz + 0.0
    return matrix([[ixx, xy, xz], [xy, iyy, yz], [xz, yz, izz]])


def parallel_axis(I_c: ArrayLike, mass: Scalar, c: ArrayLike) -> Matrix3:
    """I_c + m (|c|² 1 − c cᵀ) (3, 3): the tensor about a point from which the centre is at `c`.

    A cube about its corner (003):

    >>> parallel_axis(np.eye(3) / 6, 1.0, [0.5, 0.5, 0.5])[0].round(12)
    array([ 0.66666667, -0.25      , -0.25      ])
    """
    c = as_array(c)
    return as_array(I_c) + mass * ((c @ c) * np.eye(3) - np.outer(c, c))


def rotate_tensor(tensor: ArrayLike, R: Matrix3) -> Matrix3:
    """R I Rᵀ (3, 3): a tensor given in frame b, seen in frame a, R = R_ab (000 p.33)."""
    return R @ as_array(tensor) @ R.T


def inertia_of_moments(mass: Scalar, h: ArrayLike, I_o: ArrayLike) -> Matrix6:
    """M = [[m 1, −ĥ], [ĥ, I_o]] (6, 6) of mass, first moment h = m c and tensor about the origin."""
    H = hat(h)
    return np.block([[mass * np.eye(3), -H], [H, as_array(I_o)]])


def spatial_inertia(mass: Scalar, c: ArrayLike, I_c: ArrayLike) -> Matrix6:
    """M = [[m 1, −m ĉ], [m ĉ, I_c − m ĉ²]] (6, 6), the centre of mass at `c` (000 p.38)."""
    return inertia_of_moments(mass, mass * as_array(c), parallel_axis(I_c, mass, c))


def from_spatial_inertia(M: Matrix6) -> tuple[Scalar, Vector3, Matrix3]:
    """(mass, centre (3,), tensor about the centre (3, 3)); without mass the centre is 0."""
    mass = M[0, 0]
    c = _divide_or_zero(vee(M[3:, :3]), mass)
    C = hat(c)
    return mass, c, M[3:, 3:] + mass * (C @ C)


def _divide_or_zero(moment: Vector3, mass: Scalar) -> Vector3:
    """mc / m, and 0 for a body without mass."""
    empty = mass == 0.0
    return np.where(empty, 0.0, moment / np.where(empty, 1.0, mass))


def change_frame(M: Matrix6, g: Pose) -> Matrix6:
    """Ad_gᵀ M Ad_g (6, 6): inertia given in frame a, seen in frame b, g = g_ab (000 p.36)."""
    A = Ad(g)
    return A.T @ M @ A


def silver_tensor(tensor: ArrayLike) -> Matrix3:
    """J = ½ tr(I) 1 − I = ∫ r rᵀ dm (3, 3) (001, eq. 2.7 and 2.11).

    >>> silver_tensor(np.diag([5.0, 4.0, 3.0])).diagonal()
    array([1., 2., 3.])
    """
    tensor = as_array(tensor)
    return 0.5 * np.trace(tensor) * np.eye(3) - tensor


def from_silver_tensor(J: ArrayLike) -> Matrix3:
    """I = tr(J) 1 − J (3, 3) (001, eq. 2.11)."""
    J = as_array(J)
    return np.trace(J) * np.eye(3) - J


def pseudo_inertia(mass: Scalar, c: ArrayLike, I_c: ArrayLike) -> Matrix4:
    """Uicker's ∫ (r, 1)(r, 1)ᵀ dm = [[J_o, m c], [m cᵀ, m]] (4, 4), J_o = J_c + m c cᵀ."""
    return pseudo_inertia_of_moments(mass, mass * as_array(c), parallel_axis(I_c, mass, c))


def pseudo_inertia_of_moments(mass: Scalar, h: Vector3, I_o: ArrayLike) -> Matrix4:
    """[[J_o, h], [hᵀ, m]] (4, 4) of mass, first moment h = m c and tensor about the origin."""
    column = h.reshape(3, 1)
    return np.block([[silver_tensor(I_o), column], [column.T, mass * np.ones((1, 1))]])


def from_pseudo_inertia(P: Matrix4) -> tuple[Scalar, Vector3, Matrix3]:
    """(mass, centre (3,), tensor about the centre (3, 3)); without mass the centre is 0."""
    mass, moment = P[3, 3], P[:3, 3]
    c = _divide_or_zero(moment, mass)
    return mass, c, from_silver_tensor(P[:3, :3] - np.outer(moment, c))
