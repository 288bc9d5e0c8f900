"""Friction and rotor inertia of the joints, reflected to the joint side through the gear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model.check import is_one, number, numbers
from dalembert.model.link import Joint, Link
from dalembert.model.model import Drive
from dalembert.spatial.arrays import Scalar


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
