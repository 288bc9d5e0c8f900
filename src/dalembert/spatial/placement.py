"""The change of frame, spelled once: a frame placed in its parent's, and what passes between them.

R and p are rotation and origin of the child frame in the parent's. A motion is the velocity of the
frame's origin with the angular velocity, (v, ω); a force is taken about the origin, (f, n). Each
function has the form with the fewest operations: with Ad of `se3` as (6, 6) matrices,

    motion to child    Ad_{g⁻¹} V      (Rᵀ(v + ω × p), Rᵀω)
    motion to parent   Ad_g V          (R v − R ω × p, R ω)
    force to parent    Ad_{g⁻¹}ᵀ F     (R f, R n + p × R f)
    force to child     Ad_gᵀ F         (Rᵀf, Rᵀ(n + f × p))
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from dalembert.spatial.arrays import Array, Matrix3, Twist, Vector3, Wrench

Motion: TypeAlias = tuple[Vector3, Vector3]  # v of the origin, ω
Force: TypeAlias = tuple[Vector3, Vector3]  # f, n about the origin


class Placement(NamedTuple):
    """A frame in its parent's: rotation R (3, 3) and origin p (3,) in m.

    >>> turned = Placement(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([2.0, 0, 0]))
    >>> turned.motion_to_child((np.zeros(3), np.array([0, 0, 1.0])))
    (array([2., 0., 0.]), array([0., 0., 1.]))
    >>> turned.force_to_parent((np.array([1.0, 0, 0]), np.zeros(3)))
    (array([0., 1., 0.]), array([0., 0., 2.]))
    """

    R: Matrix3
    p: Vector3

    def then(self, inner: Placement) -> Placement:
        """A frame placed in this one, as seen from this one's parent."""
        return Placement(self.R @ inner.R, self.p + self.R @ inner.p)

    def motion_to_child(self, motion: Motion) -> Motion:
        """The same rigid motion at the child's origin, in its axes."""
        v, omega = motion
        return self.R.T @ (v + np.cross(omega, self.p)), self.R.T @ omega

    def motion_to_parent(self, motion: Motion) -> Motion:
        """The same rigid motion at the parent's origin, in its axes."""
        omega = self.R @ motion[1]
        return self.R @ motion[0] - np.cross(omega, self.p), omega

    def force_to_parent(self, force: Force) -> Force:
        """The same force about the parent's origin, in its axes; (3,), or columns (3, k) of them."""
        f = self.R @ force[0]
        return f, self.R @ force[1] + cross(self.p, f)

    def force_to_child(self, force: Force) -> Force:
        """The same force about the child's origin, in its axes: a screw as motions are, (n, f)."""
        n, f = self.motion_to_child((force[1], force[0]))
        return f, n

    def acceleration_to_child(self, a: Vector3, U: Matrix3) -> Vector3:
        """Acceleration of the child's origin, in its axes: the parent's moves as r̈ = a + U r."""
        return self.R.T @ (a + U @ self.p)


IDENTITY = Placement(np.eye(3), np.zeros(3))


def cross(vector: Vector3, other: Array) -> Array:
    """vector × other, a (3,) vector or the columns of a (3, k) matrix."""
    if other.ndim == 1:
        return np.cross(vector, other)
    return np.stack([np.cross(vector, other[:, k]) for k in range(other.shape[1])]).T


def split(six: Twist | Wrench) -> tuple[Vector3, Vector3]:
    """The two halves of a twist or wrench (6,)."""
    return six[0:3], six[3:6]
