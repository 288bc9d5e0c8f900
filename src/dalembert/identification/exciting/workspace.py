"""Where the robot may be: points of its frames on the free side of planes and outside of spheres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.kernels import Kernel, Port
from dalembert.kernels.program.derivatives import jacobian
from dalembert.systems.robot import Robot
from dalembert.text import suggest

KEYS = ("above", "inside", "planes", "spheres", "frames", "points", "clearance")


@dataclass(frozen=True, eq=False)
class Workspace:
    """Distances of points from what they must not touch, m, each at least `clearance`."""

    robot: Robot
    points: tuple[tuple[str, tuple[float, ...]], ...]  # frame, place in it
    planes: tuple[tuple[float, ...], ...]  # unit normal to the free side, and n·p on the plane
    spheres: tuple[tuple[float, ...], ...]  # centre, radius
    clearance: float

    @property
    def names(self) -> tuple[str, ...]:
        """What each distance is of."""
        obstacles = [_plane_name(plane) for plane in self.planes]
        obstacles += [f"sphere {k + 1}" for k in range(len(self.spheres))]
        return tuple(f"{_point(*point)} to {what}" for point in self.points for what in obstacles)

    def distances(self, q: np.ndarray) -> np.ndarray:
        """(..., rows) at postures q (..., n)."""
        return self.robot.call(self._kernels[0], "distances", [q])

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """∂distances/∂q (..., rows, n)."""
        return self.robot.call(self._kernels[1], "slopes of distances", [q])

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        rows, n = len(self.names), self.robot.nv
        key = ("workspace", self.points, self.planes, self.spheres)
        slope = jacobian(self._function, "q")
        q, build = (Port("q", (n,)),), self.robot.evaluator.build
        value_ports, slope_ports = (q, (Port("d", (rows,)),)), (q, (Port("d_q", (rows, n)),))
        doc = "distances of points from planes and spheres"
        return (
            build(key, self._function, value_ports, "workspace", doc),
            build((*key, "slopes"), slope, slope_ports, "workspace_slopes", doc),
        )

    def _function(self, q: Any) -> dict[str, Any]:
        """Traceable: n·p − d, and |p − c| − r."""
        placed = self.robot.dynamics.poses(q)
        found = []
        for frame, place in self.points:
            pose = placed[frame]
            p = pose[0:3, 0:3] @ np.array(place) + pose[0:3, 3]
            found += [np.array(plane[:3]) @ p - plane[3] for plane in self.planes]
            for sphere in self.spheres:
                away = p - np.array(sphere[:3])
                found.append(np.sqrt(away @ away) - sphere[3])
        return {"d": np.stack(found)}


def workspace_of(robot: Robot, given: Mapping[str, Any] | None) -> Workspace | None:
    """From the dictionary that `excitation` takes; None where nothing is asked for."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise SettingError(f"workspace must be a dictionary with {', '.join(KEYS)}, not {given!r}")
    for key in given:
        if key not in KEYS:
            raise SettingError(f"workspace: there is no {key!r}{suggest(key, KEYS)}")
    planes = [_plane(plane) for plane in given.get("planes", ())]
    if "above" in given:
        planes.append((0.0, 0.0, 1.0, _number(given["above"], "above")))
    if "inside" in given:
        planes += _box(given["inside"])
    spheres = tuple(_sphere(s) for s in given.get("spheres", ()))
    if not planes and not spheres:
        raise SettingError(
            "workspace: say what to keep away from, by above, inside, planes or spheres"
        )
    points = _points(robot, given)
    clearance = _number(given.get("clearance", 0.0), "clearance")
    return Workspace(robot, points, tuple(planes), spheres, clearance)


def _points(robot: Robot, given: Mapping[str, Any]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Origins of the frames, by default of all that move, and points in them."""
    robot.dynamics.require_frame(robot.dynamics.frames[0])
    frames: Sequence[str] = given.get("frames", ())
    points: Mapping[str, Any] = given.get("points", {})
    for frame in (*frames, *points):
        robot.dynamics.require_frame(frame)
    if not frames and not points:
        frames = moving_frames(robot)
    found: list[tuple[str, tuple[float, ...]]] = [(frame, (0.0, 0.0, 0.0)) for frame in frames]
    for frame, places in points.items():
        rows = np.atleast_2d(np.asarray(places, dtype=float))
        if rows.ndim != 2 or rows.shape[1] != 3 or not np.isfinite(rows).all():
            raise SettingError(f"workspace: points of {frame!r} must be (k, 3) finite numbers, m")
        found += [(frame, tuple(map(float, row))) for row in rows]
    return tuple(found)


def moving_frames(robot: Robot) -> list[str]:
    """Frames whose origin some joint moves, those at the same place once."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (4, robot.nv))
    found: dict[str, np.ndarray] = {}
    for frame in robot.dynamics.frames:
        p = robot.pose(q, frame)[..., :3, 3]
        known = any(np.allclose(p, other) for other in found.values())
        if np.ptp(p, axis=0).max() > 1e-9 and not known:
            found[frame] = p
    return list(found)


def _pair(given: Any, what: str) -> tuple[np.ndarray, Any]:
    """(three numbers, one more) of a plane or a sphere."""
    try:
        first, second = given
        return np.asarray(first, dtype=float).reshape(3), second
    except (TypeError, ValueError):
        raise SettingError(f"workspace: a {what}, not {given!r}") from None


def _plane(plane: Any) -> tuple[float, ...]:
    """(normal, distance) as a unit normal and n·p on the plane."""
    n, distance = _pair(plane, "plane is (normal, distance), n·p ≥ distance")
    size = float(np.linalg.norm(n))
    if not size > 0.0:
        raise SettingError("workspace: the normal of a plane must not be zero")
    return (*map(float, n / size), _number(distance, "the distance of a plane"))


def _sphere(sphere: Any) -> tuple[float, ...]:
    c, radius = _pair(sphere, "sphere is (centre, radius)")
    return (*map(float, c), _number(radius, "the radius of a sphere"))


def _box(box: Any) -> list[tuple[float, ...]]:
    """Six planes of (lower corner, upper corner); infinite sides are open."""
    corners = np.asarray(box, dtype=float)
    if corners.shape != (2, 3) or not (corners[0] < corners[1]).all():
        raise SettingError(
            "workspace: inside must be (lower corner, upper corner), x, y, z each, m"
        )
    found: list[tuple[float, ...]] = []
    for axis in np.eye(3):
        low, high = corners @ axis
        found += [(*map(float, axis), float(low))] if np.isfinite(low) else []
        found += [(*map(float, -axis), float(-high))] if np.isfinite(high) else []
    return found


def _number(value: Any, what: str) -> float:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise SettingError(f"workspace: {what} must be a finite number, not {value!r}")
    return float(value)


def _point(frame: str, place: tuple[float, ...]) -> str:
    return frame if not any(place) else f"{frame} at {', '.join(f'{x:g}' for x in place)}"


def _plane_name(plane: tuple[float, ...]) -> str:
    """``z = 0.1`` of planes along the axes, the normal of others."""
    along = np.flatnonzero(plane[:3])
    if len(along) == 1:
        return f"{'xyz'[along[0]]} = {plane[3] / plane[along[0]]:.6g}"
    return f"plane ({', '.join(f'{x:.4g}' for x in plane[:3])})·p = {plane[3]:.6g}"
