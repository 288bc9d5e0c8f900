"""Inertia of rigid bodies: tensor, 6×6 inertia, pseudo-inertias, changes of frame, consistency.

Inside the package the tensor's off-diagonal entries are −∫xy dm: I = ∫ (|r|² 1 − r rᵀ) dm
(000 p.14, 003). Mass in kg, lengths in m, tensors in kg m².

Mass, centre and tensor are those of a real body exactly when Uicker's 4×4 pseudo-inertia
∫ (r, 1)(r, 1)ᵀ dm is positive semidefinite, that is when m ≥ 0 and the principal moments satisfy the
triangle inequality I₁ + I₂ ≥ I₃ about the centre of mass. Bodies on the border are valid: point
masses, thin rods, flat plates, and links without mass.

Ten free numbers parametrise all real bodies: P = U Uᵀ with U upper triangular,

    U = e^α [[e^d₁, s₁₂, s₁₃, t₁], [0, e^d₂, s₂₃, t₂], [0, 0, e^d₃, t₃], [0, 0, 0, 1]],

so that steps along a gradient by (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃) never lead to a negative
mass or to moments that violate the triangle inequality (Rucker and Wensing 2022). t is the centre of
mass.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import InertiaError
from dalembert.spatial.arrays import (
    Array,
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
    result: Matrix3 = as_array(I_c) + mass * ((c @ c) * np.eye(3) - np.outer(c, c))
    return result


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
    result: Matrix3 = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return result


def from_silver_tensor(J: ArrayLike) -> Matrix3:
    """I = tr(J) 1 − J (3, 3) (001, eq. 2.11)."""
    J = as_array(J)
    result: Matrix3 = np.trace(J) * np.eye(3) - J
    return result


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


# Relative to the largest principal moment. Files print six digits, and a rod or plate, which
# lies on the border, rounded to six digits falls outside it by up to a few 1e-6.
TOLERANCE = 4e-6


def inertia_faults(
    mass: float, com: ArrayLike, tensor: ArrayLike, tolerance: float = TOLERANCE
) -> list[str]:
    """Faults of mass (kg), centre (3,) (m) and tensor about the centre (3, 3) (kg m²).

    Each fault is half a sentence; an empty list means that a body can have this inertia.

    >>> inertia_faults(1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]))
    ['principal moments 1, 1, 3 kg m² violate the triangle inequality by 1 kg m²']
    """
    com, tensor = np.asarray(com, dtype=float), np.asarray(tensor, dtype=float)
    faults = []
    if com.shape != (3,):
        faults.append(f"centre of mass has shape {com.shape}, not (3,)")
    if tensor.shape != (3, 3):
        faults.append(f"inertia tensor has shape {tensor.shape}, not (3, 3)")
    if faults:
        return faults
    for label, value in (("mass", mass), ("centre of mass", com), ("inertia tensor", tensor)):
        if not np.all(np.isfinite(value)):
            numbers = np.array2string(np.asarray(value), precision=6, separator=", ")
            faults.append(f"{label} is not finite: {numbers.replace(chr(10), '')}")
    if faults:
        return faults
    if mass < 0.0:
        faults.append(f"mass {mass:g} kg is negative")
    asymmetry = np.abs(tensor - tensor.T)
    if np.max(asymmetry) > tolerance * np.max(np.abs(tensor)):
        i, j = np.unravel_index(np.argmax(asymmetry), (3, 3))
        faults.append(
            f"inertia tensor is not symmetric: entry ({i}, {j}) is {tensor[i, j]:g}, "
            f"entry ({j}, {i}) is {tensor[j, i]:g}"
        )
        return faults
    moments = np.linalg.eigvalsh(0.5 * (tensor + tensor.T))
    listed = f"principal moments {', '.join(f'{value:.6g}' for value in moments)} kg m²"
    negative, excess = moment_violations(moments, tolerance)
    if negative > 0.0:
        faults.append(f"{listed} must not be negative")
    elif excess > 0.0:
        faults.append(f"{listed} violate the triangle inequality by {excess:.3g} kg m²")
    return faults


def moment_violations(moments: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """(negative, excess): minus the smallest of ascending moments (..., 3), and I₃ − I₁ − I₂.

    Both (...), kg m², zero where they are within the tolerance.
    """
    border = tolerance * np.max(np.abs(moments), axis=-1)
    # the smallest eigenvalue of ½ tr(I) 1 − I is half of this sum, negated
    excess = moments[..., 2] - moments[..., 0] - moments[..., 1]
    negative = -moments[..., 0]
    return np.where(negative > border, negative, 0.0), np.where(excess > border, excess, 0.0)


def check_inertia(
    mass: float, com: ArrayLike, tensor: ArrayLike, name: str = "body", tolerance: float = TOLERANCE
) -> tuple[float, Vector3, Matrix3]:
    """Raise `InertiaError`, naming the body and every fault, unless the inertia is physical.

    Returns mass, centre and the tensor made exactly symmetric, all as floats.

    >>> mass, com, tensor = check_inertia(1.0, [0, 0, 0], np.zeros((3, 3)), name="point")
    >>> check_inertia(-1.0, [0, 0, 0], np.eye(3), name="forearm")
    Traceback (most recent call last):
    ...
    dalembert.errors.InertiaError: inertia of 'forearm': mass -1 kg is negative
    """
    faults = inertia_faults(mass, com, tensor, tolerance)
    if faults:
        raise InertiaError(f"inertia of {name!r}: {'; '.join(faults)}")
    tensor = np.asarray(tensor, dtype=float)
    return float(mass), np.asarray(com, dtype=float), 0.5 * (tensor + tensor.T)


def log_cholesky(mass: float, moment: ArrayLike, inertia: ArrayLike, name: str = "body") -> Array:
    """The ten numbers of a body: mass, first moment and tensor about the origin of its frame.

    >>> log_cholesky(1.0, [0, 0, 0], np.diag([2.0, 2.0, 2.0])).round(3) + 0.0
    array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """
    P = pseudo_inertia_of_moments(mass, np.asarray(moment, float), np.asarray(inertia, float))
    try:
        # the factor of P read backwards is lower triangular
        U = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise InertiaError(
            f"inertia of {name!r}: expected a body of three dimensions, got one without extent in "
            "some direction (a point, a rod, a plate, no mass), which has no logarithmic parameters; "
            "give it some thickness"
        ) from None
    u = U / U[3, 3]
    shears = [u[0, 1], u[1, 2], u[0, 2]]
    return np.array([np.log(U[3, 3]), *np.log(np.diag(u)[:3]), *shears, *u[:3, 3]])


def from_log_cholesky(x: Array) -> tuple[Scalar, Vector3, Matrix3]:
    """(mass, first moment (3,), tensor about the origin (3, 3)) of ten numbers, traceable."""
    zero, one = np.zeros(()), np.ones(())
    alpha, d, (s12, s23, s13), t = x[0], np.exp(x[1:4]), (x[4], x[5], x[6]), x[7:10]
    rows = [[d[0], s12, s13, t[0]], [zero, d[1], s23, t[1]], [zero, zero, d[2], t[2]]]
    U = np.exp(alpha) * np.stack([np.stack(row) for row in [*rows, [zero, zero, zero, one]]])
    P = U @ U.T
    return P[3, 3], P[:3, 3], from_silver_tensor(P[:3, :3])
