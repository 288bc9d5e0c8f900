"""Newton–Euler recursion in link frames: Luh, Walker and Paul (001 §1.3), Craig's form (003).

Outward, every link's ω, ω̇ and the acceleration a of its frame's origin; at each body the force and
moment its motion demands; inward, the wrench each joint transmits. Gravity is an acceleration −g of
the base, or the weight of every link (001 §1.3, step 3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.parts.body_wrench import acceleration_matrix, inertial_wrench
from dalembert.formulations.parts.drive import with_own, with_stored
from dalembert.formulations.parts.passes import Placed, inward, outward, transforms
from dalembert.formulations.parts.record import Record, nothing
from dalembert.formulations.parts.weight import by_base, gravity_in_links, known_base, weight
from dalembert.formulations.parts.wrenches import in_link_frames
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import Force, split


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
    """Motion of the base; see `known_base`."""
    omega, alpha, a = known_base(model, base_twist, base_acceleration, gravity)
    return LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha))


def motions(
    model: Model,
    placed: Placed,
    qd: Vector,
    qdd: Vector | None,
    base: LinkMotion,
    record: Record = nothing,
) -> list[LinkMotion]:
    """Motion of every link, outward; `qdd` may be None for zero joint accelerations."""

    def step(i: int, body: Body, parent: LinkMotion) -> LinkMotion:
        R, p = placed[i]
        v_rel, w_rel = split(body.subspace @ qd[body.v])
        carried = R.T @ parent.omega
        omega = carried + w_rel
        alpha = R.T @ parent.alpha + np.cross(carried, w_rel)
        # a = Rᵀ(a + U p) + (2 Rᵀω + ω_rel) × v_rel + (S q̈)_linear, and Rᵀω + ω_rel is the new ω
        a = placed[i].acceleration_to_child(parent.a, parent.U)
        a = a + np.cross(carried + omega, v_rel)
        if qdd is not None:
            gained = body.subspace @ qdd[body.v]
            a, alpha = a + gained[0:3], alpha + gained[3:6]
        U = acceleration_matrix(omega, alpha)
        record(i, R=R, p=p, omega=omega, omega_dot=alpha, v_dot=a, U=U)
        return LinkMotion(omega, alpha, a, U)

    return outward(model, base, step)


def link_wrenches(
    model: Model,
    placed: Placed,
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
        f, n = F, N = inertial_wrench(body, moving[i].a, moving[i].U)
        if g is not None:
            f_g, n_g = weight(body, g[i])
            f, n = f - f_g, n - n_g
        carried = [placed[child].force_to_parent(wrench) for child, wrench in children]
        if tip_wrench is not None and i == tool.body:
            carried.append(tool.placement.force_to_parent(split(tip_wrench)))
        for f_c, n_c in carried:
            f, n = f + f_c, n + n_c
        record(i, F=F, N=N, f=f, n=n)
        return f, n

    return inward(model, step)


def project(model: Model, wrenches: list[Force]) -> Vector:
    """τ_i = S_iᵀ (f_i, n_i), (nv,)."""
    return np.concatenate(
        [
            body.subspace.T @ np.concatenate([f, n])
            for body, (f, n) in zip(model.bodies, wrenches, strict=True)
        ]
    )


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
    # what is recorded is that of the links as they are
    bodies = model.lean if record is nothing else model
    placed = transforms(bodies, q)
    base = base_motion(bodies, base_twist, base_acceleration, gravity)
    moving = motions(bodies, placed, qd, qdd, base, record)
    g = None if by_base(gravity) else gravity_in_links(bodies, placed)
    tau = project(bodies, link_wrenches(bodies, placed, moving, tip_wrench, g, record))
    return with_own(model, tau, q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link; see `in_link_frames`.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    placed = transforms(model, q)
    moving = motions(model, placed, qd, qdd, base_motion(model, **base))
    return in_link_frames(model, q, qd, link_wrenches(model, placed, moving, tip_wrench))


def bias(
    model: Model,
    q: Vector,
    qd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """h (nv,) = C q̇ + N: the torques of a motion without joint accelerations, no friction."""
    bodies = model.lean
    placed = transforms(bodies, q)
    moving = motions(bodies, placed, qd, None, base_motion(bodies, base_twist, base_acceleration))
    return with_stored(model, project(bodies, link_wrenches(bodies, placed, moving)), q, qd)


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,): the torques that hold the mechanism still."""
    return bias(model, q, np.zeros(model.nv))
