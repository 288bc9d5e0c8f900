"""States of robots in the absolute coordinates of a spatial mechanism."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.systems.robot import Robot


def absolute_state(robot: Robot, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of all links in absolute coordinates, from q (nq,) and q̇ (nv,) of the joints."""
    model = robot.model
    poses = body_poses(model, q)
    positions, velocities = [], []
    twists: list[tuple[np.ndarray, np.ndarray]] = []  # of the body frames' origins, in the world
    for body, (R, p) in zip(model.bodies, poses, strict=True):
        linear, angular = np.zeros(3), np.zeros(3)
        if body.parent >= 0:
            linear, angular = twists[body.parent]
            linear = linear + np.cross(angular, p - poses[body.parent][1])
        own = body.subspace @ qd[body.v]
        linear, angular = linear + R @ own[:3], angular + R @ own[3:]
        twists.append((linear, angular))
        arm = R @ body.center
        positions.append(np.concatenate([p + arm, quaternion_from_matrix(R)]))
        velocities.append(np.concatenate([linear + np.cross(angular, arm), R.T @ angular]))
    return np.concatenate(positions), np.concatenate(velocities)
