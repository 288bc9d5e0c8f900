"""A robot's shape from its joint axes alone: links follow the common normals between axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.formulations.kinematics import frames
from dalembert.model import Model
from dalembert.model.joint import Free
from dalembert.spatial import se3
from dalembert.systems.robot import Robot

ORIGIN, Z = np.zeros(3), np.eye(3)[2]
DETOUR = 1.5  # lengths of the straight way that a link may go along an axis


@dataclass(frozen=True)
class Skeleton:
    """A posture to draw, in the world, metres."""

    paths: list[np.ndarray]  # (points, 3) each: one polyline per link, from joint to joint
    depths: list[int]  # how many joints lie between each path and the base
    joints: np.ndarray  # (bodies, 3) origins
    axes: np.ndarray  # (bodies, 3) unit vectors
    slides: np.ndarray  # (bodies,) whether the joint slides along its axis
    tool: np.ndarray  # (4, 4)


def skeleton(robot: Robot, q: np.ndarray) -> Skeleton:
    """The posture at one q (nq,)."""
    model = numbers_of(robot)
    poses = body_poses(robot, q)
    origins, axes = poses[:, :3, 3], poses[:, :3, 2]
    base, tool = robot.pose(q, frame="base"), robot.pose(q, frame="tool")
    paths, depths = [], []
    loose = adrift(model)
    for i, body in enumerate(model.bodies):
        if i not in loose:
            parent = poses[body.parent] if body.parent >= 0 else base
            paths.append(between_axes(parent[:3, 3], parent[:3, 2], origins[i], axes[i]))
            depths.append(len(model.supports[i]) - 1)
        for path in ends(model, i):
            paths.append(path @ poses[i, :3, :3].T + origins[i])
            depths.append(len(model.supports[i]))
    slides = np.array([not np.asarray(body.subspace)[3:6].any() for body in model.bodies])
    return Skeleton(paths, depths, origins, axes, slides, tool)


def numbers_of(robot: Robot) -> Model:
    """The model with the defaults of its parameters in place."""
    model = robot.model
    return model.bind(model.parameter_values()) if model.parameters else model


def adrift(model: Model) -> set[int]:
    """Bodies that nothing holds in the world: on free joints, or on several that make up one.

    Those are slides without mass and without limits, and the joints behind them: files of planar
    robots give the base a slide along x, one along z and a hinge.
    """
    found: set[int] = set()
    for i, body in enumerate(model.bodies):
        held = body.parent >= 0 and body.parent not in found
        weightless = float(body.mass) == 0.0
        slides = not np.asarray(body.subspace, dtype=float)[3:6].any()
        joint = model.tree.joint_of(i)
        limited = np.isfinite([*joint.lower, *joint.upper]).any()
        through = slides and weightless and not limited
        behind = body.parent in found and float(model.bodies[body.parent].mass) == 0.0
        if isinstance(body.chart, Free) or (not held and (through or behind)):
            found.add(i)
    return found


def body_poses(robot: Robot, q: np.ndarray) -> np.ndarray:
    """(bodies, 4, 4) frames whose z is the joint axis, at one q (nq,)."""
    return poses_of(numbers_of(robot), q)


def poses_of(model: Model, q: np.ndarray) -> np.ndarray:
    """`body_poses` of a model; q and the model's numbers may be symbols."""
    placed = frames.body_poses(model.tree, model.expand(q))
    return np.stack([se3.pose(*one) for one in placed])


def ends(model: Model, index: int) -> list[np.ndarray]:
    """Polylines (points, 3) in a body's frame, from its joint to its tool and to its tips.

    Only the last body of a branch has tips: the frames on it, or its centre of mass if there are
    none.
    """
    tool, body = model.frame(model.tool), model.bodies[index]
    found = []
    if tool.body == index:
        end, axis = np.asarray(tool.translation, float), np.asarray(tool.rotation, float)[:, 2]
        found.append(between_axes(ORIGIN, Z, end, axis))
    if not model.children(index):
        places = [f.translation for f in model.frames.values() if f.body == index and f is not tool]
        tips = [p for p in (np.asarray(place, float) for place in places) if p @ p > 1e-12]
        if not tips and tool.body != index and body.is_real:
            tips = [body.center]
        found += [np.stack([ORIGIN, tip]) for tip in tips if tip @ tip > 1e-12]
    return found


def thickness(radius: float, depth: int) -> float:
    """Links get thinner away from the base."""
    return radius * max(0.55, 1.25 - 0.12 * depth)


def between_axes(p: np.ndarray, u: np.ndarray, r: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The corners on the way from p on the axis u, over the common normal, to r on the axis v.

    The feet p + s u and r + t v of the normal solve s − t u·v = u·d, s u·v − t = v·d, d = r − p.
    Between parallel axes the normal starts at p; between nearly parallel ones it may lie far off,
    and the way is straight.

    >>> between_axes(np.zeros(3), np.eye(3)[2], np.array([1.0, 2.0, 3.0]), np.eye(3)[1])
    array([[0., 0., 0.], [0., 0., 3.], [1., 0., 3.], [1., 2., 3.]])
    """
    d, c = r - p, u @ v
    if abs(c) > 1.0 - 1e-6:
        feet = [r - (v @ d) * v]
    else:
        s, t = np.linalg.solve([[1.0, -c], [c, -1.0]], [u @ d, v @ d])
        near = max(abs(s), abs(t)) < DETOUR * np.linalg.norm(d)
        feet = [p + s * u, r + t * v] if near else []
    corners = [p]
    for point in (*feet, r):
        if np.linalg.norm(point - corners[-1]) > 1e-9:
            corners.append(point)
    return np.array(corners)
