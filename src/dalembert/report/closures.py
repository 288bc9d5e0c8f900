"""Pictures of systems that are more than a tree: pins that close loops, bodies of mechanisms."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.mechanisms.description import Description
from dalembert.model import Model
from dalembert.report.looks import Looks
from dalembert.report.mechanism_shapes import Shapes, shapes
from dalembert.report.scene import SLENDER, part, plain, scene, size_of, staged
from dalembert.report.skeleton import Z, numbers_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System

HINGES = ("revolute", "pin", "cylindrical")
SLIDES = ("prismatic", "cylindrical", "screw", "rack", "point_on_line")
Drawn = dict[str, Any]


def drawn(system: System, t: np.ndarray, q: np.ndarray, looks: Looks | None) -> Drawn | None:
    """What the viewer moves of a system, None where it has no bodies."""
    if system.robot is not None:
        found = scene(system.robot, t, q, looks)
        model = numbers_of(system.robot)
        found["parts"] += closures(system.dynamics, model, found["radius"])
        return found
    made = mechanism_of(system)
    return None if made is None else mechanism_scene(made, t, q)


def drawn_bodies(system: System) -> int:
    """How many bodies a picture moves."""
    made = mechanism_of(system)
    if made is not None:
        return len(made.bodies)
    return 0 if system.robot is None else len(system.robot.model.bodies)


def mechanism_of(system: System) -> Description | None:
    """Bodies and joints of a mechanism in absolute coordinates, None of others."""
    return system.dynamics if isinstance(system.dynamics, Description) else None


def closures(seen: Dynamics, model: Model, radius: float) -> list[Drawn]:
    """Pins and balls where constraints hold frames together: drums about the axis of a hinge."""
    found = []
    for held in seen.held_by:
        named = (str(getattr(held, end, None)) for end in ("frame_a", "frame_b"))
        ends = [name for name in named if name in model.frames]
        if len(ends) < 2:
            continue
        for name, offset in zip(ends, (held.pose_a, held.pose_b), strict=True):
            frame = model.frame(name)
            R, p = np.asarray(frame.rotation, float), np.asarray(frame.translation, float)
            if offset is not None:
                T = np.asarray(offset, float)
                R, p = R @ T[:3, :3], p + R @ T[:3, 3]
            hinge = getattr(held, "directions", None) in HINGES
            along = 1.9 * radius * R[:, 2] if hinge else np.zeros(3)
            found.append(part("drum", frame.body, p - along, p + along, 1.25 * radius))
            if hinge:
                break  # one drum for both
    return found


def mechanism_scene(made: Description, t: np.ndarray, q: np.ndarray) -> Drawn:
    """Bodies as bars between their joints and points, joints as pins, balls and slides."""
    look, flat = shapes(made), made.space.dimension == 2
    placed = [made.poses(one) for one in q]
    poses = np.array([[one[name] for name in made.names[1:]] for one in placed], dtype=float)
    outlines = [_in_space(points) for points in look.outlines]
    ends = [
        points @ poses[:, k, :3, :3].swapaxes(1, 2) + poses[:, k, None, :3, 3]
        for k, points in enumerate(outlines[1:])
    ]
    ends.append(np.broadcast_to(outlines[0], (len(q), *outlines[0].shape)))
    corners = np.concatenate(ends, axis=1)
    own = corners.reshape(-1, 3)
    radius = SLENDER * size_of(own, corners)
    gravity = np.append(made.gravity, 0.0) if flat else made.gravity
    return {
        **staged(t, poses, own, corners),
        "bodies": list(made.names[1:]),
        "parts": [*_bars(outlines, radius), *_joints(look, flat, radius)],
        "sliders": _rods(made, radius),
        "ellipsoids": [],
        "way": [],
        "follow": -1,
        "radius": radius,
        "gravity": plain(gravity),
    }


def _in_space(points: np.ndarray) -> np.ndarray:
    """(n, 3) of points of the plane or of space."""
    missing = 3 - points.shape[1]
    return np.concatenate([points, np.zeros((len(points), missing))], axis=1)


def _bars(outlines: list[np.ndarray], radius: float) -> list[Drawn]:
    parts = [part("rail", -1, p, p, 1.5 * radius) for p in outlines[0]]
    for body, points in enumerate(outlines[1:]):
        closed = [*points, points[0]] if len(points) > 2 else list(points)
        parts += [part("link", body, a, b, radius) for a, b in pairwise(closed)]
        if len(points) == 1:
            parts.append(part("ball", body, points[0], points[0], 2.0 * radius))
    return parts


def _joints(look: Shapes, flat: bool, radius: float) -> list[Drawn]:
    found = []
    for body, local, kind in look.marks:
        at = _in_space(local[None])[0]
        along = 1.5 * radius * Z if flat else np.zeros(3)
        kind = "rail" if kind in SLIDES else "drum"
        found.append(part(kind, body - 1, at - along, at + along, 1.4 * radius))
    return found


def _rods(made: Description, radius: float) -> list[Drawn]:
    """Rods that hold a body's centre at a distance."""
    found = []
    for joint in made.joints:
        if len(joint.bodies) == 2 and "distance" in joint.kind.name and not np.any(joint.at[-1]):
            a = plain(_in_space(joint.at[0][None])[0])
            rod = {"parent": joint.bodies[0] - 1, "child": joint.bodies[1] - 1}
            found.append({**rod, "a": a, "r": 0.5 * radius})
    return found
