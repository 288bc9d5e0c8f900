"""Inverse dynamics as a linear function of the inertial parameters: τ = Y(q, q̇, q̈) θ.

Khalil and Dombre 2002, ch. 12. θ contains ten numbers per body, in its frame (origin and z on the
joint axis): the mass m, the first moment h = m c and the tensor about the origin I_xx, I_xy, I_xz,
I_yy, I_yz, I_zz. A joint with the twist (s, w) at the body has of that body the torque

    τ = m (s·a) + h·(Uᵀ s + a × w) + I : (w αᵀ + (w × ω) ωᵀ)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.formulations.inverse.newton_euler import LinkMotion, motions
from dalembert.formulations.parts.inputs import Inputs
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Matrix3, Vector
from dalembert.spatial.inertia import from_log_cholesky, log_cholesky
from dalembert.spatial.se3 import Motion
from dalembert.tracing import is_symbolic

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PER_BODY = len(NAMES)
# upper entries of the tensor, in the order of NAMES
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def inertial_parameters(model: Model) -> Vector:
    """θ (10 bodies,): per body its mass, first moment, and tensor about the origin of its frame.

    The frame has its origin and z on the joint axis; the tensor's products are its entries.
    """
    parameters = []
    for body in model.bodies:
        h, tensor = body.moment, body.inertia
        entries = [body.mass, h[0], h[1], h[2], *(tensor[i, j] for i, j in UPPER)]
        parameters.append(np.stack(entries))
    return np.concatenate(parameters)


def log_cholesky_parameters(theta: Vector) -> Vector:
    """Free numbers (10 bodies,) for θ (10 bodies,), numbers too; see `spatial.log_cholesky`."""
    rows = np.asarray(theta, dtype=float).reshape(-1, PER_BODY)
    bodies = ((row[0], row[1:4], _tensor(row[4:])) for row in rows)
    logs = [log_cholesky(*body, name=f"body {i}") for i, body in enumerate(bodies, 1)]
    return np.concatenate(logs)


def physical_parameters(x: Vector) -> Vector:
    """θ (10 bodies,) of free numbers x (10 bodies,): inertias of real bodies, whatever they are."""
    theta = []
    for i in range(0, x.shape[0], PER_BODY):
        mass, h, tensor = from_log_cholesky(x[i : i + PER_BODY])
        theta += [mass, h[0], h[1], h[2], *(tensor[k, l] for k, l in UPPER)]
    return np.stack(theta)


def inertial_names(model: Model) -> tuple[str, ...]:
    """Names of the entries of θ: ``link:m``, ``link:mx``, …, ``link:Izz``."""
    return tuple(f"{body.name}:{name}" for body in model.bodies for name in NAMES)


def with_inertial_parameters(model: Model, theta: Vector) -> Model:
    """The model with the inertias of θ (10 bodies,), floats or symbols, to the last bit.

    They are not checked and need not be those of real bodies.
    """
    size = PER_BODY * len(model.bodies)
    theta = theta if is_symbolic(theta) else np.asarray(theta, dtype=float)
    if theta.shape != (size,):
        raise ShapeError(f"{model.name} has {size} inertial parameters, not {theta.shape}")
    rows = [theta[PER_BODY * i : PER_BODY * (i + 1)] for i in range(len(model.bodies))]
    bodies = [
        replace(body, mass=row[0], moment=row[1:4], inertia=_tensor(row[4:10]))
        for body, row in zip(model.bodies, rows, strict=True)
    ]
    return model.with_bodies(tuple(bodies))


def _tensor(six: Vector) -> Matrix3:
    xx, xy, xz, yy, yz, zz = (six[k] for k in range(6))
    rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return np.stack([np.stack(row) for row in rows])


def regressor(model: Model, q: Vector, qd: Vector, qdd: Vector, **base: Any) -> Matrix:
    """Y (nv, 10 bodies): Y θ is inverse dynamics without rotors, friction, elements and tip wrench.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    inputs = Inputs(model, q, qd, qdd, **base)
    placements, moving = inputs.placements, motions(inputs, qdd)
    rows: list[list[Vector]] = [[np.zeros(PER_BODY)] * len(model.bodies) for _ in range(model.nv)]
    for i in range(len(model.bodies)):
        for k in range(model.bodies[i].chart.nv):
            row = rows[model.bodies[i].v.start + k]
            S = model.bodies[i].subspace
            twists = {i: Motion.of(S[:, k])}
            row[i] = _weights(twists[i], moving[i])
            for j in range(i + 1, len(model.bodies)):
                parent = model.bodies[j].parent
                if parent in twists:
                    twists[j] = placements[j].act_inv(twists[parent])
                    row[j] = _weights(twists[j], moving[j])
    return np.stack([np.concatenate(row) for row in rows])


def _weights(twist: Motion, motion: LinkMotion) -> Vector:
    """Contributions (10,) of a body's parameters to the torque of a joint with this twist there."""
    s, w = twist
    a, alpha, omega = motion.a, motion.alpha, motion.omega
    c = np.cross(w, omega)
    tensor = [
        w[i] * alpha[j] + c[i] * omega[j] + (0.0 if i == j else w[j] * alpha[i] + c[j] * omega[i])
        for i, j in UPPER
    ]
    moment = motion.U.T @ s + np.cross(a, w)
    return np.stack([s @ a, moment[0], moment[1], moment[2], *tensor])
