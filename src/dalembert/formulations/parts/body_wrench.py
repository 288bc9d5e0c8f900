"""Force and moment of one body in motion, by d'Alembert's sum over its particles.

A particle at r in the body frame accelerates with a + U r, where a is the acceleration of the frame's
origin and U = ω̇^ + ω^ω^. Summed over the body, with h = ∫ r dm and Σ = ∫ r rᵀ dm,

    f = ∫ (a + U r) dm         = m a + U h
    n = ∫ r × (a + U r) dm     = h × a + 2 vee skew(U Σ)

which is Newton's and Euler's equation about the origin (001 (1.3); 003), with fewer products: Σ is
Silver's tensor J = ½ tr(I) 1 − I (001 (2.11)).
"""

from __future__ import annotations

import numpy as np

from dalembert.model import Body
from dalembert.spatial.arrays import Matrix3, Scalar, Vector3
from dalembert.spatial.placement import Force


def acceleration_matrix(omega: Vector3, alpha: Vector3) -> Matrix3:
    """U = ω̇^ + ω^ω^ (3, 3): the acceleration of a point at r, less the origin's, is U r."""
    x, y, z = omega[0], omega[1], omega[2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    rows = [
        [-yy - zz, xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -xx - zz, yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -xx - yy],
    ]
    return np.stack([np.stack(row) for row in rows])


def inertial_wrench(body: Body, a: Vector3, U: Matrix3) -> Force:
    """(f, n) about the body frame's origin that its motion demands, in the body frame."""
    h, sigma = body.moment, body.second_moment
    return body.mass * a + U @ h, np.cross(h, a) + _moment(U, sigma)


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
