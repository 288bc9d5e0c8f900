"""Newton–Euler, motion in base coordinates, forces in link frames: Orin et al. 1979 (001 §1.3).

The motion is that of `newton_euler_base`, turned into each link's frame, where the inertia tensor
is constant; forces and moments then travel inward from link frame to link frame.
"""

from __future__ import annotations

from typing import Any

from dalembert.formulations.inverse import newton_euler_base
from dalembert.formulations.inverse.newton_euler import LinkMotion, link_wrenches, project
from dalembert.formulations.parts.body_wrench import acceleration_matrix
from dalembert.formulations.parts.drive import with_own
from dalembert.formulations.parts.passes import transforms
from dalembert.formulations.parts.record import Record, nothing
from dalembert.formulations.parts.weight import by_base
from dalembert.formulations.parts.wrenches import in_link_frames
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Twist, Vector, Wrench


def in_links(
    moving: list[newton_euler_base.LinkInBase], record: Record = nothing
) -> list[LinkMotion]:
    """The motion of every link in its own frame, from base coordinates."""
    turned = []
    for i, link in enumerate(moving):
        omega, alpha, a = link.R.T @ link.omega, link.R.T @ link.alpha, link.R.T @ link.a
        record(i, omega=omega, omega_dot=alpha, v_dot=a)
        turned.append(LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha)))
    return turned


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
    motions = newton_euler_base.motions
    placed = transforms(model, q)
    moving = motions(model, placed, qd, qdd, base_twist, base_acceleration, gravity, record)
    g = None if by_base(gravity) else [link.R.T @ model.gravity for link in moving]
    turned = in_links(moving, record)
    tau = project(model, link_wrenches(model, placed, turned, tip_wrench, g, record))
    return with_own(model, tau, q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link, in link frames.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    placed = transforms(model, q)
    moving = newton_euler_base.motions(model, placed, qd, qdd, **base)
    return in_link_frames(model, q, qd, link_wrenches(model, placed, in_links(moving), tip_wrench))
