"""Inertia tensors of solids of uniform density, of point masses and of sampled densities.

Tensors (3, 3) in kg m² are about the centre of mass, axes along the shape's own; cylinder,
capsule and rod lie along z.
"""

import numpy as np

from dalembert.errors import InertiaError, ShapeError
from dalembert.spatial.arrays import (
    ArrayLike,
    Matrix3,
    Scalar,
    Vector3,
    as_array,
    is_numeric,
    vector,
)
from dalembert.spatial.inertia import from_silver_tensor


def _from_second_moments(mass: Scalar, xx: Scalar, yy: Scalar, zz: Scalar) -> Matrix3:
    """The tensor of a body from its mean squares of x, y and z: I_xx = m(⟨y²⟩ + ⟨z²⟩)."""
    result: Matrix3 = mass * np.diag(vector(yy + zz, xx + zz, xx + yy))
    return result


def box_inertia(mass: Scalar, size: ArrayLike) -> Matrix3:
    """A box with edges `size` = (l, w, h): I_xx = m (w² + h²)/12 and so on (000 p.15).

    >>> box_inertia(12.0, [1.0, 2.0, 3.0]).diagonal()
    array([13., 10.,  5.])
    """
    x, y, z = as_array(size)
    return _from_second_moments(mass, x * x / 12.0, y * y / 12.0, z * z / 12.0)


def cylinder_inertia(mass: Scalar, radius: Scalar, length: Scalar) -> Matrix3:
    """A solid cylinder along z: I_zz = m r²/2, I_xx = m (3 r² + l²)/12."""
    across = radius * radius / 4.0
    return _from_second_moments(mass, across, across, length * length / 12.0)


def capsule_inertia(mass: Scalar, radius: Scalar, length: Scalar) -> Matrix3:
    """A solid capsule along z: a cylinder of `length` between two half balls.

    >>> np.allclose(capsule_inertia(3.0, 2.0, 0.0), sphere_inertia(3.0, 2.0))
    True
    """
    r2, ball = radius * radius, 4.0 * radius / 3.0
    # shares of the volume π r² (l + 4r/3); half balls have their centres 3r/8 beyond the ends
    cylinder, balls = length / (length + ball), ball / (length + ball)
    across = cylinder * r2 / 4.0 + balls * r2 / 5.0
    ends = r2 / 5.0 + length * length / 4.0 + 3.0 * length * radius / 8.0
    return _from_second_moments(
        mass, across, across, cylinder * length * length / 12.0 + balls * ends
    )


def sphere_inertia(mass: Scalar, radius: Scalar) -> Matrix3:
    """A solid ball: (2/5) m r² 1."""
    result: Matrix3 = 0.4 * mass * radius * radius * np.eye(3)
    return result


def ellipsoid_inertia(mass: Scalar, semi_axes: ArrayLike) -> Matrix3:
    """A solid ellipsoid: I_xx = m (b² + c²)/5 and so on, semi-axes (a, b, c)."""
    a, b, c = as_array(semi_axes)
    return _from_second_moments(mass, a * a / 5.0, b * b / 5.0, c * c / 5.0)


def rod_inertia(mass: Scalar, length: Scalar) -> Matrix3:
    """A thin rod along z: I_xx = I_yy = m l²/12, I_zz = 0."""
    return _from_second_moments(mass, 0.0, 0.0, length * length / 12.0)


def point_masses(masses: ArrayLike, points: ArrayLike) -> tuple[Scalar, Vector3, Matrix3]:
    """(mass, centre (3,), tensor about the centre) of `masses` (n,) at `points` (n, 3).

    >>> m, c, tensor = point_masses([1.0, 3.0], [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    >>> float(m), c, tensor.diagonal()
    (4.0, array([3., 0., 0.]), array([ 0., 12., 12.]))
    """
    masses, points = as_array(masses), as_array(points)
    if len(points.shape) != 2 or points.shape[1] != 3 or masses.shape != points.shape[:1]:
        raise ShapeError(
            f"point_masses: masses {masses.shape} and points {points.shape} must be (n,) and (n, 3)"
        )
    mass = np.sum(masses)
    if is_numeric(mass) and not mass > 0.0:
        raise InertiaError(
            f"point_masses: the masses sum to {mass:g} kg; the centre needs mass > 0"
        )
    c = (masses @ points) / mass
    r = points - c
    J = r.T @ (masses.reshape(-1, 1) * r)
    return mass, c, from_silver_tensor(J)


def sampled_density(
    density: ArrayLike, spacing: ArrayLike, origin: ArrayLike = (0.0, 0.0, 0.0)
) -> tuple[float, Vector3, Matrix3]:
    """(mass, centre (3,), tensor about the centre) of a density in kg/m³ on a grid of cells.

    `density` (nx, ny, nz) is constant in each cell of size `spacing` (3,), the corner of the first
    cell at `origin` (3,). Each cell counts as a small box, so that a body made of whole cells
    comes out exactly (000 p.12–14).

    >>> m, c, tensor = sampled_density(np.ones((2, 4, 6)), [0.5, 0.5, 0.5])
    >>> m, c, np.allclose(tensor, box_inertia(m, [1.0, 2.0, 3.0]))
    (6.0, array([0.5, 1. , 1.5]), True)
    """
    density, h = np.asarray(density, dtype=float), np.asarray(spacing, dtype=float)
    if density.ndim != 3 or h.shape != (3,):
        raise ShapeError(
            f"sampled_density: density {density.shape} and spacing {h.shape} must be "
            "(nx, ny, nz) and (3,)"
        )
    centres = [
        o + s * (np.arange(n) + 0.5) for o, s, n in zip(origin, h, density.shape, strict=True)
    ]
    points = np.stack(np.meshgrid(*centres, indexing="ij"), axis=-1).reshape(-1, 3)
    mass, c, tensor = point_masses(density.ravel() * np.prod(h), points)
    return float(mass), c, tensor + box_inertia(float(mass), h)
