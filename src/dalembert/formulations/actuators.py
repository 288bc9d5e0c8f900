"""Actuators: lengths and moment arms, the forces they exert, and the forces a motion requires.

The row B of an actuator is its velocity per joint velocity, l̇ = B q̇, and by virtual work τ = Bᵀ f.
For an actuator between a site and a reference that turns itself, MuJoCo's B (taken here) leaves out
the effect of the reference's own rotation on l, and l̇ means B q̇. With w the control u or the
activation (MuJoCo documentation, "Actuation model"),

    f = (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇ ,   l̇ = B q̇ ,   τ = Bᵀ f

Limits apply in this order: to u, to the sum of all forces at one tendon, to each f, and to the sum
of all torques on one joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.kinematics.frames import body_poses, columns_about, frame_pose
from dalembert.formulations.kinematics.tendons import lengths_and_rows
from dalembert.linalg.factorisations import flagged, largest
from dalembert.linalg.row_space import row_space
from dalembert.model import CoupledModel, Model
from dalembert.model.actuators import Actuator, Range, wraps
from dalembert.model.joint import Ball, Free
from dalembert.spatial import quaternions
from dalembert.spatial.arrays import Matrix, Scalar, Vector, Vector3
from dalembert.spatial.rotations import log_so3
from dalembert.spatial.se3 import Placement
from dalembert.tracing import is_symbolic

LARGEST_RESIDUAL = 1e-6  # of Bᵀ f − τ, relative to the largest torque
Path = tuple[Scalar, Vector]  # length, and moment arm (nv,)


def transmission(model: Model, q: Vector) -> Matrix:
    """B (nu, nv): the moment arms of all actuators, τ = Bᵀ f."""
    return np.stack([row for _, row in paths(model, q)])


def actuator_lengths(model: Model, q: Vector) -> Vector:
    """l (nu,): rad or m times gear; zero where none is defined (free joints, sites by themselves)."""
    return np.stack([length for length, _ in paths(model, q)])


def paths(model: Model, q: Vector) -> list[Path]:
    """Length and moment arm of every actuator."""
    configuration = _Configuration(model, q)
    return [_PATHS[a.transmission](configuration, a) for a in model.driven_by.actuators]


@dataclass
class _Configuration:
    """A model at q; poses are computed at their first use."""

    model: Model
    q: Vector

    @cached_property
    def poses(self) -> list[Placement]:
        return body_poses(self.model, self.q)

    def frame(self, name: str) -> Placement:
        return frame_pose(self.model, self.poses, name)

    def support(self, name: str) -> set[int]:
        """Bodies that carry a frame."""
        body = self.model.frame(name).body
        return set(self.model.supports[body]) if body >= 0 else set()

    def work(self, name: str, force: Vector3, moment: Vector3, without: set[int]) -> Vector:
        """Jᵀ F (nv,) of a force at a frame's origin and a moment, along world axes.

        Joints of the bodies `without` are left out.
        """
        body, about = self.model.frame(name).body, self.frame(name).p
        columns = columns_about(self.model, self.poses, body, about)
        owners = [i for i, b in enumerate(self.model.bodies) for _ in range(b.chart.nv)]
        return np.stack(
            [
                np.zeros(()) if i in without else c[0:3] @ force + c[3:6] @ moment
                for i, c in zip(owners, columns, strict=True)
            ]
        )


def _joint_path(at: _Configuration, actuator: Actuator) -> Path:
    """One degree: l = g₁ q. A ball: l = g·log of its quaternion. A free joint has no length."""
    model, gear = at.model, actuator.gear
    joint = next(j for j in model.joints if j.name == actuator.target)
    in_parent = actuator.transmission == "joint_in_parent"
    body = model.bodies[joint.bodies[-1]]
    length, arm = gear[0] * at.q[joint.q.start], np.stack([gear[0]])
    if isinstance(body.chart, Ball):
        quaternion = at.q[body.q]
        arm = gear[0:3]
        if in_parent:
            arm = quaternions.matrix_from_quaternion(quaternion).T @ arm
        length = quaternions.log_quaternion(quaternion) @ arm
    elif isinstance(body.chart, Free):
        R = quaternions.matrix_from_quaternion(at.q[body.q][3:7])
        # force along world axes, while the velocity is the body's twist
        moment = R.T @ gear[3:6] if in_parent else gear[3:6]
        length, arm = np.zeros(()), np.concatenate([R.T @ gear[0:3], moment])
    first = body.v.start
    after = np.zeros(model.nv - first - arm.shape[0])
    return length, np.concatenate([np.zeros(first), arm, after])


def _site_path(at: _Configuration, actuator: Actuator) -> Path:
    """A wrench fixed to a frame; with a reference, l is the frame's position in the reference."""
    gear = actuator.gear
    R, p = at.frame(actuator.target)
    if actuator.reference is None:
        row = at.work(actuator.target, R @ gear[0:3], R @ gear[3:6], set())
        return np.zeros(()), row
    R_0, p_0 = at.frame(actuator.reference)
    force, moment = R_0 @ gear[0:3], R_0 @ gear[3:6]
    length = gear[0:3] @ (R_0.T @ (p - p_0))
    if is_symbolic(gear) or np.any(gear[3:6]):
        length = length + gear[3:6] @ log_so3(R_0.T @ R)
    # between two frames of one robot these are inner forces: joints that carry both feel nothing
    both = at.support(actuator.target) & at.support(actuator.reference)
    row = at.work(actuator.target, force, moment, both)
    return length, row - at.work(actuator.reference, force, moment, both)


def _crank_path(at: _Configuration, actuator: Actuator) -> Path:
    """A rod r from a pin to a slider on the axis a: l = a·v − √((a·v)² + r² − v·v), v to the pin.

    Where the rod is too short, l is the pin's foot on the axis.
    """
    slider = actuator.reference or ""
    R, p_0 = at.frame(slider)
    axis, v = R[:, 2], at.frame(actuator.target).p - p_0
    along = axis @ v
    square = along * along + actuator.rod * actuator.rod - v @ v
    closes = np.where(square > 0.0, 1.0, 0.0)
    root = np.sqrt(np.where(square > 0.0, square, 1.0))
    by_axis = (1.0 - closes * along / root) * v
    by_pin = (1.0 - closes * along / root) * axis + (closes / root) * v
    # the axis turns with ω × a, so that ∂l/∂a·(ω × a) is the moment a × ∂l/∂a
    pin = at.work(actuator.target, by_pin, np.zeros(3), set())
    base = at.work(slider, -by_pin, np.cross(axis, by_axis), set())
    gear = actuator.gear[0]
    return gear * (along - closes * root), gear * (pin + base)


def _tendon_path(at: _Configuration, actuator: Actuator) -> Path:
    """The tendon's own length and moment arms, times the gear."""
    gear = actuator.gear[0]
    tendon = next(t for t in at.model.tendons if t.name == actuator.target)
    ((length, row),) = lengths_and_rows(at.model, at.q, (tendon,))
    return gear * length, gear * row


_PATHS = {
    "joint": _joint_path,
    "joint_in_parent": _joint_path,
    "tendon": _tendon_path,
    "site": _site_path,
    "crank": _crank_path,
}


def actuator_forces(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None = None
) -> Vector:
    """τ (nv,) = Bᵀ f, on each joint within its range."""
    f, B = _efforts(model, q, qd, u, activation)
    tau = f @ B
    if not model.driven_by.joint_ranges:
        return tau
    ranges = {j.v.start: model.driven_by.joint_ranges.get(j.name) for j in model.joints}
    return np.stack([clipped(tau[k], ranges.get(k)) for k in range(model.nv)])


def actuator_efforts(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None = None
) -> Vector:
    """f (nu,): the force each actuator exerts along its length, within all limits but the joints'."""
    return _efforts(model, q, qd, u, activation)[0]


def activation_rate(model: Model, u: Vector, activation: Vector) -> Vector:
    """ẇ (na,): u of an integrator, (u − w)/T of a filter; zero where it would leave its range.

    The filter of a servo for an angle takes the shorter direction round.
    """
    return np.stack([rate for _, rate in _activations(model, u, activation).values()])


def _efforts(
    model: Model, q: Vector, qd: Vector, u: Vector, activation: Vector | None
) -> tuple[Vector, Matrix]:
    """(f (nu,), B (nu, nv))."""
    actuators, lengths_and_arms = model.driven_by.actuators, paths(model, q)
    activations = _activations(model, u, activation)
    forces = []
    for i, (actuator, (length, row)) in enumerate(zip(actuators, lengths_and_arms, strict=True)):
        w = clipped(u[i], actuator.control_range)
        if i in activations:
            w, rate = activations[i]
            if actuator.lead != 0.0:  # the activation `lead` seconds later
                duration, T = actuator.lead, actuator.time_constant
                if actuator.dynamics == "filterexact":
                    duration = T * (1.0 - np.exp(-actuator.lead / T))
                w = clipped(w + rate * duration, actuator.activation_range)
        if wraps(model, actuator):
            w = length + _shorter_turn(actuator, w - length)
        # (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇
        g, b, velocity = actuator.gain, actuator.bias, row @ qd
        gain = g[0] + g[1] * length + g[2] * velocity
        forces.append(gain * w + b[0] + b[1] * length + b[2] * velocity)
    # forces at one tendon are scaled so that their sum is within its range
    for name, limits in model.driven_by.tendon_ranges.items():
        own = [i for i, a in enumerate(actuators) if (a.transmission, a.target) == ("tendon", name)]
        if not own:
            continue
        total = sum((forces[i] for i in own[1:]), forces[own[0]])
        is_zero = total == 0.0
        share = np.where(is_zero, 1.0, clipped(total, limits) / np.where(is_zero, 1.0, total))
        for i in own:
            forces[i] = share * forces[i]
    f = [clipped(force, a.force_range) for force, a in zip(forces, actuators, strict=True)]
    return np.stack(f), np.stack([row for _, row in lengths_and_arms])


def _shorter_turn(actuator: Actuator, error: Scalar) -> Scalar:
    """The error of a servo for an angle, in the shorter direction round."""
    ratio = np.linalg.norm(
        actuator.gear[3:6] if actuator.transmission == "site" else actuator.gear[:3]
    )
    angle = error / ratio
    return ratio * np.arctan2(np.sin(angle), np.cos(angle))


def _activations(
    model: Model, u: Vector, activation: Vector | None
) -> dict[int, tuple[Scalar, Scalar]]:
    """(w, ẇ) of the actuators with activation dynamics, by their index; w = 0 without `activation`."""
    states: dict[int, tuple[Scalar, Scalar]] = {}
    for i, actuator in enumerate(model.driven_by.actuators):
        if not actuator.active:
            continue
        w = np.zeros(()) if activation is None else activation[len(states)]
        low, high = actuator.activation_range
        rate = clipped(u[i], actuator.control_range)
        if actuator.dynamics != "integrator":
            error = rate - w
            if wraps(model, actuator):
                error = _shorter_turn(actuator, error)
            rate = error / actuator.time_constant
        if np.isfinite(high):
            rate = np.where(w >= high, np.minimum(rate, 0.0), rate)
        if np.isfinite(low):
            rate = np.where(w <= low, np.maximum(rate, 0.0), rate)
        states[i] = clipped(w, actuator.activation_range), rate
    return states


def clipped(value: Scalar, limits: Range | None) -> Scalar:
    """The value within a range; infinite sides, or no range at all, change nothing."""
    low, high = limits or (-np.inf, np.inf)
    value = np.maximum(value, low) if np.isfinite(low) else value
    return np.minimum(value, high) if np.isfinite(high) else value


def required_efforts(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    effort_weights: Vector | None = None,
    **options: Any,
) -> Vector:
    """f (nu,) with Bᵀ f = M q̈ + C q̇ + N − ψ and Σ w f² least; NaN where no f gives this motion."""
    tau = newton_euler.inverse_dynamics(model, q, qd, qdd, **options)
    actuators = model.driven_by.actuators
    # where every actuator drives a joint of one degree of its own, no system needs solving
    joints = {joint.name: joint for joint in model.joints}
    driven = [joints.get(a.target) for a in actuators if "joint" in a.transmission]
    rows = [j.v.start for j in driven if j is not None and j.v.stop - j.v.start == 1]
    if len(set(rows)) != len(actuators):
        return _least_efforts(transmission(model, q), tau, effort_weights)
    f = np.stack([tau[k] / a.gear[0] for k, a in zip(rows, actuators, strict=True)])
    undriven = [tau[k] for k in range(model.nv) if k not in rows]
    return _nan_if_missed(f, np.stack(undriven), tau) if undriven else f


def coupled_efforts(
    model: CoupledModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    effort_weights: Vector | None = None,
    **options: Any,
) -> Vector:
    """`required_efforts` of coupled joints: actuators of dependent joints drive the leading ones."""
    state = model.expand(q), model.G @ qd, model.G @ qdd
    tau = model.G.T @ newton_euler.inverse_dynamics(model.tree, *state, **options)
    return _least_efforts(transmission(model.tree, state[0]) @ model.G, tau, effort_weights)


def _least_efforts(B: Matrix, tau: Vector, weights: Vector | None) -> Vector:
    """f (nu,) with Bᵀ f = τ and Σ w f² least; NaN where there is none."""
    scale = np.ones(B.shape[0]) if weights is None else 1.0 / np.sqrt(weights)
    rows = B * scale.reshape(-1, 1)
    x, _ = row_space(rows, most=B.shape[1]).solve(rows @ tau)
    f = scale * x
    return _nan_if_missed(f, f @ B - tau, tau)


def _nan_if_missed(f: Vector, residual: Vector, tau: Vector) -> Vector:
    """f, or NaN where the residual is not small beside the required torques τ."""
    is_small = largest(residual) <= LARGEST_RESIDUAL * (1e-9 + largest(tau))
    checked: Vector = flagged(is_small, f)[0]
    return checked


def actuator_drivers(model: Model, q: Vector, qd: Vector, efforts: Vector) -> Vector:
    """w (nu,) at which the actuators exert f: w = (f − b₀ − b₁ l − b₂ l̇)/(g₀ + g₁ l + g₂ l̇)."""
    drivers = []
    for f, actuator, (length, row) in zip(
        efforts, model.driven_by.actuators, paths(model, q), strict=True
    ):
        g, b, speed = actuator.gain, actuator.bias, row @ qd
        rest = f - b[0] - b[1] * length - b[2] * speed
        drivers.append(rest / (g[0] + g[1] * length + g[2] * speed))
    return np.stack(drivers)
