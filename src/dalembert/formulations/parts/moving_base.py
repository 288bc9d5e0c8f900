"""A base in known motion as six more joints, for formulations that know only coordinates.

Three slides and three turns carry the base. They stand at zero, where it has its actual pose, with
the rates that give it the twist V_0 and the acceleration V̇_0 (000 p.41–44). Lagrange's equations of
the longer mechanism hold; those of the six added joints are not asked for.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from dalembert.model import Body, Frame, Joint, Link, Model, build
from dalembert.model.elements import Elements
from dalembert.model.model import Drive
from dalembert.spatial import se3
from dalembert.spatial.arrays import Twist, Vector

NAMES = ("base_x", "base_y", "base_z", "base_roll", "base_pitch", "base_yaw")


class Carried(NamedTuple):
    """A mechanism with its state; `own` are the coordinates of the mechanism asked for."""

    model: Model
    q: Vector
    qd: Vector
    qdd: Vector
    own: slice


def with_base(
    model: Model, q: Vector, qd: Vector, qdd: Vector, V_0: Twist | None, V_dot_0: Twist | None
) -> Carried:
    """The same state with the base's motion as coordinates; nothing changes where it is None."""
    if V_0 is None and V_dot_0 is None:
        return Carried(model, q, qd, qdd, slice(0, None))
    rates, accelerations = base_rates(
        np.zeros(6) if V_0 is None else V_0, np.zeros(6) if V_dot_0 is None else V_dot_0
    )
    return Carried(
        with_base_joints(model),
        np.concatenate([np.zeros(6), q]),
        np.concatenate([rates, qd]),
        np.concatenate([accelerations, qdd]),
        slice(6, None),
    )


def base_rates(V_0: Twist, V_dot_0: Twist) -> tuple[Vector, Vector]:
    """Rates (6,) and accelerations (6,) of the added joints at zero.

    There their frames coincide and ξ_k = e_k, so V = q̇, and V̇ = q̈ − Σ_k ad_{ξ_k q̇_k} V_{k−1} with
    V_{k−1} the twist of the joints before k.
    """
    unit = np.eye(6)
    accelerations = V_dot_0
    for k in range(1, 6):
        before = unit[:k].sum(axis=0) * V_0
        accelerations = accelerations + se3.bracket(unit[k] * V_0, before)
    return V_0, accelerations


def with_base_joints(model: Model) -> Model:
    """The mechanism behind six massless links; the frame of the last is the base's at zero."""
    kinds, axes = ("prismatic",) * 3 + ("revolute",) * 3, (*np.eye(3), *np.eye(3))
    links = [
        Link(name=name, parent=parent, joint=Joint(kind=kind, axis=axis))
        for name, parent, kind, axis in zip(NAMES, (None, *NAMES), kinds, axes, strict=False)
    ]
    carriage = build(links)

    def body(b: Body) -> Body:
        return replace(b, parent=b.parent + 6, q=_shift(b.q), v=_shift(b.v))

    def frame(f: Frame) -> Frame:
        return replace(f, body=f.body + 6)

    drives = {f.name: getattr(model.drive, f.name) for f in fields(Drive)}
    return replace(
        model,
        bodies=(*carriage.bodies, *(body(b) for b in model.bodies)),
        frames={name: frame(f) for name, f in model.frames.items()},
        elements=Elements(),  # they act on the joints that there were
        drive=Drive(**{name: np.concatenate([np.zeros(6), x]) for name, x in drives.items()}),
    )


def _shift(coordinates: slice) -> slice:
    return slice(coordinates.start + 6, coordinates.stop + 6)
