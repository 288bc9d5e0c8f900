"""Actuators of a compiled MJCF model as data; those that are more than a general actuator are listed.

Motors, servos, dampers and cylinders are shorthands that the compiler has written out already.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_physics import disabled
from dalembert.model.actuators import ANY, Actuation, Actuator, Range

TRANSMISSIONS = {
    "mjTRN_JOINT": "joint",
    "mjTRN_JOINTINPARENT": "joint_in_parent",
    "mjTRN_SITE": "site",
    "mjTRN_SLIDERCRANK": "crank",
}
DYNAMICS = {
    "mjDYN_NONE": "none",
    "mjDYN_INTEGRATOR": "integrator",
    "mjDYN_FILTER": "filter",
    "mjDYN_FILTEREXACT": "filterexact",
}
GAINS, BIASES = ("mjGAIN_FIXED", "mjGAIN_AFFINE"), ("mjBIAS_NONE", "mjBIAS_AFFINE")
LEAST = 1e-15  # mjMINVAL, the shortest time constant


class Names:
    """Names of joints, tendons and frames by MuJoCo's index."""

    def __init__(
        self, joints: list[str], tendons: list[str], sites: list[str], frames: tuple[str, ...]
    ) -> None:
        self.joints, self.tendons, self.sites, self.frames = joints, tendons, sites, frames

    def target(self, transmission: str, index: int) -> str:
        """The name of what an actuator of this kind pulls at."""
        of_joints = transmission in ("joint", "joint_in_parent")
        kinds = self.joints if of_joints else self.sites
        return (self.tendons if transmission == "tendon" else kinds)[index]


def actuation(mujoco: ModuleType, m: Any, names: Names) -> tuple[Actuation, list[tuple[str, str]]]:
    """The actuators, and (name, why) of those that are left out."""
    kept, others = [], []
    count = int(getattr(m, "nactuator", m.nu))
    off = disabled(mujoco, m, "ACTUATION")
    for i in range(count):
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}"
        why = "the file switches actuation off" if off else _unlike(mujoco, m, i, names)
        if why:
            others.append((name, why))
        else:
            kept.append(_actuator(mujoco, m, i, name, names))
    joints = {
        names.joints[k]: _range(m.jnt_actfrcrange[k])
        for k in np.flatnonzero(m.jnt_actfrclimited).tolist()
    }
    tendons = {
        names.tendons[k]: _range(m.tendon_actfrcrange[k])
        for k in np.flatnonzero(getattr(m, "tendon_actfrclimited", ())).tolist()
    }
    return Actuation(tuple(kept), joints if kept else {}, tendons if kept else {}), others


def _unlike(mujoco: ModuleType, m: Any, i: int, names: Names) -> str:
    """Why an actuator is no general one, if it is not."""
    kinds = {
        "transmission": (mujoco.mjtTrn(int(m.actuator_trntype[i])).name, TRANSMISSIONS),
        "dynamics": (mujoco.mjtDyn(int(m.actuator_dyntype[i])).name, DYNAMICS),
        "gain": (mujoco.mjtGain(int(m.actuator_gaintype[i])).name, GAINS),
        "bias": (mujoco.mjtBias(int(m.actuator_biastype[i])).name, BIASES),
    }
    for what, (kind, known) in kinds.items():
        if kind not in known:
            return f"its {what} is of the kind {kind.partition('_')[2].lower()}"
    if int(m.actuator_plugin[i]) >= 0:
        return "a plugin computes it"
    if _of(m, "delay", i) or int(m.actuator_actnum[i]) > 1 or int(_of(m, "ctrlnum", i, 1)) != 1:
        return "its control is delayed, or more than one number"
    if kinds["transmission"][0] in ("mjTRN_SITE", "mjTRN_SLIDERCRANK"):
        at = [names.sites[k] for k in m.actuator_trnid[i].tolist() if k >= 0]
        missing = [name for name in at if name not in names.frames]
        return f"its site {missing[0]!r} is no frame" if missing else ""
    return ""


def _actuator(mujoco: ModuleType, m: Any, i: int, name: str, names: Names) -> Actuator:
    transmission = TRANSMISSIONS[mujoco.mjtTrn(int(m.actuator_trntype[i])).name]
    dynamics = DYNAMICS[mujoco.mjtDyn(int(m.actuator_dyntype[i])).name]
    # MuJoCo 4 numbers controls and outputs apart from actuators
    control, output = int(_of(m, "ctrladr", i, i)), int(_of(m, "outadr", i, i))
    gain, bias = np.array(m.actuator_gainprm[i, :3]), np.array(m.actuator_biasprm[i, :3])
    if mujoco.mjtGain(int(m.actuator_gaintype[i])).name == "mjGAIN_FIXED":
        gain[1:] = 0.0
    if mujoco.mjtBias(int(m.actuator_biastype[i])).name == "mjBIAS_NONE":
        bias[:] = 0.0
    group = int(m.actuator_group[i])
    if 0 <= group < 31 and m.opt.disableactuator >> group & 1:
        gain[:], bias[:] = 0.0, 0.0
    free = disabled(mujoco, m, "CLAMPCTRL") or not m.actuator_ctrllimited[control]
    target, other = (int(x) for x in m.actuator_trnid[i])
    return Actuator(
        name=name,
        target=names.target(transmission, target),
        transmission=transmission,
        gear=np.array(m.actuator_gear[output]),
        gain=gain,
        bias=bias,
        dynamics=dynamics,
        time_constant=max(LEAST, float(m.actuator_dynprm[i, 0])) if "filter" in dynamics else 1.0,
        control_range=ANY if free else _range(m.actuator_ctrlrange[control]),
        force_range=_range(m.actuator_forcerange[i]) if m.actuator_forcelimited[i] else ANY,
        activation_range=_range(m.actuator_actrange[i]) if m.actuator_actlimited[i] else ANY,
        lead=float(m.opt.timestep) if m.actuator_actearly[i] and dynamics != "none" else 0.0,
        reference=_reference(transmission, other, names),
        rod=float(m.actuator_cranklength[i]),
    )


def _reference(transmission: str, index: int, names: Names) -> str | None:
    return names.sites[index] if transmission in ("site", "crank") and index >= 0 else None


def _range(pair: Any) -> Range:
    return float(pair[0]), float(pair[1])


def _of(m: Any, name: str, i: int, otherwise: Any = 0) -> Any:
    """A number of an actuator that older versions of MuJoCo do not have."""
    found = getattr(m, f"actuator_{name}", None)
    return otherwise if found is None else found[i]
