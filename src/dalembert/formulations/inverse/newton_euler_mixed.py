"""Newton–Euler, motion in base coordinates, forces in link frames: Orin et al. 1979 (001 §1.3).

The motion is that of `newton_euler_base`, rotated into each link's frame, where the inertia tensor
is constant; forces and moments then travel inward from link frame to link frame.
"""

from __future__ import annotations

from typing import Any

from dalembert.formulations.inverse import newton_euler_base
from dalembert.formulations.inverse.newton_euler import LinkMotion, link_wrenches, project
from dalembert.formulations.parts.base_motion import is_by_base
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.rigid_body import acceleration_matrix
from dalembert.formulations.parts.sweeps import transforms
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Twist, Vector, Wrench


def in_links(
    moving: list[newton_euler_base.LinkInBase], record: Record = nothing
) -> list[LinkMotion]:
    """The motion of every link in its own frame, from base coordinates."""
    links = []
    for i, link in enumerate(moving):
        omega, alpha, a = link.R.T @ link.omega, link.R.T @ link.alpha, link.R.T @ link.a
        record(i, omega=omega, omega_dot=alpha, v_dot=a)
        links.append(LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha)))
    return links


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
    placements = transforms(model, q)
    moving = motions(model, placements, qd, qdd, base_twist, base_acceleration, gravity, record)
    g = None if is_by_base(gravity) else [link.R.T @ model.gravity for link in moving]
    links = in_links(moving, record)
    tau = project(model, link_wrenches(model, placements, links, tip_wrench, g, record))
    return with_joint_torques(model, tau, q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link, in link frames.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    placements = transforms(model, q)
    moving = newton_euler_base.motions(model, placements, qd, qdd, **base)
    return in_link_frames(
        model, q, qd, qdd, link_wrenches(model, placements, in_links(moving), tip_wrench)
    )
