"""A moving mechanism as data for the viewer: parts fixed to bodies, and body poses over time.

The shape of a robot follows from its joint axes alone: links run along the common normals between
axes. Bodies of mechanisms are bars between their joints and points.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.formulations.kinematics import frames
from dalembert.model import Model
from dalembert.model.joint import Ball, Free, Screw
from dalembert.model.model import Body
from dalembert.report.visuals import Visuals, extremes
from dalembert.spatial import se3
from dalembert.systems.robot import Robot
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.mechanisms.description import Description

ORIGIN, Z = np.zeros(3), np.eye(3)[2]
DETOUR = 1.5  # lengths of the straight line that a link may run along an axis
SLENDER = 0.029  # radius of a link over the size of the mechanism
MAX_EXTENT = 1.6  # of a motion over the size of a usual posture, for the radius of links
FLAT = 1e-9  # sine of the angle by which axes of a planar robot may differ
FAR = 2.0  # sizes of a robot that travels, beyond which the viewer goes along
HINGES = ("revolute", "pin", "cylindrical")
SLIDES = ("prismatic", "cylindrical", "screw", "rack", "point_on_line")
SceneData = dict[str, Any]


class Part(NamedTuple):
    """A capsule, cylinder or ball of a posture, in the world."""

    kind: str  # link, drum, rail, ball or tip
    body: int  # -1: the ground
    a: np.ndarray  # (3,) its ends, m
    b: np.ndarray
    r: float


def posture_parts(system: System, q: np.ndarray) -> list[list[Part]]:
    """The parts of a system's scene at every q (samples, nq)."""
    from scipy.spatial.transform import Rotation

    drawn = system_scene(system, np.zeros(len(q)), q, None)
    if drawn is None:
        return [[] for _ in q]
    numbers = np.reshape(drawn["poses"], (len(q), -1, 7))
    rotations = Rotation.from_quat(numbers[..., 3:].reshape(-1, 4)).as_matrix()
    # the pose of the ground comes last, as number -1
    T = np.tile(np.eye(4), (len(q), numbers.shape[1] + 1, 1, 1))
    T[:, :-1, :3, :3] = rotations.reshape(*numbers.shape[:2], 3, 3)
    T[:, :-1, :3, 3] = numbers[..., :3]
    postures = []
    for poses in T:
        parts = []
        for x in drawn["parts"]:
            R, p = poses[x["body"], :3, :3], poses[x["body"], :3, 3]
            parts.append(Part(x["kind"], x["body"], R @ x["a"] + p, R @ x["b"] + p, x["r"]))
        for x in drawn["sliders"]:
            start = poses[x["parent"], :3] @ [*x["a"], 1.0]
            parts.append(Part("link", x["child"], start, poses[x["child"], :3, 3], x["r"]))
        postures.append(parts)
    return postures


class Plane(NamedTuple):
    """A plane of the world that motion stays parallel to."""

    axes: np.ndarray  # (2, 3) unit vectors, to the right and up
    names: tuple[str, str]


def motion_plane(system: System) -> Plane | None:
    """The plane of a system whose bodies all move in one; None in space, and without bodies.

    Every axis of rotation is its normal, and every slide lies in it.

    >>> import dalembert as dl
    >>> motion_plane(dl.load("planar_2r")).names, motion_plane(dl.load("elbow_3r"))
    (('x', 'y'), None)
    """
    mechanism = None if system.robot is not None else mechanism_of(system)
    if mechanism is not None:
        return Plane(np.eye(3)[:2], ("x", "y")) if mechanism.space.dimension == 2 else None
    if system.robot is None:
        return None
    model = numeric_model(system.robot)
    charts = [body.chart for body in model.bodies if isinstance(body.chart, Screw)]
    slides = np.array([_slides(body) for body in model.bodies])
    is_mixed = any(chart.turn and chart.slide for chart in charts)
    if len(charts) < len(model.bodies) or is_mixed or slides.all():
        return None
    axes = poses_of(model, system.robot.neutral())[:, :3, 2]
    normal = axes[~slides][0]
    off = [*np.linalg.norm(np.cross(axes[~slides], normal), axis=1), *(axes[slides] @ normal)]
    if np.abs(off).max() > FLAT:
        return None
    # up is z where the plane is upright, else y
    up = np.eye(3)[1 if abs(normal[2]) > 1.0 - FLAT else 2]
    up = up - (up @ normal) * normal
    up /= np.linalg.norm(up)
    right = np.cross(up, normal)
    right *= np.sign(right[np.argmax(np.abs(right))])
    pair = np.stack([right, up])
    known = np.abs(pair).max(axis=1) > 1.0 - FLAT
    names = ["xyz"[int(np.argmax(np.abs(row)))] for row in pair]
    return Plane(pair, (names[0] if known[0] else "u", names[1] if known[1] else "v"))


# the links of robots


def numeric_model(robot: Robot) -> Model:
    """The model with the default values of its parameters."""
    model: Model = robot.model
    return model.bind(model.parameter_values())


def _slides(body: Body) -> bool:
    """Whether the joint of a body only translates."""
    return not np.asarray(body.subspace, dtype=float)[3:6].any()


def floating_bodies(model: Model) -> set[int]:
    """Bodies of a floating base: on free joints, or on several joints that make up one.

    The latter are massless slides without limits, and the joints behind them: files of planar robots
    give the base a slide along x, one along z and a hinge.
    """
    floating: set[int] = set()
    for i, body in enumerate(model.bodies):
        joint = model.tree.joint_of(i)
        is_limited = np.isfinite([*joint.lower, *joint.upper]).any()
        is_massless_slide = _slides(body) and float(body.mass) == 0.0 and not is_limited
        on_floating = body.parent in floating
        is_behind = on_floating and float(model.bodies[body.parent].mass) == 0.0
        may_float = body.parent < 0 or on_floating
        if isinstance(body.chart, Free) or (may_float and (is_massless_slide or is_behind)):
            floating.add(i)
    return floating


def poses_of(model: Model, q: np.ndarray) -> np.ndarray:
    """(bodies, 4, 4) frames whose z is the joint axis, at one q (nq,).

    q and the model's numbers may be symbols.
    """
    placements = frames.body_poses(model.tree, model.expand(q))
    return np.stack([se3.pose(*placement) for placement in placements])


def _tip_paths(model: Model, index: int) -> list[np.ndarray]:
    """Polylines (points, 3) in a body's frame, from its joint to its tool and to its tips.

    Only the last body of a branch has tips: the frames on it, or its centre of mass if there are
    none.
    """
    tool, body = model.frame(model.tool), model.bodies[index]
    paths = []
    if tool.body == index:
        end, axis = np.asarray(tool.translation, float), np.asarray(tool.rotation, float)[:, 2]
        paths.append(between_axes(ORIGIN, Z, end, axis))
    if not model.children(index):
        others = [f for f in model.frames.values() if f.body == index and f is not tool]
        points = (np.asarray(f.translation, float) for f in others)
        tips = [p for p in points if p @ p > 1e-12]
        if not tips and tool.body != index and body.is_real:
            tips = [body.center]
        paths += [np.stack([ORIGIN, tip]) for tip in tips if tip @ tip > 1e-12]
    return paths


def thickness(radius: float, depth: int) -> float:
    """Radius of a link behind `depth` joints: links get thinner away from the base."""
    return radius * max(0.55, 1.25 - 0.12 * depth)


def between_axes(p: np.ndarray, u: np.ndarray, r: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The corners from p on the axis u, over the common normal, to r on the axis v.

    The feet p + s u and r + t v of the normal solve s − t u·v = u·d, s u·v − t = v·d, d = r − p.
    Between parallel axes the normal starts at p; between nearly parallel ones it may lie far off,
    and the link is straight.

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


# scenes


def system_scene(
    system: System, t: np.ndarray, q: np.ndarray, visuals: Visuals | None
) -> SceneData | None:
    """The scene of a system at times (frames,) s and q (frames, nq); None without bodies."""
    if system.robot is None:
        mechanism = mechanism_of(system)
        return None if mechanism is None else _mechanism_scene(mechanism, t, q)
    result = scene(system.robot, t, q, visuals)
    model, radius = numeric_model(system.robot), result["radius"]
    # pins and balls where loop constraints join frames: drums about the axis of a hinge
    for constraint in system.dynamics.constraint_set:
        names = [str(getattr(constraint, end, None)) for end in ("frame_a", "frame_b")]
        if not all(name in model.frames for name in names):
            continue
        is_hinge = getattr(constraint, "directions", None) in HINGES
        for name, offset in zip(names, (constraint.pose_a, constraint.pose_b), strict=True):
            frame = model.frame(name)
            R, p = np.asarray(frame.rotation, float), np.asarray(frame.translation, float)
            if offset is not None:
                T = np.asarray(offset, float)
                R, p = R @ T[:3, :3], p + R @ T[:3, 3]
            along = 1.9 * radius * R[:, 2] if is_hinge else np.zeros(3)
            part = _part("drum", frame.body, p - along, p + along, 1.25 * radius)
            result["parts"].append(part)
            if is_hinge:
                break  # one drum for both
    return result


def scene(robot: Robot, t: np.ndarray, q: np.ndarray, visuals: Visuals | None = None) -> SceneData:
    """The scene of a robot: times (frames,) in s, configurations (frames, nq).

    Parts are capsules and cylinders from `a` to `b` in the frame of a body (−1: the world). The
    robot's own shapes count for what must be in view.
    """
    model = numeric_model(robot)
    poses = np.stack([poses_of(model, row) for row in q])
    tool = model.frame(model.tool)
    carrier = poses[:, tool.body] if tool.body >= 0 else np.broadcast_to(np.eye(4), (len(q), 4, 4))
    tool_path = carrier[:, :3, :3] @ np.asarray(tool.translation, float) + carrier[:, :3, 3]
    floating, roots = floating_bodies(model), [b for b in model.bodies if b.parent < 0]
    # (frames, points, 3) of all joints, tips and shapes, of the base of fixed robots, and the tool
    real = [i for i, body in enumerate(model.bodies) if i not in floating or float(body.mass) > 0.0]
    points = [poses[:, real][:, :, :3, 3]]
    for i in range(len(model.bodies)):
        for path in _tip_paths(model, i):
            points.append((poses[:, i, :3, :3] @ path[-1] + poses[:, i, :3, 3])[:, None])
    for i, box in visuals.corners.items() if visuals is not None else ():
        if i >= 0:
            points.append(poses[:, i, None, :3, 3] + box @ poses[:, i, :3, :3].swapaxes(1, 2))
    if {i for i, body in enumerate(model.bodies) if body.parent < 0} - floating:
        points.append(np.broadcast_to(_base(model)[0], (len(poses), 1, 3)))
    corners = np.concatenate([*points, tool_path[:, None]], axis=1)
    root, visible = -1, corners.reshape(-1, 3)
    if floating and len(roots) == 1:
        # a robot that travels far beyond its own size would be a dot in a picture of its whole
        # path: the viewer follows its base, and points are relative to it
        base = max(floating)
        relative = (corners - poses[:, [base]][:, :, :3, 3]).reshape(-1, 3)
        if np.ptp(visible, axis=0).max() > FAR * np.ptp(relative, axis=0).max():
            root, visible = base, relative
    radius = SLENDER * _size(visible, corners)
    ellipsoids = [ellipsoid(model, i) for i in range(len(model.bodies))]
    return {
        **_frames(t, poses, visible, corners),
        "bodies": [body.name for body in model.bodies],
        "parts": parts_of(model, radius),
        "sliders": sliders_of(model, radius),
        "ellipsoids": [x for x in ellipsoids if x],
        "tool_path": plain(tool_path),
        "follow": root,
        "radius": radius,
        "gravity": plain(np.asarray(model.gravity, dtype=float)),
    }


def _frames(
    t: np.ndarray, poses: np.ndarray, visible: np.ndarray, corners: np.ndarray
) -> SceneData:
    """Poses (frames, bodies, 4, 4) over time, the box of the `visible` points, and the floor."""
    quaternions = _quaternions(poses[..., :3, :3])
    whole = corners.reshape(-1, 3)
    return {
        "t": plain(t),
        "poses": plain(
            np.concatenate([poses[..., :3, 3], quaternions], axis=-1).reshape(len(t), -1)
        ),
        "low": plain(visible.min(axis=0)),
        "high": plain(visible.max(axis=0)),
        "outside": plain(extremes(visible)),
        "floor": plain(np.stack([whole.min(axis=0), whole.max(axis=0)])),
    }


def _size(visible: np.ndarray, corners: np.ndarray) -> float:
    """The extent of the scene, m: of all postures, unless a few extend far beyond the others."""
    usual = float(np.percentile(np.ptp(corners, axis=1).max(axis=1), 25))
    return max(min(float(np.ptp(visible, axis=0).max()), MAX_EXTENT * usual), 1e-3)


def ellipsoid(model: Model, index: int) -> SceneData | None:
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


def parts_of(model: Model, radius: float) -> list[SceneData]:
    """Links, joints, base and tool of a robot as capsules and cylinders."""
    parts = []
    roots = [i for i, body in enumerate(model.bodies) if body.parent < 0]
    floating = floating_bodies(model)
    foot, up = _base(model)
    if len(roots) == 1 and roots[0] not in floating:
        parts.append(_part("drum", -1, foot - 0.3 * radius * up, foot, 2.4 * radius))
    for i, body in enumerate(model.bodies):
        depth = len(model.supports[i]) - 1
        r = thickness(radius, depth)
        # several chains from the ground have no link between them
        if i not in floating and (body.parent >= 0 or len(roots) == 1):
            # from the parent's axis to the joint's, in the parent's frame
            start, along = (foot, up) if body.parent < 0 else (ORIGIN, Z)
            end, axis = np.asarray(body.translation, float), np.asarray(body.rotation, float)
            if not isinstance(body.chart, Ball):
                path = between_axes(start, along, end, axis[:, 2])
            else:
                path = np.stack([start, end])[: 2 if np.linalg.norm(end - start) > 1e-9 else 1]
            parts += [_part("link", body.parent, a, b, r) for a, b in pairwise(path)]
        for path in _tip_paths(model, i):
            beyond = thickness(radius, depth + 1)
            parts += [_part("link", i, a, b, beyond) for a, b in pairwise(path)]
        if i in floating and float(body.mass) == 0.0:
            continue
        if i in floating or isinstance(body.chart, Ball):
            parts.append(_part("ball", i, ORIGIN, ORIGIN, 1.7 * r))
            continue
        half, wide, kind = (1.6 * r, 1.42 * r, "drum")
        if _slides(body):
            half, wide, kind = (2.2 * r, 1.2 * r, "rail")
        parts.append(_part(kind, i, -half * Z, half * Z, wide))
    tool = model.frame(model.tool)
    if tool.body >= 0:
        r = thickness(radius, len(model.supports[tool.body]))
        end = np.asarray(tool.translation, float)
        parts.append(_part("tip", tool.body, end, end, 1.15 * r))
    return parts


def sliders_of(model: Model, radius: float) -> list[SceneData]:
    """Rods between a sliding joint's zero and its present position."""
    floating = floating_bodies(model)
    return [
        {
            "parent": body.parent,
            "child": i,
            "a": plain(np.asarray(body.translation, dtype=float)),
            "r": 0.8 * thickness(radius, len(model.supports[i]) - 1),
        }
        for i, body in enumerate(model.bodies)
        if i not in floating and np.asarray(body.subspace, float)[:3].any()
    ]


def _base(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Origin and z axis of the base frame."""
    frame = model.frames.get("base")
    if frame is None or frame.body >= 0:
        return ORIGIN, Z
    return np.asarray(frame.translation, float), np.asarray(frame.rotation, float)[:, 2]


def _quaternions(rotations: np.ndarray) -> np.ndarray:
    """(..., 4) in the order x, y, z, w."""
    from scipy.spatial.transform import Rotation

    flat: np.ndarray = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
    return flat.reshape(*rotations.shape[:-2], 4)


def _part(kind: str, body: int, a: np.ndarray, b: np.ndarray, r: float) -> SceneData:
    return {"kind": kind, "body": body, "a": plain(a), "b": plain(b), "r": float(f"{r:.5g}")}


def plain(array: np.ndarray) -> list[Any]:
    """Lists with five decimals: a hundredth of a millimetre."""
    rows: list[Any] = np.round(np.asarray(array, dtype=float), 5).tolist()
    return rows


# mechanisms in absolute coordinates


def mechanism_of(system: System) -> Description | None:
    """Bodies and joints of a mechanism in absolute coordinates, None of others."""
    if system.dynamics.traces:  # mechanisms are sparse; for others their modules are not read
        return None
    from dalembert.mechanisms.description import Description

    return system.dynamics if isinstance(system.dynamics, Description) else None


def _outlines(
    description: Description,
) -> tuple[list[np.ndarray], list[tuple[int, np.ndarray, str]]]:
    """(n, 3) joints and named points of every body, the ground first; joints as (body, point, kind)."""
    size = description.space.dimension
    points: list[list[np.ndarray]] = [[] for _ in description.names]
    marks = []
    for joint in description.joints:
        for body, local in zip(joint.bodies, joint.at, strict=True):
            points[body].append(local)
        marks.append((joint.bodies[-1], _in_space(joint.at[-1]), joint.kind.name))
    outlines = []
    for k, several in enumerate(points):
        several += description.points(k).values()
        if k and len(several) < 2:
            several.append(np.zeros(size))
        own = np.array(several).reshape(-1, size)
        if len(own) > 1:
            own = np.unique(own.round(12), axis=0)
        if size == 2 and len(own) > 2:  # in the order of their angle about the middle
            d = own - own.mean(axis=0)
            own = own[np.argsort(np.arctan2(d[:, 1], d[:, 0]))]
        outlines.append(_in_space(own))
    return outlines, marks


def _mechanism_scene(mechanism: Description, t: np.ndarray, q: np.ndarray) -> SceneData:
    """Bodies as bars between their joints and points, joints as pins, balls and slides."""
    (outlines, marks), is_planar = _outlines(mechanism), mechanism.space.dimension == 2
    rows = [mechanism.poses(row) for row in q]
    poses = np.array([[row[name] for name in mechanism.names[1:]] for row in rows], dtype=float)
    ends = [
        points @ poses[:, k, :3, :3].swapaxes(1, 2) + poses[:, k, None, :3, 3]
        for k, points in enumerate(outlines[1:])
    ]
    ends.append(np.broadcast_to(outlines[0], (len(q), *outlines[0].shape)))
    corners = np.concatenate(ends, axis=1)
    visible = corners.reshape(-1, 3)
    radius = SLENDER * _size(visible, corners)
    gravity = np.append(mechanism.gravity, 0.0) if is_planar else mechanism.gravity
    # bodies as bars along their outlines; points of the ground as rails
    parts = [_part("rail", -1, p, p, 1.5 * radius) for p in outlines[0]]
    for body, points in enumerate(outlines[1:]):
        closed = [*points, points[0]] if len(points) > 2 else list(points)
        parts += [_part("link", body, a, b, radius) for a, b in pairwise(closed)]
        if len(points) == 1:
            parts.append(_part("ball", body, points[0], points[0], 2.0 * radius))
    for body, p, kind in marks:
        along = 1.5 * radius * Z if is_planar else np.zeros(3)
        kind = "rail" if kind in SLIDES else "drum"
        parts.append(_part(kind, body - 1, p - along, p + along, 1.4 * radius))
    rods = []  # of distance constraints that act on a body's centre
    for joint in mechanism.joints:
        if len(joint.bodies) == 2 and "distance" in joint.kind.name and not np.any(joint.at[-1]):
            rod = {"parent": joint.bodies[0] - 1, "child": joint.bodies[1] - 1}
            rods.append({**rod, "a": plain(_in_space(joint.at[0])), "r": 0.5 * radius})
    return {
        **_frames(t, poses, visible, corners),
        "bodies": list(mechanism.names[1:]),
        "parts": parts,
        "sliders": rods,
        "ellipsoids": [],
        "tool_path": [],
        "follow": -1,
        "radius": radius,
        "gravity": plain(gravity),
    }


def _in_space(points: np.ndarray) -> np.ndarray:
    """(..., 3) of points of the plane or of space."""
    return np.pad(points, [(0, 0)] * (np.ndim(points) - 1) + [(0, 3 - np.shape(points)[-1])])
