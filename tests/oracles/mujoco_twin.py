"""MuJoCo and ours at one state: coordinates translated, its dense matrices, its forces in our axes."""

from __future__ import annotations

import mujoco
import numpy as np

from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.systems.robot import Robot


class Twin:
    """A file in MuJoCo and as a robot here, constraints and contacts switched off."""

    def __init__(self, text: str, robot: Robot | None = None) -> None:
        self.m = mujoco.MjModel.from_xml_string(text)
        self.m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.d = mujoco.MjData(self.m)
        self.robot = robot or Robot.from_mjcf(text)

    def put(self, q, qd, u=None, activation=None) -> None:
        """Our state into MuJoCo's, and everything computed there."""
        self.d.qpos[:], self.d.qvel[:] = q, qd
        self.turns = {}
        for k in range(self.m.njnt):
            at, kind = int(self.m.jnt_qposadr[k]), int(self.m.jnt_type[k])
            if kind > 1:
                continue
            first = at + (3 if kind == 0 else 0)
            x, y, z, w = q[first : first + 4]
            self.d.qpos[first : first + 4] = w, x, y, z
            if kind == 0:
                v = int(self.m.jnt_dofadr[k])
                self.turns[v] = matrix_from_quaternion(q[first : first + 4])
                self.d.qvel[v : v + 3] = self.turns[v] @ qd[v : v + 3]
        if u is not None:
            self.d.ctrl[:] = u
        if activation is not None:
            self.d.act[:] = activation
        mujoco.mj_forward(self.m, self.d)

    def ours(self, force) -> np.ndarray:
        """Generalised forces (..., nv) of MuJoCo in our coordinates: free joints by their twist."""
        found = np.array(force)
        for v, R in self.turns.items():
            found[..., v : v + 3] = found[..., v : v + 3] @ R
        return found

    @property
    def moment(self) -> np.ndarray:
        """Moment arms (nu, nv)."""
        d, found = self.d, np.zeros((self.m.nu, self.m.nv))
        sparse = (d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        mujoco.mju_sparse2dense(found, d.actuator_moment, *sparse)
        return self.ours(found)
