"""Energies, momenta, the centre of mass and gravity torques, from their definitions."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, body_twists
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.mass.jacobian_mass import center_jacobians
from dalembert.formulations.parts.base_motion import weight_torque
from dalembert.formulations.parts.elements import add, conservative, energies, inertial_rows
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Scalar, Twist, Vector, Vector3
from dalembert.spatial.se3 import Force, Motion


def body_momentum(body: Body, motion: Motion) -> Force:
    """(linear, angular about the frame's origin) momentum of a body, in its own frame."""
    v, omega = motion
    h = body.moment
    linear = body.mass * v + np.cross(omega, h)
    return Force(linear, body.inertia @ omega + np.cross(h, v))


def kinetic_energy(model: Model, q: Vector, qd: Vector) -> Scalar:
    """K = ½ Σ Vᵀ M V + ½ Σ G² J_m q̇² + ½ Σ a L̇² of tendons, joules."""
    rates = [(t.armature[0], row @ qd) for t, row in inertial_rows(model, q)]
    doubled = [a * rate * rate for a, rate in rates]
    total = sum(doubled, (model.drive.rotor * qd) @ qd)
    for body, twist in zip(model.bodies, body_twists(model, q, qd), strict=True):
        momentum = body_momentum(body, twist)
        total = total + twist.linear @ momentum.linear + twist.angular @ momentum.angular
    return 0.5 * total


def potential_energy(model: Model, q: Vector) -> Scalar:
    """U = −Σ m gᵀ p_C and of the elements, joules; zero where every centre is at the world's origin."""
    first_moment, _ = _first_moment(model, q)
    return sum(energies(model, q), -(model.gravity @ first_moment))


def center_of_mass(model: Model, q: Vector) -> Vector3:
    """Σ m p_C / Σ m (3,), in the world, metres."""
    first_moment, mass = _first_moment(model, q)
    result: Vector3 = first_moment / mass
    return result


def _first_moment(model: Model, q: Vector) -> tuple[Vector3, Scalar]:
    """(Σ m p_C in the world, Σ m)."""
    moment, mass = np.zeros(3), 0.0
    for body, (R, p) in zip(model.bodies, body_poses(model, q), strict=True):
        moment = moment + body.mass * p + R @ body.moment
        mass = mass + body.mass
    return moment, mass


def momentum(model: Model, q: Vector, qd: Vector) -> Twist:
    """(6,) linear momentum, and angular momentum about the world's origin, along its axes."""
    total = Force.zero()
    twists, poses = body_twists(model, q, qd), body_poses(model, q)
    for body, twist, placement in zip(model.bodies, twists, poses, strict=True):
        # momentum changes frame as a force does
        total = total + placement.act(body_momentum(body, twist))
    return total.array


def generalized_momentum(model: Model, q: Vector, qd: Vector) -> Vector:
    """p = ∂K/∂q̇ = M q̇ (nv,)."""
    return mass_matrix(model, q) @ qd


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,) = −Σ J_vᵀ m g (003), and ∂U/∂q of the elements."""
    torques = [
        -(J_v.T @ (body.mass * model.gravity))
        for body, (J_v, _) in zip(model.bodies, center_jacobians(model, q), strict=True)
    ]
    return add(sum(torques[1:], torques[0]), conservative(model, q))


def gravity_torque_by_potential(model: Model, q: Vector) -> Vector:
    """N (nv,) = ∂U/∂q of U = −gᵀ Σ m p_C (003; 000 p.22) and of the elements."""
    return add(weight_torque(model, q), conservative(model, q))
