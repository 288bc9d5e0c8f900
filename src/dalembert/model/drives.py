"""Friction and rotor inertia of the joints, reflected to the joint side through the gear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model.link import Joint, Link
from dalembert.model.model import Drive
from dalembert.model.parameter import expression


def drive_of(moving: Sequence[tuple[Link, int]]) -> Drive:
    """Drive data of every velocity coordinate; a joint's numbers hold for each of its degrees."""
    columns: list[list[Any]] = [[], [], [], []]
    for link, degrees in moving:
        for column, value in zip(columns, _joint_drive(link.joint, link.name), strict=True):
            column.extend([value] * degrees)
    return Drive(*(np.stack(column) for column in columns))


def _joint_drive(joint: Joint, link: str) -> tuple[Any, Any, Any, Any]:
    """(viscous, coulomb at +velocity, coulomb at −velocity, rotor) at the joint.

    τ_friction = (B + G² B_m) q̇ + (T_c + |G| T_cm) sign(q̇), rotor G² J_m.
    """
    label = joint.name or link
    G = _number(joint.gear_ratio, label, "gear_ratio")
    positive, negative = _pair(joint.coulomb, label)
    motor_positive, motor_negative = _pair(joint.coulomb_motor, label)
    ratio = np.abs(G)
    viscous = _number(joint.viscous, label, "viscous")
    viscous_motor = _number(joint.viscous_motor, label, "viscous_motor")
    rotor = _number(joint.rotor_inertia, label, "rotor_inertia")
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


def _pair(value: Any, label: str) -> tuple[Any, Any]:
    """Coulomb friction as (torque at positive velocity, torque at negative velocity)."""
    array = expression(value)
    if array.shape == ():
        positive, negative = _number(array, label, "coulomb"), -_number(array, label, "coulomb")
    elif array.shape == (2,):
        positive, negative = array[0], array[1]
    else:
        raise ModelError(f"joint {label!r}: coulomb must be one number or (positive, negative)")
    numeric = not is_symbolic(positive) and not is_symbolic(negative)
    if numeric and not (np.isfinite([positive, negative]).all() and positive >= 0 >= negative):
        raise ModelError(
            f"joint {label!r}: coulomb ({positive}, {negative}) must oppose the motion: "
            "positive torque first, negative second"
        )
    return positive, negative


def _number(value: Any, label: str, what: str) -> Any:
    number = expression(value)
    if number.shape != () or (not is_symbolic(number) and not np.isfinite(number)):
        raise ModelError(f"joint {label!r}: {what} must be a finite number, not {value!r}")
    return number
