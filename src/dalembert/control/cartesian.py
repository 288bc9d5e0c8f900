"""Cartesian paths of a frame: straight lines, arcs, screw motions and rounded corners.

A segment has poses at shares σ of its length √(ℓ² + (ρ φ)²), ℓ the distance of the origin, φ the turn
and ρ = 0.25 m/rad. A path of several segments runs from s = 0 to 1 in proportion to their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.path import Path, blended
from dalembert.control.trajectory import Array, Constants, Scalar, Trajectory, quintic, trapezoidal
from dalembert.errors import TrajectoryError
from dalembert.spatial.rotations import exp_so3, log_so3
from dalembert.spatial.se3 import rotation_between, rotations_about, stack_poses
from dalembert.systems.ik.targets import with_nearest_rotations

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot

RIGID = 1e-6  # error of a pose in float32


class Waypoint(NamedTuple):
    """Position, rotation, twist and its rate of a frame, along the world's axes."""

    p: Array
    R: Array
    V: Array
    V_dot: Array


@dataclass(frozen=True, eq=False)
class Line:
    """A straight line from the pose `start` to `goal` (4, 4), with `timing` s(t) from 0 to 1.

    The orientation turns about the axis fixed in both poses, by log(R₀ᵀR₁) s.
    """

    start: np.ndarray
    goal: np.ndarray
    timing: Trajectory

    def __post_init__(self) -> None:
        for name in ("start", "goal"):
            object.__setattr__(self, name, checked_pose(getattr(self, name), name))
        if self.timing.size != 1:
            raise TrajectoryError("timing must be a trajectory of one coordinate, from 0 to 1")

    @staticmethod
    def quintic(start: ArrayLike, goal: ArrayLike, duration: float) -> Line:
        """From rest to rest in this time."""
        return Line(np.asarray(start), np.asarray(goal), quintic([0.0], [1.0], duration))

    @staticmethod
    def trapezoidal(start: ArrayLike, goal: ArrayLike, speed: float, acceleration: float) -> Line:
        """At most this fast along the line, m/s and m/s²."""
        first, last = np.asarray(start), np.asarray(goal)
        length = float(np.linalg.norm(last[:3, 3] - first[:3, 3]))
        if length == 0.0:
            raise TrajectoryError("start and goal are the same point; give a timing instead")
        timing = trapezoidal([0.0], [1.0], speed / length, acceleration / length)
        return Line(first, last, timing)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Inputs of a kernel."""
        R0 = self.start[:3, :3]
        turn = log_so3(R0.T @ self.goal[:3, :3])
        step = self.goal[:3, 3] - self.start[:3, 3]
        poses = {"p0": self.start[:3, 3], "way": step, "R0": R0, "turn": turn}
        return {**poses, **self.timing.constants}

    def at(self, t: Scalar, constants: Constants) -> Waypoint:
        """The frame at one time; all may be symbols."""
        s, ds, dds = self.timing.at(t, constants)
        s, ds, dds = s[0], ds[0], dds[0]
        R0, turn, step = constants["R0"], constants["turn"], constants["way"]
        axis = R0 @ turn  # the turn keeps its own axis, so it is fixed in the world
        along = np.concatenate([step, axis])
        return Waypoint(constants["p0"] + s * step, R0 @ exp_so3(s * turn), ds * along, dds * along)


def checked_pose(pose: ArrayLike, name: str) -> np.ndarray:
    """The pose (4, 4) with the nearest rotation; an error if it is not a rigid motion."""
    T = np.asarray(pose, dtype=float)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise TrajectoryError(f"{name} must be a (4, 4) pose of finite numbers")
    if np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max() > RIGID or np.linalg.det(T[:3, :3]) < 0.0:
        raise TrajectoryError(f"{name} has no rotation in its upper left: it must be orthogonal")
    if np.abs(T[3] - [0.0, 0.0, 0.0, 1.0]).max() > RIGID:
        raise TrajectoryError(f"the last row of {name} must be 0, 0, 0, 1: is it transposed?")
    return with_nearest_rotations(T)


RADIUS = 0.25  # m that count as much as a turn of one radian


@dataclass(frozen=True, eq=False)
class Screw:
    """The origin moves by exp(σ ξ̂ θ), R = R₀ exp(σ ŵ): lines, arcs and screw motions of the frame.

    On a line ξ has no turn, on an arc it is a turn about the centre; w = R₀ᵀ ω θ where the whole
    frame moves by the screw.
    """

    start: np.ndarray
    twist: np.ndarray  # ξ θ (6,), (linear, angular), along the world's axes at its origin
    turn: np.ndarray  # w (3,), axis times angle of the frame, along its own axes

    @property
    def displacement(self) -> np.ndarray:
        """(6,): rate of the origin with σ at the start, which has the length of its way, and w."""
        v, w = self.twist[:3], self.twist[3:]
        return np.concatenate([v + np.cross(w, self.start[:3, 3]), self.turn])

    @property
    def length(self) -> float:
        """Distance and turn together."""
        linear, angular = np.linalg.norm(self.displacement.reshape(2, 3), axis=1)
        return float(np.hypot(linear, RADIUS * angular))

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        v, w = self.twist[:3], self.twist[3:]
        angle, shift = np.linalg.norm(w), share[:, None] * v
        if angle > 0.0:
            # ∫ exp(σ ŵ) v dσ; a point of the axis would be far away where w is small
            axis, phi = w / angle, (share * angle)[:, None]
            aside = np.cross(axis, v)
            shift = shift + 2.0 * np.sin(0.5 * phi) ** 2 / angle * aside
            shift = shift + (phi - np.sin(phi)) / angle * np.cross(axis, aside)
        R = self.start[:3, :3] @ rotations_about(self.turn, share)
        return stack_poses(R, rotations_about(w, share) @ self.start[:3, 3] + shift)


def straight(start: np.ndarray, goal: np.ndarray) -> Screw:
    """p₀ + σ (p₁ − p₀), R₀ exp(σ log(R₀ᵀ R₁))."""
    twist = np.concatenate([goal[:3, 3] - start[:3, 3], np.zeros(3)])
    return Screw(start, twist, rotation_between(start, goal))


@dataclass(frozen=True, eq=False)
class Corner:
    """A rounded corner between two lines, tangent to both.

    p = p_c − d₁ α + d₂ β and R = R_c exp(−w₁ α) exp(w₂ β), α = (1 − σ)² r, β = σ² r.
    """

    at: np.ndarray  # pose of the corner
    before: np.ndarray  # (d₁, w₁) (6,) for each metre
    after: np.ndarray
    size: float  # r

    @property
    def length(self) -> float:
        """Length of the two line ends that it replaces."""
        return 2.0 * self.size

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        back, ahead = self.size * (1.0 - share) ** 2, self.size * share**2
        shift = ahead[:, None] * self.after[:3] - back[:, None] * self.before[:3]
        R = (
            self.at[:3, :3]
            @ rotations_about(-self.before[3:], back)
            @ rotations_about(self.after[3:], ahead)
        )
        return stack_poses(R, self.at[:3, 3] + shift)


Segment = Screw | Corner  # a smooth piece: its length, and poses (k, 4, 4) at shares (k,) of it
SAME = 1e-6  # m and rad, between the end of a segment and the begin of the next


@dataclass(frozen=True, eq=False)
class CartesianPath:
    """Segments one after the other; `a + b` continues with b, which begins where a ends.

    Examples
    --------
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
    def line(start: ArrayLike, goal: ArrayLike) -> CartesianPath:
        """A straight line from pose to pose (4, 4), turning about one axis."""
        ends = checked_pose(start, "start"), checked_pose(goal, "goal")
        return CartesianPath((straight(*ends),))

    @staticmethod
    def lines(poses: Sequence[ArrayLike] | np.ndarray, blend: float = 0.0) -> CartesianPath:
        """Straight lines through poses (m, 4, 4).

        Corners are rounded from `blend` before to `blend` behind each, m.
        """
        if len(poses) < 2 or not (np.isfinite(blend) and blend >= 0.0):
            raise TrajectoryError("lines need two poses or more, and a blend of at least 0 m")
        checked = [checked_pose(pose, f"pose {k}") for k, pose in enumerate(poses)]
        lines = [straight(a, b) for a, b in pairwise(checked)]
        path = CartesianPath(tuple(lines))  # an error for lines without length
        if blend == 0.0:
            return path
        segments: list[Segment] = []
        for a, b in blended(np.array([line.length for line in lines]), blend):
            k = int(a)
            if b <= k + 1.0:  # inside one line
                begin, end = lines[k].poses(np.array([a - k, b - k]))
                segments.append(straight(begin, end))
                continue
            before, after = (line.displacement / line.length for line in lines[k : k + 2])
            size = (b - k - 1.0) * lines[k + 1].length
            segments.append(Corner(checked[k + 1], before, after, size))
        return CartesianPath(tuple(segments))

    @staticmethod
    def arc(start: ArrayLike, via: ArrayLike, goal: ArrayLike) -> CartesianPath:
        """The arc of a circle through the origins of three poses (4, 4).

        The frame turns evenly from `start` to `goal`; `via` may be a position (3,).
        """
        first, last = checked_pose(start, "start"), checked_pose(goal, "goal")
        middle = np.asarray(via, dtype=float)
        middle = middle[:3, 3] if middle.shape == (4, 4) else middle
        if middle.shape != (3,) or not np.isfinite(middle).all():
            raise TrajectoryError("via must be a pose (4, 4) or a position (3,) of finite numbers")
        twist = _circle(first[:3, 3], middle, last[:3, 3])
        return CartesianPath((Screw(first, twist, rotation_between(first, last)),))

    @staticmethod
    def circle(start: ArrayLike, center: ArrayLike, axis: ArrayLike, angle: float) -> CartesianPath:
        """A turn about an axis (3,) through a centre (3,) by an angle, rad, of the whole frame."""
        direction, point = (np.asarray(x, dtype=float) for x in (axis, center))
        for name, vector in (("axis", direction), ("center", point)):
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise TrajectoryError(f"{name} must be (3,) finite numbers")
        if not direction.any():
            raise TrajectoryError("axis must have a direction")
        w = direction / np.linalg.norm(direction)
        return CartesianPath.screw(start, np.concatenate([np.cross(point, w), w]), angle)

    @staticmethod
    def screw(start: ArrayLike, twist: ArrayLike, angle: float = 1.0) -> CartesianPath:
        """exp(ξ̂ θ σ) T₀ for σ from 0 to 1: a twist ξ (6,), (linear, angular), in the world."""
        xi = np.asarray(twist, dtype=float) * angle
        if xi.shape != (6,) or not np.isfinite(xi).all():
            raise TrajectoryError("twist must be (6,) finite numbers, linear before angular")
        first = checked_pose(start, "start")
        return CartesianPath((Screw(first, xi, first[:3, :3].T @ xi[3:]),))

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
        return np.asarray(along / along[-1])

    def __call__(self, s: ArrayLike) -> np.ndarray:
        """Poses (..., 4, 4) at s (...)."""
        shares, breaks = np.clip(np.asarray(s, dtype=float), 0.0, 1.0), self.breaks
        flat = shares.reshape(-1)
        which = np.clip(np.searchsorted(breaks, flat, side="right") - 1, 0, len(breaks) - 2)
        poses = np.empty((flat.size, 4, 4))
        for k in np.unique(which):
            own = which == k
            share = (flat[own] - breaks[k]) / (breaks[k + 1] - breaks[k])
            poses[own] = self.segments[k].poses(share)
        return poses.reshape(*shares.shape, 4, 4)

    def joints(
        self,
        robot: Robot,
        q0: ArrayLike | None = None,
        frame: str = "tool",
        tolerance: float = 1e-6,
    ) -> Path:
        """q(s) that moves a frame of the robot along this path, by inverse kinematics without jumps.

        Parameters
        ----------
        robot
            With joints of one degree.
        q0
            (nq,) posture near the begin; by default several are tried.
        frame
            Name of the frame.
        tolerance
            Largest distance of the frame from its path, m and rad, measured between all samples of
            a spline of fifth degree; `deviation` of the result is the distance that remains.

        Returns
        -------
        Path

        Raises
        ------
        TrajectoryError
            Where the robot cannot follow, with the joint, limit or singularity that prevents it.
        """
        from dalembert.control.joint_path import joint_path

        return joint_path(robot, self, q0, frame, tolerance)


def _circle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twist (6,) of the turn along the arc from a through b to c."""
    u, v = b - a, c - a
    normal = np.cross(u, v)
    if np.linalg.norm(normal) < 1e-9 * max(u @ u, v @ v):
        raise TrajectoryError("the three poses of an arc are on a line: take a line instead")
    away = np.cross((u @ u) * v - (v @ v) * u, normal) / (2.0 * (normal @ normal))
    center, axis = a + away, normal / np.linalg.norm(normal)
    first, last = a - center, c - center
    # from a counter-clockwise about the normal, b comes before c
    turn = axis * (np.arctan2(axis @ np.cross(first, last), first @ last) % (2.0 * np.pi))
    return np.concatenate([np.cross(center, turn), turn])
