"""Inverse dynamics as it depends on inertias: linearly, τ = Y(q, q̇, q̈) θ.

Khalil and Dombre 2002, ch. 12. θ holds ten numbers per body, in its frame (origin and z on the joint
axis): the mass m, the first moment h = m c and the tensor about the origin I_xx, I_xy, I_xz, I_yy,
I_yz, I_zz. A joint whose twist at the body is (s, w) feels of that body

    τ = m (s·a) + h·(Uᵀ s + a × w) + I : (w αᵀ + (w × ω) ωᵀ)
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.derivatives.inertial import PER_BODY, UPPER
from dalembert.formulations.inverse.newton_euler import LinkMotion, base_motion, motions
from dalembert.formulations.parts.passes import transforms
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Twist, Vector, Vector3


def regressor(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Matrix:
    """Y (nv, 10 bodies): Y θ is inverse dynamics without rotors, friction, elements and tip wrench."""
    placed = transforms(model, q)
    base = base_motion(model, base_twist, base_acceleration)
    moving = motions(model, placed, qd, qdd, base)
    rows: list[list[Vector]] = [[np.zeros(PER_BODY)] * len(model.bodies) for _ in range(model.nv)]
    for i in range(len(model.bodies)):
        for k in range(model.bodies[i].chart.nv):
            row = rows[model.bodies[i].v.start + k]
            S = model.bodies[i].subspace
            twists = {i: (S[0:3, k], S[3:6, k])}
            row[i] = _weights(*twists[i], moving[i])
            for j in range(i + 1, len(model.bodies)):
                parent = model.bodies[j].parent
                if parent in twists:
                    twists[j] = placed[j].motion_to_child(twists[parent])
                    row[j] = _weights(*twists[j], moving[j])
    return np.stack([np.concatenate(row) for row in rows])


def _weights(s: Vector3, w: Vector3, motion: LinkMotion) -> Vector:
    """What each of the ten numbers of a body contributes to the torque of a joint (10,)."""
    a, alpha, omega = motion.a, motion.alpha, motion.omega
    c = np.cross(w, omega)
    tensor = [
        w[i] * alpha[j] + c[i] * omega[j] + (0.0 if i == j else w[j] * alpha[i] + c[j] * omega[i])
        for i, j in UPPER
    ]
    moment = motion.U.T @ s + np.cross(a, w)
    return np.stack([s @ a, moment[0], moment[1], moment[2], *tensor])
