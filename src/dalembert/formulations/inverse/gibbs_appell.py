"""Gibbs and Appell's equations: ∂S/∂q̈ = Q (Appell 1899; Papastavridis 2002).

S = ½ ∫ a·a dm is the acceleration energy. A body with the acceleration a of its mass centre has

    S = ½ m a·a + ½ ω̇·I ω̇ + ω̇·(ω × I ω) + terms without ω̇
    ∂S/∂q̈ = (∂a/∂q̈)ᵀ m a + (∂ω̇/∂q̈)ᵀ (I ω̇ + ω × I ω)

The partial accelerations ∂a/∂q̈ and ∂ω̇/∂q̈ go outward with the motion, one column for every joint that
carries the body. Nothing goes inward: no wrench of a joint occurs, and the inertia force of each
body is projected where it acts, which costs O(n²). Gathering those projections inward instead gives
Newton–Euler's second sweep, with which this file shares no wrench. Rotors, friction, elements and the
wrench of the tool are those of all formulations. In quasi-velocities u = Y q̇, q̈ = Y⁻¹(u̇ − Ẏ q̇) in S
gives ∂S/∂u̇ = Y⁻ᵀ Q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.kinematics.tendons import lengths_and_rows, row_rates
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.formulations.parts.sweeps import outward
from dalembert.linalg.factorisations import inverse_form
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Scalar, Vector, Vector3, Wrench
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import Motion


class Acceleration(NamedTuple):
    """Motion of a link in its own axes, and how its accelerations change with q̈."""

    omega: Vector3
    omega_dot: Vector3
    a: Vector3  # of the frame's origin
    g: Vector3  # gravity in the link's axes
    partial: dict[int, Motion]  # {v: (∂a/∂q̈_v, ∂ω̇/∂q̈_v)} of the joints that carry the link


def accelerations(inputs: Inputs) -> list[Acceleration]:
    """Accelerations of every link and their partial derivatives with respect to q̈, outward."""
    model, qd, qdd, placements = inputs.model, inputs.qd, inputs.qdd, inputs.placements

    def step(i: int, body: Body, parent: Acceleration) -> Acceleration:
        R, p = placements[i]
        v_rel, w_rel = Motion.of(body.subspace @ qd[body.v])
        a_rel, alpha_rel = Motion.of(body.subspace @ qdd[body.v])
        parent_omega = R.T @ parent.omega
        # ω = ω' + ω_rel and r = r' + p, differentiated in the axes of this link
        omega_dot = R.T @ parent.omega_dot + np.cross(parent_omega, w_rel) + alpha_rel
        centripetal = np.cross(parent.omega, np.cross(parent.omega, p))
        a = R.T @ (parent.a + np.cross(parent.omega_dot, p) + centripetal)
        a = a + np.cross(2.0 * parent_omega + w_rel, v_rel) + a_rel
        partial = {v: placements[i].act_inv(column) for v, column in parent.partial.items()}
        for k in range(body.chart.nv):
            partial[body.v.start + k] = Motion.of(body.subspace[:, k])
        return Acceleration(parent_omega + w_rel, omega_dot, a, R.T @ parent.g, partial)

    return outward(model, Acceleration(*inputs.base, model.gravity, {}), step)


def center_acceleration(body: Body, link: Acceleration) -> Vector3:
    """a + ω̇ × c + ω × (ω × c) (3,) of the mass centre, in the link's axes."""
    c = body.center
    result: Vector3 = (
        link.a + np.cross(link.omega_dot, c) + np.cross(link.omega, np.cross(link.omega, c))
    )
    return result


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = ∂S/∂q̈ − Q; Q of weights, friction, elements and the tool's wrench.

    `gravity` "potential" makes the weights applied forces, "base" an acceleration −g of the base.
    """
    model, moving = inputs.model, accelerations(inputs)
    tau = [np.zeros(())] * model.nv
    for body, link in zip(model.bodies, moving, strict=True):
        a, omega = center_acceleration(body, link), link.omega
        F = body.mass * (a if inputs.is_by_base else a - link.g)
        I = body.inertia_about_center
        N = I @ link.omega_dot + np.cross(omega, I @ omega)
        for v, (along, about) in link.partial.items():
            # ∂a/∂q̈ of the mass centre
            tau[v] = tau[v] + (along + np.cross(about, body.center)) @ F + about @ N
    return inputs.with_tip_torques(inputs.with_joint_torques(np.stack(tau)))


def gauss_constraint(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tau: Vector,
    tip_wrench: Wrench | None = None,
) -> Scalar:
    """Gauss's Z = ½ (q̈ − a)ᵀM (q̈ − a), a the acceleration under τ, kg m²/s⁴ (Gauss 1829).

    S is quadratic in q̈ with the matrix M, so Z = S − Q·q̈ but for terms without q̈, and with the missing
    forces r = ∂S/∂q̈ − Q = M (q̈ − a) it is ½ rᵀM⁻¹r.
    """
    missing = inverse_dynamics(model, q, qd, qdd, tip_wrench=tip_wrench) - tau
    Z: Scalar = 0.5 * inverse_form(mass_matrix(model, q), missing)
    return Z


def acceleration_energy(model: Model, q: Vector, qd: Vector, qdd: Vector) -> Scalar:
    """S = ½ ∫ a·a dm of the bodies, with ½ G² J_m q̈² of rotors and ½ a L̈² of tendons, kg m²/s⁴.

    A particle at ρ from the mass centre accelerates with a + U ρ, U = ω̇^ + ω^ω^, so a body has
    ½ m a·a + ½ tr(U Σ Uᵀ) with Σ = ∫ ρ ρᵀ dm = ½ tr(I) 1 − I.
    """
    doubled = (model.drive.rotor * qdd) @ qdd
    for ballast in model.elements.ballasts:
        # mass that moves with the translation of a free joint only: v̇ + ω × v in place of v̇
        own = model.bodies[ballast.body].v
        v, omega = Motion.of(qd[own])
        turning = np.cross(omega, v)
        doubled = doubled + ballast.mass * (2.0 * (qdd[own][0:3] @ turning) + turning @ turning)
    tendons = model.elements.tendons_with_inertia
    rows = [row for _, row in lengths_and_rows(model, q, tendons)]
    rates = row_rates(model, q, qd, tendons)
    for tendon, row, rate in zip(tendons, rows, rates, strict=True):
        L_ddot = row @ qdd + rate @ qd
        doubled = doubled + tendon.armature[0] * L_ddot * L_ddot
    moving = accelerations(Inputs(model, q, qd, qdd, gravity="potential"))
    for body, link in zip(model.bodies, moving, strict=True):
        a, I = center_acceleration(body, link), body.inertia_about_center
        U = hat(link.omega_dot) + hat(link.omega) @ hat(link.omega)
        sigma = 0.5 * np.trace(I) * np.eye(3) - I
        doubled = doubled + body.mass * (a @ a) + np.trace(U @ sigma @ U.T)
    return 0.5 * doubled
