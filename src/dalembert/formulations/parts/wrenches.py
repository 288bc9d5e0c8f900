"""Wrenches of a recursion in the frames that users know."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.parts.elements import outer_wrenches
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Vector
from dalembert.spatial.placement import Force, split


def in_link_frames(model: Model, q: Vector, qd: Vector, wrenches: list[Force]) -> Matrix:
    """Wrenches at the joints' origins, in the axes of the user's link frames (joints, 6).

    What tendons and lifts take off the links beyond a joint does not go through it.
    """
    wrenches = _relieved(model, q, qd, wrenches)
    rows = []
    for joint in model.joints:
        f, n = wrenches[joint.bodies[-1]]
        axes = model.frames[joint.link].rotation
        rows.append(np.concatenate([axes.T @ f, axes.T @ n]))
    return np.stack(rows)


def _relieved(model: Model, q: Vector, qd: Vector, wrenches: list[Force]) -> list[Force]:
    """The wrenches through the joints, less those exerted on what they carry from outside."""
    outer = outer_wrenches(model, q, qd)
    if not outer:
        return wrenches
    poses, left = body_poses(model, q), list(wrenches)
    for body, wrench in outer.items():
        for i in model.supports[body] if body >= 0 else ():
            f, n = poses[i].force_to_child(split(wrench))
            left[i] = left[i][0] - f, left[i][1] - n
    return left
