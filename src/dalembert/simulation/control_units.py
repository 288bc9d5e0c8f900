"""Units of what drives actuators: a place that a servo goes to, a speed, or a force."""

from __future__ import annotations

import numpy as np

from dalembert.model.actuators import Actuator
from dalembert.systems.coordinates import UNITS
from dalembert.systems.dynamics import Dynamics
from dalembert.tracing import is_symbolic


def control_units(names: Dynamics) -> tuple[str, ...]:
    """Unit of the control of every actuator, empty where its gains do not say."""
    found = []
    for actuator in names.driven_by.actuators:
        unit = _driver(names, actuator)
        # an integrator is told how fast w is to change
        found.append(f"{unit}/s" if unit and actuator.dynamics == "integrator" else unit)
    return tuple(found)


def activation_units(names: Dynamics) -> tuple[str, ...]:
    """Unit of the activation w of every actuator that has one."""
    return tuple(_driver(names, actuator) for actuator in names.driven_by.active)


def _driver(names: Dynamics, actuator: Actuator) -> str:
    """Unit of w in f = (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇."""
    kind = _kind(names, actuator)
    gain, bias = actuator.gain, actuator.bias
    if kind is None or is_symbolic(gain) or is_symbolic(bias) or np.any(gain[1:]):
        return ""
    if actuator.bias[1] != 0.0 and gain[0] == -bias[1]:
        return UNITS["q"][kind]
    if bias[1] == 0.0 and bias[2] != 0.0 and gain[0] == -bias[2]:
        return UNITS["qd"][kind]
    return UNITS["tau"][kind] if gain[0] == 1.0 and not np.any(bias) else ""


def _kind(names: Dynamics, actuator: Actuator) -> str | None:
    """Whether its length is an angle or a length; None where it is neither."""
    if actuator.transmission == "tendon":
        return "length"
    if actuator.transmission == "joint" and actuator.target in names.velocities:
        return names.kinds.v[names.velocities.index(actuator.target)]
    return None
