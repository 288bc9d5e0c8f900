"""Newton–Euler recursion in link frames: Luh, Walker and Paul (001 §1.3), Craig's form (003).

Outward, every link's ω, ω̇ and the acceleration a of its frame's origin; at each body the force and
moment of its motion; inward, the wrench each joint transmits. Gravity is an acceleration −g of
the base, or the weight of every link (001 §1.3, step 3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.parts.base_motion import base_kinematics, gravity_in_links, is_by_base
from dalembert.formulations.parts.elements import with_element_bias, with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.rigid_body import acceleration_matrix, inertial_wrench
from dalembert.formulations.parts.sweeps import Placements, inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force, Motion


class LinkMotion(NamedTuple):
    """Motion of a link in its own frame: ω, a of the origin, and U = ω̇^ + ω^ω^."""

    omega: Vector3
    alpha: Vector3
    a: Vector3
    U: Matrix3


def base_motion(
    model: Model,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
) -> LinkMotion:
    """Motion of the base; see `base_kinematics`."""
    omega, alpha, a = base_kinematics(model, base_twist, base_acceleration, gravity)
    return LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha))


def motions(
    model: Model,
    placements: Placements,
    qd: Vector,
    qdd: Vector | None,
    base: LinkMotion,
    record: Record = nothing,
) -> list[LinkMotion]:
    """Motion of every link, outward; `qdd` may be None for zero joint accelerations."""

    def step(i: int, body: Body, parent: LinkMotion) -> LinkMotion:
        R, p = placements[i]
        v_rel, w_rel = Motion.of(body.subspace @ qd[body.v])
        omega_parent = R.T @ parent.omega
        omega = omega_parent + w_rel
        alpha = R.T @ parent.alpha + np.cross(omega_parent, w_rel)
        # a = Rᵀ(a + U p) + (2 Rᵀω + ω_rel) × v_rel + (S q̈)_linear, and Rᵀω + ω_rel is the new ω
        a = placements[i].acceleration_to_child(parent.a, parent.U)
        a = a + np.cross(omega_parent + omega, v_rel)
        if qdd is not None:
            a_rel, alpha_rel = Motion.of(body.subspace @ qdd[body.v])
            a, alpha = a + a_rel, alpha + alpha_rel
        U = acceleration_matrix(omega, alpha)
        record(i, R=R, p=p, omega=omega, omega_dot=alpha, v_dot=a, U=U)
        return LinkMotion(omega, alpha, a, U)

    return outward(model, base, step)


def link_wrenches(
    model: Model,
    placements: Placements,
    moving: list[LinkMotion],
    tip_wrench: Wrench | None = None,
    g: list[Vector3] | None = None,
    record: Record = nothing,
) -> list[Force]:
    """(f, n) each joint exerts on its link, about the link frame's origin in its axes; inward.

    `g`, gravity in the axes of every link, makes the joints carry the links' weights too.
    """
    tool = model.frame(model.tool)

    def step(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        wrench = inertial = inertial_wrench(body, moving[i].a, moving[i].U)
        if g is not None:
            wrench = wrench - Force(body.mass * g[i], np.cross(body.moment, g[i]))
        beyond = [placements[child].act(force) for child, force in children]
        if tip_wrench is not None and i == tool.body:
            beyond.append(tool.placement.act(Force.of(tip_wrench)))
        wrench = sum(beyond, wrench)
        record(i, F=inertial.linear, N=inertial.angular, f=wrench.linear, n=wrench.angular)
        return wrench

    return inward(model, step)


def project(model: Model, wrenches: list[Force]) -> Vector:
    """τ_i = S_iᵀ (f_i, n_i), (nv,)."""
    pairs = zip(model.bodies, wrenches, strict=True)
    return np.concatenate([body.subspace.T @ wrench.array for body, wrench in pairs])


def inverse_dynamics(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
    record: Record = nothing,
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    # recorded values are those of the original links
    bodies = model.minimal if record is nothing else model
    placements = transforms(bodies, q)
    base = base_motion(bodies, base_twist, base_acceleration, gravity)
    moving = motions(bodies, placements, qd, qdd, base, record)
    g = None if is_by_base(gravity) else gravity_in_links(bodies, placements)
    tau = project(bodies, link_wrenches(bodies, placements, moving, tip_wrench, g, record))
    return with_joint_torques(model, tau, q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link; see `in_link_frames`.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    placements = transforms(model, q)
    moving = motions(model, placements, qd, qdd, base_motion(model, **base))
    return in_link_frames(model, q, qd, qdd, link_wrenches(model, placements, moving, tip_wrench))


def bias(
    model: Model,
    q: Vector,
    qd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """h (nv,) = C q̇ + N: the torques of a motion without joint accelerations, no friction."""
    bodies = model.minimal
    placements = transforms(bodies, q)
    moving = motions(
        bodies, placements, qd, None, base_motion(bodies, base_twist, base_acceleration)
    )
    return with_element_bias(
        model, project(bodies, link_wrenches(bodies, placements, moving)), q, qd
    )


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,): the static torques, at rest."""
    return bias(model, q, np.zeros(model.nv))
