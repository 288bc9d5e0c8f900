"""Why a run cannot go on, in words: a singular posture, or a joint beyond all bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.simulation.plant import SimulatedPlant
from dalembert.simulation.torque import not_finite


def lost_torque(
    plant: SimulatedPlant, times: tuple[float, ...], x: np.ndarray, given: Mapping[str, np.ndarray]
) -> str:
    """Whose torque a compiled law makes no number of at a state (size,), in words; else nothing."""
    if plant.controller is None or any(value.ndim > 1 for value in given.values()):
        return ""
    q, qd, z, _ = plant.parts(x)
    none = np.zeros(len(plant.driving))
    with np.errstate(all="ignore"):
        for t in times:
            total, _ = plant.torque(t, q, qd, z, none, given)
            total = np.asarray(total, dtype=float)
            if said := not_finite("torque", plant.dynamics.velocities, t, total, x):
                return said
    return ""


def culprit(plant: SimulatedPlant, before: np.ndarray) -> str:
    """Who left all bounds: the fastest joint of the last state that was within them."""
    speeds = np.abs(before[plant.nq : plant.nq + plant.nv])
    fastest = plant.dynamics.velocities[int(np.argmax(speeds))]
    return f"the motion is not finite or beyond all bounds, joint {fastest!r} fastest,"
