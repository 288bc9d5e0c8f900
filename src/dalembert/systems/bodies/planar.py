"""Planar joints and measures as functions of the bodies' coordinates (x, y, φ).

Each is Φ(q) = 0 for the second body seen from the first, as in {r₃}^B − {r₂}^B of the DAE notes
(004, p.3). Points are local; a direction is an angle in the first body.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.systems.bodies.space import (
    PLANAR,
    Array,
    Kind,
    distance,
    kinds,
    length,
    near,
    stretch,
)


def point(body: Array, s: Array) -> Array:
    """Global position (2,) of the local point s: r + A(φ) s."""
    c, n = np.cos(body[2]), np.sin(body[2])
    return np.stack([body[0] + c * s[0] - n * s[1], body[1] + n * s[0] + c * s[1]])


def direction(body: Array, angle: Array) -> tuple[Array, Array]:
    """Unit vectors (2,) along a line fixed in the body, and normal to it (turned by +90°)."""
    c, n = np.cos(body[2] + angle), np.sin(body[2] + angle)
    return np.stack([c, n]), np.stack([-n, c])


def between(q: Array, p: Array) -> Array:
    """From the point p[0:2] of the first body to p[2:4] of the second, (2,)."""
    difference: Array = point(q[1], p[2:4]) - point(q[0], p[0:2])
    return difference


def prismatic(q: Array, p: Array) -> Array:
    """Sliding along the direction p[4] without turning; p[5] is φ_b − φ_a."""
    _, normal = direction(q[0], p[4])
    return np.stack([normal @ between(q, p), q[1, 2] - q[0, 2] - p[5]])


def rigid(q: Array, p: Array) -> Array:
    """The points coincide and φ_b − φ_a = p[4]."""
    return np.concatenate([between(q, p), np.stack([q[1, 2] - q[0, 2] - p[4]])])


def point_on_line(q: Array, p: Array) -> Array:
    """The second point lies on the line through the first with direction p[4] (pin in slot)."""
    _, normal = direction(q[0], p[4])
    return np.stack([normal @ between(q, p)])


def gear(q: Array, p: Array) -> Array:
    """Pitch circles p[4], p[5] roll on each other: r_a(φ_a − α) + r_b(φ_b − α) = p[6].

    α is the angle of the line of centres, so that the force of the teeth stands at the pitch point
    and goes on into the bearings. It is looked for where the wheels say it is, so that it is right
    over any number of turns. An annulus has a negative radius.
    """
    d, together = between(q, p), p[4] + p[5]
    rolled = (p[4] * q[0, 2] + p[5] * q[1, 2] - p[6]) / together
    return np.stack([together * (rolled - near(rolled, d[1], d[0]))])


def rack(q: Array, p: Array) -> Array:
    """A pinion (second) of radius p[5] rolls on a rack: u·d + r(φ_b − φ_a) = p[6]."""
    u, _ = direction(q[0], p[4])
    return np.stack([u @ between(q, p) + p[5] * (q[1, 2] - q[0, 2]) - p[6]])


def angle(q: Array, p: Array) -> Array:
    """φ_b − φ_a."""
    return np.stack([q[1, 2] - q[0, 2]])


def slide(q: Array, p: Array) -> Array:
    """Displacement along the direction p[4] of the first body."""
    u, _ = direction(q[0], p[4])
    return np.stack([u @ between(q, p)])


def position(q: Array, p: Array) -> Array:
    """Global coordinates (2,) of a local point."""
    return point(q[0], p)


def component(q: Array, p: Array) -> Array:
    """p[2:4]·r of a local point: its x, its y, or along any direction."""
    return np.stack([p[2:4] @ point(q[0], p[0:2])])


def orientation(q: Array, p: Array) -> Array:
    """φ of one body."""
    return np.stack([q[0, 2]])


JOINTS = kinds(
    Kind("revolute", PLANAR, 2, 2, between),  # the points coincide
    Kind("prismatic", PLANAR, 2, 2, prismatic, ("direction", "turn")),
    Kind("rigid", PLANAR, 2, 3, rigid, ("turn",)),
    Kind("point_on_line", PLANAR, 2, 1, point_on_line, ("direction",)),
    Kind("distance", PLANAR, 2, 1, partial(distance, between), ("length",)),
    Kind("gear", PLANAR, 2, 1, gear, ("radius_a", "radius_b", "phase")),
    Kind("rack", PLANAR, 2, 1, rack, ("direction", "radius", "phase")),
)
MEASURES = kinds(
    Kind("angle", PLANAR, 2, 1, angle),
    Kind("slide", PLANAR, 2, 1, slide, ("direction",)),
    Kind("position", PLANAR, 1, 2, position, points=2),
    Kind("component", PLANAR, 1, 1, component, ("x", "y"), points=2),
    Kind("orientation", PLANAR, 1, 1, orientation, points=2),
    Kind("length", PLANAR, 2, 1, partial(length, between)),
    Kind("stretch", PLANAR, 2, 1, partial(stretch, between)),
)
