"""Gravity two ways (001 §3.2): the base accelerates with −g, or every link has its weight."""

from __future__ import annotations

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.parts.passes import Placed, inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Twist, Vector, Vector3
from dalembert.spatial.placement import Force

GRAVITY = ("base", "potential")
ZERO = np.zeros(3)


def by_base(gravity: str) -> bool:
    """True for gravity="base", False for gravity="potential"; anything else is an error."""
    if gravity not in GRAVITY:
        raise UnknownNameError(f"gravity={gravity!r} must be one of {GRAVITY}")
    return gravity == "base"


def known_base(
    model: Model,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
) -> tuple[Vector3, Vector3, Vector3]:
    """ω, ω̇ and a of the base's origin, V̇_0 of 000 p.39; gravity by "base" adds −g to a."""
    v, omega = (ZERO, ZERO) if base_twist is None else (base_twist[0:3], base_twist[3:6])
    if base_acceleration is None:
        linear, alpha = ZERO, ZERO
    else:
        linear, alpha = base_acceleration[0:3], base_acceleration[3:6]
    a = linear + np.cross(omega, v)
    return omega, alpha, a - model.gravity if by_base(gravity) else a


def gravity_in_links(model: Model, placed: Placed) -> list[Vector3]:
    """g (3,) in the axes of every link frame, outward."""

    def step(i: int, body: Body, parent: Vector3) -> Vector3:
        return placed[i][0].T @ parent

    return outward(model, model.gravity, step)


def weight(body: Body, g: Vector3) -> Force:
    """(m g, h × g): a link's weight, and its moment about the link frame's origin."""
    return body.mass * g, np.cross(body.moment, g)


def weight_torque(model: Model, q: Vector) -> Vector:
    """∂U/∂q (nv,) of U = −gᵀ Σ m p_C (003; 000 p.22).

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
