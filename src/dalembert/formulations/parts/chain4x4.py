"""A tree of links as products of 4×4 matrices, W_j = A_1 … A_j (001 §1.2), and what drives them.

A_i(q_i) takes link i's coordinates to its parent's, and ∂A_i/∂q_i = A_i Q_i with a constant Q_i,
since the joint's twist is constant in its own link. (Uicker's Q_i stands in front: his joints turn
about the axes of the link before.)

A joint of several degrees has one Q_k for each, and "∂/∂q_k" is then the change of W along the k-th
component of its velocity. Such directions are no coordinates, but d'Alembert's principle asks only
for virtual displacements, so every trace stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.parts.weight import by_base
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix4, Pose, Scalar, Twist, Vector, Wrench
from dalembert.spatial.inertia import pseudo_inertia_of_moments
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import hat_se3, pose


class Moving(NamedTuple):
    """W, Ẇ, Ẅ (4, 4) of a frame, in the base's coordinates."""

    W: Pose
    rate: Matrix4
    acceleration: Matrix4


def link_matrices(model: Model, q: Vector) -> list[Pose]:
    """A_i (4, 4) of every link: its frame in its parent's."""
    return [pose(*body.transform(q)) for body in model.bodies]


def differentiation_matrices(body: Body) -> list[Matrix4]:
    """Q_k (4, 4) of each velocity component of a joint: ∂A/∂q_k = A Q_k."""
    return [hat_se3(body.subspace[:, k]) for k in range(body.chart.nv)]


def base_matrices(
    model: Model, base_twist: Twist | None, base_acceleration: Twist | None, gravity: str
) -> Moving:
    """W_0 = 1, Ẇ_0 = V̂_0, Ẅ_0 = V̂_0² + V̂̇_0; gravity by "base" adds −g to the last column."""
    rate = np.zeros((4, 4)) if base_twist is None else hat_se3(base_twist)
    acceleration = rate @ rate
    if base_acceleration is not None:
        acceleration = acceleration + hat_se3(base_acceleration)
    if by_base(gravity):
        acceleration = acceleration - hat_se3(np.concatenate([model.gravity, np.zeros(3)]))
    return Moving(np.eye(4), rate, acceleration)


def inertia_matrix(body: Body) -> Matrix4:
    """Uicker's J = ∫ (r, 1)(r, 1)ᵀ dm (4, 4), in link coordinates."""
    return pseudo_inertia_of_moments(body.mass, body.moment, body.inertia)


def mass_vector(body: Body) -> Vector:
    """∫ (r, 1) dm = m (c, 1) (4,), in link coordinates."""
    return np.concatenate([body.moment, np.stack([body.mass])])


def tip_matrix(model: Model, W: Pose, tip_wrench: Wrench) -> Matrix4:
    """T Φᵀ (4, 4) of a wrench F_t at the tool, to be added to J Ẅᵀ of the link W that carries it.

    With W_t = W T the tool's frame and R its rotation, the work of F_t = (f, n) is
    f·Rᵀδp + n·vee(RᵀδR) = tr(δW_t Φᵀ), Φ = [[½ R n^, R f], [0, 0]].
    """
    tool = model.frame(model.tool)
    R = W[0:3, 0:3] @ tool.rotation
    turned = 0.5 * (R @ hat(tip_wrench[3:6]))
    top = np.concatenate([turned, (R @ tip_wrench[0:3]).reshape(3, 1)], axis=1)
    return pose(tool.rotation, tool.translation) @ np.concatenate([top, np.zeros((1, 4))]).T


def trace_of_product(A: Matrix, B: Matrix) -> Scalar:
    """tr(A Bᵀ): the sum of the products of their entries."""
    return np.sum(A * B)
