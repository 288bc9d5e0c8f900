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

which is, operation for operation, what Newton–Euler's recursion does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.inverse.newton_euler import base_motion, in_link_frames
from dalembert.formulations.parts.body_wrench import acceleration_matrix, inertial_wrench
from dalembert.formulations.parts.drive import friction, rotors
from dalembert.formulations.parts.sweep import Placed, inward, outward, transforms
from dalembert.formulations.parts.weight import by_base, gravity_in_links, weight
from dalembert.model import Body, Model
from dalembert.model.joint import Free
from dalembert.spatial.arrays import Matrix, Matrix3, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import Force, split

Sums = Force  # P_j, L_j about the origin of link frame j, in its axes
TIP = ("term", "link")


class Velocities(NamedTuple):
    """A link in its own frame: ω, ω̇, acceleration v̇ of its origin, and U = ω̇^ + ω^ω^."""

    omega: Vector3
    omega_dot: Vector3
    v_dot: Vector3
    U: Matrix3


def velocities(
    model: Model, placed: Placed, qd: Vector, qdd: Vector, base: Velocities
) -> list[Velocities]:
    """(3.13) and (3.14) as a recursion, and its rate: what the joints so far add up to, outward."""

    def step(i: int, body: Body, before: Velocities) -> Velocities:
        R = placed[i].R
        # sliding and turning velocity of joint i, q̇_i ẑ_i, and what q̈_i adds
        slide, turn = body.subspace[0:3] @ qd[body.v], body.subspace[3:6] @ qd[body.v]
        slide_dot, turn_dot = body.subspace[0:3] @ qdd[body.v], body.subspace[3:6] @ qdd[body.v]
        carried = R.T @ before.omega
        # the axis itself turns with the link: dẑ_i/dt = ω_i × ẑ_i (A.2)
        omega = carried + turn
        omega_dot = R.T @ before.omega_dot + turn_dot + np.cross(carried, turn)
        # the origin is carried by the link before it, and slides along an axis that turns
        moved = placed[i].acceleration_to_child(before.v_dot, before.U)
        v_dot = moved + slide_dot + np.cross(carried + omega, slide)
        return Velocities(omega, omega_dot, v_dot, acceleration_matrix(omega, omega_dot))

    return outward(model, base, step)


def inward_sums(
    model: Model,
    placed: Placed,
    moving: list[Velocities],
    tip: Sums | None,
    g: list[Vector3] | None = None,
) -> list[Sums]:
    """P_j and L_j of every link, inward; `tip` the term of the tool, `g` gravity in each link."""
    tool = model.frame(model.tool)

    def step(j: int, body: Body, beyond: list[tuple[int, Sums]]) -> Sums:
        # F_j and p_{j,j} × F_j + N_j, about the link's own origin
        P, L = inertial_wrench(body, moving[j].v_dot, moving[j].U)
        if g is not None:
            P_g, L_g = weight(body, g[j])
            P, L = P - P_g, L - L_g
        arrived = [placed[i].force_to_parent(sums) for i, sums in beyond]
        if tip is not None and j == tool.body:
            arrived.append(tool.placement.force_to_parent(tip))
        for P_i, L_i in arrived:
            P, L = P + P_i, L + L_i
        return P, L

    return inward(model, step)


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
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential".

    `tip="term"` adds the tool's wrench to the sums; `tip="link"` lets a fictitious link make it.
    """
    base = Velocities(*base_motion(model, base_twist, base_acceleration, gravity))
    placed = transforms(model, q)
    moving = velocities(model, placed, qd, qdd, base)
    g = None if by_base(gravity) else gravity_in_links(model, placed)
    sums = inward_sums(model, placed, moving, tip_term(tip_wrench, tip), g)
    tau = []
    for body, (P, L) in zip(model.bodies, sums, strict=True):
        # τ_j = ẑ_j·P_j where the joint slides, ẑ_j·L_j where it turns
        tau.append(body.subspace[0:3].T @ P + body.subspace[3:6].T @ L)
    return np.concatenate(tau) + rotors(model, qdd) + friction(model, qd)


def joint_wrenches(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Matrix:
    """(joints, 6) wrench through every joint on its link: the sums P_j, L_j, not yet projected."""
    base = Velocities(*base_motion(model, base_twist, base_acceleration))
    placed = transforms(model, q)
    moving = velocities(model, placed, qd, qdd, base)
    return in_link_frames(model, inward_sums(model, placed, moving, tip_term(tip_wrench)))


def tip_term(tip_wrench: Wrench | None, tip: str = "term") -> Sums | None:
    """F and N at the tool, in its frame: as given, or as those of a fictitious link (001 §3.2)."""
    if tip not in TIP:
        raise UnknownNameError(f"tip={tip!r} must be one of {TIP}")
    if tip_wrench is None:
        return None
    force, moment = split(tip_wrench)
    return (force, moment) if tip == "term" else fictitious_link(force, moment)


def fictitious_link(force: Vector3, moment: Vector3) -> Sums:
    """F and N of one more link beyond the tool, whose motion is defined so as to produce them.

    It is a ball of 1 kg and 1 kg m² at the tool's origin, momentarily without angular velocity, so
    that v̇ = F/m and ω̇ = I⁻¹N. As with gravity, an acceleration stands for a force.
    """
    still = slice(0, 0)
    ball = Body(
        name="tip",
        parent=-1,
        rotation=np.eye(3),
        translation=np.zeros(3),
        chart=Free(),
        offset=np.zeros(7),
        q=still,
        v=still,
        mass=1.0,
        moment=np.zeros(3),
        inertia=np.eye(3),
    )
    return inertial_wrench(ball, force, acceleration_matrix(np.zeros(3), moment))
