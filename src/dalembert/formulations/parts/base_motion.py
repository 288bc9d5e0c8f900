"""Gravity, and a base in known motion.

Gravity enters in one of two forms (001 §3.2): the base accelerates with −g, or every link has its
weight.

For formulations in coordinates, a moving base is six more joints: three slides and three turns carry
the base. They stand at zero, where it has its actual pose, with the rates that give it the twist V_0
and the acceleration V̇_0 (000 p.41–44). Lagrange's equations of the longer mechanism hold; those of
the six added joints are dropped.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.parts.sweeps import Placements, inward, outward, transforms
from dalembert.model import Joint, Link, Model, build
from dalembert.model.elements import Elements
from dalembert.model.model import Drive
from dalembert.spatial import se3
from dalembert.spatial.arrays import Twist, Vector, Vector3

GRAVITY = ("base", "potential")
BASE_JOINTS = ("base_x", "base_y", "base_z", "base_roll", "base_pitch", "base_yaw")


def is_by_base(gravity: str) -> bool:
    """True for gravity="base", False for gravity="potential"; anything else is an error."""
    if gravity not in GRAVITY:
        raise UnknownNameError(f"gravity={gravity!r} must be one of {GRAVITY}")
    return gravity == "base"


def gravity_in_links(model: Model, placements: Placements) -> list[Vector3]:
    """g (3,) in the axes of every link frame, outward."""
    return outward(model, model.gravity, lambda i, body, parent: placements[i].R.T @ parent)


def weight_torque(model: Model, q: Vector) -> Vector:
    """∂U/∂q (nv,) of U = −gᵀ Σ m p_C (003; 000 p.22).

    Joint i moves all that it carries, with mass m and first moment h in its frame C_i, as one
    body: U depends on q_i through −(g, 0)ᵀ g_i (h, m), and ∂g_i/∂q_i = g_i ξ̂_i.
    """
    placements = transforms(model, q)
    moments: list[Vector] = inward(
        model,
        lambda i, body, children: sum(
            (se3.pose(*placements[child]) @ beyond for child, beyond in children),
            np.concatenate([body.moment, body.mass * np.ones(1)]),
        ),
    )
    poses = body_poses(model, q)
    torques = []
    for body, (R, _), moment in zip(model.bodies, poses, moments, strict=True):
        g = R.T @ model.gravity
        for k in range(body.chart.nv):
            torques.append(-(g @ (se3.hat_se3(body.subspace[:, k]) @ moment)[0:3]))
    return np.stack(torques)


class ExtendedState(NamedTuple):
    """A mechanism with its state; `own` are the coordinates of the original mechanism."""

    model: Model
    q: Vector
    qd: Vector
    qdd: Vector
    own: slice


def with_base_coordinates(
    model: Model, q: Vector, qd: Vector, qdd: Vector, V_0: Twist | None, V_dot_0: Twist | None
) -> ExtendedState:
    """The same state of the bodies, without elements, with the base's motion as coordinates.

    There are no more coordinates where that motion is None.
    """
    if V_0 is None and V_dot_0 is None:
        bodies = replace(model, elements=Elements()) if model.elements else model
        return ExtendedState(bodies, q, qd, qdd, slice(0, None))
    rates = np.zeros(6) if V_0 is None else V_0
    accelerations = base_joint_accelerations(rates, np.zeros(6) if V_dot_0 is None else V_dot_0)
    return ExtendedState(
        with_base_joints(model),
        np.concatenate([np.zeros(6), q]),
        np.concatenate([rates, qd]),
        np.concatenate([accelerations, qdd]),
        slice(6, None),
    )


def base_joint_accelerations(V_0: Twist, V_dot_0: Twist) -> Vector:
    """q̈ (6,) of the added joints at zero, with the rates q̇ = V_0.

    There their frames coincide and ξ_k = e_k, so V = q̇, and V̇ = q̈ − Σ_k ad_{ξ_k q̇_k} V_{k−1} with
    V_{k−1} the twist of the joints before k.
    """
    unit = np.eye(6)
    accelerations = V_dot_0
    for k in range(1, 6):
        before = unit[:k].sum(axis=0) * V_0
        accelerations = accelerations + se3.bracket(unit[k] * V_0, before)
    return accelerations


def with_base_joints(model: Model) -> Model:
    """The mechanism behind six massless links; the frame of the last is the base's at zero."""
    kinds, axes = ("prismatic",) * 3 + ("revolute",) * 3, (*np.eye(3), *np.eye(3))
    parents = (None, *BASE_JOINTS)
    base = build(
        [
            Link(name=name, parent=parent, joint=Joint(kind=kind, axis=axis))
            for name, parent, kind, axis in zip(BASE_JOINTS, parents, kinds, axes, strict=False)
        ]
    )

    bodies = []
    for body in model.bodies:
        q, v = (slice(old.start + 6, old.stop + 6) for old in (body.q, body.v))
        bodies.append(replace(body, parent=body.parent + 6, q=q, v=v))
    drives = {f.name: getattr(model.drive, f.name) for f in fields(Drive)}
    return replace(
        model,
        bodies=(*base.bodies, *bodies),
        frames={name: replace(f, body=f.body + 6) for name, f in model.frames.items()},
        elements=Elements(),  # they act on the joints of the original mechanism
        drive=Drive(**{name: np.concatenate([np.zeros(6), x]) for name, x in drives.items()}),
    )
