"""Lengths of tendons and how they change with the joints.

A straight piece from p_0 on one body to p_1 on another, with u the unit vector between them, has

    dL/dt = u·(ṗ_1 − ṗ_0) = Wᵀ (V_1 − V_0),     W = (u, p_0 × u)

V the spatial twists of the two bodies: joints that carry both ends drop out. Over a surface the
tendon is the shortest way, so the points where it meets the surface count as fixed there.

The shortest way of a string over a sphere or a cylinder, as MuJoCo chooses it.

In a plane through the centre (of a sphere) or across the axis (of a cylinder) the string meets the
circle at the points where lines from its two ends are tangent. Of the two such pairs the one that
lies closer together is taken; a pair whose two lines cross is none. Where the straight line misses
the circle the string does not touch at all.

With a point s at its side, the string from p to r winds about the centre as the line p s r does, by
w = ∠(p, s) + ∠(s, r). It touches along the angle |w| − acos(a/|p|) − acos(a/|r|) of the circle of
radius a, if that is positive (MuJoCo 4; before, half planes decided).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, columns_of_all
from dalembert.model import Model
from dalembert.model.elements import Anchor, Segment, Tendon, Wrap
from dalembert.spatial.arrays import Matrix, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import IDENTITY, Placement

TINY = 1e-15  # MuJoCo's least length
CROSSED = -10000.0  # worse than any pair of points


class Touch(NamedTuple):
    """Where a string meets a surface and leaves it, and the length between; in the surface's frame.

    Where it does not touch, both are the middle of the straight line and the length is 0.
    """

    start: Vector3
    end: Vector3
    length: Scalar


class Pair(NamedTuple):
    """Two points on the circle, the angle between them, and how good they are."""

    first: Vector
    last: Vector
    angle: Scalar
    worth: Scalar
    crossed: Scalar


def wrapped(
    kind: str, radius: Scalar, start: Vector3, end: Vector3, side: Vector3 | None = None
) -> Touch:
    """The way from `start` to `end` (3,) over a surface, at its `side` (3,) if any; in its frame."""
    across, along = _plane(kind, start, end)
    first, last = (np.stack([across @ p, along @ p]) for p in (start, end))
    if side is None:
        touches, pair = _on_circle(first, last, radius)
    else:
        towards = np.stack([across @ side, along @ side])
        touches, pair = _at_side(first, last, radius, towards)
    arc = radius * pair.angle
    meets, leaves = (p[0] * across + p[1] * along for p in (pair.first, pair.last))
    if kind == "cylinder":
        # along the axis the string climbs evenly
        before, after = _norm(first - pair.first), _norm(last - pair.last)
        climb = (end[2] - start[2]) / (before + arc + after)
        up = np.array([0.0, 0.0, 1.0])
        meets = meets + up * (start[2] + climb * before)
        leaves = leaves + up * (start[2] + climb * (before + arc))
        arc = arc * np.sqrt(1.0 + climb * climb)
    middle = 0.5 * (start + end)
    return Touch(
        np.where(touches, meets, middle),
        np.where(touches, leaves, middle),
        np.where(touches, arc, 0.0),
    )


def _plane(kind: str, start: Vector3, end: Vector3) -> tuple[Vector3, Vector3]:
    """Two unit vectors (3,) of the plane of the circle."""
    if kind == "cylinder":
        return np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    across = start / _norm(start)
    normal = np.cross(start, end)
    normal = normal / _norm(normal)
    return across, np.cross(normal, across)


def _on_circle(first: Vector, last: Vector, radius: Scalar) -> tuple[Scalar, Pair]:
    """Whether the string touches the circle, and the better of the two pairs of points (2,)."""
    rr = radius * radius
    outside = np.logical_and(first @ first >= rr, last @ last >= rr)
    dif = last - first
    dd = dif @ dif
    a = np.minimum(np.maximum(-(dif @ first) / np.maximum(dd, TINY), 0.0), 1.0)
    nearest = first + a * dif
    one, other = (_pair(first, last, radius, sign) for sign in (1.0, -1.0))
    better = one.worth > other.worth
    chosen = Pair(*(np.where(better, x, y) for x, y in zip(one, other, strict=True)))
    met = np.logical_and(nearest @ nearest <= rr, chosen.crossed < 0.5)
    return np.logical_and(np.logical_and(outside, dd >= TINY), met), chosen


def _at_side(first: Vector, last: Vector, radius: Scalar, side: Vector) -> tuple[Scalar, Pair]:
    """Whether the string that winds as the line through `side` (2,) does touches, and its points."""
    winding = _angle(first, side) + _angle(side, last)
    one, other = (_pair(first, last, radius, sign) for sign in (1.0, -1.0))
    chosen = Pair(*(np.where(winding < 0.0, x, y) for x, y in zip(one, other, strict=True)))
    reach = [np.sqrt(np.maximum(p @ p - radius * radius, 0.0)) for p in (first, last)]
    arc = np.abs(winding) - np.arctan2(reach[0], radius) - np.arctan2(reach[1], radius)
    outside = [p @ p >= radius * radius for p in (first, last)]
    touches = np.logical_and(np.logical_and(*outside), arc > 0.0)
    return touches, chosen._replace(angle=np.maximum(arc, 0.0))


def _angle(a: Vector, b: Vector) -> Scalar:
    """From a to b (2,), counterclockwise, between −π and π."""
    return np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)


def _pair(first: Vector, last: Vector, radius: Scalar, sign: float) -> Pair:
    """The points where lines from the two ends are tangent, going round one way."""
    at, to = _tangent(first, radius, sign), _tangent(last, radius, -sign)
    crossed = _cross_segments(first, at, last, to)
    worth = -((at - to) @ (at - to))
    # from the one to the other, the way round that the tangents have
    turned = sign * (at[0] * to[1] - at[1] * to[0])
    angle = np.arctan2(-turned, at @ to)
    angle = np.where(angle < 0.0, angle + 2.0 * np.pi, angle)
    crossing = np.where(crossed, 1.0, 0.0)
    return Pair(at, to, angle, np.where(crossed, CROSSED, worth), crossing)


def _tangent(point: Vector, radius: Scalar, sign: float) -> Vector:
    """Where a line from a point outside is tangent to the circle, (2,)."""
    pp = np.maximum(point @ point, TINY)
    reach = np.sqrt(np.maximum(pp - radius * radius, TINY * TINY))
    turned = np.stack([point[1], -point[0]])
    return (radius * radius * point + (sign * radius * reach) * turned) / pp


def _cross_segments(p1: Vector, p2: Vector, p3: Vector, p4: Vector) -> Scalar:
    """Whether the segments p1 p2 and p3 p4 of the plane meet."""
    r, s, t = p2 - p1, p4 - p3, p1 - p3
    det = s[1] * r[0] - s[0] * r[1]
    parallel = np.abs(det) < TINY
    det = np.where(parallel, 1.0, det)
    a = (s[0] * t[1] - s[1] * t[0]) / det
    b = (r[0] * t[1] - r[1] * t[0]) / det
    inside = np.logical_and(np.logical_and(a >= 0.0, a <= 1.0), np.logical_and(b >= 0.0, b <= 1.0))
    return np.logical_and(np.logical_not(parallel), inside)


def _norm(v: Vector) -> Scalar:
    return np.sqrt(np.maximum(v @ v, TINY * TINY))


SHORTEST = 1e-30  # m²: below it a piece has no direction


class Piece(NamedTuple):
    """A straight piece of a tendon, in the world, between two bodies."""

    first: int
    last: int
    start: Vector3
    span: Vector3  # from its start to its end
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
    distance = np.sqrt(np.maximum(piece.span @ piece.span, SHORTEST))
    return distance, piece.span / distance


def _pieces(poses: list[Placement], segment: Segment) -> tuple[list[Piece], Scalar]:
    """The straight pieces of a segment, and the length of what lies on a surface between them."""
    first, last, share = segment.start.body, segment.end.body, segment.share
    start, end = _point(poses, segment.start), _point(poses, segment.end)
    if segment.around is None:
        return [Piece(first, last, start, end - start, share)], 0.0
    around = segment.around
    touch = _wrapped(poses, around, start, end)
    # where it does not touch, both points are the middle of the straight line: its two halves pull
    # as the whole does, since what the first does to the surface's body the second takes back, to
    # the last bit also where the ends meet and the line has no direction
    half, touches = 0.5 * (end - start), touch.length > 0.0
    spans = [np.where(touches, x, half) for x in (touch.start - start, end - touch.end)]
    pieces = [
        Piece(first, around.body, start, spans[0], share),
        Piece(around.body, last, touch.end, spans[1], share),
    ]
    return pieces, touch.length


def _wrapped(poses: list[Placement], around: Wrap, start: Vector3, end: Vector3) -> Touch:
    place = _place(poses, around.body).then(Placement(around.rotation, around.center))
    side = around.side if len(around.side) else None
    touch = wrapped(around.kind, around.radius, _local(place, start), _local(place, end), side)
    return touch._replace(start=place.p + place.R @ touch.start, end=place.p + place.R @ touch.end)


def _local(place: Placement, point: Vector3) -> Vector3:
    return place.R.T @ (point - place.p)


def _place(poses: list[Placement], body: int) -> Placement:
    return poses[body] if body >= 0 else IDENTITY


def _point(poses: list[Placement], anchor: Anchor) -> Vector3:
    place = _place(poses, anchor.body)
    return place.p + place.R @ anchor.point
