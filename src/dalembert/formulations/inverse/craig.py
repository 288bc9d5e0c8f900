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

from typing import Any

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations.parts.base_motion import base_kinematics, gravity_in_links, is_by_base
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.sweeps import inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.model.joint import Screw
from dalembert.spatial.arrays import Matrix, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force
from dalembert.tracing import is_symbolic

Triple = tuple[Vector3, Vector3, Vector3]  # ω, ω̇ and v̇ of a link, in its own axes


def axes(body: Body) -> tuple[Matrix | None, Matrix | None]:
    """Z (3, 1) of a joint that turns and of one that slides (times its pitch if a screw), or None."""
    turning, sliding = body.subspace[3:6], body.subspace[0:3]
    return (
        turning if is_symbolic(turning) or np.any(turning) else None,
        sliding if is_symbolic(sliding) or np.any(sliding) else None,
    )


def joint_forces(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "base",
    record: Record = nothing,
) -> list[Force]:
    """f_i and n_i of every joint; gravity by "base", or by "potential", which adds weights."""
    for i, body in enumerate(model.bodies):
        if not isinstance(body.chart, Screw):
            joint = model.joint_of(i)
            raise FormulationError(
                f"{model.name}: joint {joint.name!r} is {joint.kind}; the printed recursion has "
                "joints that turn about or slide along one axis. Choose 'newton_euler', which has "
                "joints of every kind"
            )
    placements, tool = transforms(model, q), model.frame(model.tool)

    def motion(i: int, body: Body, parent: Triple) -> Triple:
        """ω, ω̇ and v̇ of a link, in its own axes."""
        R, p = placements[i]
        omega_parent, omega_dot_parent, v_dot_parent = parent
        omega, omega_dot = R.T @ omega_parent, R.T @ omega_dot_parent
        swung = np.cross(omega_parent, np.cross(omega_parent, p))
        v_dot = R.T @ (np.cross(omega_dot_parent, p) + swung + v_dot_parent)
        turning, sliding = axes(body)
        if sliding is not None:
            v_dot = v_dot + 2.0 * np.cross(omega, sliding @ qd[body.v]) + sliding @ qdd[body.v]
        if turning is not None:
            turn = turning @ qd[body.v]
            omega_dot = omega_dot + np.cross(omega, turn) + turning @ qdd[body.v]
            omega = omega + turn
        record(i, R=R, p=p, omega=omega, omega_dot=omega_dot, v_dot=v_dot)
        return omega, omega_dot, v_dot

    base = base_kinematics(model, base_twist, base_acceleration, gravity)
    moving = outward(model, base, motion)
    # Newton's F_i at the centre of mass and Euler's N_i about it
    forces = []
    for i, (body, (omega, omega_dot, v_dot)) in enumerate(zip(model.bodies, moving, strict=True)):
        p_C, I = body.center, body.inertia_about_center
        v_dot_C = np.cross(omega_dot, p_C) + np.cross(omega, np.cross(omega, p_C)) + v_dot
        F = body.mass * v_dot_C
        N = I @ omega_dot + np.cross(omega, I @ omega)
        record(i, v_dot_C=v_dot_C, F=F, N=N)
        forces.append((F, N))
    g = None if is_by_base(gravity) else gravity_in_links(model, placements)

    def wrench(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        F, N = forces[i]
        F = F if g is None else F - body.mass * g[i]
        total = Force(F, N + np.cross(body.center, F))
        for child, force in children:
            # (R f_{i+1}, R n_{i+1} + p × R f_{i+1})
            total = total + placements[child].act(force)
        if tip_wrench is not None and i == tool.body:
            total = total + tool.placement.act(Force.of(tip_wrench))
        record(i, f=total.linear, n=total.angular)
        return total

    return inward(model, wrench)


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
    options = (tip_wrench, base_twist, base_acceleration, gravity, record)
    wrenches = joint_forces(model, q, qd, qdd, *options)
    tau = []
    for body, (f, n) in zip(model.bodies, wrenches, strict=True):
        turning, sliding = axes(body)
        along = [Z.T @ x for Z, x in ((sliding, f), (turning, n)) if Z is not None]
        tau.append(sum(along[1:], start=along[0]))
    return with_joint_torques(model, np.concatenate(tau), q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link, in link frames.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    return in_link_frames(model, q, qd, qdd, joint_forces(model, q, qd, qdd, tip_wrench, **base))
