"""Newton–Euler recursion in link frames: Luh, Walker and Paul (001 §1.3), Craig's form (003).

Outward, every link's ω, ω̇ and the acceleration a of its frame's origin; at each body the force and
moment of its motion; inward, the wrench each joint transmits. Gravity is an acceleration −g of
the base, or the weight of every link (001 §1.3, step 3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.formulations.parts.elements import with_element_bias
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics, joint_wrenches_of
from dalembert.formulations.parts.recursion_table import nothing
from dalembert.formulations.parts.rigid_body import acceleration_matrix, inertial_wrench
from dalembert.formulations.parts.sweeps import inward, outward, project
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix3, Twist, Vector, Vector3
from dalembert.spatial.se3 import Force, Motion


class LinkMotion(NamedTuple):
    """Motion of a link in its own frame: ω, a of the origin, and U = ω̇^ + ω^ω^."""

    omega: Vector3
    alpha: Vector3
    a: Vector3
    U: Matrix3


def base_motion(inputs: Inputs) -> LinkMotion:
    """Motion of the base."""
    omega, alpha, a = inputs.base
    return LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha))


def motions(inputs: Inputs, qdd: Vector | None) -> list[LinkMotion]:
    """Motion of every link, outward; `qdd` may be None for zero joint accelerations."""
    placements, qd = inputs.placements, inputs.qd

    def step(i: int, body: Body, parent: LinkMotion) -> LinkMotion:
        R, p = placements[i]
        v_rel, w_rel = Motion.of(body.subspace @ qd[body.v])
        omega_parent = R.T @ parent.omega
        omega = omega_parent + w_rel
        alpha = R.T @ parent.alpha + np.cross(omega_parent, w_rel)
        # a = Rᵀ(a + U p) + (2 Rᵀω + ω_rel) × v_rel + (S q̈)_linear, and Rᵀω + ω_rel is the new ω
        a = placements[i].acceleration_to_child(parent.a, parent.U)
        a = a + np.cross(omega_parent + omega, v_rel)
        if qdd is not None:
            a_rel, alpha_rel = Motion.of(body.subspace @ qdd[body.v])
            a, alpha = a + a_rel, alpha + alpha_rel
        U = acceleration_matrix(omega, alpha)
        inputs.record(i, R=R, p=p, omega=omega, omega_dot=alpha, v_dot=a, U=U)
        return LinkMotion(omega, alpha, a, U)

    return outward(inputs.model, base_motion(inputs), step)


def link_wrenches(
    inputs: Inputs, moving: list[LinkMotion], g: list[Vector3] | None = None
) -> list[Force]:
    """(f, n) each joint exerts on its link, about the link frame's origin in its axes; inward.

    `g`, gravity in the axes of every link, makes the joints carry the links' weights too.
    """

    def step(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        wrench = inertial = inertial_wrench(body, moving[i].a, moving[i].U)
        if g is not None:
            wrench = wrench - Force(body.mass * g[i], np.cross(body.moment, g[i]))
        beyond = [inputs.placements[child].act(force) for child, force in children]
        wrench = sum([*beyond, *inputs.tip_forces(i)], wrench)
        inputs.record(i, F=inertial.linear, N=inertial.angular, f=wrench.linear, n=wrench.angular)
        return wrench

    return inward(inputs.model, step)


def joint_forces(inputs: Inputs) -> list[Force]:
    """(f, n) of every joint on its link; gravity by "base", or by "potential", which adds weights."""
    return link_wrenches(inputs, motions(inputs, inputs.qdd), inputs.g)


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    # recorded values are those of the original links
    model = inputs.model.minimal if inputs.record is nothing else inputs.model
    tau = project(model, joint_forces(replace(inputs, model=model)))
    return inputs.with_joint_torques(tau)


joint_wrenches = joint_wrenches_of(joint_forces)


def bias(
    model: Model,
    q: Vector,
    qd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """h (nv,) = C q̇ + N: the torques of a motion without joint accelerations, no friction."""
    base, still = (base_twist, base_acceleration), np.zeros(model.nv)
    inputs = Inputs(model.minimal, q, qd, still, None, *base)
    tau = project(inputs.model, link_wrenches(inputs, motions(inputs, None)))
    return with_element_bias(model, tau, q, qd)


def gravity_torque(model: Model, q: Vector) -> Vector:
    """N (nv,): the static torques, at rest."""
    return bias(model, q, np.zeros(model.nv))
