"""The minimal-parameter model: an equivalent mechanism with fewer numbers, for recursions.

Two things about a body's description are free. Mass on the axis of a revolute joint moves the same way
with either of the bodies it connects, so it may be counted to the one nearer to the base (Gautier and
Khalil 1990); of Uicker's P = ∫ (r, 1)(r, 1)ᵀ dm that is the block in (z, 1). And where on its axis a
body frame begins, and where its x axis points, is for us to choose: so that axes of neighbours lie in
planes of the frames, and that offsets and moments have zeros.

Torques, accelerations and M are the same; single bodies and frames are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.model.body import ROUNDING, Body
from dalembert.model.elements import Elements
from dalembert.model.joint import Ball, Screw
from dalembert.spatial.arrays import Matrix3, Matrix4, Pose, Vector3
from dalembert.spatial.inertia import from_silver_tensor, pseudo_inertia_of_moments
from dalembert.spatial.rotations import rotation_z, snap
from dalembert.spatial.se3 import Placement, pose
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.model import Model


_SNAP = 2e-15  # what three products of rotations leave of a zero
_STEEP = 0.1  # a frame goes at most ten times its offset along the axis, which costs two digits
_FAR = 30.0  # times the longest offset before: squared lengths lose three digits there
_UPPER = np.triu_indices(3)


def minimal_parameter_model(model: Model) -> Model:
    """An equivalent mechanism for recursions over its bodies, without its elements.

    Models with symbolic numbers are returned unchanged.
    """
    numbers = [getattr(body, f.name) for body in model.bodies for f in fields(body)]
    slides = [body.chart.slide for body in model.bodies if isinstance(body.chart, Screw)]
    if model.parameters or any(map(is_symbolic, (*numbers, *slides))):
        return model
    bodies = _grouped(model.bodies)
    frames: dict[int, Placement] = {-1: Placement(np.eye(3), np.zeros(3))}
    reframed = []
    for i, body in enumerate(bodies):
        joint_frame = _in_frame(frames[body.parent], Placement(body.rotation, body.translation))
        if _is_revolute(body):
            children = [child for child in bodies if child.parent == i]
            frames[i] = _frame(body, joint_frame, children)
            reframed.append(_reframed(body, joint_frame, frames[i]))
        else:
            frames[i] = frames[-1]
            reframed.append(replace(body, rotation=joint_frame.R, translation=joint_frame.p))
    # the longest offsets between neighbours: slides of one link are offsets of the next
    old, new = (
        max((float(np.linalg.norm(body.translation)) for body in each), default=0.0)
        for each in (bodies, reframed)
    )
    if new > _FAR * old:
        return model
    model_frames = {}
    for name, frame in model.frames.items():
        R, p = _in_frame(frames[frame.body], frame.placement)
        model_frames[name] = replace(frame, rotation=R, translation=p)
    return replace(model, bodies=tuple(reframed), frames=model_frames, elements=Elements())


def _is_revolute(body: Body) -> bool:
    chart = body.chart
    return isinstance(chart, Screw) and chart.slide == 0.0 and chart.turn != 0.0


# grouping of mass with the parent (Gautier and Khalil 1990)


def _grouped(bodies: Sequence[Body]) -> list[Body]:
    """The bodies, each with the part of its children's mass that moves as its own would."""
    moments = [pseudo_inertia_of_moments(b.mass, b.moment, b.inertia) for b in bodies]
    for i in reversed(range(len(bodies))):
        body, chart, P = bodies[i], bodies[i].chart, moments[i]
        # the part of P that the joint's motion leaves as it is, seen from the parent: on the axis of
        # a turn, in the centre of a ball; all second moments of a body that slides
        shared = np.zeros((4, 4))
        if _is_revolute(body):
            shared[2:, 2:] = P[2:, 2:]
        elif isinstance(chart, Ball):
            shared[3, 3] = P[3, 3]
        elif isinstance(chart, Screw) and chart.turn == 0.0:
            shared[:3, :3] = P[:3, :3]
        left = _clean(P - shared, abs(P))
        if body.parent < 0:  # mass that does not move
            moments[i] = left
            continue
        g = pose(body.rotation, body.translation)
        bound = abs(moments[body.parent]) + abs(g) @ abs(shared) @ abs(g).T
        gained = _clean(moments[body.parent] + g @ shared @ g.T, bound)
        # a massless body between two joints is better left as it is
        if _products(left) + _products(gained) <= _products(P) + _products(moments[body.parent]):
            moments[i], moments[body.parent] = left, gained
    return [_with_moments(body, P) for body, P in zip(bodies, moments, strict=True)]


def _clean(P: Matrix4, bound: Matrix4) -> Matrix4:
    """P without what rounding leaves of a zero, which sums of terms up to `bound` have."""
    return np.where(abs(P) <= ROUNDING * bound, 0.0, P)


def _with_moments(body: Body, P: Matrix4) -> Body:
    return replace(body, mass=P[3, 3], moment=P[:3, 3], inertia=from_silver_tensor(P[:3, :3]))


def _products(P: Matrix4) -> int:
    """How much the numbers of a body cost: first moments are used twice as often as second ones."""
    return int(np.count_nonzero(P[:3, :3][_UPPER]) + 2 * np.count_nonzero(P[:, 3]))


# frames on their axes


def _in_frame(frame: Placement, inner: Placement) -> Placement:
    """A placement in a body's old frame, seen from its new one, `frame` in the old."""
    R, p = snap(frame.R.T @ inner.R, _SNAP), frame.R.T @ (inner.p - frame.p)
    scale = np.max(abs(inner.p) + abs(frame.p), initial=0.0)
    return Placement(R, np.where(abs(p) <= ROUNDING * scale, 0.0, p))


def _frame(body: Body, joint_frame: Placement, children: Sequence[Body]) -> Placement:
    """The frame in the old one, turned about z and slid along it, with the fewest products."""
    child_frames = [Placement(child.rotation, child.translation) for child in children]
    P = pseudo_inertia_of_moments(body.mass, body.moment, body.inertia)

    def cost(frame: Placement) -> int:
        children_in_frame = [_in_frame(frame, each) for each in child_frames]
        own = _slid(joint_frame, frame.p[2])
        entries = sum(_entries(_straight(each.R)[0]) for each in children_in_frame)
        offsets = sum(
            int(np.count_nonzero(p)) for p in (own, *(each.p for each in children_in_frame))
        )
        return 2 * (entries + offsets) + _products(_moments_in(P, frame))

    # 0, and the angles about z at which an axis, an offset or the first moment lies along x
    directions = [R[:2, 2] if np.any(R[:2, 2]) else p[:2] for R, p in child_frames]
    pairs = [each.tolist() for each in directions or [body.moment[:2]]]
    angles = [0.0, *(np.arctan2(y, x) for x, y in pairs if x != 0.0 and y != 0.0)]
    turned = [Placement(snap(rotation_z(a), _SNAP), np.zeros(3)) for a in angles]
    best = min(turned, key=cost)
    far = np.inf
    if body.parent < 0:
        # the longest of the body's own lengths: where it stands in the world is none of them, and a
        # frame slid to the height of a world that is 1e6 m away would have moments of 1e12 m²
        radius = np.sqrt(abs(np.trace(body.inertia) / body.mass)) if body.mass else 0.0
        far = _FAR * max([float(radius), *(float(np.linalg.norm(p)) for _, p in child_frames)])
    # 0, and the places on z at which a component of an offset is zero. Where the axis is nearly across
    # that component, such a place is far away (at 1e13 m, of a file with angles of 3.14159): numbers
    # would be lost there, in differences of squared lengths
    slides = [0.0]
    for along, offset in zip(joint_frame.R[:, 2], joint_frame.p, strict=True):
        if abs(along) > _STEEP and offset != 0.0:
            slides.append(-offset / along)
    slides += [float(p[2]) for _, p in child_frames if p[2] != 0.0]
    slid = [Placement(best.R, np.array([0.0, 0.0, s])) for s in slides if abs(s) <= far]
    return min(slid, key=cost)


def _slid(joint_frame: Placement, s: float) -> Vector3:
    """The origin of a frame that is slid along its axis, in the parent's frame."""
    p = joint_frame.p + s * joint_frame.R[:, 2]
    bound = abs(joint_frame.p) + abs(s * joint_frame.R[:, 2])
    return np.where(abs(p) <= ROUNDING * np.max(bound, initial=0.0), 0.0, p)


def _entries(R: Matrix3) -> int:
    """Entries of a rotation that cost a product."""
    return int(np.count_nonzero((R != 0.0) & (abs(R) != 1.0)))


def _straight(R: Matrix3) -> tuple[Matrix3, float]:
    """(R R_z(ψ), ψ) with the most zeros: what a turn about z that follows can take over."""
    angles = [0.0]
    if _entries(R):
        rows = [R[k] for k in range(3) if np.any(R[k, :2])]
        angles += [float(np.arctan2(-row[0], row[1])) for row in rows]
    turned = [(snap(R @ rotation_z(a), _SNAP) if a else R, a) for a in angles]
    return min(turned, key=lambda each: _entries(each[0]))


def _moments_in(P: Matrix4, frame: Placement) -> Matrix4:
    """P seen from a frame."""
    g: Pose = pose(frame.R.T, -frame.R.T @ frame.p)
    return _clean(g @ P @ g.T, abs(g) @ abs(P) @ abs(g).T)


def _reframed(body: Body, joint_frame: Placement, frame: Placement) -> Body:
    """The body in its new frame, and its joint there: R R_z(q + offset) = R' R_z(q + offset')."""
    chart = body.chart
    assert isinstance(chart, Screw)
    R, psi = _straight(joint_frame.R)
    angle = chart.turn * body.offset[0] + np.arctan2(frame.R[1, 0], frame.R[0, 0]) - psi
    rotation = snap(rotation_z(angle), _SNAP)
    quarter = _entries(rotation) == 0
    new_joint_frame = Placement(R @ rotation if quarter else R, _slid(joint_frame, frame.p[2]))
    offset = np.zeros(1) if quarter else np.array([angle / chart.turn])
    P = pseudo_inertia_of_moments(body.mass, body.moment, body.inertia)
    placed = replace(body, rotation=new_joint_frame.R, translation=new_joint_frame.p, offset=offset)
    return _with_moments(placed, _moments_in(P, frame))
