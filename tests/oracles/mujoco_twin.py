"""MuJoCo and ours at one state: its actuators' forces and moment arms in our coordinates."""

from __future__ import annotations

import mujoco
import numpy as np

from dalembert.systems.robot import Robot
from tests.importers.test_mjcf import Peer


class Twin(Peer):
    """A file in MuJoCo and as a robot here, constraints and contacts switched off."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.robot, self.T = Robot.from_mjcf(text), np.eye(self.m.nv)

    def put(self, q, qd, u, activation) -> None:
        """Our state into MuJoCo's, and everything computed there."""
        self.T, _ = self.set(q, qd)  # orthogonal, v_ours = T v
        self.d.ctrl[:], self.d.act[:] = u, activation
        mujoco.mj_forward(self.m, self.d)

    def ours(self, force) -> np.ndarray:
        """Generalised forces (..., nv) of MuJoCo in our coordinates: free joints by their twist."""
        return force @ self.T.T

    @property
    def moment(self) -> np.ndarray:
        """Moment arms (nu, nv)."""
        d, actual = self.d, np.zeros((self.m.nu, self.m.nv))
        sparse = (d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        mujoco.mju_sparse2dense(actual, d.actuator_moment, *sparse)
        return self.ours(actual)
