"""Peers of inverse kinematics on our robots: the Robotics Toolbox's C++ solver, and pink.

The Toolbox gets the elementary transforms of our table, pink our URDF in Pinocchio: its own models
would be fetched from the network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as dl

PINK_STARTS, PINK_STEPS = 20, 60


def toolbox_transforms(robot: dl.Robot) -> Any:
    """The robot as an ETS: a constant transform, then a turn about z or a slide along it, per joint."""
    import roboticstoolbox as rtb

    tree, chain, left = robot.model.tree, rtb.ETS(), np.eye(4)
    for body, joint in zip(tree.bodies, robot.joints, strict=True):
        linear, angular = np.split(np.asarray(body.subspace)[:, 0], 2)
        turns = bool(np.any(angular))
        axis = along_z(angular if turns else linear, np.cross(angular, linear))
        limits = np.array([joint.lower[0], joint.upper[0]])
        chain = chain * rtb.ET.SE3(left @ matrix(body.transform(np.zeros(tree.nq))) @ axis)
        chain = chain * (rtb.ET.Rz(qlim=limits) if turns else rtb.ET.tz(qlim=limits))
        left = np.linalg.inv(axis)
    return chain * rtb.ET.SE3(left @ matrix(tree.frame("tool").placement))


def matrix(placement: Any) -> np.ndarray:
    """(R, p) as (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = placement.R, placement.p
    return pose


def along_z(axis: np.ndarray, point: np.ndarray) -> np.ndarray:
    """A frame (4, 4) at a point whose z axis is this one."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), point
    return pose


def toolbox(chain: Any, targets: np.ndarray, k: float) -> np.ndarray:
    """Postures of targets, one call of the C++ solver each; its other settings are its defaults."""
    return np.array([chain.ik_LM(T, tol=1e-18, k=k).q for T in targets])


class Pink:
    """Differential inverse kinematics by a QP with limits, repeated until it has arrived."""

    def __init__(self, robot: dl.Robot) -> None:
        import pink  # noqa: F401  # a missing one is found here, not at the first target
        import pinocchio as pin

        self.model = pin.buildModelFromXML(robot.to_urdf())
        self.data = self.model.createData()
        self.rng = np.random.default_rng(0)
        last = robot.model.tree.bodies[-1].name
        self.frame = "tool" if self.model.existFrame("tool") else last

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        return np.array([self.one(T) for T in targets])

    def one(self, T: np.ndarray) -> np.ndarray:
        """A posture, from random starts; Newton's step of the task as the QP allows it."""
        import pink
        import pinocchio as pin

        task = pink.tasks.FrameTask(self.frame, position_cost=1.0, orientation_cost=1.0)
        task.lm_damping = 1e-3
        task.set_target(pin.SE3(T))
        low, high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        for _ in range(PINK_STARTS):
            here = pink.Configuration(self.model, self.data, self.rng.uniform(low, high))
            for _ in range(PINK_STEPS):
                if np.linalg.norm(task.compute_error(here)) < 1e-9:
                    return here.q
                try:
                    v = pink.solve_ik(here, [task], 1.0, solver="quadprog", damping=1e-12)
                except Exception:  # the QP found no step: begin again
                    break
                here.integrate_inplace(v, 1.0)
        return here.q
