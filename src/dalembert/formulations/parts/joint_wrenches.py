"""Wrenches through joints, in the user's link frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.parts.elements import outer_wrenches
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Vector, Wrench
from dalembert.spatial.se3 import IDENTITY, Force, Placement


def in_link_frames(
    model: Model, q: Vector, qd: Vector, qdd: Vector, wrenches: list[Force]
) -> Matrix:
    """Wrenches at the joints' origins, in the axes of the user's link frames (joints, 6).

    Forces of tendons and lifts on the links beyond a joint do not go through it.
    """
    outer = list(outer_wrenches(model, q, qd, qdd).items())
    return _in_axes(model, without_outer(model, q, wrenches, outer))


def outer_relief(model: Model, q: Vector, outer: Sequence[tuple[int, Wrench]]) -> Matrix:
    """(joints, 6) to be added to wrenches through the joints, in the axes of the link frames."""
    zeros = [Force.zero()] * len(model.bodies)
    return _in_axes(model, without_outer(model, q, zeros, outer))


def _in_axes(model: Model, wrenches: list[Force]) -> Matrix:
    rows, frames = [], link_frames(model)
    for joint in model.joints:
        f, n = wrenches[joint.bodies[-1]]
        axes = frames[joint.bodies[-1]].R
        rows.append(np.concatenate([axes.T @ f, axes.T @ n]))
    return np.stack(rows)


def link_frames(model: Model) -> list[Placement]:
    """The user's link frame in the frame of every body; bodies inside a joint have their own."""
    frames = [IDENTITY] * len(model.bodies)
    for joint in model.joints:
        frame, last = model.frames[joint.link], joint.bodies[-1]
        if frame.body == last:  # else the link's name is that of a tool placed elsewhere
            frames[last] = frame.placement
    return frames


def without_outer(
    model: Model, q: Vector, wrenches: Sequence[Force], outer: Sequence[tuple[int, Wrench]]
) -> list[Force]:
    """The wrenches through the joints, less those exerted from outside on the bodies they carry.

    `outer` are pairs (body, (6,)): force and moment on it, about the world's origin along its axes.
    """
    remaining = [Force(*wrench) for wrench in wrenches]
    poses = body_poses(model, q) if outer else []
    for body, wrench in outer:
        for i in model.supports[body] if body >= 0 else ():
            remaining[i] = remaining[i] - poses[i].act_inv(Force.of(wrench))
    return remaining
