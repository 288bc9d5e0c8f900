"""Torques of the drives: reflected rotor inertia and joint friction, the same for all formulations."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.spatial.arrays import Vector


def friction(model: Model, qd: Vector) -> Vector:
    """B q̇ + T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,): the torque that overcomes friction."""
    drive = model.drive
    return drive.viscous * qd + coulomb(qd, drive.coulomb_positive, drive.coulomb_negative)


def coulomb(qd: Vector, positive: Vector, negative: Vector, width: Vector | None = None) -> Vector:
    """T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,); with a `width` (nv,), rising linearly over ±width."""
    if width is None:
        return (qd > 0) * positive + (qd < 0) * negative
    share = saturated(qd, np.abs(qd), width)
    return np.maximum(share, 0.0) * positive - np.minimum(share, 0.0) * negative


def saturated(u: Vector, speed: Vector, width: Vector) -> Vector:
    """u/speed, or u/width where that is slower: the direction of a slip, rising over ±width."""
    return u / np.maximum(speed, width)


def generalized_forces(model: Model, q: Vector, qd: Vector) -> Vector:
    """ψ (nv,) = −friction: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    return -friction(model, qd)


def rotors(model: Model, qdd: Vector) -> Vector:
    """G² J_m q̈ (nv,): the torque that accelerates the motors' rotors."""
    return model.drive.rotor * qdd
