"""Torques of the drives: reflected rotor inertia and joint friction, the same for all formulations."""

from __future__ import annotations

from typing import Any

from dalembert.model import Model


def friction(model: Model, qd: Any) -> Any:
    """B q̇ + T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,): the torque that overcomes friction."""
    drive = model.drive
    positive, negative = (qd > 0) * drive.coulomb_positive, (qd < 0) * drive.coulomb_negative
    return drive.viscous * qd + positive + negative


def generalized_forces(model: Model, q: Any, qd: Any) -> Any:
    """ψ (nv,) = −friction: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    return -friction(model, qd)


def rotors(model: Model, qdd: Any) -> Any:
    """G² J_m q̈ (nv,): the torque that accelerates the motors' rotors."""
    return model.drive.rotor * qdd
