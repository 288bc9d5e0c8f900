"""What users say of a joint, checked: its charts, its drive, its springs, drag and lifted weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.body import Body
from dalembert.model.check import direction, is_one, number, numbers
from dalembert.model.elements import Ballast, Drag, Elements, Lift, Spring
from dalembert.model.joint import KINDS, Chart, Factors, factors
from dalembert.model.link import Joint, Link
from dalembert.model.model import Drive, JointInfo
from dalembert.spatial.arrays import Scalar, Vector, Vector3
from dalembert.spatial.rotations import snap
from dalembert.text import short
from dalembert.tracing import is_symbolic


class Freedom(NamedTuple):
    """One chart of a joint: its unit axis in the joint frame, and what is added to its q."""

    axis: Vector3
    chart: Chart
    offset: Vector  # (nq,)


def freedoms(joint: Joint, label: str) -> list[Freedom]:
    """The charts of a joint in the order of its coordinates; a fixed joint has none."""
    where = f"joint {label!r}"
    if not isinstance(joint.kind, str) or joint.kind not in KINDS:
        known = ", ".join(KINDS)
        raise ModelError(
            f"{where}: joint type {short(joint.kind)} is unknown; known types: {known}"
        )
    axis, second = _unit(joint.axis, f"{where}: axis"), None
    if joint.axis2 is not None:
        if joint.kind != "universal":
            raise ModelError(f"{where}: axis2 is for universal joints, this one is {joint.kind}")
        second = _unit(joint.axis2, f"{where}: axis2")
    pitch = number(joint.pitch, f"{where}: pitch")
    if joint.kind != "helical" and (is_symbolic(pitch) or pitch != 0.0):
        raise ModelError(f"{where}: pitch is for helical joints, this one is {joint.kind}")
    pieces = [(snap(a), chart) for a, chart in factors(joint.kind, axis, second, pitch)]
    offsets = _offsets(joint, pieces, f"{where}: offset")
    return [Freedom(a, chart, x) for (a, chart), x in zip(pieces, offsets, strict=True)]


def _unit(axis: Any, what: str) -> Vector3:
    given = direction(axis, what)
    if is_symbolic(given):
        return given / np.sqrt(given @ given)
    return snap(given / np.linalg.norm(given))


def _offsets(joint: Joint, pieces: Factors, what: str) -> list[Vector]:
    """(nq,) for every piece, zero where none is given; quaternions have no offset."""
    if not _is_zero(joint.offset, what):
        if not pieces or any(chart.nq > 1 for _, chart in pieces):
            raise ModelError(f"{what}: a {joint.kind} joint has none; turn its origin instead")
        if len(pieces) == 1:
            return [number(joint.offset, what).reshape(1)]
        given = numbers(joint.offset, (len(pieces),), f"{what}, one for each coordinate,")
        return [given[k : k + 1] for k in range(len(pieces))]
    return [np.zeros(chart.nq) for _, chart in pieces]


def _is_zero(offset: Any, what: str) -> bool:
    if not is_one(offset):
        return False
    found = number(offset, what)
    return not is_symbolic(found) and bool(found == 0.0)


# friction and rotor inertia, reflected to the joint side through the gear


def drive_of(moving: Sequence[tuple[Link, int]]) -> Drive:
    """Drive data of every velocity coordinate; a joint's numbers hold for each of its degrees."""
    columns: list[list[Scalar]] = [[], [], [], []]
    for link, degrees in moving:
        for column, value in zip(columns, _joint_drive(link.joint, link.name), strict=True):
            column.extend([value] * degrees)
    return Drive(*(np.stack(column) for column in columns))


def _joint_drive(joint: Joint, link: str) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(viscous, coulomb at +velocity, coulomb at −velocity, rotor) at the joint.

    τ_friction = (B + G² B_m) q̇ + (T_c + |G| T_cm) sign(q̇), rotor G² J_m.
    """
    label = joint.name or link
    G = number(joint.gear_ratio, f"joint {label!r}: gear_ratio")
    positive, negative = _pair(joint.coulomb, f"joint {label!r}: coulomb")
    motor_positive, motor_negative = _pair(joint.coulomb_motor, f"joint {label!r}: coulomb_motor")
    ratio = np.abs(G)
    viscous = number(joint.viscous, f"joint {label!r}: viscous")
    viscous_motor = number(joint.viscous_motor, f"joint {label!r}: viscous_motor")
    rotor = number(joint.rotor_inertia, f"joint {label!r}: rotor_inertia")
    for what, value in (
        ("viscous", viscous),
        ("viscous_motor", viscous_motor),
        ("rotor_inertia", rotor),
    ):
        if not is_symbolic(value) and value < 0:
            raise ModelError(f"joint {label!r}: {what} is {value}; it cannot be negative")
    return (
        viscous + G * G * viscous_motor,
        positive + ratio * motor_positive,
        negative + ratio * motor_negative,
        G * G * rotor,
    )


def _pair(value: Any, what: str) -> tuple[Scalar, Scalar]:
    """Coulomb friction as (torque at positive velocity, torque at negative velocity)."""
    if is_one(value):
        positive = number(value, f"{what}, one number or (positive, negative),")
        negative = -positive
    else:
        positive, negative = numbers(value, (2,), f"{what}, one number or (positive, negative),")
    numeric = not is_symbolic(positive) and not is_symbolic(negative)
    if numeric and not positive >= 0 >= negative:
        raise ModelError(
            f"{what} ({positive}, {negative}) must oppose the motion: "
            "positive torque first, negative second"
        )
    return positive, negative


# springs, drag, ballast and lifted weights


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
    if is_one(value):
        found = number(value, what).reshape(1)
    else:
        found = numbers(value, (len(value),), f"{what}, one number or one for each power,")
    return found if is_symbolic(found) else np.trim_zeros(found, "b")
