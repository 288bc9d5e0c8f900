"""Actuators of a compiled MJCF model as data; those that are more than a general actuator are listed.

Motors, servos, dampers and cylinders are shorthands that the compiler has written out already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_forces import disabled, names_of, of_actuator
from dalembert.model.actuators import ANY, Actuation, Actuator, Range, wraps
from dalembert.model.model import Model
from dalembert.model.notes import LeftOut

TRANSMISSIONS = {
    "mjTRN_JOINT": "joint",
    "mjTRN_JOINTINPARENT": "joint_in_parent",
    "mjTRN_TENDON": "tendon",
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


def actuation(
    mujoco: ModuleType, m: Any, model: Model, joints: list[str], sites: list[str]
) -> tuple[Actuation, list[LeftOut]]:
    """The actuators, and those that are left out; `joints` and `sites` are names by index."""
    tendons = names_of(mujoco, m, "tendon")
    targets = {"joint": joints, "joint_in_parent": joints, "tendon": tendons}
    targets |= {"site": sites, "crank": sites}
    known = {*joints, *(t.name for t in model.tendons), *model.frames}
    actuators: list[Actuator] = []
    left_out: list[LeftOut] = []
    is_off = disabled(mujoco, m, "ACTUATION")
    for i, name in enumerate(names_of(mujoco, m, "actuator")):
        reason = "the file switches actuation off" if is_off else _unsupported(mujoco, m, i)
        if not reason:
            actuator = _actuator(mujoco, m, i, name, targets)
            if {actuator.target, actuator.reference or actuator.target} <= known:
                group = int(m.actuator_group[i])
                if 0 <= group < 31 and m.opt.disableactuator >> group & 1:
                    if "filter" in actuator.dynamics and wraps(model, actuator):
                        effect = "its activation takes the longer direction round, too; it is off"
                        left_out.append(LeftOut("filter of a disabled servo", name, effect))
                    actuator = replace(actuator, gain=np.zeros(3), bias=np.zeros(3))
                actuators.append(actuator)
                continue
        effect = f"exerts nothing: {reason or 'nothing to pull at'}"
        left_out.append(LeftOut("actuator", name, effect))
    if not actuators:
        return Actuation(), left_out
    limited = np.flatnonzero(m.jnt_actfrclimited).tolist()
    joint_ranges = {joints[k]: _range(m.jnt_actfrcrange[k]) for k in limited}
    limited = np.flatnonzero(getattr(m, "tendon_actfrclimited", ())).tolist()
    tendon_ranges = {tendons[k]: _range(m.tendon_actfrcrange[k]) for k in limited}
    return Actuation(tuple(actuators), joint_ranges, tendon_ranges), left_out


def _unsupported(mujoco: ModuleType, m: Any, i: int) -> str:
    """Why an actuator is not a general one; empty if it is."""
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
    controls = int(of_actuator(m, "ctrlnum", i, 1))
    if of_actuator(m, "delay", i) or int(m.actuator_actnum[i]) > 1 or controls != 1:
        return "its control is delayed, or more than one number"
    return ""


def _actuator(
    mujoco: ModuleType, m: Any, i: int, name: str, targets: Mapping[str, list[str]]
) -> Actuator:
    """Actuator i; `targets` are the names of what each transmission pulls at, by index."""
    transmission = TRANSMISSIONS[mujoco.mjtTrn(int(m.actuator_trntype[i])).name]
    dynamics = DYNAMICS[mujoco.mjtDyn(int(m.actuator_dyntype[i])).name]
    # MuJoCo 4 numbers controls and outputs apart from actuators
    control, output = (int(of_actuator(m, key, i, i)) for key in ("ctrladr", "outadr"))
    gain, bias = np.array(m.actuator_gainprm[i, :3]), np.array(m.actuator_biasprm[i, :3])
    if mujoco.mjtGain(int(m.actuator_gaintype[i])).name == "mjGAIN_FIXED":
        gain[1:] = 0.0
    if mujoco.mjtBias(int(m.actuator_biastype[i])).name == "mjBIAS_NONE":
        bias[:] = 0.0
    free = disabled(mujoco, m, "CLAMPCTRL") or not m.actuator_ctrllimited[control]
    count = 2 if transmission in ("site", "crank") else 1
    indices = [int(k) for k in m.actuator_trnid[i, :count]]
    ends = [targets[transmission][k] for k in indices if k >= 0]
    return Actuator(
        name=name,
        target=ends[0],
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
        reference=ends[1] if len(ends) > 1 else None,
        rod=float(m.actuator_cranklength[i]),
    )


def _range(pair: Any) -> Range:
    return float(pair[0]), float(pair[1])


def with_efforts(m: Any, model: Model, joints: Sequence[str]) -> Model:
    """The model with limits of the torques at joints of one degree; `joints` by MuJoCo's index.

    A joint's `actuatorfrcrange`, or what the motors and servos at it can give together, whichever
    is less. Where tendons or sites pull as well, only the first is known.
    """
    stated = {
        joints[k]: float(np.abs(m.jnt_actfrcrange[k]).max())
        for k in np.flatnonzero(m.jnt_actfrclimited).tolist()
    }
    actuators = model.driven_by.actuators
    summed: dict[str, float] = {}
    if all(a.transmission == "joint" for a in actuators):
        for a in actuators:
            # along its length: its own limit, or a motor's at the largest control
            force = float(np.abs(a.force_range).max())
            is_motor = not (np.any(a.gain[1:]) or np.any(a.bias) or a.active)
            if is_motor:
                largest = float(np.abs(a.control_range).max())
                force = min(force, abs(float(a.gain[0])) * largest) if a.gain[0] else 0.0
            own = abs(float(a.gear[0])) * force if a.gear[0] else 0.0
            summed[a.target] = summed.get(a.target, 0.0) + own
    changed = []
    for joint in model.joints:
        least = min(stated.get(joint.name, np.inf), summed.get(joint.name, np.inf))
        single = joint.v.stop - joint.v.start == 1
        changed.append(replace(joint, effort_limit=least) if single else joint)
    return replace(model, joints=tuple(changed))
