"""Motions shown on pages: a smooth path through postures, and free motion after release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.report.facts import coordinates, is_of_the_zoo
from dalembert.simulation import simulate
from dalembert.systems.robot import Robot
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

SECONDS_PER_LEG = 1.2
SAMPLES = 2401
# Via points (rad, m) of the motions of some robots, one leg from each to the next.
POSTURES: dict[str, tuple[tuple[float, ...], ...]] = {
    "ur5": (
        (3.4, -2.0, 2.2, -1.8, -1.57, 0.0),
        (2.0, -1.3, 0.6, -0.9, -1.57, 1.0),
        (0.45, -1.35, 1.55, -1.77, -1.57, 0.5),
    ),
    "puma560": (
        (2.7, 1.2, -3.2, 0.4, 0.8, 0.0),
        (1.6, 1.5, -1.9, 0.0, 0.2, 1.0),
        (0.45, 0.8, -2.4, -0.6, 0.9, 2.0),
    ),
}


@dataclass(frozen=True)
class SampledMotion:
    """A robot's motion sampled in time, (samples, ...) each."""

    t: np.ndarray  # s
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    kinetic: np.ndarray  # J
    potential: np.ndarray  # J, from the start
    friction: np.ndarray  # J lost so far
    work: np.ndarray  # J, ∫ τ·q̇ dt

    @property
    def has_friction(self) -> bool:
        """Whether the drives lose more than rounding."""
        return bool(np.abs(self.friction).max() > 1e-9 * np.abs(self.work).max())

    @property
    def residual(self) -> float:
        """Largest |work − (K + ΔU + friction)|, J."""
        return float(np.abs(self.work - (self.kinetic + self.potential + self.friction)).max())


def postures(robot: Robot) -> list[np.ndarray]:
    """Displacements (nv,) from the reference to each posture, within the limits.

    Those of a quaternion joint are multiples of one another: it then turns about one axis, and its
    velocity is the derivative of its displacement.
    """
    if robot.name in POSTURES and is_of_the_zoo(robot):
        return [np.array(posture) for posture in POSTURES[robot.name]]
    middle, signs = np.zeros(robot.nv), np.ones(robot.nv)
    span = np.array([1.0 if c.kind == "angle" else 0.2 for c in coordinates(robot, "qd")])
    for number, joint in enumerate(robot.joints):
        lower, upper = joint.lower[0], joint.upper[0]
        signs[joint.v] = (-1) ** number
        if np.isfinite([lower, upper]).all() and robot.nq == robot.nv:
            middle[joint.v] = (lower + upper) / 2
            span[joint.v] = np.minimum(span[joint.v], (upper - lower) / 3)
    return [middle - span, middle + 0.4 * signs * span, middle + span]


def path(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t, q, q̇, q̈ through `postures(robot)`: a quintic spline, at rest at both ends."""
    from scipy.interpolate import make_interp_spline

    targets = np.stack(postures(robot))
    times = SECONDS_PER_LEG * np.arange(len(targets))
    at_rest = [(1, np.zeros(robot.nv)), (2, np.zeros(robot.nv))]
    spline = make_interp_spline(times, targets, k=5, bc_type=(at_rest, at_rest))
    t = np.linspace(0.0, times[-1], SAMPLES)
    return t, robot.integrate(robot.neutral(), spline(t)), spline(t, 1), spline(t, 2)


def move(robot: Robot) -> SampledMotion:
    """The motion along `path(robot)`, with its torques and its energy balance."""
    from scipy.integrate import cumulative_simpson

    t, q, qd, qdd = path(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    # τ = M q̈ + h + friction: the rest is what the drives lose
    lost = tau - (robot.mass_matrix(q) @ qdd[..., None])[..., 0] - robot.bias(q, qd)
    potential = robot.potential_energy(q)
    return SampledMotion(
        t=t,
        q=q,
        qd=qd,
        qdd=qdd,
        tau=tau,
        kinetic=robot.kinetic_energy(q, qd),
        potential=potential - potential[0],
        friction=cumulative_simpson((lost * qd).sum(axis=1), x=t, initial=0.0),
        work=cumulative_simpson((tau * qd).sum(axis=1), x=t, initial=0.0),
    )


SECONDS = 2.0  # of a free motion
SLOW, SEED = 0.3, 5  # its initial velocity: share of a random one


def free_motion(system: System) -> xarray.Dataset:
    """A run of a few seconds from the reference posture, with a small random velocity."""
    q, qd = free_start(system)
    return simulate(system, q, qd, duration=SECONDS, dt=0.01, progress=False)


def free_start(system: System) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and qd (nv,) of a free motion; they satisfy the constraints."""
    dynamics = system.dynamics.bound()
    offset, velocity = SLOW * np.random.default_rng(SEED).normal(size=(2, system.nv))
    # away from a reference posture that may be singular, unless there are constraints
    q = system.neutral() if dynamics.rows else dynamics.integrate(system.neutral(), offset)
    q, qd = dynamics.project(q, velocity, 0.0)
    return q, qd
