"""What actuators exert, and how their activations change (MuJoCo documentation, "Actuation model").

    f = (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇ ,   l̇ = B q̇ ,   τ = Bᵀ f

with w the control u or the activation. Limits, in this order: of u, of all that pulls at one tendon
together, of each f, and of all that acts on one joint together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations.kinematics.transmission import paths
from dalembert.model import Model
from dalembert.model.actuators import Actuator, Range, wraps
from dalembert.spatial.arrays import Matrix, Scalar, Vector


def actuator_forces(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None = None
) -> Vector:
    """τ (nv,) = Bᵀ f, on each joint within its range."""
    f, B = _efforts(model, q, qd, u, activation)
    tau = f @ B
    if not model.driven_by.joint_ranges:
        return tau
    within = {j.v.start: model.driven_by.joint_ranges.get(j.name) for j in model.joints}
    return np.stack([clipped(tau[k], within.get(k)) for k in range(model.nv)])


def actuator_efforts(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None = None
) -> Vector:
    """f (nu,): the force each actuator exerts along its length, within all limits but the joints'."""
    return _efforts(model, q, qd, u, activation)[0]


def activation_rate(model: Model, u: Vector, activation: Vector) -> Vector:
    """ẇ (na,): u of an integrator, (u − w)/T of a filter; zero where it would leave its range.

    The filter of a servo for an angle takes the shorter way round.
    """
    return np.stack([rate for _, rate in _activations(model, u, activation).values()])


def _efforts(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None
) -> tuple[Vector, Matrix]:
    """(f (nu,), B (nu, nv))."""
    made = paths(model, q)
    B = np.stack([row for _, row in made])
    states = _activations(model, u, activation)
    found = []
    for i, (actuator, (length, row)) in enumerate(
        zip(model.driven_by.actuators, made, strict=True)
    ):
        driver = clipped(u[i], actuator.control_range)
        if i in states:
            driver = _early(actuator, *states[i])
        found.append(_effort(model, actuator, driver, length, row @ qd))
    found = _within_tendons(model, found)
    limited = zip(found, model.driven_by.actuators, strict=True)
    return np.stack([clipped(f, a.force_range) for f, a in limited]), B


def _effort(
    model: Model, actuator: Actuator, driver: Scalar, length: Scalar, velocity: Scalar
) -> Scalar:
    """(g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇."""
    g, b = actuator.gain, actuator.bias
    if wraps(model, actuator):
        driver = length + _on_circle(actuator, driver - length)
    gain = g[0] + g[1] * length + g[2] * velocity
    return gain * driver + b[0] + b[1] * length + b[2] * velocity


def _on_circle(actuator: Actuator, error: Scalar) -> Scalar:
    """The error of a servo for an angle, the shorter way round."""
    ratio = np.linalg.norm(
        actuator.gear[3:6] if actuator.transmission == "site" else actuator.gear[:3]
    )
    angle = error / ratio
    return ratio * np.arctan2(np.sin(angle), np.cos(angle))


def _activations(
    model: Model, u: Vector, activation: Vector | None
) -> dict[int, tuple[Scalar, Scalar]]:
    """(w, ẇ) of the actuators that have an activation, by their index; w = 0 where none is given."""
    found: dict[int, tuple[Scalar, Scalar]] = {}
    for i, actuator in enumerate(model.driven_by.actuators):
        if not actuator.active:
            continue
        w = np.zeros(()) if activation is None else activation[len(found)]
        low, high = actuator.activation_range
        rate = clipped(u[i], actuator.control_range)
        if actuator.dynamics != "integrator":
            error = rate - w
            if wraps(model, actuator):
                error = _on_circle(actuator, error)
            rate = error / actuator.time_constant
        if np.isfinite(high):
            rate = np.where(w >= high, np.minimum(rate, 0.0), rate)
        if np.isfinite(low):
            rate = np.where(w <= low, np.maximum(rate, 0.0), rate)
        found[i] = clipped(w, actuator.activation_range), rate
    return found


def _early(actuator: Actuator, w: Scalar, rate: Scalar) -> Scalar:
    """The activation `lead` seconds later."""
    if actuator.lead == 0.0:
        return w
    ahead = actuator.lead
    if actuator.dynamics == "filterexact":
        T = actuator.time_constant
        ahead = T * (1.0 - np.exp(-actuator.lead / T))
    return clipped(w + rate * ahead, actuator.activation_range)


def _within_tendons(model: Model, found: list[Any]) -> list[Any]:
    """Forces of actuators at one tendon, scaled so that their sum is within its range."""
    actuators = model.driven_by.actuators
    for name, pair in model.driven_by.tendon_ranges.items():
        own = [i for i, a in enumerate(actuators) if (a.transmission, a.target) == ("tendon", name)]
        if not own:
            continue
        total = sum((found[i] for i in own[1:]), found[own[0]])
        still = total == 0.0
        share = np.where(still, 1.0, clipped(total, pair) / np.where(still, 1.0, total))
        for i in own:
            found[i] = share * found[i]
    return found


def clipped(value: Scalar, within: Range | None) -> Scalar:
    """The value within a range; sides that are infinite, or no range at all, change nothing."""
    low, high = within or (-np.inf, np.inf)
    value = np.maximum(value, low) if np.isfinite(low) else value
    return np.minimum(value, high) if np.isfinite(high) else value
