"""Physics that MJCF gives beside the joints: flags that switch parts off, inertia of actuators."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def disabled(mujoco: ModuleType, m: Any, *names: str) -> bool:
    """Whether the file switches one of these parts off (flags differ between versions)."""
    flags = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
    return any(flag is not None and m.opt.disableflags & flag.value for flag in flags)


def reflected(mujoco: ModuleType, m: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Armature and damping (nv,) of actuators at joints, × gear², and warnings of all others.

    MuJoCo adds both to every degree of the joint, with the first number of the gear.
    """
    armature, damping, warnings = np.zeros(m.nv), np.zeros(m.nv), []
    joint_kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for i in range(m.nu):
        own = [_of(m, name, i) for name in ("armature", "damping")]
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}"
        if np.any(_of(m, "dampingpoly", i)):
            warnings.append(f"actuator {name!r}: damping that is not linear is ignored")
        if not np.any(own):
            continue
        joint = int(m.actuator_trnid[i, 0])
        free = mujoco.mjtJoint.mjJNT_FREE
        if int(m.actuator_trntype[i]) not in joint_kinds or int(m.jnt_type[joint]) == free:
            warnings.append(f"actuator {name!r}: its armature and damping are ignored")
            continue
        first = int(m.jnt_dofadr[joint])
        last = first + (3 if int(m.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_BALL else 1)
        ratio = float(m.actuator_gear[i, 0]) ** 2
        armature[first:last] += ratio * float(own[0])
        damping[first:last] += ratio * float(own[1])
    return armature, damping, warnings


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
