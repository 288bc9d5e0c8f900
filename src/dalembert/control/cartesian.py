"""Paths of a frame in space: straight lines, arcs and screw motions, one after the other.

The whole runs from s = 0 to 1 in proportion to the lengths of its segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.line import sound_pose
from dalembert.control.path import Path, blended
from dalembert.control.segments import Arc, Corner, Screw, Segment, Straight, unit
from dalembert.errors import TrajectoryError

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot

SAME = 1e-6  # m and rad, between the end of a segment and the begin of the next


@dataclass(frozen=True, eq=False)
class CartesianPath:
    """Segments one after the other; `a + b` goes on along b, which begins where a ends.

    >>> import numpy as np
    >>> from dalembert.spatial import pose
    >>> path = CartesianPath.line(pose(), pose(p=[1.0, 0.0, 0.0]))
    >>> path(0.25)[:3, 3]
    array([0.25, 0.  , 0.  ])
    """

    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        for k, segment in enumerate(self.segments):
            if not segment.length > 0.0:
                raise TrajectoryError(f"segment {k + 1} of the path has no length: leave it out")

    @staticmethod
    def line(start: Any, goal: Any) -> CartesianPath:
        """A straight line from pose to pose (4, 4), turning about one axis."""
        return CartesianPath((Straight(sound_pose(start, "start"), sound_pose(goal, "goal")),))

    @staticmethod
    def lines(poses: Any, blend: float = 0.0) -> CartesianPath:
        """Straight lines through poses (m, 4, 4), corners rounded from `blend` before to behind, m."""
        if len(poses) < 2 or not (np.isfinite(blend) and blend >= 0.0):
            raise TrajectoryError("lines need two poses or more, and a blend of at least 0 m")
        at = [sound_pose(pose, f"pose {k}") for k, pose in enumerate(poses)]
        lines = [Straight(a, b) for a, b in pairwise(at)]
        made = CartesianPath(tuple(lines))
        return CartesianPath(tuple(_rounded(lines, blend))) if blend > 0.0 else made

    @staticmethod
    def arc(start: Any, via: Any, goal: Any) -> CartesianPath:
        """The arc of a circle through the origins of three poses (4, 4).

        The frame turns evenly from `start` to `goal`; of `via` only the position counts, (3,) will do.
        """
        first, last = sound_pose(start, "start"), sound_pose(goal, "goal")
        middle = np.asarray(via, dtype=float)
        middle = middle[:3, 3] if middle.shape == (4, 4) else middle
        if middle.shape != (3,) or not np.isfinite(middle).all():
            raise TrajectoryError("via must be a pose (4, 4) or a position (3,) of finite numbers")
        center, turn = _circle(first[:3, 3], middle, last[:3, 3])
        return CartesianPath((Arc(first, last, center, turn),))

    @staticmethod
    def circle(start: Any, center: Any, axis: Any, angle: float) -> CartesianPath:
        """Around an axis (3,) through a centre (3,) by an angle, rad; the frame turns with it."""
        direction, point = _vector(axis, "axis"), _vector(center, "center")
        if not direction.any():
            raise TrajectoryError("axis must have a direction")
        w = unit(direction) * angle
        return CartesianPath.screw(start, np.concatenate([np.cross(point, w), w]))

    @staticmethod
    def screw(start: Any, twist: Any, angle: float = 1.0) -> CartesianPath:
        """exp(ξ̂ θ σ) T₀ for σ from 0 to 1: a twist ξ (6,), (linear, angular), in the world."""
        xi = np.asarray(twist, dtype=float) * angle
        if xi.shape != (6,) or not np.isfinite(xi).all():
            raise TrajectoryError("twist must be (6,) finite numbers, linear before angular")
        return CartesianPath((Screw(sound_pose(start, "start"), xi),))

    def __add__(self, other: CartesianPath) -> CartesianPath:
        end, begin = self(1.0), other(0.0)
        away = float(np.abs(end - begin).max())
        if away > SAME:
            raise TrajectoryError(
                f"the second path begins {away:.3g} away from the end of the first (m, or in the "
                "rotation): begin it there"
            )
        return CartesianPath(self.segments + other.segments)

    @property
    def breaks(self) -> np.ndarray:
        """s (m+1,) where segments begin and end."""
        along = np.cumsum([0.0, *(segment.length for segment in self.segments)])
        return along / along[-1]

    def __call__(self, s: Any) -> np.ndarray:
        """Poses (..., 4, 4) at s (...)."""
        s, breaks = np.clip(np.asarray(s, dtype=float), 0.0, 1.0), self.breaks
        flat = s.reshape(-1)
        which = np.clip(np.searchsorted(breaks, flat, side="right") - 1, 0, len(breaks) - 2)
        made = np.empty((flat.size, 4, 4))
        for k in np.unique(which):
            own = which == k
            share = (flat[own] - breaks[k]) / (breaks[k + 1] - breaks[k])
            made[own] = self.segments[k].poses(share)
        return made.reshape(*s.shape, 4, 4)

    def joints(
        self, robot: Robot, q0: Any = None, frame: str = "tool", tolerance: float = 1e-6
    ) -> Path:
        """q(s) that moves a frame of the robot along this path, without jumps.

        From the posture nearest to `q0` (nq,), or from several where none is given, by inverse
        kinematics from sample to sample: each starts at its neighbour. Within a segment a spline of
        fifth degree goes through the samples, with more of them until the frame is nowhere further
        than `tolerance`, m and rad, from its path (measured between all samples, in
        `path.deviation`).
        """
        from dalembert.control.followed import followed

        return followed(robot, self, q0, frame, tolerance)


def _rounded(lines: Sequence[Straight], blend: float) -> list[Segment]:
    """The lines with their corners left out, and what rounds them."""
    made: list[Segment] = []
    for a, b in blended(np.array([line.length for line in lines]), blend):
        k = int(a)
        if b <= k + 1.0:  # inside one line
            begin, end = lines[k].poses(np.array([a - k, b - k]))
            made.append(Straight(begin, end))
            continue
        before, after = (line.way / line.length for line in lines[k : k + 2])
        size = (b - k - 1.0) * lines[k + 1].length
        made.append(Corner(lines[k].goal, before, after, size))
    return made


def _circle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre (3,) and turn (3,), axis times angle, of the arc from a through b to c."""
    u, v = b - a, c - a
    normal = np.cross(u, v)
    if np.linalg.norm(normal) < 1e-9 * max(u @ u, v @ v):
        raise TrajectoryError("the three poses of an arc are on a line: take a line instead")
    away = np.cross((u @ u) * v - (v @ v) * u, normal) / (2.0 * (normal @ normal))
    center, axis = a + away, unit(normal)
    first, last = a - center, c - center
    # from a counter-clockwise about the normal, b comes before c
    angle = np.arctan2(axis @ np.cross(first, last), first @ last) % (2.0 * np.pi)
    return center, axis * angle


def _vector(v: Any, name: str) -> np.ndarray:
    v = np.asarray(v, dtype=float)
    if v.shape != (3,) or not np.isfinite(v).all():
        raise TrajectoryError(f"{name} must be (3,) finite numbers")
    return v
