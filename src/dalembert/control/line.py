"""Straight lines of the tool: position along a line, orientation about one axis, one time law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.control.trajectory import Trajectory, quintic, trapezoidal
from dalembert.errors import TrajectoryError
from dalembert.spatial.rotations import exp_so3, log_so3
from dalembert.systems.reaching.targets import with_rotations

RIGID = 1e-6  # how far a pose may be from a rigid motion, as numbers in float32 are


class Waypoint(NamedTuple):
    """A frame on its way: position, rotation, twist and its rate, along the world's axes."""

    p: Any
    R: Any
    V: Any
    V_dot: Any


@dataclass(frozen=True, eq=False)
class Line:
    """From the pose `start` to the pose `goal` (4, 4), as a share s(t) of the way (a 1-d trajectory).

    The orientation turns about the axis fixed in both poses, by log(R₀ᵀR₁) s.
    """

    start: np.ndarray
    goal: np.ndarray
    timing: Trajectory

    def __post_init__(self) -> None:
        for name in ("start", "goal"):
            object.__setattr__(self, name, sound_pose(getattr(self, name), name))
        if self.timing.size != 1:
            raise TrajectoryError("timing must be a trajectory of one coordinate, from 0 to 1")

    @staticmethod
    def quintic(start: Any, goal: Any, duration: float) -> Line:
        """From rest to rest in this time."""
        return Line(start, goal, quintic([0.0], [1.0], duration))

    @staticmethod
    def trapezoidal(start: Any, goal: Any, speed: float, acceleration: float) -> Line:
        """At most this fast along the line, m/s and m/s²."""
        way = float(np.linalg.norm(np.asarray(goal)[:3, 3] - np.asarray(start)[:3, 3]))
        if way == 0.0:
            raise TrajectoryError("start and goal are the same point; give a timing instead")
        return Line(start, goal, trapezoidal([0.0], [1.0], speed / way, acceleration / way))

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Its numbers, as inputs of a kernel."""
        R0 = self.start[:3, :3]
        turn = log_so3(R0.T @ self.goal[:3, :3])
        way = self.goal[:3, 3] - self.start[:3, 3]
        place = {"p0": self.start[:3, 3], "way": way, "R0": R0, "turn": turn}
        return {**place, **self.timing.constants}

    def at(self, t: Any, constants: Mapping[str, Any]) -> Waypoint:
        """The placement at one time; all may be symbols."""
        s, ds, dds = self.timing.at(t, constants)
        s, ds, dds = s[0], ds[0], dds[0]
        R0, turn, way = constants["R0"], constants["turn"], constants["way"]
        axis = R0 @ turn  # the turn keeps its own axis, so it is fixed in the world
        along = np.concatenate([way, axis])
        return Waypoint(constants["p0"] + s * way, R0 @ exp_so3(s * turn), ds * along, dds * along)


def sound_pose(pose: Any, name: str) -> np.ndarray:
    """A pose (4, 4) with the nearest rotation in it, or an error."""
    T = np.asarray(pose, dtype=float)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise TrajectoryError(f"{name} must be a (4, 4) pose of finite numbers")
    if np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max() > RIGID or np.linalg.det(T[:3, :3]) < 0.0:
        raise TrajectoryError(f"{name} has no rotation in its upper left: it must be orthogonal")
    if np.abs(T[3] - [0.0, 0.0, 0.0, 1.0]).max() > RIGID:
        raise TrajectoryError(f"the last row of {name} must be 0, 0, 0, 1: is it transposed?")
    return with_rotations(T)
