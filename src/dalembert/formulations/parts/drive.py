"""Torques of the drives: reflected rotor inertia and joint friction, the same for all formulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Model


def friction(model: Model, qd: Any) -> Any:
    """B q̇ + T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,): the torque that overcomes friction."""
    drive = model.drive
    return drive.viscous * qd + coulomb(qd, drive.coulomb_positive, drive.coulomb_negative)


def coulomb(qd: Any, positive: Any, negative: Any, width: Any = None) -> Any:
    """T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,); with a `width` (nv,), rising linearly over ±width."""
    if width is None:
        return (qd > 0) * positive + (qd < 0) * negative
    share = np.minimum(np.maximum(qd / width, -1.0), 1.0)
    return np.maximum(share, 0.0) * positive - np.minimum(share, 0.0) * negative


def generalized_forces(model: Model, q: Any, qd: Any) -> Any:
    """ψ (nv,) = −friction: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    return -friction(model, qd)


def rotors(model: Model, qdd: Any) -> Any:
    """G² J_m q̈ (nv,): the torque that accelerates the motors' rotors."""
    return model.drive.rotor * qdd
