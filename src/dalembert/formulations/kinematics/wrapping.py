"""The shortest way of a string over a sphere or a cylinder, as MuJoCo chooses it.

In a plane through the centre (of a sphere) or across the axis (of a cylinder) the string meets the
circle at the points where lines from its two ends are tangent. Of the two such pairs the one that
lies closer together is taken; a pair whose two lines cross is none. Where the straight line misses
the circle the string does not touch at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.spatial.arrays import Scalar, Vector, Vector3

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


def wrapped(kind: str, radius: Scalar, start: Vector3, end: Vector3) -> Touch:
    """The way from `start` to `end` (3,) over a surface, all in its frame."""
    across, along = _plane(kind, start, end)
    first, last = (np.stack([across @ p, along @ p]) for p in (start, end))
    touches, pair = _on_circle(first, last, radius)
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
