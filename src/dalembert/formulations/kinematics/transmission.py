"""Lengths and moment arms of actuators: how the motion of joints and frames moves them.

The row B of an actuator is its velocity per joint velocity, l̇ = B q̇, and by virtual work τ = Bᵀ f.
For an actuator between a site and a reference that turns itself, MuJoCo's B (taken here) leaves out
what the reference's own rotation does to l, and l̇ means B q̇.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, columns_about, frame_pose
from dalembert.formulations.kinematics.tendons import lengths_and_rows
from dalembert.model import Model
from dalembert.model.actuators import Actuator
from dalembert.model.joint import Ball, Free
from dalembert.spatial import quaternions
from dalembert.spatial.arrays import Matrix, Scalar, Vector, Vector3
from dalembert.spatial.placement import Placement
from dalembert.spatial.rotations import log_so3
from dalembert.tracing import is_symbolic

Path = tuple[Scalar, Vector]  # length, and moment arm (nv,)


def transmission(model: Model, q: Vector) -> Matrix:
    """B (nu, nv): the moment arms of all actuators, τ = Bᵀ f."""
    return np.stack([row for _, row in paths(model, q)])


def actuator_lengths(model: Model, q: Vector) -> Vector:
    """l (nu,): rad or m times gear; zero where none is defined (free joints, sites by themselves)."""
    return np.stack([length for length, _ in paths(model, q)])


def paths(model: Model, q: Vector) -> list[Path]:
    """Length and moment arm of every actuator."""
    posture = _Posture(model, q)
    return [_WAYS[a.transmission](posture, a) for a in model.driven_by.actuators]


class _Posture:
    """A model at q; poses are computed if somebody asks for them."""

    def __init__(self, model: Model, q: Vector) -> None:
        self.model, self.q = model, q

    @cached_property
    def poses(self) -> list[Placement]:
        return body_poses(self.model, self.q)

    def frame(self, name: str) -> Placement:
        return frame_pose(self.model, self.poses, name)

    def support(self, name: str) -> set[int]:
        """Bodies that carry a frame."""
        body = self.model.frame(name).body
        return set(self.model.supports[body]) if body >= 0 else set()

    def work(self, name: str, force: Any, moment: Any, without: set[int]) -> Vector:
        """(nv,) of a force at a frame's origin and a moment, along world axes: Jᵀ F.

        Joints of the bodies `without` are left out.
        """
        body, about = self.model.frame(name).body, self.frame(name).p
        columns = columns_about(self.model, self.poses, body, about)
        owners = [i for i, b in enumerate(self.model.bodies) for _ in range(b.chart.nv)]
        return np.stack(
            [
                np.zeros(()) if i in without else c[0:3] @ force + c[3:6] @ moment
                for i, c in zip(owners, columns, strict=True)
            ]
        )


def _joint(posture: _Posture, actuator: Actuator) -> Path:
    """One degree: l = g₁ q. A ball: l = g·log of its quaternion. A free joint has no length."""
    model, gear = posture.model, actuator.gear
    joint = next(j for j in model.joints if j.name == actuator.target)
    in_parent = actuator.transmission == "joint_in_parent"
    body = model.bodies[joint.bodies[-1]]
    length, own = gear[0] * posture.q[joint.q.start], np.stack([gear[0]])
    if isinstance(body.chart, Ball):
        turn = posture.q[body.q]
        arm = _turned_back(turn, gear[0:3]) if in_parent else gear[0:3]
        length, own = quaternions.log_quaternion(turn) @ arm, arm
    elif isinstance(body.chart, Free):
        turn = posture.q[body.q][3:7]
        # force along world axes, while the velocity is the body's twist
        moment = _turned_back(turn, gear[3:6]) if in_parent else gear[3:6]
        length, own = np.zeros(()), np.concatenate([_turned_back(turn, gear[0:3]), moment])
    at = body.v.start
    behind = np.zeros(model.nv - at - own.shape[0])
    return length, np.concatenate([np.zeros(at), own, behind])


def _turned_back(quaternion: Vector, v: Vector3) -> Vector3:
    """v in the axes of the body that the quaternion has turned."""
    return quaternions.matrix_from_quaternion(quaternion).T @ v


def _site(posture: _Posture, actuator: Actuator) -> Path:
    """A wrench fixed to a frame; with a reference, l from where the frame is in the reference."""
    gear = actuator.gear
    R, p = posture.frame(actuator.target)
    if actuator.reference is None:
        row = posture.work(actuator.target, R @ gear[0:3], R @ gear[3:6], set())
        return np.zeros(()), row
    R_0, p_0 = posture.frame(actuator.reference)
    force, moment = R_0 @ gear[0:3], R_0 @ gear[3:6]
    length = gear[0:3] @ (R_0.T @ (p - p_0))
    if is_symbolic(gear) or np.any(gear[3:6]):
        length = length + gear[3:6] @ log_so3(R_0.T @ R)
    # between two frames of one robot these are inner forces: joints that carry both feel nothing
    both = posture.support(actuator.target) & posture.support(actuator.reference)
    there = posture.work(actuator.target, force, moment, both)
    return length, there - posture.work(actuator.reference, force, moment, both)


def _crank(posture: _Posture, actuator: Actuator) -> Path:
    """A rod r from a pin to a slider on the axis a: l = a·v − √((a·v)² + r² − v·v), v to the pin.

    Where the rod does not reach, the pin's foot on the axis.
    """
    slider = actuator.reference or ""
    R, p_0 = posture.frame(slider)
    axis, v = R[:, 2], posture.frame(actuator.target).p - p_0
    along = axis @ v
    left = along * along + actuator.rod * actuator.rod - v @ v
    reaches = np.where(left > 0.0, 1.0, 0.0)
    root = np.sqrt(np.where(left > 0.0, left, 1.0))
    by_axis = (1.0 - reaches * along / root) * v
    by_pin = (1.0 - reaches * along / root) * axis + (reaches / root) * v
    # the axis turns with ω × a, so that ∂l/∂a·(ω × a) is the moment a × ∂l/∂a
    pin = posture.work(actuator.target, by_pin, np.zeros(3), set())
    base = posture.work(slider, -by_pin, np.cross(axis, by_axis), set())
    gear = actuator.gear[0]
    return gear * (along - reaches * root), gear * (pin + base)


def _tendon(posture: _Posture, actuator: Actuator) -> Path:
    """The tendon's own length and slopes, times the gear."""
    model, gear = posture.model, actuator.gear[0]
    own = next(tendon for tendon in model.tendons if tendon.name == actuator.target)
    ((length, row),) = lengths_and_rows(model, posture.q, (own,))
    return gear * length, gear * row


_WAYS = {
    "joint": _joint,
    "joint_in_parent": _joint,
    "tendon": _tendon,
    "site": _site,
    "crank": _crank,
}
