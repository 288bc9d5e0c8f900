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

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations.parts.inputs import (
    Inputs,
    along_axes,
    as_inverse_dynamics,
    axes,
    joint_wrenches_of,
)
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.model import Body
from dalembert.model.joint import Screw
from dalembert.spatial.arrays import Vector, Vector3
from dalembert.spatial.se3 import Force

Triple = tuple[Vector3, Vector3, Vector3]  # ω, ω̇ and v̇ of a link, in its own axes


def joint_forces(inputs: Inputs) -> list[Force]:
    """f_i and n_i of every joint; gravity by "base", or by "potential", which adds weights."""
    model, qd, qdd, placements = inputs.model, inputs.qd, inputs.qdd, inputs.placements
    for i, body in enumerate(model.bodies):
        if not isinstance(body.chart, Screw):
            joint = model.joint_of(i)
            raise FormulationError(
                f"{model.name}: joint {joint.name!r} is {joint.kind}; the printed recursion has "
                "joints that turn about or slide along one axis. Choose 'newton_euler', which has "
                "joints of every kind"
            )

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
        inputs.record(i, R=R, p=p, omega=omega, omega_dot=omega_dot, v_dot=v_dot)
        return omega, omega_dot, v_dot

    moving = outward(model, inputs.base, motion)
    # Newton's F_i at the centre of mass and Euler's N_i about it
    forces = []
    for i, (body, (omega, omega_dot, v_dot)) in enumerate(zip(model.bodies, moving, strict=True)):
        p_C, I = body.center, body.inertia_about_center
        v_dot_C = np.cross(omega_dot, p_C) + np.cross(omega, np.cross(omega, p_C)) + v_dot
        F = body.mass * v_dot_C
        N = I @ omega_dot + np.cross(omega, I @ omega)
        inputs.record(i, v_dot_C=v_dot_C, F=F, N=N)
        forces.append((F, N))
    g = inputs.g

    def wrench(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        F, N = forces[i]
        F = F if g is None else F - body.mass * g[i]
        total = Force(F, N + np.cross(body.center, F))
        for child, force in children:
            # (R f_{i+1}, R n_{i+1} + p × R f_{i+1})
            total = total + placements[child].act(force)
        total = sum(inputs.tip_forces(i), total)
        inputs.record(i, f=total.linear, n=total.angular)
        return total

    return inward(model, wrench)


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    return inputs.with_joint_torques(along_axes(inputs.model, joint_forces(inputs)))


joint_wrenches = joint_wrenches_of(joint_forces)
