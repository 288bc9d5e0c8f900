"""Lagrange's equation with ω in place of Ẇ, evaluated inward, O(n): Silver 1981 (001 §3).

From K = Σ_i ½ m_i v_i² + ½ ω_i·I_i·ω_i (3.1), v_i the velocity of the centre of mass, Lagrange's
equation leaves, with (3.4)–(3.7) and (3.10), only the force and moment of each body:

    τ_j = Σ_i ( F_i·∂v_i/∂q̇_j + N_i·∂ω_i/∂q̇_j )                                            (3.12)
    F_i = m_i v̇_i,    N_i = I_i·ω̇_i + ω_i × (I_i·ω_i)                                       (3.11)

Joint j moves the links beyond it by its axis ẑ_j. With p_{j,i} from that axis to the centre of
link i,

    ∂v_i/∂q̇_j = ẑ_j × p_{j,i}   or ẑ_j        ∂ω_i/∂q̇_j = ẑ_j   or 0          (3.15), (3.16)

for a joint that turns or slides; a screw does both, and a joint of several degrees has such a pair
for each. So τ_j = ẑ_j·Σ_{i ≥ j} (p_{j,i} × F_i + N_i), or ẑ_j·Σ_{i ≥ j} F_i: two sums, the same for
every axis. Since p_{j,i} = p_{j,j+1} + p_{j+1,i}, they are gathered inward, in the links' frames,

    P_j = F_j + P_{j+1}        L_j = (p_{j,j} × F_j + N_j) + L_{j+1} + p_{j,j+1} × P_{j+1}

Nothing of a Newton–Euler formulation is used here. That the printed one (`craig`) does the same
arithmetic, operation for operation, is what Silver set out to show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.inputs import Inputs, along_axes, axes, joint_wrenches_of
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force

TIP = ("term", "link")


class Velocities(NamedTuple):
    """A link in its own axes: ω, ω̇, r̈ of its point on the joint's axis, v̇ of its centre of mass."""

    omega: Vector3
    omega_dot: Vector3
    r_ddot: Vector3
    v_dot: Vector3


def swing(omega: Vector3, omega_dot: Vector3, p: Vector3) -> Vector3:
    """d/dt (ω × p) (3,) = ω̇ × p + ω × (ω × p), p fixed in the link."""
    return np.cross(omega_dot, p) + np.cross(omega, np.cross(omega, p))


def force_and_moment(m: Scalar, I: Matrix3, link: Velocities) -> Force:
    """F = m v̇ and N = I·ω̇ + ω × (I·ω) of one body (3.11)."""
    return Force(m * link.v_dot, I @ link.omega_dot + np.cross(link.omega, I @ link.omega))


def wrench_of_link(wrench: Wrench) -> Wrench:
    """F and N (6,) of one more link beyond the tool, with a motion that produces them (001 §3.2).

    A ball of 1 kg and 1 kg m² at the tool's origin, momentarily without angular velocity, so that
    v̇ = F/m and ω̇ = I⁻¹N. As with gravity, an acceleration stands for a force.
    """
    force, moment = Force.of(wrench)
    beyond_tool = Velocities(np.zeros(3), moment, force, force)
    return force_and_moment(1.0, np.eye(3), beyond_tool).array


def inward_sums(inputs: Inputs) -> list[Force]:
    """(P_j, L_j) of every link about its point on the joint's axis, in its axes."""
    model, qd, qdd, placements = inputs.model, inputs.qd, inputs.qdd, inputs.placements

    def rates(i: int, body: Body, before: Velocities) -> Velocities:
        """The rates of (3.13) and (3.14), summed joint by joint."""
        R, p = placements[i]
        # the axes so far carry this link: ω × p_{j,i}, differentiated once more
        omega, omega_dot = R.T @ before.omega, R.T @ before.omega_dot
        r_ddot = R.T @ (before.r_ddot + swing(before.omega, before.omega_dot, p))
        turn, slide = axes(body)
        if slide is not None:
            # q̇ ẑ slides along an axis that turns
            slid = slide @ qd[body.v]
            r_ddot = r_ddot + 2.0 * np.cross(omega, slid) + slide @ qdd[body.v]
            if turn is not None:
                r_ddot = r_ddot + np.cross(turn @ qd[body.v], slid)
        if turn is not None:
            # dẑ_i/dt = ω_i × ẑ_i (A.2)
            rate = turn @ qd[body.v]
            omega_dot = omega_dot + np.cross(omega, rate) + turn @ qdd[body.v]
            omega = omega + rate
        v_dot = r_ddot + swing(omega, omega_dot, body.center)
        inputs.record(i, R=R, p=p, omega=omega, omega_dot=omega_dot, v_dot=r_ddot, v_dot_C=v_dot)
        return Velocities(omega, omega_dot, r_ddot, v_dot)

    omega, omega_dot, a = inputs.base
    moving = outward(model, Velocities(omega, omega_dot, a, a), rates)
    g = inputs.g

    def sums(j: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        F, N = force_and_moment(body.mass, body.inertia_about_center, moving[j])
        # the potential −m g·r adds −m g·∂v/∂q̇
        P = F if g is None else F - body.mass * g[j]
        total = Force(P, np.cross(body.center, P) + N)
        for i, beyond in children:
            # p_{j,·} = p + R p_{i,·} in the sums over the links beyond: (R P_i, R L_i + p × R P_i)
            total = total + placements[i].act(beyond)
        total = sum(inputs.tip_forces(j), total)
        inputs.record(j, F=F, N=N, P=total.linear, L=total.angular)
        return total

    return inward(model, sums)


def inverse_dynamics(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    gravity: str = "base",
    tip: str = "term",
    **options: Any,
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential".

    `tip="term"` adds the tool's wrench to the sums; `tip="link"` lets a fictitious link make it.
    """
    if tip not in TIP:
        raise UnknownNameError(f"tip={tip!r} must be one of {TIP}")
    inputs = Inputs(model, q, qd, qdd, gravity=gravity, **options)
    if tip == "link" and inputs.tip_wrench is not None:
        inputs = replace(inputs, tip_wrench=wrench_of_link(inputs.tip_wrench))
    return inputs.with_joint_torques(along_axes(model, inward_sums(inputs)))


joint_wrenches = joint_wrenches_of(inward_sums)
