"""Points of a motion at even times, with the torques it takes, labelled like a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.control.trajectory import Trajectory
from dalembert.errors import TrajectoryError
from dalembert.simulation.along import torques_along
from dalembert.simulation.result import labelled
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray


def sampled(motion: Trajectory, system: System, dt: float) -> xarray.Dataset:
    """q, q̇, q̈, τ and power at times `dt` apart, s, and at the end.

    ``.dl.plot()`` and ``.dl.report("page.html")`` show it.
    """
    if not (np.isfinite(dt) and dt > 0.0):
        raise TrajectoryError(f"dt must be a positive number of seconds, not {dt!r}")
    first, last = motion.breaks[0], motion.breaks[-1]
    t = np.append(np.arange(first, last - 1e-9 * dt, dt), last)
    state = dict(zip(("q", "qd", "qdd"), motion(t), strict=True))
    names = {"system": system.name, "derivatives": "of the path, exactly"}
    return torques_along(system, labelled(system.dynamics, t, state, names))
