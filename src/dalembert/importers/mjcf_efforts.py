"""How much the drives of an MJCF can exert on each joint: what `effort_limit` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.model.actuators import Actuator
from dalembert.model.model import Model


def with_efforts(m: Any, model: Model, joints: Sequence[str]) -> Model:
    """The model with limits of the torques at joints of one degree; `joints` by MuJoCo's index.

    A joint's `actuatorfrcrange`, or what the motors and servos at it can give together, whichever
    is less. Where tendons or sites pull as well, only the first is known.
    """
    stated = {
        joints[k]: float(np.abs(m.jnt_actfrcrange[k]).max())
        for k in np.flatnonzero(m.jnt_actfrclimited).tolist()
    }
    given = model.driven_by.actuators
    summed: dict[str, float] = {}
    if all(a.transmission == "joint" for a in given):
        for a in given:
            summed[a.target] = summed.get(a.target, 0.0) + abs(a.gear[0]) * _largest(a)
    changed = []
    for joint in model.joints:
        least = min(stated.get(joint.name, np.inf), summed.get(joint.name, np.inf))
        single = joint.v.stop - joint.v.start == 1
        changed.append(replace(joint, effort_limit=least) if single else joint)
    return replace(model, joints=tuple(changed))


def _largest(actuator: Actuator) -> float:
    """Largest force along its length: its own limit, or a motor's at the largest control."""
    force = float(np.abs(actuator.force_range).max())
    motor = not (np.any(actuator.gain[1:]) or np.any(actuator.bias) or actuator.active)
    if not motor:
        return force
    return min(force, abs(float(actuator.gain[0])) * float(np.abs(actuator.control_range).max()))
