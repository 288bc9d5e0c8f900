"""Torques beside those of the bodies: rotors, friction and elements, the same for all formulations."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.parts.elements import add, conservative, dissipative, turning
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
    """ψ (nv,) = −friction − dampers: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    return -add(friction(model, qd), dissipative(model, q, qd))


def rotors(model: Model, qdd: Vector) -> Vector:
    """G² J_m q̈ (nv,): the torque that accelerates the motors' rotors."""
    return model.drive.rotor * qdd


def with_own(model: Model, tau: Vector, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """τ (nv,) of the bodies, with rotors, friction and elements."""
    tau = tau + rotors(model, qdd) + friction(model, qd)
    return _with_elements(model, tau, q, qd)


def with_stored(model: Model, h: Vector, q: Vector, qd: Vector) -> Vector:
    """h (nv,) of the bodies, with what elements store in potential and in momentum."""
    return add(h, conservative(model, q), turning(model, qd))


def resisting(model: Model, q: Vector, qd: Vector) -> Vector:
    """Friction and elements (nv,): what the drives must give beside the motion of the bodies."""
    return _with_elements(model, friction(model, qd), q, qd)


def _with_elements(model: Model, tau: Vector, q: Vector, qd: Vector) -> Vector:
    return add(with_stored(model, tau, q, qd), dissipative(model, q, qd))
