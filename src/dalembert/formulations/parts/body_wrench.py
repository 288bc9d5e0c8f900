"""Force and moment of one body in motion, by d'Alembert's sum over its particles.

A particle at r in the body frame accelerates with a + U r, where a is the acceleration of the frame's
origin and U = ω̇^ + ω^ω^. Summed over the body, with h = ∫ r dm and Σ = ∫ r rᵀ dm,

    f = ∫ (a + U r) dm         = m a + U h
    n = ∫ r × (a + U r) dm     = h × a + 2 vee skew(U Σ)

which is Newton's and Euler's equation about the origin (001 (1.3); 003), with fewer products: Σ is
Silver's tensor J = ½ tr(I) 1 − I (001 (2.11)).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.model import Body
from dalembert.spatial.arrays import Matrix3, Scalar, Vector3
from dalembert.spatial.placement import Force


def acceleration_matrix(omega: Vector3, alpha: Vector3) -> Matrix3:
    """U = ω̇^ + ω^ω^ (3, 3): the acceleration of a point at r, less the origin's, is U r."""
    return _with_products(alpha, lambda i, j: omega[i] * omega[j])


def acceleration_slope(omega: Vector3, d_omega: Vector3, d_alpha: Vector3) -> Matrix3:
    """δU = δα^ + δω^ω^ + ω^δω^ (3, 3): the change of U with ω and α."""

    def product(i: int, j: int) -> Scalar:
        if i == j:
            return 2.0 * omega[i] * d_omega[i]
        return omega[i] * d_omega[j] + d_omega[i] * omega[j]

    return _with_products(d_alpha, product)


def _with_products(alpha: Vector3, product: Callable[[int, int], Scalar]) -> Matrix3:
    xx, yy, zz = (product(i, i) for i in range(3))
    xy, xz, yz = product(0, 1), product(0, 2), product(1, 2)
    rows = [
        [-yy - zz, xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -xx - zz, yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -xx - yy],
    ]
    return np.stack([np.stack(row) for row in rows])


def inertial_wrench(body: Body, a: Vector3, U: Matrix3) -> Force:
    """(f, n) about the body frame's origin that its motion demands, in the body frame."""
    return wrench_of_moments(body.mass, body.moment, body.second_moment, a, U)


def wrench_of_moments(m: Scalar, h: Vector3, sigma: Matrix3, a: Vector3, U: Matrix3) -> Force:
    """(f, n) of particles with these moments about the origin that accelerate by a + U r."""
    return m * a + U @ h, np.cross(h, a) + _moment(U, sigma)


def _moment(U: Matrix3, J: Matrix3) -> Vector3:
    """2 vee skew(U J), grouped so that each product of inertia multiplies once."""

    def component(i: int, j: int, k: int) -> Scalar:
        # entry (k, j) less entry (j, k) of U J, for (i, j, k) cyclic
        return (
            U[k, j] * J[j, j]
            - U[j, k] * J[k, k]
            + U[k, i] * J[i, j]
            - U[j, i] * J[i, k]
            + (U[k, k] - U[j, j]) * J[j, k]
        )

    return np.stack([component(0, 1, 2), component(1, 2, 0), component(2, 0, 1)])
