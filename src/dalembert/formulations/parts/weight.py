"""Gravity two ways (001 §3.2): the base accelerates with −g, or every link has its weight."""

from __future__ import annotations

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.sweep import Placed, outward
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Twist, Vector3
from dalembert.spatial.placement import Force

GRAVITY = ("base", "potential")
ZERO = np.zeros(3)


def by_base(gravity: str) -> bool:
    """True for gravity="base", False for gravity="potential"; anything else is an error."""
    if gravity not in GRAVITY:
        raise UnknownNameError(f"gravity={gravity!r} must be one of {GRAVITY}")
    return gravity == "base"


def known_base(
    model: Model,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
) -> tuple[Vector3, Vector3, Vector3]:
    """ω, ω̇ and a of the base's origin, V̇_0 of 000 p.39; gravity by "base" adds −g to a."""
    v, omega = (ZERO, ZERO) if base_twist is None else (base_twist[0:3], base_twist[3:6])
    if base_acceleration is None:
        linear, alpha = ZERO, ZERO
    else:
        linear, alpha = base_acceleration[0:3], base_acceleration[3:6]
    a = linear + np.cross(omega, v)
    return omega, alpha, a - model.gravity if by_base(gravity) else a


def gravity_in_links(model: Model, placed: Placed) -> list[Vector3]:
    """g (3,) in the axes of every link frame, outward."""

    def step(i: int, body: Body, parent: Vector3) -> Vector3:
        return placed[i][0].T @ parent

    return outward(model, model.gravity, step)


def weight(body: Body, g: Vector3) -> Force:
    """(m g, h × g): a link's weight, and its moment about the link frame's origin."""
    return body.mass * g, np.cross(body.moment, g)
