"""Controls of actuators and their first activations, as users give them to `simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError
from dalembert.simulation.sampled import sampled
from dalembert.simulation.settings import Settings
from dalembert.simulation.torque import Torques, torques
from dalembert.systems.actuated import control_vector
from dalembert.systems.law import Controller
from dalembert.systems.system import System


def inputs(
    system: System, tau: Any, asked: Settings, shape: tuple[int, ...]
) -> tuple[Torques, Controller | None]:
    """What acts from outside: torques on velocities of this `shape`, or controls of actuators.

    A controller, given as `tau`, may act beside controls. A digital controller samples its law.
    """
    joints = system.dynamics.velocities
    if asked.controls is None:
        if asked.sampling is not None:
            return sampled(tau, system, asked, shape, joints, "torque"), None
        return torques(tau, shape, joints)
    given = control_vector(system.dynamics, asked.controls)
    controller = tau if hasattr(tau, "law") else None
    if tau is not None and (controller is None or asked.sampling is not None):
        raise SettingError("give torques (tau=) or controls of the actuators (controls=), not both")
    shape, names = (*shape[:-1], len(system.actuators)), tuple(system.actuators)
    if asked.sampling is not None and not hasattr(given, "law"):
        return sampled(given, system, asked, shape, names, "control"), None
    wanted, law = torques(given, shape, names, "controls")
    if law is not None:
        raise SettingError("a controller computes torques: give it as tau=, not as controls=")
    return wanted, controller


def first_activation(system: System, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Activations (..., na) at the start: an array, or by name; zero where nothing is given."""
    names = system.activations
    value = np.zeros(len(names))
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            known = ", ".join(names) or "none has one"
            raise SettingError(
                f"{system.name}: activation of {unknown[0]!r}, which has none; those with one: {known}"
            )
        for name, entry in given.items():
            value[names.index(name)] = entry
    elif given is not None:
        value = np.asarray(given, dtype=float)
    batch = (*shape[:-1], len(names))
    if value.shape not in (batch, batch[-1:]):
        raise ShapeError(f"activation has the shape {value.shape}; it must be {batch[-1:]}")
    if not np.isfinite(value).all():
        raise ShapeError("activation has entries that are not finite")
    return np.broadcast_to(value, batch)
