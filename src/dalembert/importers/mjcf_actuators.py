"""Actuators of a compiled MJCF model as data; those that are more than a general actuator are listed.

Motors, servos, dampers and cylinders are shorthands that the compiler has written out already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.importers.mjcf_compile import CompiledModel
from dalembert.model.actuators import ANY, Actuation, Actuator, Range, wraps
from dalembert.model.model import Model

SUPPORTED = {
    "transmission": ("joint", "joint_in_parent", "tendon", "site", "crank"),
    "dynamics": ("none", "integrator", "filter", "filterexact"),
    "gain": ("fixed", "affine"),
    "bias": ("none", "affine"),
}
_RENAMED = {"jointinparent": "joint_in_parent", "slidercrank": "crank"}  # names of MuJoCo's
LEAST = 1e-15  # mjMINVAL, the shortest time constant


def actuation(m: CompiledModel, model: Model) -> Actuation:
    """The actuators that the model can have; the others are noted."""
    joints, tendons = m.names["joint"], m.names["tendon"]
    known = {*joints, *(t.name for t in model.tendons), *model.frames}
    actuators: list[Actuator] = []
    is_off = m.disabled("ACTUATION")
    for i, name in enumerate(m.names["actuator"]):
        reason = "the file switches actuation off" if is_off else _unsupported(m, i)
        if not reason:
            actuator = _actuator(m, i)
            if {actuator.target, actuator.reference or actuator.target} <= known:
                group = int(m.actuator_group[i])
                if 0 <= group < 31 and m.opt.disableactuator >> group & 1:
                    if "filter" in actuator.dynamics and wraps(model, actuator):
                        effect = "its activation takes the longer direction round, too; it is off"
                        m.leave_out("filter of a disabled servo", name, effect)
                    actuator = replace(actuator, gain=np.zeros(3), bias=np.zeros(3))
                actuators.append(actuator)
                continue
        m.leave_out("actuator", name, f"exerts nothing: {reason or 'nothing to pull at'}")
    if not actuators:
        return Actuation()
    limited = np.flatnonzero(m.jnt_actfrclimited).tolist()
    joint_ranges = {joints[k]: _range(m.jnt_actfrcrange[k]) for k in limited}
    limited = np.flatnonzero(getattr(m, "tendon_actfrclimited", ())).tolist()
    tendon_ranges = {tendons[k]: _range(m.tendon_actfrcrange[k]) for k in limited}
    return Actuation(tuple(actuators), joint_ranges, tendon_ranges)


def _kinds(m: CompiledModel, i: int) -> dict[str, str]:
    """The kinds of what an actuator is made of."""
    kinds = {}
    for what, word in zip(SUPPORTED, ("trn", "dyn", "gain", "bias"), strict=True):
        enum = getattr(m.mujoco, f"mjt{word.capitalize()}")
        kind = enum(int(getattr(m, f"actuator_{word}type")[i])).name.partition("_")[2].lower()
        kinds[what] = _RENAMED.get(kind, kind)
    return kinds


def _unsupported(m: CompiledModel, i: int) -> str:
    """Why an actuator is not a general one; empty if it is."""
    for what, kind in _kinds(m, i).items():
        if kind not in SUPPORTED[what]:
            return f"its {what} is of the kind {kind}"
    if int(m.actuator_plugin[i]) >= 0:
        return "a plugin computes it"
    controls = int(m.of_actuator("ctrlnum", i, 1))
    if m.of_actuator("delay", i) or int(m.actuator_actnum[i]) > 1 or controls != 1:
        return "its control is delayed, or more than one number"
    return ""


def _actuator(m: CompiledModel, i: int) -> Actuator:
    """Actuator i, which is a general one."""
    kinds = _kinds(m, i)
    transmission, dynamics = kinds["transmission"], kinds["dynamics"]
    # MuJoCo 4 numbers controls and outputs apart from actuators
    control, output = (int(m.of_actuator(key, i, i)) for key in ("ctrladr", "outadr"))
    gain, bias = np.array(m.actuator_gainprm[i, :3]), np.array(m.actuator_biasprm[i, :3])
    if kinds["gain"] == "fixed":
        gain[1:] = 0.0
    if kinds["bias"] == "none":
        bias[:] = 0.0
    free = m.disabled("CLAMPCTRL") or not m.actuator_ctrllimited[control]
    # two sites, or one joint or tendon
    has_sites = transmission in ("site", "crank")
    named = m.site_frames if has_sites else m.names[transmission.partition("_")[0]]
    indices = [int(k) for k in m.actuator_trnid[i, : 2 if has_sites else 1]]
    ends = [named[k] for k in indices if k >= 0]
    return Actuator(
        name=m.names["actuator"][i],
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


def with_efforts(m: CompiledModel, model: Model) -> Model:
    """The model with limits of the torques at joints of one degree.

    A joint's `actuatorfrcrange`, or what the motors and servos at it can give together, whichever
    is less. Where tendons or sites pull as well, only the first is known.
    """
    stated = {
        m.names["joint"][k]: float(np.abs(m.jnt_actfrcrange[k]).max())
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
