"""A moving mechanism as plain data for the viewer: parts fixed to bodies, and poses in time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.model import Model
from dalembert.model.joint import Ball
from dalembert.model.model import Body
from dalembert.report.looks import Looks, extremes
from dalembert.report.skeleton import (
    ORIGIN,
    Z,
    adrift,
    between_axes,
    ends,
    numbers_of,
    poses_of,
    thickness,
)
from dalembert.systems.robot import Robot

SLENDER = 0.029  # radius of a link over the size of the mechanism
REACH = 1.6  # of a motion over the size of a usual posture, up to which links get thicker with it
FAR = 2.0  # sizes of a robot that travels, beyond which the viewer goes along


def scene(robot: Robot, t: np.ndarray, q: np.ndarray, looks: Looks | None = None) -> dict[str, Any]:
    """What the viewer moves: times (frames,) in s, configurations (frames, nq).

    Parts are capsules and cylinders from `a` to `b` in the frame of a body (−1: the world). The
    robot's own shapes count for what must be in view.
    """
    model = numbers_of(robot)
    poses = np.stack([poses_of(model, one) for one in q])
    tool = model.frame(model.tool)
    carried = poses[:, tool.body] if tool.body >= 0 else np.broadcast_to(np.eye(4), (len(q), 4, 4))
    way = carried[:, :3, :3] @ np.asarray(tool.translation, float) + carried[:, :3, 3]
    corners = np.concatenate([_corners(model, poses, looks), way[:, None]], axis=1)
    root, own = _seen(model, poses, corners)
    radius = SLENDER * size_of(own, corners)
    return {
        **staged(t, poses, own, corners),
        "bodies": [body.name for body in model.bodies],
        "parts": parts_of(model, radius),
        "sliders": sliders_of(model, radius),
        "ellipsoids": [found for i in range(len(model.bodies)) if (found := ellipsoid(model, i))],
        "way": plain(way),
        "follow": root,
        "radius": radius,
        "gravity": plain(np.asarray(model.gravity, dtype=float)),
    }


def staged(
    t: np.ndarray, poses: np.ndarray, own: np.ndarray, corners: np.ndarray
) -> dict[str, Any]:
    """Poses (frames, bodies, 4, 4) over time, and what is in view: `own` points, or all `corners`."""
    turns = _quaternions(poses[..., :3, :3])
    everywhere = corners.reshape(-1, 3)
    return {
        "t": plain(t),
        "poses": plain(np.concatenate([poses[..., :3, 3], turns], axis=-1).reshape(len(t), -1)),
        "low": plain(own.min(axis=0)),
        "high": plain(own.max(axis=0)),
        "outside": plain(extremes(own)),
        "floor": plain(np.stack([everywhere.min(axis=0), everywhere.max(axis=0)])),
    }


def _corners(model: Model, poses: np.ndarray, looks: Looks | None) -> np.ndarray:
    """(frames, points, 3) of all joints, tips and shapes, and of the base under what stands on it."""
    loose = adrift(model)
    seen = [i for i, body in enumerate(model.bodies) if i not in loose or float(body.mass) > 0.0]
    found = [poses[:, seen][:, :, :3, 3]]
    for i in range(len(model.bodies)):
        for path in ends(model, i):
            found.append((poses[:, i, :3, :3] @ path[-1] + poses[:, i, :3, 3])[:, None])
    for i, box in looks.corners.items() if looks is not None else ():
        if i >= 0:
            found.append(poses[:, i, None, :3, 3] + box @ poses[:, i, :3, :3].swapaxes(1, 2))
    if {i for i, body in enumerate(model.bodies) if body.parent < 0} - loose:
        found.append(np.broadcast_to(_base(model)[0], (len(poses), 1, 3)))
    return np.concatenate(found, axis=1)


def size_of(own: np.ndarray, corners: np.ndarray) -> float:
    """The extent of what is drawn, m: of all postures, unless a few reach far beyond the others."""
    usual = float(np.percentile(np.ptp(corners, axis=1).max(axis=1), 25))
    return max(min(float(np.ptp(own, axis=0).max()), REACH * usual), 1e-3)


def _seen(model: Model, poses: np.ndarray, corners: np.ndarray) -> tuple[int, np.ndarray]:
    """The body that the viewer goes along with (−1: none), and points (n, 3) that stay in view.

    A robot that travels far beyond its own size would be a dot in a picture of its whole way; points
    are then seen from its base.
    """
    loose = sorted(adrift(model))
    whole = corners.reshape(-1, 3)
    if len([body for body in model.bodies if body.parent < 0]) > 1 or not loose:
        return -1, whole
    root = loose[-1]
    own = (corners - poses[:, [root]][:, :, :3, 3]).reshape(-1, 3)
    far = np.ptp(whole, axis=0).max() > FAR * np.ptp(own, axis=0).max()
    return (root, own) if far else (-1, whole)


def ellipsoid(model: Model, index: int) -> dict[str, Any] | None:
    """The uniform ellipsoid of the same mass and inertia: a² = 5 (I_y + I_z − I_x) / (2 m).

    None where the inertia is not that of a real body.
    """
    body = model.bodies[index]
    mass = float(body.mass)
    if not body.is_real:
        return None
    moments, axes = np.linalg.eigh(body.inertia_about_center)
    axes = axes * np.sign(np.linalg.det(axes))
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    return {
        "body": index,
        "centre": plain(body.center),
        "turn": plain(_quaternions(axes)),
        "axes": plain(np.sqrt(np.maximum(squares, 0.0))),
    }


def parts_of(model: Model, radius: float) -> list[dict[str, Any]]:
    parts = []
    roots = [i for i, body in enumerate(model.bodies) if body.parent < 0]
    loose = adrift(model)
    if len(roots) == 1 and roots[0] not in loose:
        foot, along = _base(model)
        parts.append(part("drum", -1, foot - 0.3 * radius * along, foot, 2.4 * radius))
    for i, body in enumerate(model.bodies):
        depth = len(model.supports[i]) - 1
        r = thickness(radius, depth)
        # several chains from the ground have no link between them
        if i not in loose and (body.parent >= 0 or len(roots) == 1):
            for a, b in pairwise(_path(model, body)):
                parts.append(part("link", body.parent, a, b, r))
        for path in ends(model, i):
            beyond = thickness(radius, depth + 1)
            parts += [part("link", i, a, b, beyond) for a, b in pairwise(path)]
        if i in loose and float(body.mass) == 0.0:
            continue
        if i in loose or isinstance(body.chart, Ball):
            parts.append(part("ball", i, ORIGIN, ORIGIN, 1.7 * r))
            continue
        slides = not np.asarray(body.subspace, dtype=float)[3:6].any()
        half, wide = (2.2 * r, 1.2 * r) if slides else (1.6 * r, 1.42 * r)
        kind = "rail" if slides else "drum"
        parts.append(part(kind, i, -half * Z, half * Z, wide))
    tool = model.frame(model.tool)
    if tool.body >= 0:
        r = thickness(radius, len(model.supports[tool.body]))
        end = np.asarray(tool.translation, float)
        parts.append(part("tip", tool.body, end, end, 1.15 * r))
    return parts


def _path(model: Model, body: Body) -> np.ndarray:
    """From the parent's axis to the joint's, in the parent's frame."""
    end, axis = np.asarray(body.translation, float), np.asarray(body.rotation, float)[:, 2]
    start, along = _base(model) if body.parent < 0 else (ORIGIN, Z)
    if isinstance(body.chart, Ball):
        return np.stack([start, end])[: 2 if np.linalg.norm(end - start) > 1e-9 else 1]
    return between_axes(start, along, end, axis)


def sliders_of(model: Model, radius: float) -> list[dict[str, Any]]:
    """Rods between a sliding joint's zero and where it is now."""
    loose = adrift(model)
    return [
        {
            "parent": body.parent,
            "child": i,
            "a": plain(np.asarray(body.translation, dtype=float)),
            "r": 0.8 * thickness(radius, len(model.supports[i]) - 1),
        }
        for i, body in enumerate(model.bodies)
        if i not in loose and np.asarray(body.subspace, float)[:3].any()
    ]


def _base(model: Model) -> tuple[np.ndarray, np.ndarray]:
    frame = model.frames.get("base")
    if frame is None or frame.body >= 0:
        return ORIGIN, Z
    return np.asarray(frame.translation, float), np.asarray(frame.rotation, float)[:, 2]


def _quaternions(rotations: np.ndarray) -> np.ndarray:
    """(..., 4) in the order x, y, z, w."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
    return flat.reshape(*rotations.shape[:-2], 4)


def part(kind: str, body: int, a: np.ndarray, b: np.ndarray, r: float) -> dict[str, Any]:
    return {"kind": kind, "body": body, "a": plain(a), "b": plain(b), "r": float(f"{r:.5g}")}


def plain(array: np.ndarray) -> list[Any]:
    """Lists with five decimals: a hundredth of a millimetre."""
    return np.round(np.asarray(array, dtype=float), 5).tolist()
