"""Lengths of tendons and how they change with the joints.

A straight piece from p_0 on one body to p_1 on another, with u the unit vector between them, has

    dL/dt = u·(ṗ_1 − ṗ_0) = Wᵀ (V_1 − V_0),     W = (u, p_0 × u)

V the spatial twists of the two bodies: joints that carry both ends drop out. Over a surface the
tendon is the shortest path, so the points where it meets the surface count as fixed there.

The path over a sphere or a cylinder is chosen as in MuJoCo. In a plane through the centre (of a
sphere) or across the axis (of a cylinder) the tendon meets the circle at the points where lines from
its two ends are tangent. Of the two such pairs the one with the shorter distance is taken; a pair
whose two lines cross is invalid. Where the straight line misses the circle the tendon does not touch.

With a point s at its side, the tendon from p to r winds about the centre as the line p s r does, by
w = ∠(p, s) + ∠(s, r). It touches along the angle |w| − acos(a/|p|) − acos(a/|r|) of the circle of
radius a, if that is positive (MuJoCo 4; before, half planes decided).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.formulations.kinematics.frames import body_poses, columns_of_all
from dalembert.model import Model
from dalembert.model.elements import Anchor, Segment, Tendon
from dalembert.spatial.arrays import Matrix, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import IDENTITY, Placement
from dalembert.tracing import is_symbolic

LEAST_LENGTH = 1e-15  # MuJoCo's
LEAST_SQUARE = 1e-30  # m²: a shorter piece has no direction
WITHIN_STEPS = 12  # of Newton's method for a contact from within; five suffice but near the circle
CROSSED = -10000.0  # worse than the score of any pair of points


class Contact(NamedTuple):
    """Where a tendon meets a surface and leaves it, and the length between; in the surface's frame.

    Where it does not touch, both are the middle of the straight line and the length is 0.
    """

    touches: Scalar
    start: Vector3
    end: Vector3
    length: Scalar


class TangentPair(NamedTuple):
    """Two points on the circle, the angle between them, and their score."""

    first: Vector
    last: Vector
    angle: Scalar
    score: Scalar
    crossed: Scalar


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
    is_spatial = any(tendon.segments for tendon in tendons)
    poses = body_poses(model, q) if is_spatial else []
    columns = columns_of_all(model, poses) if is_spatial else []
    return [
        (length(model, q, poses, tendon), _row(model, poses, columns, tendon)) for tendon in tendons
    ]


def row_rates(model: Model, q: Vector, qd: Vector, tendons: tuple[Tendon, ...]) -> list[Vector]:
    """J̇ (nv,) of some tendons, the rates of their rows ∂L/∂q; zero for fixed ones."""
    if not any(tendon.segments for tendon in tendons):
        return [np.zeros(model.nv) for _ in tendons]
    step = tracing.symbol("step", model.nv)
    rows = [row for _, row in lengths_and_rows(model, model.integrate(q, step), tendons)]
    rates = tracing.directional(np.stack(rows), step, qd)
    (rates,) = tracing.at([rates], [step], [np.zeros(model.nv)])
    return [rates[k] for k in range(len(tendons))]


def length(model: Model, q: Vector, poses: list[Placement], tendon: Tendon) -> Scalar:
    """L of one tendon; `poses` of the bodies are for spatial ones."""
    if not tendon.segments:
        angles = [q[model.bodies[body].q.start] for body in tendon.joints]
        return sum((c * x for c, x in zip(tendon.coefficients, angles, strict=True)), 0.0 * q[0])
    total = 0.0
    for segment in tendon.segments:
        pieces, curved = _pieces(poses, segment)
        straight = [_unit(piece)[0] for piece in pieces]
        total = total + segment.share * (sum(straight[1:], straight[0]) + curved)
    return total


def _row(model: Model, poses: list[Placement], columns: list[Twist], tendon: Tendon) -> Vector:
    """∂L/∂q (nv,) of one tendon."""
    row: list[Scalar] = [0.0] * model.nv
    for body, c in zip(tendon.joints, tendon.coefficients, strict=True):
        k = model.bodies[body].v.start
        row[k] = row[k] + c
    for piece in straight_pieces(poses, tendon):
        # only joints that carry one of the two ends change the length
        before, beyond = (
            set(model.supports[body]) if body >= 0 else set() for body in (piece.first, piece.last)
        )
        if before == beyond:
            continue
        W = piece_wrench(piece)
        for sign, bodies in ((-1.0, before - beyond), (1.0, beyond - before)):
            for body in sorted(bodies):
                v = model.bodies[body].v
                for k in range(v.start, v.stop):
                    row[k] = row[k] + sign * (W @ columns[k])
    return np.stack(row)


def piece_wrench(piece: Piece) -> Wrench:
    """(6,) W of a piece times its share: L̇ = Wᵀ (V_last − V_first), twists about the world's origin."""
    _, u = _unit(piece)
    result: Wrench = piece.share * np.concatenate([u, np.cross(piece.start, u)])
    return result


def straight_pieces(poses: list[Placement], tendon: Tendon) -> list[Piece]:
    """All straight pieces of a tendon, in the world; none of a fixed one."""
    return [piece for segment in tendon.segments for piece in _pieces(poses, segment)[0]]


def _unit(piece: Piece) -> tuple[Scalar, Vector3]:
    """Length of a piece and the unit vector along it; zero where its ends meet."""
    distance = np.sqrt(np.maximum(piece.span @ piece.span, LEAST_SQUARE))
    return distance, piece.span / distance


def _pieces(poses: list[Placement], segment: Segment) -> tuple[list[Piece], Scalar]:
    """The straight pieces of a segment, and the length on a surface between them."""
    first, last, share = segment.start.body, segment.end.body, segment.share
    start, end = _point(poses, segment.start), _point(poses, segment.end)
    if segment.around is None:
        return [Piece(first, last, start, end - start, share)], 0.0
    around = segment.around
    carrier = poses[around.body] if around.body >= 0 else IDENTITY
    R, p = carrier.then(Placement(around.rotation, around.center))
    side = around.side if len(around.side) else None
    if around.beside is not None:
        side = R.T @ (_point(poses, around.beside) - p)
    contact = wrapped(around.kind, around.radius, R.T @ (start - p), R.T @ (end - p), side)
    meets, leaves = p + R @ contact.start, p + R @ contact.end
    # Where it does not touch, both points are the middle of the straight line: its two halves pull
    # as the whole does, since the force of the first on the surface's body cancels that of the
    # second, to the last bit also where the ends meet and the line has no direction.
    half = 0.5 * (end - start)
    spans = [np.where(contact.touches, x, half) for x in (meets - start, end - leaves)]
    pieces = [
        Piece(first, around.body, start, spans[0], share),
        Piece(around.body, last, leaves, spans[1], share),
    ]
    return pieces, contact.length


def _point(poses: list[Placement], anchor: Anchor) -> Vector3:
    """The point in the world (3,)."""
    R, p = poses[anchor.body] if anchor.body >= 0 else IDENTITY
    return p + R @ anchor.point


def wrapped(
    kind: str, radius: Scalar, start: Vector3, end: Vector3, side: Vector3 | None = None
) -> Contact:
    """The path from `start` to `end` (3,) over a surface, at its `side` (3,) if any; in its frame."""
    if kind == "cylinder":
        across, along = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    else:
        across = start / _norm(start)
        normal = np.cross(start, end)
        normal = normal / _norm(normal)
        along = np.cross(normal, across)
    first, last = (np.stack([across @ p, along @ p]) for p in (start, end))
    if side is None:
        touches, pair = _on_circle(first, last, radius)
    else:
        touches, pair = _at_side(first, last, radius, np.stack([across @ side, along @ side]))
        is_within = side @ side < radius * radius
        if is_symbolic(is_within) or is_within:
            from_within, point = _within_circle(first, last, radius)
            touches = np.where(is_within, from_within, touches)
            pair = TangentPair(
                *(np.where(is_within, x, y) for x, y in zip(point, pair, strict=True))
            )
    arc = radius * pair.angle
    meets, leaves = (p[0] * across + p[1] * along for p in (pair.first, pair.last))
    if kind == "cylinder":
        # along the axis the tendon climbs evenly
        before, after = _norm(first - pair.first), _norm(last - pair.last)
        climb = (end[2] - start[2]) / (before + arc + after)
        up = np.array([0.0, 0.0, 1.0])
        meets = meets + up * (start[2] + climb * before)
        leaves = leaves + up * (start[2] + climb * (before + arc))
        arc = arc * np.sqrt(1.0 + climb * climb)
    middle = 0.5 * (start + end)
    return Contact(
        touches,
        np.where(touches, meets, middle),
        np.where(touches, leaves, middle),
        np.where(touches, arc, 0.0),
    )


def _on_circle(first: Vector, last: Vector, radius: Scalar) -> tuple[Scalar, TangentPair]:
    """Whether the tendon touches the circle, and the better of the two pairs of points (2,)."""
    rr = radius * radius
    outside = np.logical_and(first @ first >= rr, last @ last >= rr)
    dif = last - first
    dd = dif @ dif
    a = np.minimum(np.maximum(-(dif @ first) / np.maximum(dd, LEAST_LENGTH), 0.0), 1.0)
    nearest = first + a * dif
    one, other = (_pair(first, last, radius, sign) for sign in (1.0, -1.0))
    better = one.score > other.score
    chosen = TangentPair(*(np.where(better, x, y) for x, y in zip(one, other, strict=True)))
    met = np.logical_and(nearest @ nearest <= rr, chosen.crossed < 0.5)
    return np.logical_and(np.logical_and(outside, dd >= LEAST_LENGTH), met), chosen


def _at_side(
    first: Vector, last: Vector, radius: Scalar, side: Vector
) -> tuple[Scalar, TangentPair]:
    """Whether the tendon that winds as the line through `side` (2,) does touches, and its points."""
    winding = _angle(first, side) + _angle(side, last)
    one, other = (_pair(first, last, radius, sign) for sign in (1.0, -1.0))
    chosen = TangentPair(*(np.where(winding < 0.0, x, y) for x, y in zip(one, other, strict=True)))
    tangent = [np.sqrt(np.maximum(p @ p - radius * radius, 0.0)) for p in (first, last)]
    arc = np.abs(winding) - np.arctan2(tangent[0], radius) - np.arctan2(tangent[1], radius)
    outside = [p @ p >= radius * radius for p in (first, last)]
    touches = np.logical_and(np.logical_and(*outside), arc > 0.0)
    return touches, chosen._replace(angle=np.maximum(arc, 0.0))


def _within_circle(first: Vector, last: Vector, radius: Scalar) -> tuple[Scalar, TangentPair]:
    """Whether a tendon that must touch the circle bends to it, and the point, twice.

    It is the point P of the circle with the shortest way p P r, where the two pieces make equal angles
    β with the normal: asin(a/|p| sin β) + asin(a/|r| sin β) − 2 β + ∠(p, r) = 0 (Alhazen's problem).
    The left side is concave and falls, so Newton's steps from π/2 reach the root from above.
    """
    lengths = [_norm(p) for p in (first, last)]
    ratios = [np.minimum(radius / x, 1.0) for x in lengths]
    turn = _angle(first, last)
    beta = 0.5 * np.pi
    for _ in range(WITHIN_STEPS):
        sines = [ratio * np.sin(beta) for ratio in ratios]
        excess = np.arcsin(sines[0]) + np.arcsin(sines[1]) - 2.0 * beta + np.abs(turn)
        cosines = [np.sqrt(np.maximum(1.0 - s * s, LEAST_SQUARE)) for s in sines]
        change = (ratios[0] / cosines[0] + ratios[1] / cosines[1]) * np.cos(beta) - 2.0
        beta = beta - excess / np.minimum(change, -LEAST_LENGTH)
    angle = (beta - np.arcsin(ratios[0] * np.sin(beta))) * np.where(turn < 0.0, -1.0, 1.0)
    c, s = np.cos(angle), np.sin(angle)
    unit = first / lengths[0]
    point = radius * np.stack([c * unit[0] - s * unit[1], s * unit[0] + c * unit[1]])
    dif = last - first
    a = -(dif @ first) / np.maximum(dif @ dif, LEAST_LENGTH)
    nearest = first + np.minimum(np.maximum(a, 0.0), 1.0) * dif
    touches = nearest @ nearest > radius * radius
    zero = 0.0 * angle
    return touches, TangentPair(point, point, zero, zero, zero)


def _angle(a: Vector, b: Vector) -> Scalar:
    """From a to b (2,), counterclockwise, between −π and π."""
    return np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)


def _pair(first: Vector, last: Vector, radius: Scalar, sign: float) -> TangentPair:
    """The points where lines from the two ends are tangent, in one direction round."""
    at, to = _tangent(first, radius, sign), _tangent(last, radius, -sign)
    # whether the two lines cross, as segments of the plane
    r, s, t = at - first, to - last, first - last
    det = s[1] * r[0] - s[0] * r[1]
    parallel = np.abs(det) < LEAST_LENGTH
    det = np.where(parallel, 1.0, det)
    a = (s[0] * t[1] - s[1] * t[0]) / det
    b = (r[0] * t[1] - r[1] * t[0]) / det
    inside = np.logical_and(np.logical_and(a >= 0.0, a <= 1.0), np.logical_and(b >= 0.0, b <= 1.0))
    crossed = np.logical_and(np.logical_not(parallel), inside)
    score = -((at - to) @ (at - to))
    # from the one to the other, in the direction of the tangents
    cross = sign * (at[0] * to[1] - at[1] * to[0])
    angle = np.arctan2(-cross, at @ to)
    angle = np.where(angle < 0.0, angle + 2.0 * np.pi, angle)
    crossing = np.where(crossed, 1.0, 0.0)
    return TangentPair(at, to, angle, np.where(crossed, CROSSED, score), crossing)


def _tangent(point: Vector, radius: Scalar, sign: float) -> Vector:
    """Where a line from a point outside is tangent to the circle, (2,)."""
    pp = np.maximum(point @ point, LEAST_LENGTH)
    tangent = np.sqrt(np.maximum(pp - radius * radius, LEAST_LENGTH * LEAST_LENGTH))
    normal = np.stack([point[1], -point[0]])
    result: Vector = (radius * radius * point + (sign * radius * tangent) * normal) / pp
    return result


def _norm(v: Vector) -> Scalar:
    return np.sqrt(np.maximum(v @ v, LEAST_LENGTH * LEAST_LENGTH))
