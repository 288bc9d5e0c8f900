"""Tables of recursions in the frames that users know: those of `pose` and `joint_wrenches`.

Inside, a body's frame has its origin at the joint and its z axis along it, which is what recursions
work in. With A and t the rotation and origin of the user's link frame in that of the body, each
term of a table is carried over by one of the functions here. Wrenches through a joint stay about
the joint's origin, as `joint_wrenches` gives them. The bodies inside a joint of several degrees
have no link frame and keep their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.parts.body_wrench import acceleration_matrix
from dalembert.spatial import se3
from dalembert.spatial.arrays import Array, Matrix, Matrix3, Matrix6, Pose, Twist, Vector, Vector3
from dalembert.spatial.placement import Force, Placement, split


class Link(NamedTuple):
    """One link of a table: its frame, its parent's, and what was recorded of both bodies."""

    frame: Placement  # A, t: the link's frame in the body's
    parent: Placement  # the same of the parent
    own: Mapping[str, Any]
    before: Mapping[str, Any]  # of the parent; empty for the base
    outer: Force | None  # minus what tendons, lifts and fluids exert on what the joint carries


# vectors and matrices in the link's axes


def same(link: Link, x: Array) -> Array:
    """What no frame changes, or stands in the world's axes."""
    return x


def axes(link: Link, x: Vector3) -> Vector3:
    """A vector in the link's axes."""
    return link.frame.R.T @ x


def matrix_axes(link: Link, U: Matrix3) -> Matrix3:
    """A matrix that maps vectors in the link's axes."""
    return link.frame.R.T @ U @ link.frame.R


def origin_acceleration(link: Link, a: Vector3) -> Vector3:
    """Acceleration of the link frame's origin, in its axes."""
    U = acceleration_matrix(link.own["omega"], link.own["omega_dot"])
    return link.frame.acceleration_to_child(a, U)


def moment_about_origin(link: Link, N: Vector3) -> Vector3:
    """The moment that goes with F, about the link frame's origin."""
    return link.frame.force_to_child((link.own["F"], N))[1]


def joint_force(link: Link, f: Vector3) -> Vector3:
    """Force through the joint."""
    return axes(link, f if link.outer is None else f + link.outer[0])


def joint_moment(link: Link, n: Vector3) -> Vector3:
    """Moment through the joint, about its origin."""
    return axes(link, n if link.outer is None else n + link.outer[1])


def joint_wrench(link: Link, F: Vector) -> Vector:
    """Force and moment through the joint, about its origin."""
    f, n = split(F)
    return np.concatenate([joint_force(link, f), joint_moment(link, n)])


def twist(link: Link, V: Twist) -> Twist:
    """Ad_{g⁻¹} V, or of its rate: g does not change."""
    return np.concatenate(link.frame.motion_to_child(split(V)))


# where a link is, seen from its parent


def rotation_in_parent(link: Link, R: Matrix3) -> Matrix3:
    """Rotation of the link's frame in its parent's."""
    return link.parent.R.T @ R @ link.frame.R


def origin_in_parent(link: Link, p: Vector3) -> Vector3:
    """Origin of the link's frame in its parent's."""
    return link.parent.R.T @ (p + link.own["R"] @ link.frame.p - link.parent.p)


def adjoint(link: Link, A: Matrix6) -> Matrix6:
    """Ad of g⁻¹, g the link's pose in its parent's."""
    return se3.Ad(se3.inverse(_pose(link.frame))) @ A @ se3.Ad(_pose(link.parent))


def pose_in_parent(link: Link, A: Pose) -> Pose:
    """Pose of the link's frame in its parent's."""
    return se3.inverse(_pose(link.parent)) @ A @ _pose(link.frame)


# the world's axes


def turned(link: Link, W: Matrix) -> Matrix:
    """Rotation of the link's frame in the world, or a rate of it."""
    return W @ link.frame.R


def posed(link: Link, W: Matrix) -> Matrix:
    """Pose of the link's frame in the world, or a rate of it."""
    return W @ _pose(link.frame)


def step_in_world(link: Link, d: Vector3) -> Vector3:
    """From the origin of the parent's link frame to this one's."""
    reached = d + link.own["R_0"] @ link.frame.p
    return reached - link.before["R_0"] @ link.parent.p if link.before else reached


def origin_acceleration_in_world(link: Link, a: Vector3) -> Vector3:
    """Acceleration of the link frame's origin."""
    U = acceleration_matrix(link.own["omega_0"], link.own["omega_dot_0"])
    return a + U @ (link.own["R_0"] @ link.frame.p)


def origin_acceleration_by_matrix(link: Link, p_ddot: Vector3) -> Vector3:
    """Acceleration of the link frame's origin, p̈ + Ẅ t."""
    return p_ddot + link.own["W_ddot"] @ link.frame.p


def joint_force_in_world(link: Link, f: Vector3) -> Vector3:
    """Force through the joint."""
    return f if link.outer is None else f + link.own["R_0"] @ link.outer[0]


def joint_moment_in_world(link: Link, n: Vector3) -> Vector3:
    """Moment through the joint, about its origin."""
    return n if link.outer is None else n + link.own["R_0"] @ link.outer[1]


# what Hollerbach gathers: first factors r in the link's frame, r = A r' + t


def gathered(link: Link, D: Matrix) -> Matrix:
    """Σ J Ẅᵀ (4, 4), or first moments with the mass (4,)."""
    return se3.inverse(_pose(link.frame)) @ D


def gathered_moments(link: Link, D: Matrix3) -> Matrix3:
    """Σ ∫ r r̈ᵀ dm with e = Σ ∫ r̈ dm."""
    return link.frame.R.T @ (D - np.outer(link.frame.p, link.own["e"]))


def first_moments(link: Link, c: Vector3) -> Vector3:
    """Σ ∫ r dm with M = Σ ∫ dm."""
    return link.frame.R.T @ (c - link.own["M"] * link.frame.p)


def _pose(frame: Placement) -> Pose:
    return se3.pose(*frame)
