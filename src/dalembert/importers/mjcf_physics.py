"""Forces that MJCF gives to joints: springs, damping, friction, armature; flags that forbid them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.model.notes import LeftOut

ON_TWIST = "dalembert rotor "  # and a free joint: its rotor is no ballast
COULOMB = "dalembert coulomb "  # and a joint: a <numeric> that MuJoCo passes through


def disabled(mujoco: ModuleType, m: Any, *names: str) -> bool:
    """Whether the file switches one of these parts off (flags differ between versions)."""
    flags = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
    return any(flag is not None and m.opt.disableflags & flag.value for flag in flags)


class JointForces:
    """What the file lets act in each joint, as keywords of `Joint`."""

    def __init__(self, mujoco: ModuleType, m: Any, joints: list[str], numerics: list[str]) -> None:
        self.mujoco, self.m, self.joints, self.numerics = mujoco, m, joints, numerics
        self.armature, self.damping, self.left_out = reflected(mujoco, m)
        self.sprung = not disabled(mujoco, m, "SPRING", "PASSIVE")
        self.damped = not disabled(mujoco, m, "DAMPER", "PASSIVE")
        self.rubbing = not disabled(mujoco, m, "FRICTIONLOSS", "CONSTRAINT")

    def of(self, k: int) -> dict[str, Any]:
        """Keywords of joint k."""
        m, dof = self.m, int(self.m.jnt_dofadr[k])
        given = {
            "rotor_inertia": float(m.dof_armature[dof] + self.armature[dof]),
            "coulomb": self._coulomb(k, dof),
            "ballast": self._is_free(k) and ON_TWIST + self.joints[k] not in self.numerics,
        }
        self._leave_out(k, dof)
        if self.damped:
            own = series(m, "dof_damping", dof)
            given["viscous"] = float(self.damping[dof] + sum(own[:1]))
            given["drag"] = own[1:]
        if self.sprung:
            given["stiffness"] = series(m, "jnt_stiffness", k)
            given["rest"] = self._rest(k)
        return given

    def _rest(self, k: int) -> np.ndarray:
        """Our coordinates of the joint at which its spring rests."""
        first, kind = int(self.m.jnt_qposadr[k]), int(self.m.jnt_type[k])
        kinds = self.mujoco.mjtJoint
        size = {int(kinds.mjJNT_FREE): 7, int(kinds.mjJNT_BALL): 4}.get(kind, 1)
        rest = np.array(self.m.qpos_spring[first : first + size], dtype=float)
        if size > 1:
            rest[-4:] = np.roll(rest[-4:], -1)
        return rest

    def _coulomb(self, k: int, dof: int) -> Any:
        """One number, or the pair `to_mjcf` kept beside MuJoCo's symmetric loss."""
        if not self.rubbing:
            return 0.0
        name = COULOMB + self.joints[k]
        if name in self.numerics:
            at = int(self.m.numeric_adr[self.numerics.index(name)])
            return tuple(float(x) for x in self.m.numeric_data[at : at + 2])
        return float(self.m.dof_frictionloss[dof])

    def _is_free(self, k: int) -> bool:
        return int(self.m.jnt_type[k]) == self.mujoco.mjtJoint.mjJNT_FREE

    def _leave_out(self, k: int, dof: int) -> None:
        name, m = self.joints[k], self.m
        if self._is_free(k) and self.rubbing and m.dof_frictionloss[dof] != 0.0:
            effect = "it acts along the axes of the body here, of the world in MuJoCo"
            self.left_out.append(LeftOut("frictionloss of a free joint", name, effect))
        if self.sprung and getattr(m, "jnt_springyield", np.zeros(m.njnt))[k] != 0.0:
            effect = "the spring stays elastic"
            self.left_out.append(LeftOut("yield of a spring", name, effect))


def reflected(mujoco: ModuleType, m: Any) -> tuple[np.ndarray, np.ndarray, list[LeftOut]]:
    """Armature and damping (nv,) of actuators at joints, × gear², and those of all others.

    MuJoCo adds both to every degree of the joint, with the first number of the gear.
    """
    armature, damping, left = np.zeros(m.nv), np.zeros(m.nv), []
    degrees = {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}
    joint_kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for i in range(m.nu):
        own = [_of(m, name, i) for name in ("armature", "damping")]
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}"
        if np.any(_of(m, "dampingpoly", i)):
            effect = "it brakes in proportion to the velocity only"
            left.append(LeftOut("nonlinear damping of an actuator", name, effect))
        if not np.any(own):
            continue
        joint = int(m.actuator_trnid[i, 0])
        if int(m.actuator_trntype[i]) not in joint_kinds:
            effect = "what it moves is lighter, or less damped"
            left.append(LeftOut("armature and damping of an actuator", name, effect))
            continue
        first = int(m.jnt_dofadr[joint])
        last = first + degrees.get(int(m.jnt_type[joint]), 1)
        ratio = float(m.actuator_gear[i, 0]) ** 2
        armature[first:last] += ratio * float(own[0])
        damping[first:last] += ratio * float(own[1])
    return armature, damping, left


def _of(m: Any, name: str, i: int) -> Any:
    """A number of an actuator; MuJoCo before 3.6 has none of these."""
    found = getattr(m, f"actuator_{name}", None)
    return 0.0 if found is None else found[i]


def series(m: Any, name: str, i: int) -> np.ndarray:
    """Coefficients (degree,) of a polynomial spring or damper, the linear one first; empty for none.

    MuJoCo before 3.6 has linear ones only.
    """
    higher = getattr(m, f"{name}poly", None)
    found = np.array([getattr(m, name)[i], *([] if higher is None else higher[i])], dtype=float)
    return np.trim_zeros(found, "b")
