"""Gravity torque: by Jacobians of the mass centres, by the potential, or as motion of the base."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.mass.jacobian_mass import center_jacobians
from dalembert.formulations.parts.elements import add, conservative
from dalembert.formulations.parts.weight import by_base, weight_torque
from dalembert.model import Model
from dalembert.spatial.arrays import Twist, Vector


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,) = −Σ J_vᵀ m g (003), and ∂U/∂q of the elements."""
    torques = [
        -(J_v.T @ (body.mass * model.gravity))
        for body, (J_v, _) in zip(model.bodies, center_jacobians(model, q), strict=True)
    ]
    return add(sum(torques[1:], torques[0]), conservative(model, q))


def gravity_torque_by_potential(model: Model, q: Vector) -> Vector:
    """N (nv,) = ∂U/∂q of U = −gᵀ Σ m p_C (003; 000 p.22) and of the elements."""
    return add(weight_torque(model, q), conservative(model, q))


def as_base_or_torque(model: Model, q: Vector, gravity: str) -> tuple[Twist, Vector]:
    """(acceleration of the base (6,), torque (nv,)) that stand for gravity, one of them zero."""
    if by_base(gravity):
        return np.concatenate([-model.gravity, np.zeros(3)]), np.zeros(model.nv)
    return np.zeros(6), weight_torque(model, q)
