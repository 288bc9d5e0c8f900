"""A system without joints of its own to be moved by, let go from a posture near its reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.simulation import simulate
from dalembert.systems.system import System

SECONDS, SLOW, SEED = 2.0, 0.3, 5  # of a system let go: time, share of a random velocity


def let_go(system: System) -> Any:
    """A run of a few seconds from the reference posture, with a random small velocity."""
    q, qd = released(system)
    return simulate(system, q, qd, duration=SECONDS, dt=0.01, progress=False)


def released(system: System) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and qd (nv,) that meet the constraints."""
    made = system.dynamics.bound()
    nudge, velocity = SLOW * np.random.default_rng(SEED).normal(size=(2, system.nv))
    # away from a reference posture that may be singular, unless constraints hold the system there
    start = system.neutral() if made.rows else made.integrate(system.neutral(), nudge)
    q, qd = made.project(start, velocity, 0.0)
    return q, qd
