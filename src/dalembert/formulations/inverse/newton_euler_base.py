"""Newton–Euler with every vector in base coordinates: Stepanenko and Vukobratović 1976 (001 §1.3).

The four steps of 001 §1.3 as they stand: outward ω, ω̇ and the accelerations; Newton's equation for
the centre of mass and Euler's about it, for which every inertia tensor is turned into base
coordinates; inward the forces and moments at the joints; their projection on the joint axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics, joint_wrenches_of
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.linalg.factorisations import congruence
from dalembert.model import Body
from dalembert.spatial.arrays import Matrix3, Vector, Vector3
from dalembert.spatial.se3 import Force, Placement


class LinkInBase(NamedTuple):
    """A link in base coordinates: rotation R, origin d from its parent's, ω, ω̇, a of the origin."""

    R: Matrix3
    d: Vector3
    omega: Vector3
    alpha: Vector3
    a: Vector3


def motions(inputs: Inputs) -> list[LinkInBase]:
    """Step 1: the motion of every link, outward, in base coordinates."""
    placements, qd, qdd = inputs.placements, inputs.qd, inputs.qdd

    def step(i: int, body: Body, parent: LinkInBase) -> LinkInBase:
        R, d = parent.R @ placements[i][0], parent.R @ placements[i][1]
        linear, angular = R @ body.subspace[0:3], R @ body.subspace[3:6]
        v_rel, w_rel = linear @ qd[body.v], angular @ qd[body.v]
        alpha = parent.alpha + np.cross(parent.omega, w_rel) + angular @ qdd[body.v]
        # a = a + ω̇ × d + ω × (ω × d) + (2 ω + ω_rel) × v_rel + v̇_rel
        swung = np.cross(parent.alpha, d) + np.cross(parent.omega, np.cross(parent.omega, d))
        slid = np.cross(2.0 * parent.omega + w_rel, v_rel) + linear @ qdd[body.v]
        link = LinkInBase(R, d, parent.omega + w_rel, alpha, parent.a + swung + slid)
        inputs.record(i, R_0=R, d=d, omega_0=link.omega, omega_dot_0=alpha, v_dot_0=link.a)
        return link

    base = LinkInBase(np.eye(3), np.zeros(3), *inputs.base)
    return outward(inputs.model, base, step)


def link_wrenches(inputs: Inputs, moving: list[LinkInBase]) -> list[Force]:
    """Steps 2 and 3: (f, n) each joint exerts on its link, in base coordinates, inward."""
    g, tool = None if inputs.is_by_base else inputs.model.gravity, inputs.tool

    def step(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        # F = m v̇ (− m g) at the centre of mass, N = I ω̇ + ω × I ω; then about the link's origin
        link, r = moving[i], moving[i].R @ body.center
        swung = np.cross(link.alpha, r) + np.cross(link.omega, np.cross(link.omega, r))
        v_dot = link.a + swung
        F = body.mass * (v_dot if g is None else v_dot - g)
        I = congruence(link.R, body.inertia_about_center)
        N = I @ link.alpha + np.cross(link.omega, I @ link.omega)
        inputs.record(i, v_dot_C_0=v_dot, F_0=F, N_0=N)
        f, n = F, N + np.cross(r, F)
        for child, (f_c, n_c) in children:
            f, n = f + f_c, n + n_c + np.cross(moving[child].d, f_c)
        wrench = Force(f, n)
        if inputs.tip_wrench is not None and i == tool.body:
            tool_in_base = Placement(link.R @ tool.rotation, link.R @ tool.translation)
            wrench = wrench + tool_in_base.act(Force.of(inputs.tip_wrench))
        inputs.record(i, f_0=wrench.linear, n_0=wrench.angular)
        return wrench

    return inward(inputs.model, step)


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    moving, tau = motions(inputs), []
    wrenches = link_wrenches(inputs, moving)
    for body, link, (f, n) in zip(inputs.model.bodies, moving, wrenches, strict=True):
        # step 4: the force along a sliding axis, the moment about a turning one
        tau.append((link.R @ body.subspace[0:3]).T @ f + (link.R @ body.subspace[3:6]).T @ n)
    return inputs.with_joint_torques(np.concatenate(tau))


@joint_wrenches_of
def joint_wrenches(inputs: Inputs) -> list[Force]:
    """(f, n) through every joint on its link, turned into the body frames."""
    moving = motions(inputs)
    pairs = zip(moving, link_wrenches(inputs, moving), strict=True)
    return [Force(link.R.T @ f, link.R.T @ n) for link, (f, n) in pairs]
