"""Lengths of tendons and how they change with the joints.

A straight piece from p_0 on one body to p_1 on another, with u the unit vector between them, has

    dL/dt = u·(ṗ_1 − ṗ_0) = Wᵀ (V_1 − V_0),     W = (u, p_0 × u)

V the spatial twists of the two bodies: joints that carry both ends drop out. Over a surface the
tendon is the shortest way, so the points where it meets the surface count as fixed there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, columns_of_all
from dalembert.formulations.kinematics.wrapping import Touch, wrapped
from dalembert.model import Model
from dalembert.model.tendons import Anchor, Segment, Tendon, Wrap
from dalembert.spatial.arrays import Matrix, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import IDENTITY, Placement

SHORTEST = 1e-30  # m²: below it a piece has no direction


class Piece(NamedTuple):
    """A straight piece of a tendon, in the world, between two bodies."""

    first: int
    last: int
    start: Vector3
    end: Vector3
    share: Scalar


def tendon_length(model: Model, q: Vector) -> Vector:
    """L (tendons,), m (or the unit of c q for fixed tendons)."""
    if not model.tendons:
        return np.zeros(0)
    poses = body_poses(model, q) if any(t.segments for t in model.tendons) else []
    return np.stack([length(model, q, poses, tendon) for tendon in model.tendons])


def tendon_jacobian(model: Model, q: Vector) -> Matrix:
    """J (tendons, nv) with dL/dt = J q̇."""
    if not model.tendons:
        return np.zeros((0, model.nv))
    return np.stack([row for _, row in lengths_and_rows(model, q, model.tendons)])


def lengths_and_rows(
    model: Model, q: Vector, tendons: tuple[Tendon, ...]
) -> list[tuple[Scalar, Vector]]:
    """(L, ∂L/∂q (nv,)) of some tendons."""
    spatial = any(tendon.segments for tendon in tendons)
    poses = body_poses(model, q) if spatial else []
    columns = columns_of_all(model, poses) if spatial else []
    return [
        (length(model, q, poses, tendon), _row(model, poses, columns, tendon)) for tendon in tendons
    ]


def length(model: Model, q: Vector, poses: list[Placement], tendon: Tendon) -> Scalar:
    """L of one tendon; `poses` of the bodies are for spatial ones."""
    if not tendon.segments:
        turned = [q[model.bodies[body].q.start] for body in tendon.joints]
        return sum((c * x for c, x in zip(tendon.coefficients, turned, strict=True)), 0.0 * q[0])
    total = 0.0
    for segment in tendon.segments:
        pieces, curved = _pieces(poses, segment)
        straight = [_unit(piece)[0] for piece in pieces]
        total = total + segment.share * (sum(straight[1:], straight[0]) + curved)
    return total


def _row(model: Model, poses: list[Placement], columns: list[Twist], tendon: Tendon) -> Vector:
    slopes: list[Scalar] = [0.0] * model.nv
    for body, c in zip(tendon.joints, tendon.coefficients, strict=True):
        at = model.bodies[body].v.start
        slopes[at] = slopes[at] + c
    for piece in straight_pieces(poses, tendon):
        _add_pull(model, columns, piece, slopes)
    return np.stack(slopes)


def _add_pull(model: Model, columns: list[Twist], piece: Piece, slopes: list[Scalar]) -> None:
    """Add the slopes of one piece at the joints that carry only one of its ends."""
    before, beyond = (_support(model, body) for body in (piece.first, piece.last))
    if before == beyond:
        return
    W = along(piece)
    for sign, bodies in ((-1.0, before - beyond), (1.0, beyond - before)):
        for body in sorted(bodies):
            v = model.bodies[body].v
            for k in range(v.start, v.stop):
                slopes[k] = slopes[k] + sign * (W @ columns[k])


def along(piece: Piece) -> Wrench:
    """(6,) W of a piece times its share: L̇ = Wᵀ (V_last − V_first), twists about the world's origin."""
    _, u = _unit(piece)
    return piece.share * np.concatenate([u, np.cross(piece.start, u)])


def straight_pieces(poses: list[Placement], tendon: Tendon) -> list[Piece]:
    """All straight pieces of a tendon, in the world; none of a fixed one."""
    return [piece for segment in tendon.segments for piece in _pieces(poses, segment)[0]]


def _support(model: Model, body: int) -> set[int]:
    return set(model.supports[body]) if body >= 0 else set()


def _unit(piece: Piece) -> tuple[Scalar, Vector3]:
    """Length of a piece and the unit vector along it; zero where its ends meet."""
    along = piece.end - piece.start
    distance = np.sqrt(np.maximum(along @ along, SHORTEST))
    return distance, along / distance


def _pieces(poses: list[Placement], segment: Segment) -> tuple[list[Piece], Scalar]:
    """The straight pieces of a segment, and the length of what lies on a surface between them."""
    first, last, share = segment.start.body, segment.end.body, segment.share
    start, end = _point(poses, segment.start), _point(poses, segment.end)
    if segment.around is None:
        return [Piece(first, last, start, end, share)], 0.0
    around = segment.around
    touch = _wrapped(poses, around, start, end)
    # where it does not touch, both points are the middle of the straight line: its two halves pull
    # as the whole does, since what the first does to the surface's body the second takes back
    pieces = [
        Piece(first, around.body, start, touch.start, share),
        Piece(around.body, last, touch.end, end, share),
    ]
    return pieces, touch.length


def _wrapped(poses: list[Placement], around: Wrap, start: Vector3, end: Vector3) -> Touch:
    place = _place(poses, around.body).then(Placement(around.rotation, around.center))
    touch = wrapped(around.kind, around.radius, _local(place, start), _local(place, end))
    return touch._replace(start=place.p + place.R @ touch.start, end=place.p + place.R @ touch.end)


def _local(place: Placement, point: Vector3) -> Vector3:
    return place.R.T @ (point - place.p)


def _place(poses: list[Placement], body: int) -> Placement:
    return poses[body] if body >= 0 else IDENTITY


def _point(poses: list[Placement], anchor: Anchor) -> Vector3:
    place = _place(poses, anchor.body)
    return place.p + place.R @ anchor.point
