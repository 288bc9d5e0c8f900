"""Springs, drag and lifted weights as users describe them, made elements of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model.check import is_one, number, numbers
from dalembert.model.elements import Ballast, Drag, Elements, Lift, Spring
from dalembert.model.link import Joint, Link
from dalembert.model.model import Body, JointInfo
from dalembert.spatial.arrays import Scalar, Vector, Vector3


def elements_of(
    links: Sequence[Link],
    joints: Sequence[JointInfo],
    bodies: Sequence[Body],
    rotor: Vector,
    lifted: Mapping[int, Sequence[tuple[Scalar, Vector3]]],
) -> Elements:
    """Elements of the joints, one for each of their bodies, and of what is lifted of each body."""
    springs: list[Spring] = []
    drags: list[Drag] = []
    ballasts: list[Ballast] = []
    for link, info in zip(links, joints, strict=True):
        own = [(i, bodies[i]) for i in info.bodies]
        springs += _springs(link.joint, info.name, own)
        drag = _series(link.joint.drag, f"joint {info.name!r}: drag")
        drags += [Drag(i, drag) for i, _ in own if len(drag)]
        ballasts += _ballasts(link.joint, info.name, own, rotor)
    lifts = []
    for i, parts in sorted(lifted.items()):
        mass, moment = (sum(each) for each in zip(*parts, strict=True))
        lifts.append(Lift(i, mass, moment))
    return Elements(
        springs=tuple(springs), drags=tuple(drags), lifts=tuple(lifts), ballasts=tuple(ballasts)
    )


def share(link: Link) -> Scalar:
    """The share of a link's weight that is carried from outside."""
    return number(link.lifted, f"lifted of link {link.name!r}")


def is_none(value: Scalar) -> bool:
    """Whether a number is zero and no parameter."""
    return not is_symbolic(value) and bool(value == 0.0)


def _ballasts(
    joint: Joint, label: str, own: list[tuple[int, Body]], rotor: Vector
) -> list[Ballast]:
    if not joint.ballast:
        return []
    if joint.kind != "free":
        raise ModelError(f"joint {label!r}: ballast is for free joints, this one is {joint.kind}")
    found = [Ballast(i, rotor[body.v][0]) for i, body in own]
    return [ballast for ballast in found if not is_none(ballast.mass)]


def _springs(joint: Joint, label: str, own: list[tuple[int, Body]]) -> list[Spring]:
    where = f"joint {label!r}: "
    stiffness = _series(joint.stiffness, f"{where}stiffness")
    if not len(stiffness):
        return []
    rest = _rest(joint, f"{where}rest", [body for _, body in own])
    found, at = [], 0
    for i, body in own:
        found.append(Spring(i, stiffness, rest[at : at + body.chart.nq]))
        at += body.chart.nq
    return found


def _rest(joint: Joint, what: str, bodies: list[Body]) -> Vector:
    """Coordinates of the joint at rest (nq of the joint,)."""
    neutral = np.concatenate([body.chart.neutral() for body in bodies])
    if joint.rest is None:
        return neutral
    if neutral.shape == (1,) and is_one(joint.rest):
        return number(joint.rest, what).reshape(1)
    given = numbers(joint.rest, neutral.shape, f"{what}, one for each coordinate,")
    turned = bodies[-1].chart.nq > 1
    if turned and not is_symbolic(given) and abs(given[-4:] @ given[-4:] - 1.0) > 1e-6:
        raise ModelError(f"{what}: the quaternion {given[-4:]} is not of unit length")
    return given


def _series(value: Any, what: str) -> Vector:
    """Coefficients (degree,); one number is a list of one, zeros at the end are none."""
    found = number(value, what).reshape(1) if is_one(value) else _several(value, what)
    return found if is_symbolic(found) else np.trim_zeros(found, "b")


def _several(value: Any, what: str) -> Vector:
    return numbers(value, (len(value),), f"{what}, one number or one for each power,")
