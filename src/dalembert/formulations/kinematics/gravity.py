"""Gravity torque: by Jacobians of the mass centres, by the potential, or as motion of the base."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.mass.jacobian_mass import center_jacobians
from dalembert.formulations.parts.sweep import inward, transforms
from dalembert.formulations.parts.weight import by_base
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Twist, Vector


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,) = −Σ J_vᵀ m g (003)."""
    torques = [
        -(J_v.T @ (body.mass * model.gravity))
        for body, (J_v, _) in zip(model.bodies, center_jacobians(model, q), strict=True)
    ]
    return sum(torques[1:], torques[0])


def gravity_torque_by_potential(model: Model, q: Vector) -> Vector:
    """N (nv,) = ∂U/∂q of U = −gᵀ Σ m p_C (003; 000 p.22).

    Joint i moves all that it carries, with mass m and first moment h in its frame C_i, as one
    body: U depends on q_i through −(g, 0)ᵀ g_i (h, m), and ∂g_i/∂q_i = g_i ξ̂_i.
    """
    placed = transforms(model, q)

    def step(i: int, body: Body, children: list[tuple[int, Vector]]) -> Vector:
        moment = np.concatenate([body.moment, body.mass * np.ones(1)])
        for child, carried in children:
            moment = moment + se3.pose(*placed[child]) @ carried
        return moment

    moments, poses = inward(model, step), body_poses(model, q)
    slopes = []
    for body, (R, _), moment in zip(model.bodies, poses, moments, strict=True):
        falling = R.T @ model.gravity
        for k in range(body.chart.nv):
            slopes.append(-(falling @ (se3.hat_se3(body.subspace[:, k]) @ moment)[0:3]))
    return np.stack(slopes)


def as_base_or_torque(model: Model, q: Vector, gravity: str) -> tuple[Twist, Vector]:
    """(acceleration of the base (6,), torque (nv,)) that stand for gravity, one of them zero."""
    if by_base(gravity):
        return np.concatenate([-model.gravity, np.zeros(3)]), np.zeros(model.nv)
    return np.zeros(6), gravity_torque_by_potential(model, q)
