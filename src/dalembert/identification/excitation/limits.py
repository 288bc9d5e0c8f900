"""Limits of a motion: of joints and drives, and of points in the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError, ShapeError, TrajectoryError
from dalembert.kernels import Kernel, Port
from dalembert.kernels.program.derivatives import jacobian
from dalembert.systems.robot import Robot
from dalembert.systems.rollout import finite_number
from dalembert.systems.system import System
from dalembert.text import require_known, short

HALF_TURN = np.pi  # rad to either side, for joints without limits
WORKSPACE_KEYS = ("above", "inside", "planes", "spheres", "frames", "points", "clearance")
SIZE = 1.0  # m: the margin of distances, whose range is infinite, is a share of it


class Limit(NamedTuple):
    """Bounds (k,) of one quantity over the motion; infinite where there are none."""

    kind: str
    names: tuple[str, ...]  # of its entries, joints for example
    lower: np.ndarray
    upper: np.ndarray

    def with_margin(self, margin: float) -> Limit:
        """The limit with this share of every range left free."""
        size = self.upper - self.lower
        free = 0.5 * margin * np.where(np.isfinite(size), size, SIZE)
        return self._replace(lower=self.lower + free, upper=self.upper - free)


def excitation_limits(
    robot: Robot,
    position: Sequence[ArrayLike] | None,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
) -> tuple[list[Limit], list[str]]:
    """(limits of q, q̇, q̈ and τ of the caller, or else the robot's own; notes on assumptions).

    Coulomb friction may act either way when a joint turns round, so that its larger part is
    subtracted from the drive's torque on each side.
    """
    if not isinstance(robot, System):
        raise TrajectoryError(f"excitation takes a robot, as of dalembert.load, not {short(robot)}")
    dynamics, notes = robot.dynamics, list[str]()
    if dynamics.rows:
        raise TrajectoryError(
            f"{robot.name} is a closed chain: excitation is for joints that move on their own"
        )
    if "regressor" not in dynamics.catalogue or not isinstance(robot, Robot):
        raise TrajectoryError(f"{robot.name} has no regressor: excitation is for robots")
    for name, kind in zip(dynamics.coordinates, dynamics.kinds.q, strict=True):
        if kind not in ("angle", "length"):
            raise TrajectoryError(
                f"coordinate {name!r} is a {kind}: excitation is for joints of one degree"
            )
    lower, upper = _position_limits(robot, position, notes)
    names, most = np.array(dynamics.velocities), dict[str, np.ndarray]()
    for kind, value, default in (
        ("velocity", velocity, robot.velocity_limit),
        ("torque", torque, robot.effort_limit),
        ("acceleration", acceleration, np.inf),
    ):
        limit = most[kind] = per_joint(default if value is None else value, robot.nv, kind)
        is_wrong = ~(limit > 0.0) | ((kind == "velocity") & ~np.isfinite(limit))
        if is_wrong.any():
            wrong = ", ".join(map(repr, names[is_wrong].tolist()))
            numbers = ", ".join(f"{x:g}" for x in limit[is_wrong])
            raise TrajectoryError(
                f"{robot.name} needs a {kind} limit for {wrong}, which has {numbers}: give {kind}=, "
                f"one positive number or {robot.nv}, SI units"
            )
    is_unlimited = ~np.isfinite(most["torque"])
    if is_unlimited.any():
        notes.append(f"no torque limit for {', '.join(names[is_unlimited])}")
    if not np.isfinite(most["acceleration"]).any():
        notes.append("no acceleration limits: velocities, torques and harmonics bound them")
    positive, negative = dynamics.bound().coulomb
    torques = (-most["torque"] - negative, most["torque"] - positive)
    v, a, joints = most["velocity"], most["acceleration"], tuple(dynamics.velocities)
    for j, name in enumerate(dynamics.velocities):  # every range must have an inside
        if not lower[j] < upper[j]:
            between = f"{lower[j]:.6g} and {upper[j]:.6g}"
            raise TrajectoryError(f"joint {name!r} cannot move: its position is between {between}")
        if not torques[0][j] < torques[1][j]:
            raise TrajectoryError(
                f"joint {name!r}: Coulomb friction exceeds its torque limit, {most['torque'][j]:.6g}"
            )
    bounds = {"position": (lower, upper), "velocity": (-v, v), "acceleration": (-a, a)}
    limits = {**bounds, "torque": torques}.items()
    return [Limit(kind, joints, *ends) for kind, ends in limits], notes


def per_joint(value: ArrayLike, size: int, name: str) -> np.ndarray:
    """(size,) array from one number for all joints, or one for each."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name}={value!r} must be a number, or {size} of them") from None
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} must be a number, or {size} of them, not {array.shape}")
    return np.broadcast_to(array, (size,)).copy()


def _position_limits(
    robot: Robot, position: Any, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of q (n,); ± half a turn about the middle for joints without limits."""
    if position is None:
        lower, upper = robot.lower.copy(), robot.upper.copy()
    else:
        if not isinstance(position, Sequence | np.ndarray) or len(position) != 2:
            raise ShapeError(
                f"position= must be (lower, upper), each a number or {robot.nv} of them"
            )
        lower, upper = (per_joint(x, robot.nv, "position") for x in position)
    middle = robot.neutral()
    for j, name in enumerate(robot.dynamics.velocities):
        has_lower, has_upper = np.isfinite(lower[j]), np.isfinite(upper[j])
        if has_lower and has_upper:
            continue
        if robot.kinds.v[j] != "angle":
            raise TrajectoryError(
                f"joint {name!r} slides and has no limits: give position=(lower, upper), m"
            )
        if not has_lower:
            lower[j] = upper[j] - 2.0 * HALF_TURN if has_upper else middle[j] - HALF_TURN
        if not has_upper:
            upper[j] = lower[j] + 2.0 * HALF_TURN
        within = f"within {lower[j]:.4g} … {upper[j]:.4g} rad"
        notes.append(f"{name} has no limits of position: {within}")
    return lower, upper


@dataclass(frozen=True, eq=False)
class Workspace:
    """Distances of points of the robot's frames from planes and spheres, m, ≥ `clearance`."""

    robot: Robot
    points: tuple[tuple[str, tuple[float, ...]], ...]  # frame, position in it
    planes: tuple[tuple[float, ...], ...]  # unit normal to the free side, and n·p on the plane
    spheres: tuple[tuple[float, ...], ...]  # centre, radius
    clearance: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the distances, "tool to z = 0.1" for example."""
        obstacles = []
        for plane in self.planes:  # z = 0.1 of planes along the axes, the normal of others
            along = np.flatnonzero(plane[:3])
            if len(along) == 1:
                obstacles.append(f"{'xyz'[along[0]]} = {plane[3] / plane[along[0]]:.6g}")
            else:
                normal = ", ".join(f"{x:.4g}" for x in plane[:3])
                obstacles.append(f"plane ({normal})·p = {plane[3]:.6g}")
        obstacles += [f"sphere {k + 1}" for k in range(len(self.spheres))]
        at = [f" at {', '.join(f'{x:g}' for x in p)}" if any(p) else "" for _, p in self.points]
        points = [frame + where for (frame, _), where in zip(self.points, at, strict=True)]
        return tuple(f"{point} to {obstacle}" for point, obstacle in product(points, obstacles))

    @property
    def limit(self) -> Limit:
        """The clearance as a limit of the distances."""
        low = np.full(len(self.names), self.clearance)
        return Limit("distance", self.names, low, np.full_like(low, np.inf))

    def distances(self, q: np.ndarray) -> np.ndarray:
        """(..., rows) at configurations q (..., n)."""
        return np.asarray(self.robot.call(self._kernels[0], "distances", [q]))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """∂distances/∂q (..., rows, n)."""
        return np.asarray(self.robot.call(self._kernels[1], "derivatives of distances", [q]))

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        rows, n = len(self.names), self.robot.nv
        key = ("workspace", self.points, self.planes, self.spheres)
        derivative, build = jacobian(self._function, "q"), self.robot.evaluator.build
        q, d, d_q = (Port("q", (n,)),), (Port("d", (rows,)),), (Port("d_q", (rows, n)),)
        doc = "distances of points from planes and spheres"
        return (
            build(key, self._function, (q, d), "workspace", doc),
            build((*key, "slopes"), derivative, (q, d_q), "workspace_slopes", doc),
        )

    def _function(self, q: Any) -> dict[str, Any]:
        """Traceable: n·p − d, and |p − c| − r."""
        poses = self.robot.dynamics.poses(q)
        distances = []
        for frame, position in self.points:
            pose = poses[frame]
            p = pose[0:3, 0:3] @ np.array(position) + pose[0:3, 3]
            distances += [np.array(plane[:3]) @ p - plane[3] for plane in self.planes]
            for sphere in self.spheres:
                away = p - np.array(sphere[:3])
                distances.append(np.sqrt(away @ away) - sphere[3])
        return {"d": np.stack(distances)}


def build_workspace(robot: Robot, options: Any) -> Workspace | None:
    """The workspace of the dictionary that `excitation` takes; None of None."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        keys = ", ".join(WORKSPACE_KEYS)
        raise SettingError(f"workspace must be a dictionary with {keys}, not {options!r}")
    for key in options:
        require_known(key, WORKSPACE_KEYS, "workspace: there is no", SettingError)
    planes: list[Any] = []  # unit normal, and n·p on the plane
    for *normal, distance in _pairs(options, "planes", "(normal, distance), n·p ≥ distance"):
        size = float(np.linalg.norm(normal))
        if not size > 0.0:
            raise SettingError("workspace: the normal of a plane must not be zero")
        planes.append([*(np.array(normal) / size), distance])
    if "above" in options:
        planes.append([0.0, 0.0, 1.0, finite_number("workspace: above", options["above"])])
    if "inside" in options:
        corners = np.asarray(options["inside"], dtype=float)
        if corners.shape != (2, 3) or not (corners[0] < corners[1]).all():
            raise SettingError(
                "workspace: inside must be (lower corner, upper corner), x, y, z each"
            )
        for axis, low, high in zip(np.eye(3), *corners, strict=True):
            planes += [[*axis, low], [*-axis, -high]]
    planes = [plane for plane in planes if np.isfinite(plane).all()]  # infinite sides are open
    spheres = _pairs(options, "spheres", "(centre, radius)")
    if not planes and not spheres:
        raise SettingError(
            "workspace: give what to keep away from: above, inside, planes or spheres"
        )
    points = _points(robot, options)
    clearance = finite_number("workspace: clearance", options.get("clearance", 0.0))
    flat, round_ = (tuple(tuple(map(float, row)) for row in x) for x in (planes, spheres))
    return Workspace(robot, points, flat, round_, clearance)


def _points(robot: Robot, options: Mapping[str, Any]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Origins of the frames, by default of all that move, and points in them."""
    robot.dynamics.require_frame(robot.dynamics.frames[0])
    frames: Sequence[str] = options.get("frames", ())
    points: Mapping[str, ArrayLike] = options.get("points", {})
    for frame in (*frames, *points):
        robot.dynamics.require_frame(frame)
    if not frames and not points:  # those whose origin some joint moves, coincident ones once
        q = np.random.default_rng(0).uniform(-1.0, 1.0, (4, robot.nv))
        origins: dict[str, np.ndarray] = {}
        for frame in robot.dynamics.frames:
            p = robot.pose(q, frame)[..., :3, 3]
            is_known = any(np.allclose(p, other) for other in origins.values())
            if np.ptp(p, axis=0).max() > 1e-9 and not is_known:
                origins[frame] = p
        frames = list(origins)
    result: list[tuple[str, tuple[float, ...]]] = [(frame, (0.0, 0.0, 0.0)) for frame in frames]
    for frame, positions in points.items():
        rows = np.atleast_2d(np.asarray(positions, dtype=float))
        if rows.ndim != 2 or rows.shape[1] != 3 or not np.isfinite(rows).all():
            raise SettingError(f"workspace: points of {frame!r} must be (k, 3) finite numbers, m")
        result += [(frame, tuple(map(float, row))) for row in rows]
    return tuple(result)


def _pairs(options: Mapping[str, Any], key: str, what: str) -> list[np.ndarray]:
    """Four finite numbers of each plane or sphere."""
    rows = []
    for pair in options.get(key, ()):
        try:
            vector, number = pair
            row = np.append(np.asarray(vector, dtype=float).reshape(3), float(number))
        except (TypeError, ValueError):
            row = np.full(4, np.nan)
        if not np.isfinite(row).all():
            raise SettingError(f"workspace: {key} are {what}, finite numbers, not {pair!r}")
        rows.append(row)
    return rows
