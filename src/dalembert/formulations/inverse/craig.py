"""Newton–Euler with centres of mass in link frames, as the books print it: 003; 001 §1.3.

This is Craig's form (1986, ch. 6). R and p are rotation and origin of link i+1's frame in link i's,
Z the joint's axis, and every vector stands in the axes of its own link. Outward, i: 0 → n−1,

    ω_{i+1}    = Rᵀ ω_i + θ̇ Z
    ω̇_{i+1}    = Rᵀ ω̇_i + Rᵀ ω_i × θ̇ Z + θ̈ Z
    v̇_{i+1}    = Rᵀ (ω̇_i × p + ω_i × (ω_i × p) + v̇_i)  [+ 2 Rᵀ ω_i × ḋ Z + d̈ Z where it slides]
    v̇_C{i+1}   = ω̇_{i+1} × p_C + ω_{i+1} × (ω_{i+1} × p_C) + v̇_{i+1}
    F_{i+1}    = m v̇_C{i+1},        N_{i+1} = I_C ω̇_{i+1} + ω_{i+1} × I_C ω_{i+1}

and inward, i: n → 1,

    f_i = R f_{i+1} + F_i
    n_i = N_i + R n_{i+1} + p_C × F_i + p × R f_{i+1}
    τ_i = n_i·Z where joint i turns, f_i·Z where it slides

with v̇_0 = −g. Joints turn, slide or do both along one axis (a screw); `newton_euler` has all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations.parts.base_motion import base_kinematics, gravity_in_links, is_by_base
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.sweeps import Placements, inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.model.joint import Screw
from dalembert.spatial.arrays import Matrix, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force, split
from dalembert.tracing import is_symbolic


class Motion(NamedTuple):
    """A link in its own axes: ω, ω̇ and the acceleration v̇ of its frame's origin."""

    omega: Vector3
    omega_dot: Vector3
    v_dot: Vector3


def turning(body: Body) -> Matrix | None:
    """Z (3, 1) of a joint that turns, else None."""
    return _moving(body.subspace[3:6])


def sliding(body: Body) -> Matrix | None:
    """Z (3, 1) of a joint that slides, times its pitch if it is a screw; else None."""
    return _moving(body.subspace[0:3])


def _moving(Z: Matrix) -> Matrix | None:
    return Z if is_symbolic(Z) or np.any(Z) else None


def motions(
    model: Model,
    placements: Placements,
    qd: Vector,
    qdd: Vector,
    base: Motion,
    record: Record = nothing,
) -> list[Motion]:
    """ω, ω̇ and v̇ of every link, outward."""

    def step(i: int, body: Body, before: Motion) -> Motion:
        R, p = placements[i]
        omega, omega_dot = R.T @ before.omega, R.T @ before.omega_dot
        swung = np.cross(before.omega, np.cross(before.omega, p))
        v_dot = R.T @ (np.cross(before.omega_dot, p) + swung + before.v_dot)
        Z = sliding(body)
        if Z is not None:
            v_dot = v_dot + 2.0 * np.cross(omega, Z @ qd[body.v]) + Z @ qdd[body.v]
        Z = turning(body)
        if Z is not None:
            turn = Z @ qd[body.v]
            omega_dot = omega_dot + np.cross(omega, turn) + Z @ qdd[body.v]
            omega = omega + turn
        record(i, R=R, p=p, omega=omega, omega_dot=omega_dot, v_dot=v_dot)
        return Motion(omega, omega_dot, v_dot)

    return outward(model, base, step)


def inertial_forces(
    model: Model,
    placements: Placements,
    qd: Vector,
    qdd: Vector,
    base: Motion,
    record: Record = nothing,
) -> list[tuple[Vector3, Vector3]]:
    """Newton's F_i at the centre of mass and Euler's N_i about it, of every link."""
    require_axes(model)
    moving = motions(model, placements, qd, qdd, base, record)
    forces = []
    for i, (body, link) in enumerate(zip(model.bodies, moving, strict=True)):
        omega, omega_dot, v_dot = link
        p_C, I = body.center, body.inertia_about_center
        v_dot_C = np.cross(omega_dot, p_C) + np.cross(omega, np.cross(omega, p_C)) + v_dot
        F = body.mass * v_dot_C
        N = I @ omega_dot + np.cross(omega, I @ omega)
        record(i, v_dot_C=v_dot_C, F=F, N=N)
        forces.append((F, N))
    return forces


def joint_forces(
    model: Model,
    placements: Placements,
    forces: list[tuple[Vector3, Vector3]],
    tip_wrench: Wrench | None = None,
    g: list[Vector3] | None = None,
    record: Record = nothing,
) -> list[Force]:
    """f_i and n_i of every joint, inward; `g`, gravity in the axes of every link, adds weights."""
    tool = model.frame(model.tool)

    def step(i: int, body: Body, beyond: list[tuple[int, Force]]) -> Force:
        F, N = forces[i]
        F = F if g is None else F - body.mass * g[i]
        f, n = F, N + np.cross(body.center, F)
        carried = [(placements[k], force) for k, force in beyond]
        if tip_wrench is not None and i == tool.body:
            carried.append((tool.placement, split(tip_wrench)))
        for frame, force in carried:
            # (R f_{i+1}, R n_{i+1} + p × R f_{i+1})
            f_next, n_next = frame.force_to_parent(force)
            f, n = f_next + f, n + n_next
        record(i, f=f, n=n)
        return f, n

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
    record: Record = nothing,
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    placements = transforms(model, q)
    base = base_kinematics(model, base_twist, base_acceleration, gravity)
    forces = inertial_forces(model, placements, qd, qdd, Motion(*base), record)
    g = None if is_by_base(gravity) else gravity_in_links(model, placements)
    tau = []
    carried = joint_forces(model, placements, forces, tip_wrench, g, record)
    for body, (f, n) in zip(model.bodies, carried, strict=True):
        along = [Z.T @ x for Z, x in ((sliding(body), f), (turning(body), n)) if Z is not None]
        tau.append(sum(along[1:], start=along[0]))
    return with_joint_torques(model, np.concatenate(tau), q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link, in link frames.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    placements = transforms(model, q)
    base_link = Motion(*base_kinematics(model, **base))
    forces = inertial_forces(model, placements, qd, qdd, base_link)
    return in_link_frames(model, q, qd, qdd, joint_forces(model, placements, forces, tip_wrench))


def require_axes(model: Model) -> None:
    """Raise, naming the joint, where one does not move along a single axis."""
    for i, body in enumerate(model.bodies):
        if not isinstance(body.chart, Screw):
            joint = model.joint_of(i)
            raise FormulationError(
                f"{model.name}: joint {joint.name!r} is {joint.kind}; the printed recursion has "
                "joints that turn about or slide along one axis. Choose 'newton_euler', which has "
                "joints of every kind"
            )
