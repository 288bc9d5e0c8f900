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

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.base_motion import base_kinematics, gravity_in_links, is_by_base
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.sweeps import inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force
from dalembert.tracing import is_symbolic

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


def axes(body: Body) -> tuple[Matrix | None, Matrix | None]:
    """∂ω/∂q̇ and ∂v/∂q̇ at the axis, each (3, k) or None where it is 0: (3.15), (3.16)."""
    turn, slide = body.subspace[3:6], body.subspace[0:3]
    return (
        turn if is_symbolic(turn) or np.any(turn) else None,
        slide if is_symbolic(slide) or np.any(slide) else None,
    )


def force_and_moment(m: Scalar, I: Matrix3, link: Velocities) -> Force:
    """F = m v̇ and N = I·ω̇ + ω × (I·ω) of one body (3.11)."""
    return Force(m * link.v_dot, I @ link.omega_dot + np.cross(link.omega, I @ link.omega))


def inward_sums(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
    tip: str = "term",
    record: Record = nothing,
) -> list[Force]:
    """(P_j, L_j) of every link about its point on the joint's axis, in its axes."""
    if tip not in TIP:
        raise UnknownNameError(f"tip={tip!r} must be one of {TIP}")
    placements, tool = transforms(model, q), model.frame(model.tool)

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
        record(i, R=R, p=p, omega=omega, omega_dot=omega_dot, v_dot=r_ddot, v_dot_C=v_dot)
        return Velocities(omega, omega_dot, r_ddot, v_dot)

    omega, omega_dot, a = base_kinematics(model, base_twist, base_acceleration, gravity)
    moving = outward(model, Velocities(omega, omega_dot, a, a), rates)
    g = None if is_by_base(gravity) else gravity_in_links(model, placements)
    tool_wrench = None if tip_wrench is None else Force.of(tip_wrench)
    if tool_wrench is not None and tip == "link":
        # F and N of one more link beyond the tool, with a motion that produces them (001 §3.2): a
        # ball of 1 kg and 1 kg m² at the tool's origin, momentarily without angular velocity, so
        # that v̇ = F/m and ω̇ = I⁻¹N. As with gravity, an acceleration stands for a force.
        force, moment = tool_wrench
        beyond_tool = Velocities(np.zeros(3), moment, force, force)
        tool_wrench = force_and_moment(1.0, np.eye(3), beyond_tool)

    def sums(j: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        F, N = force_and_moment(body.mass, body.inertia_about_center, moving[j])
        # the potential −m g·r adds −m g·∂v/∂q̇
        P = F if g is None else F - body.mass * g[j]
        total = Force(P, np.cross(body.center, P) + N)
        for i, beyond in children:
            # p_{j,·} = p + R p_{i,·} in the sums over the links beyond: (R P_i, R L_i + p × R P_i)
            total = total + placements[i].act(beyond)
        if tool_wrench is not None and j == tool.body:
            total = total + tool.placement.act(tool_wrench)
        record(j, F=F, N=N, P=total.linear, L=total.angular)
        return total

    return inward(model, sums)


def inverse_dynamics(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
    tip: str = "term",
    record: Record = nothing,
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential".

    `tip="term"` adds the tool's wrench to the sums; `tip="link"` lets a fictitious link make it.
    """
    options = (tip_wrench, base_twist, base_acceleration, gravity, tip, record)
    tau = []
    for body, (P, L) in zip(model.bodies, inward_sums(model, q, qd, qdd, *options), strict=True):
        # τ_j = ẑ_j·P_j where the joint slides, ẑ_j·L_j where it turns
        turn, slide = axes(body)
        parts = [z.T @ x for z, x in ((slide, P), (turn, L)) if z is not None]
        tau.append(sum(parts[1:], start=parts[0]))
    return with_joint_torques(model, np.concatenate(tau), q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench through every joint on its link: the sums P_j, L_j, not yet projected.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    return in_link_frames(model, q, qd, qdd, inward_sums(model, q, qd, qdd, tip_wrench, **base))
