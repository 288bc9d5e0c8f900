"""Wrenches of a recursion in the frames that users know."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.spatial.arrays import Matrix
from dalembert.spatial.placement import Force


def in_link_frames(model: Model, wrenches: list[Force]) -> Matrix:
    """Wrenches at the joints' origins, in the axes of the user's link frames (joints, 6)."""
    rows = []
    for joint in model.joints:
        f, n = wrenches[joint.bodies[-1]]
        axes = model.frames[joint.link].rotation
        rows.append(np.concatenate([axes.T @ f, axes.T @ n]))
    return np.stack(rows)
