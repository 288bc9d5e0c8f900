"""Spatial joints and measures as functions of positions and quaternions.

A joint has a frame on each body, a point s and axes R, z along the joint's axis; its parameters are
(s_a (3), R_a (9, by rows), s_b, R_b) and more. With d from the first point to the second and
f, g, h the axes in the world, the conditions are the dot products of Haug (1989), §9.4.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.systems.bodies.space import (
    SPATIAL,
    Array,
    Kind,
    distance,
    kinds,
    length,
    near,
    stretch,
)


def axes(body: Array) -> Array:
    """Axes (3, 3) of a body (position, quaternion), or (position, the nine entries of R by rows)."""
    return matrix_from_quaternion(body[3:7]) if body.shape[0] == 7 else body[3:12].reshape(3, 3)


class Pair(NamedTuple):
    """Two joint frames in the world: d between their points, axes as columns of A and B."""

    d: Array
    A: Array
    B: Array


def pair(q: Array, p: Array) -> Pair:
    """The frames of the first two bodies."""
    Ra, Rb = axes(q[0]), axes(q[1])
    d = q[1, :3] + Rb @ p[12:15] - q[0, :3] - Ra @ p[0:3]
    return Pair(d, Ra @ p[3:12].reshape(3, 3), Rb @ p[15:24].reshape(3, 3))


def dots(*products: tuple[Array, Array]) -> Array:
    return np.stack([a @ b for a, b in products])


def parallel(j: Pair) -> Array:
    """The z axes are parallel: f_a·h_b = g_a·h_b = 0."""
    return dots((j.A[:, 0], j.B[:, 2]), (j.A[:, 1], j.B[:, 2]))


def between(q: Array, p: Array) -> Array:
    """From the point of the first body to that of the second, (3,)."""
    return pair(q, p).d


def revolute(q: Array, p: Array) -> Array:
    """Turning about the common z axis."""
    j = pair(q, p)
    return np.concatenate([j.d, parallel(j)])


def cylindrical(q: Array, p: Array) -> Array:
    """Turning about z and sliding along it."""
    j = pair(q, p)
    return np.concatenate([dots((j.A[:, 0], j.d), (j.A[:, 1], j.d)), parallel(j)])


def prismatic(q: Array, p: Array) -> Array:
    """Sliding along z."""
    j = pair(q, p)
    across = dots((j.A[:, 0], j.d), (j.A[:, 1], j.d))
    return np.concatenate([across, parallel(j), dots((j.A[:, 0], j.B[:, 1]))])


def universal(q: Array, p: Array) -> Array:
    """The points coincide and the two z axes stay at right angles."""
    j = pair(q, p)
    return np.concatenate([j.d, dots((j.A[:, 2], j.B[:, 2]))])


def planar(q: Array, p: Array) -> Array:
    """Moving in the plane normal to z."""
    j = pair(q, p)
    return np.concatenate([dots((j.A[:, 2], j.d)), parallel(j)])


def fixed(q: Array, p: Array) -> Array:
    """No motion."""
    j = pair(q, p)
    return np.concatenate([j.d, parallel(j), dots((j.A[:, 0], j.B[:, 1]))])


def turned(j: Pair, about: float | Array) -> Array:
    """Angle about z from f_a to f_b, the one nearest to the angle `about`."""
    return near(about, j.A[:, 1] @ j.B[:, 0], j.A[:, 0] @ j.B[:, 0])


def screw(q: Array, p: Array) -> Array:
    """Cylindrical, with the slide tied to the angle: h·d = p[24] θ, p[24] in m/rad.

    θ is looked for where the slide says it is, so that it is right over any number of turns.
    """
    j = pair(q, p)
    slid = j.A[:, 2] @ j.d
    tied = slid - p[24] * turned(j, slid / p[24])
    return np.concatenate([dots((j.A[:, 0], j.d), (j.A[:, 1], j.d)), parallel(j), np.stack([tied])])


def gear(q: Array, p: Array) -> Array:
    """r (m θ_a + n θ_b) = 0 with teeth m, n = p[48:50] and r = p[50]; bodies (carrier, a, b).

    m and n are whole numbers, so that full turns of the wheels are full turns of the sum.
    """
    first, second = turned(pair(q, p), 0.0), turned(pair(np.stack([q[0], q[2]]), p[24:48]), 0.0)
    teeth = p[48] * first + p[49] * second
    return np.stack([p[50] * np.arctan2(np.sin(teeth), np.cos(teeth))])


def angle(q: Array, p: Array) -> Array:
    """Angle (1,) about z from f_a to f_b, the one nearest to p[24]."""
    return np.stack([turned(pair(q, p), p[24])])


def slide(axis: int, q: Array, p: Array) -> Array:
    """Displacement along an axis of the first frame."""
    j = pair(q, p)
    return dots((j.A[:, axis], j.d))


def first(q: Array, p: Array) -> Array:
    """Angle of a universal joint about its first axis, from f_a to h_b, nearest to p[24]."""
    j = pair(q, p)
    return np.stack([near(p[24], j.A[:, 1] @ j.B[:, 2], j.A[:, 0] @ j.B[:, 2])])


def second(q: Array, p: Array) -> Array:
    """Angle of a universal joint about its second axis, from h_a to g_b, nearest to p[24]."""
    j = pair(q, p)
    return np.stack([near(p[24], j.A[:, 2] @ j.B[:, 0], j.A[:, 2] @ j.B[:, 1])])


def position(q: Array, p: Array) -> Array:
    """Global coordinates (3,) of a local point."""
    point: Array = q[0, :3] + axes(q[0]) @ p
    return point


def component(q: Array, p: Array) -> Array:
    """p[3:6]·r of a local point."""
    return np.stack([p[3:6] @ position(q, p[0:3])])


JOINTS = kinds(
    Kind("spherical", SPATIAL, 2, 3, between),  # the points coincide
    Kind("revolute", SPATIAL, 2, 5, revolute),
    Kind("cylindrical", SPATIAL, 2, 4, cylindrical),
    Kind("prismatic", SPATIAL, 2, 5, prismatic),
    Kind("universal", SPATIAL, 2, 4, universal),
    Kind("planar", SPATIAL, 2, 3, planar),
    Kind("fixed", SPATIAL, 2, 6, fixed),
    Kind("distance", SPATIAL, 2, 1, partial(distance, between), ("length",)),
    Kind("screw", SPATIAL, 2, 5, screw, ("lead",)),
    Kind("gear", SPATIAL, 3, 1, gear, ("teeth_a", "teeth_b", "radius"), points=48),
)
MEASURES = kinds(
    Kind("angle", SPATIAL, 2, 1, angle, ("about",), near=True),
    Kind("slide", SPATIAL, 2, 1, partial(slide, 2)),
    Kind("x", SPATIAL, 2, 1, partial(slide, 0)),
    Kind("y", SPATIAL, 2, 1, partial(slide, 1)),
    Kind("first", SPATIAL, 2, 1, first, ("about",), near=True),
    Kind("second", SPATIAL, 2, 1, second, ("about",), near=True),
    Kind("position", SPATIAL, 1, 3, position, points=3),
    Kind("component", SPATIAL, 1, 1, component, ("x", "y", "z"), points=3),
    Kind("length", SPATIAL, 2, 1, partial(length, between)),
    Kind("stretch", SPATIAL, 2, 1, partial(stretch, between)),
)
