"""Equalities of MuJoCo solved exactly: its own M, bias and J, rigid instead of soft, in our terms."""

import mujoco
import numpy as np

from tests.importers.test_mjcf import Peer as PlainPeer

STEP = 3e-3  # s, of differences: their error is its sixth power
CONNECT, WELD = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
TENDON = int(mujoco.mjtEq.mjEQ_TENDON)
SITE = int(mujoco.mjtObj.mjOBJ_SITE)


class Peer(PlainPeer):
    """One MJCF text; `solve` gives what `Constrained.forward_dynamics` should."""

    step = STEP

    def __init__(self, text: str) -> None:
        self.m = mujoco.MjModel.from_xml_string(text)
        self.m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        flags = mujoco.mjtDisableBit
        for off in (flags.mjDSBL_CONTACT, flags.mjDSBL_LIMIT, flags.mjDSBL_FRICTIONLOSS):
            self.m.opt.disableflags |= int(off)
        self.d = mujoco.MjData(self.m)

    def put(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set our state; returns T with v = T q̇, and Ṫ q̇: free joints are body twists here."""
        back, rate = self.set(q, qd)  # orthogonal
        mujoco.mj_forward(self.m, self.d)
        return back.T, -back.T @ rate

    def matrices(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
        """(M, h, J, −J̇ q̇) in our velocities: M q̈ + h = τ + Jᵀ f and J q̈ = −J̇ q̇."""
        m, d = self.m, self.d
        T, drift = self.put(q, qd)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        rows = d.efc_type[: d.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        J = d.efc_J[: d.nefc * m.nv].reshape(d.nefc, m.nv)[rows]
        h = d.qfrc_bias - d.qfrc_passive
        # equalities that hold nothing have no rows
        gamma = -np.concatenate([self._drift(i) for i in dict.fromkeys(d.efc_id[: d.nefc][rows])])
        return T.T @ M @ T, T.T @ (h + M @ drift), J @ T, gamma - J @ drift

    def solve(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """(q̈, Jᵀf, f) of the KKT system, f of least norm where rows are redundant."""
        M, h, J, gamma = self.matrices(q, qd)
        # f from J M⁻¹ Jᵀ f = γ − J M⁻¹ (τ − h), rows of one size so that the rank is seen
        size = np.linalg.norm(J, axis=1)
        size = np.where(size > 1e-9 * size.max(), size, size.max())
        B = np.linalg.solve(M, J.T / size)
        free = np.linalg.solve(M, tau - h)
        f = np.linalg.lstsq(J / size[:, None] @ B, (gamma - J @ free) / size, rcond=1e-9)[0] / size
        return free + np.linalg.solve(M, J.T @ f), J.T @ f, f

    def _drift(self, i: int) -> np.ndarray:
        """J̇ q̇ of one equality at a closed posture and a velocity it allows."""
        m, d = self.m, self.d
        if m.eq_type[i] in (CONNECT, WELD):
            return self._between(i)
        if m.eq_type[i] == TENDON:
            return self._along(i)
        data, second = m.eq_data[i], int(m.eq_obj2id[i])
        if second < 0:
            return np.zeros(1)
        # x₁ − p(x₂ − x₂₀): its rate's rate at constant velocities is −p″ ẋ₂²
        at, v = int(m.jnt_qposadr[second]), d.qvel[int(m.jnt_dofadr[second])]
        x = d.qpos[at] - m.qpos0[at]
        return -np.array([(2 * data[2] + 6 * data[3] * x + 12 * data[4] * x**2) * v**2])

    def _along(self, i: int) -> np.ndarray:
        """J̇ q̇ of a tendon by differences of J along the motion, to the sixth order."""
        m, other, total = self.m, mujoco.MjData(self.m), 0.0
        for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
            for step in (k * self.step, -k * self.step):
                other.qpos[:], other.qvel[:] = self.d.qpos, self.d.qvel
                mujoco.mj_integratePos(m, other.qpos, self.d.qvel, step)
                mujoco.mj_forward(m, other)
                mine = other.efc_id[: other.nefc] == i
                J = other.efc_J[: other.nefc * m.nv].reshape(other.nefc, m.nv)[mine]
                if not len(J):  # MuJoCo leaves rows of zeros away
                    continue
                total = total + np.sign(step) * weight / self.step * (J @ self.d.qvel)
        return total

    def _between(self, i: int) -> np.ndarray:
        m, d = self.m, self.d
        pair = [int(m.eq_obj1id[i]), int(m.eq_obj2id[i])]
        weld, data = m.eq_type[i] == WELD, m.eq_data[i]
        if m.eq_objtype[i] == SITE:
            bodies = [int(m.site_bodyid[k]) for k in pair]
            points = [d.site_xpos[k] for k in pair]
        else:
            bodies = pair
            local = [data[3:6], data[0:3]] if weld else [data[0:3], data[3:6]]
            points = [
                d.xpos[b] + d.xmat[b].reshape(3, 3) @ p for b, p in zip(bodies, local, strict=True)
            ]
        linear, angular = np.zeros((2, 3)), np.zeros((2, 3))
        for k, (body, point) in enumerate(zip(bodies, points, strict=True)):
            p, r = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mujoco.mj_jacDot(m, d, p, r, np.array(point), body)
            linear[k], angular[k] = p @ d.qvel, r @ d.qvel
        moved = linear[0] - linear[1]
        if not weld:
            return moved
        # the rows of rotation are half the angular velocity in the second frame, × torquescale
        if m.eq_objtype[i] == SITE:
            R = d.site_xmat[pair[1]].reshape(3, 3)
        else:
            R = d.xmat[pair[1]].reshape(3, 3)
        return np.concatenate([moved, 0.5 * data[10] * R.T @ (angular[0] - angular[1])])
