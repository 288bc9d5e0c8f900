"""Forces that MJCF gives to joints: springs, damping, friction, armature; flags that forbid them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.model.notes import LeftOut
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import snap

ON_TWIST = "dalembert rotor "  # and a free joint: its rotor is no ballast
COULOMB = "dalembert coulomb "  # and a joint: a <numeric> that MuJoCo passes through


def disabled(mujoco: ModuleType, m: Any, *names: str) -> bool:
    """Whether the file switches one of these parts off (flags differ between versions)."""
    flags = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
    return any(flag is not None and m.opt.disableflags & flag.value for flag in flags)


def names_of(mujoco: ModuleType, m: Any, word: str) -> list[str]:
    """Names by index of everything of this kind ("body", "tendon", …); unnamed ones get a free name."""
    counts = {"body": m.nbody, "joint": m.njnt, "site": m.nsite, "numeric": m.nnumeric}
    counts |= {"tendon": m.ntendon, "equality": m.neq, "actuator": actuator_count(m)}
    kind = getattr(mujoco.mjtObj, f"mjOBJ_{word.upper()}")
    names = [mujoco.mj_id2name(m, kind, i) or "" for i in range(counts[word])]
    taken = set(names)
    for i, name in enumerate(names):
        if not name:
            made = f"{word}{i}"
            while made in taken:
                made += "_"
            taken.add(made)
            names[i] = made
    return names


def rotation_of(quaternion: Any) -> np.ndarray:
    """R (3, 3) of MuJoCo's quaternion (w, x, y, z)."""
    return snap(matrix_from_quaternion(np.roll(quaternion, -1)))


def has_passive(mujoco: ModuleType, m: Any) -> bool:
    """Whether fluids and gravity compensation act: not with springs and dampers both disabled."""
    neither = disabled(mujoco, m, "SPRING") and disabled(mujoco, m, "DAMPER")
    return not (neither or disabled(mujoco, m, "PASSIVE"))


def gravity_compensation(
    mujoco: ModuleType, m: Any, joints: list[str]
) -> tuple[np.ndarray, list[LeftOut]]:
    """The share (nbody,) of its weight by which each body is lifted, and what MuJoCo does otherwise.

    MuJoCo looks for it only if some share is positive. In joints with actuatorgravcomp it is the
    actuators' force: nothing without actuators, and bounded by the joint's actuatorfrcrange.
    """
    shares, left = np.array(m.body_gravcomp, dtype=float), []
    if not (has_passive(mujoco, m) and np.any(shares > 0.0)):
        return np.zeros(m.nbody), []
    powered = actuator_count(m) > 0 and not disabled(mujoco, m, "ACTUATION")
    for i in np.flatnonzero(shares).tolist():
        by_drives = [bool(m.jnt_actgravcomp[k]) for k in _supports(m, i)]
        if not powered and by_drives and all(by_drives):
            shares[i] = 0.0
    lifting = {k for i in np.flatnonzero(shares).tolist() for k in _supports(m, i)}
    for k in sorted(k for k in lifting if m.jnt_actgravcomp[k]):
        if not powered:
            effect = "weights are lifted in this joint, although no actuator is there to do it"
            left.append(LeftOut("actuatorgravcomp", joints[k], effect))
        elif m.jnt_actfrclimited[k]:
            effect = "its drive lifts weights beyond actuatorfrcrange"
            left.append(LeftOut("actuatorgravcomp", joints[k], effect))
    return shares, left


def _supports(m: Any, body: int) -> list[int]:
    """The joints between a body and the world."""
    found: list[int] = []
    while body > 0:
        first = int(m.body_jntadr[body])
        found += range(first, first + int(m.body_jntnum[body]))
        body = int(m.body_parentid[body])
    return found


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
    for i, name in enumerate(names_of(mujoco, m, "actuator")):
        own = [of_actuator(m, name, i) for name in ("armature", "damping")]
        if np.any(of_actuator(m, "dampingpoly", i)):
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
        ratio = float(m.actuator_gear[of_actuator(m, "outadr", i, i), 0]) ** 2
        armature[first:last] += ratio * float(own[0])
        damping[first:last] += ratio * float(own[1])
    return armature, damping, left


def actuator_count(m: Any) -> int:
    """How many actuators there are; MuJoCo 4 counts their controls (nu) apart."""
    return int(getattr(m, "nactuator", m.nu))


def of_actuator(m: Any, name: str, i: int, default: Any = 0) -> Any:
    """Field `name` of actuator i, or `default` where this version of MuJoCo does not have it."""
    found = getattr(m, f"actuator_{name}", None)
    return default if found is None else found[i]


def series(m: Any, name: str, i: int) -> np.ndarray:
    """Coefficients (degree,) of a polynomial spring or damper, the linear one first; empty for none.

    MuJoCo before 3.6 has linear ones only.
    """
    higher = getattr(m, f"{name}poly", None)
    found = np.array([getattr(m, name)[i], *([] if higher is None else higher[i])], dtype=float)
    return np.trim_zeros(found, "b")
