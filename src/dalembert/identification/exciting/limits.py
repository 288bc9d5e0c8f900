"""What a motion must keep to: limits of the joints and drives, as numbers with a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.path_limits import most_of
from dalembert.errors import ShapeError, TrajectoryError
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import short

TURN = np.pi  # rad to either side, for joints that turn without end


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds (n,) of q, |q̇|, |q̈| and of τ without Coulomb friction; infinite where there are none.

    Coulomb friction may act either way when a joint turns round, so that its larger part is taken
    off the drive's torque on each side.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    least: np.ndarray  # τ
    most: np.ndarray

    def bounds(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """(lower, upper) of q, q̇, q̈, τ."""
        velocity, acceleration = self.velocity, self.acceleration
        of_rates = ((-velocity, velocity), (-acceleration, acceleration))
        return ((self.lower, self.upper), *of_rates, (self.least, self.most))

    def tightened(self, margin: float) -> Limits:
        """The same with this share of every range left free."""
        made = []
        for low, high in self.bounds():
            with np.errstate(invalid="ignore"):
                room = np.where(np.isfinite(high - low), 0.5 * margin * (high - low), 0.0)
            made.append((low + room, high - room))
        (lower, upper), (_, velocity), (_, acceleration), (least, most) = made
        return Limits(lower, upper, velocity, acceleration, least, most)


def limits_of(
    robot: Robot, position: Any, velocity: Any, acceleration: Any, torque: Any
) -> tuple[Limits, list[str]]:
    """Limits as given, or else the robot's own, and what was assumed."""
    require_moving_joints(robot)
    said: list[str] = []
    lower, upper = _positions(robot, position, said)
    names = robot.dynamics.velocities
    _require_named(robot, "velocity", velocity, robot.velocity_limit, endless=False)
    _require_named(robot, "torque", torque, robot.effort_limit, endless=True)
    _require_named(robot, "acceleration", acceleration, np.array(np.inf), endless=True)
    most = most_of(robot.nv, robot, velocity, acceleration, torque)
    if not np.isfinite(most.torque).all():
        free = [n for n, t in zip(names, most.torque, strict=True) if not np.isfinite(t)]
        said.append(f"no torque limit for {', '.join(free)}")
    if not np.isfinite(most.acceleration).any():
        said.append("no acceleration limits: velocities, torques and harmonics bound them")
    positive, negative = robot.dynamics.bound().coulomb
    bounds = (-most.torque - negative, most.torque - positive)
    for j, name in enumerate(names):  # every range must have an inside
        if not lower[j] < upper[j]:
            raise TrajectoryError(
                f"joint {name!r} cannot move: its position is between {lower[j]:.6g} and "
                f"{upper[j]:.6g}"
            )
        if not bounds[0][j] < bounds[1][j]:
            raise TrajectoryError(
                f"joint {name!r}: its torque limit of {most.torque[j]:.6g} does not even overcome "
                "its Coulomb friction"
            )
    return Limits(lower, upper, most.velocity, most.acceleration, *bounds), said


def require_moving_joints(robot: Any) -> None:
    """A tree of joints of one degree each, or an error that names what is none."""
    if not isinstance(robot, System):
        raise TrajectoryError(f"excitation takes a robot, as of dalembert.load, not {short(robot)}")
    dynamics = robot.dynamics
    if dynamics.rows:
        raise TrajectoryError(
            f"{robot.name} is a closed chain, whose joints cannot move on their own: excitation is "
            "for trees of joints, followers included"
        )
    if "regressor" not in dynamics.catalogue or not isinstance(robot, Robot):
        raise TrajectoryError(f"{robot.name} has no regressor: excitation is for robots")
    for name, kind in zip(dynamics.coordinates, dynamics.kinds.q, strict=True):
        if kind not in ("angle", "length"):
            raise TrajectoryError(
                f"coordinate {name!r} of {robot.name} is a {kind}: excitation is for joints of one "
                "degree, which Fourier series can move"
            )


def _require_named(robot: Robot, kind: str, given: Any, own: np.ndarray, endless: bool) -> None:
    """Limits that are no positive numbers, or infinite where they must not be, are named."""
    limit = vector(own if given is None else given, robot.nv, kind)
    wrong = ~(limit > 0.0) if endless else ~((limit > 0.0) & np.isfinite(limit))
    if wrong.any():
        names = [name for name, bad in zip(robot.dynamics.velocities, wrong, strict=True) if bad]
        numbers = ", ".join(f"{x:g}" for x in limit[wrong])
        raise TrajectoryError(
            f"{robot.name} needs a {kind} limit for {', '.join(map(repr, names))}, which has "
            f"{numbers}: give {kind}=, one positive number or {robot.nv}, SI units"
        )


def vector(value: Any, size: int, name: str) -> np.ndarray:
    """One number for each joint, (size,), from a number or that many."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name}={value!r} must be a number, or {size} of them") from None
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} must be a number, or {size} of them, not {array.shape}")
    return np.broadcast_to(array, (size,)).copy()


def _positions(robot: Robot, position: Any, said: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of q (n,); ± half a turn about the middle where a joint turns without end."""
    if position is None:
        lower, upper = robot.lower.copy(), robot.upper.copy()
    else:
        if not isinstance(position, Sequence | np.ndarray) or len(position) != 2:
            raise ShapeError(
                f"position= must be (lower, upper), each a number or {robot.nv} of them, rad or m"
            )
        lower, upper = (vector(x, robot.nv, "position") for x in position)
    middle = robot.neutral()
    for j, name in enumerate(robot.dynamics.velocities):
        if np.isfinite(lower[j]) and np.isfinite(upper[j]):
            continue
        if robot.kinds.v[j] != "angle":
            raise TrajectoryError(
                f"joint {name!r} slides and has no limits of position: give position=(lower, upper), m"
            )
        low, high = np.isfinite(lower[j]), np.isfinite(upper[j])
        lower[j] = lower[j] if low else (upper[j] - 2.0 * TURN if high else middle[j] - TURN)
        upper[j] = upper[j] if high else lower[j] + 2.0 * TURN
        said.append(f"{name} has no limits of position: within {lower[j]:.4g} … {upper[j]:.4g} rad")
    return lower, upper
