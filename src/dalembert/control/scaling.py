"""Time scaling: how fast a path may be run before a joint meets its limits.

Run c times slower, a path needs the velocities q̇/c, the accelerations q̈/c² and the torques
N + f/c + (τ − N − f)/c², f the viscous friction (Hollerbach 1984, Dynamic scaling of manipulator
trajectories): so the factor follows from the path as given, without another evaluation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.control.trajectory import Trajectory
from dalembert.errors import TrajectoryError
from dalembert.formulations.parts.drive import coulomb
from dalembert.systems.system import System

SAMPLES = 1001


def within_limits(
    trajectory: Trajectory,
    system: System | None = None,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
) -> Trajectory:
    """The trajectory, slowed down or sped up until the tightest limit is met.

    Limits are numbers, or one for each joint; `torque` needs the `system`.

    >>> from dalembert.control import quintic
    >>> slow = within_limits(quintic([0.0], [1.0], 1.0), velocity=1.0)
    >>> round(slow.duration, 3)
    1.875
    """
    t = np.linspace(trajectory.breaks[0], trajectory.breaks[-1], SAMPLES)[:-1]
    q, qd, qdd = trajectory(t)
    slowest = []
    if velocity is not None:
        slowest.append((np.abs(qd) / _limit(velocity, "velocity")).max())
    if acceleration is not None:
        slowest.append(np.sqrt((np.abs(qdd) / _limit(acceleration, "acceleration")).max()))
    if torque is not None:
        if system is None:
            raise TrajectoryError("a torque limit needs the system that moves")
        slowest.append(_torque_factor(system, t, q, qd, qdd, _limit(torque, "torque")))
    if not slowest:
        raise TrajectoryError("give at least one of velocity, acceleration and torque")
    factor = max(slowest)
    return trajectory if factor == 0.0 else trajectory.slowed(factor)


def _limit(value: Any, name: str) -> np.ndarray:
    limit = np.asarray(value, dtype=float)
    if not (limit > 0.0).all():
        raise TrajectoryError(f"{name} limits must be positive, not {value!r}")
    return limit


def _torque_factor(
    system: System, t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, most: np.ndarray
) -> float:
    """The least c from which on N + f/c + a/c² stays within ±most, sample by sample."""
    most = np.broadcast_to(most, qd.shape)
    positive, negative = system.dynamics.bound().coulomb
    N = system.gravity_torque(q) + coulomb(qd, positive, negative)
    held = np.abs(N) >= most
    if held.any():
        sample, joint = np.argwhere(held)[0]
        raise TrajectoryError(
            f"joint {system.dynamics.velocities[joint]!r} needs {N[sample, joint]:.4g} only to hold "
            f"the arm at t = {t[sample]:.3g} s, its limit is {most[sample, joint]:.4g}: "
            "no speed makes this path feasible"
        )
    a = (system.mass_matrix(q) @ qdd[..., None])[..., 0] + system.bias(q, qd)
    a = a - system.gravity_torque(q)
    f = system.inverse_dynamics(q, qd, qdd) - a - N
    w = np.minimum(_first_root(a, f, N - most), _first_root(a, f, N + most))
    return float(1.0 / w.min())


def _first_root(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The smallest positive w with a w² + b w + c = 0, inf where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4.0 * a * c)
        # the form that does not cancel, for either sign of b
        k = -0.5 * (b + np.copysign(root, b))
        roots = np.stack([k / a, c / k, np.where(a == 0.0, -c / b, np.nan)])
    return np.where((roots > 0.0) & np.isfinite(roots), roots, np.inf).min(axis=0)
