"""Recursion of body twists: 000 p.37–40.

C_i is the frame of link i on its joint's axis, g its pose in the frame of the link before, ξ_i the
joint's twist and M_i the link's inertia, both in C_i. Outward the twists,

    V_i = Ad_{g⁻¹} V_{i−1} + ξ_i θ̇_i
    V̇_i = Ad_{g⁻¹} V̇_{i−1} + ξ_i θ̈_i − ad_{ξ_i θ̇_i} Ad_{g⁻¹} V_{i−1}

and inward the wrenches, with τ_i = ξ_iᵀ F_i,

    F_i = Σ Ad_{g⁻¹}ᵀ F_{i+1} + M_i V̇_i − ad_{V_i}ᵀ M_i V_i

Gravity is the acceleration V̇_0 = (−g, 0) of the base.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.parts.base_motion import gravity_as_base_or_torque
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.sweeps import inward, outward, transforms
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Matrix, Matrix6, Twist, Vector, Wrench
from dalembert.spatial.body import newton_euler_body
from dalembert.spatial.se3 import Force


class LinkTwist(NamedTuple):
    """Body twist of a link and its rate, in the link's frame."""

    V: Twist
    V_dot: Twist


def adjoints(model: Model, q: Vector) -> list[Matrix6]:
    """Ad_{g⁻¹} (6, 6) of every link, g its pose in the frame of the link before."""
    return [se3.Ad_inv(se3.pose(R, p)) for R, p in transforms(model, q)]


def tool_adjoint(model: Model) -> Matrix6:
    """Ad_{g⁻¹_{n,n+1}} (6, 6), g_{n,n+1} the pose of the tool in the frame of its link."""
    tool = model.frame(model.tool)
    return se3.Ad_inv(se3.pose(tool.rotation, tool.translation))


def twists(
    model: Model,
    A: list[Matrix6],
    qd: Vector,
    qdd: Vector,
    base: LinkTwist,
    record: Record = nothing,
) -> list[LinkTwist]:
    """V_i and V̇_i of every link, outward (000 p.39); `A` are the `adjoints`."""

    def step(i: int, body: Body, parent: LinkTwist) -> LinkTwist:
        xi = body.subspace
        V_parent, rate = A[i] @ parent.V, xi @ qd[body.v]
        V_dot = A[i] @ parent.V_dot + xi @ qdd[body.v] - se3.ad(rate) @ V_parent
        V = V_parent + rate
        record(i, Ad=A[i], V=V, V_dot=V_dot)
        return LinkTwist(V, V_dot)

    return outward(model, base, step)


def wrenches(
    model: Model,
    A: list[Matrix6],
    moving: list[LinkTwist],
    tip_wrench: Wrench | None = None,
    record: Record = nothing,
) -> list[Wrench]:
    """F_i (6,) that each link receives through its joint, in C_i, inward (000 p.39)."""
    tool = model.frame(model.tool)

    def step(i: int, body: Body, children: list[tuple[int, Wrench]]) -> Wrench:
        F = newton_euler_body(body.spatial_inertia, *moving[i])
        for child, F_c in children:
            F = F + A[child].T @ F_c
        if tip_wrench is not None and i == tool.body:
            F = F + tool_adjoint(model).T @ tip_wrench
        record(i, F=F)
        return F

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
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; `gravity` as "base" motion or "potential"."""
    fall, N = gravity_as_base_or_torque(model, q, gravity)
    A, base = adjoints(model, q), base_motion(fall, base_twist, base_acceleration)
    F = wrenches(model, A, twists(model, A, qd, qdd, base, record), tip_wrench, record)
    tau = np.concatenate([b.subspace.T @ F_i for b, F_i in zip(model.bodies, F, strict=True)])
    return with_joint_torques(model, tau + N, q, qd, qdd)


def joint_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector, tip_wrench: Wrench | None = None, **base: Any
) -> Matrix:
    """(joints, 6) wrench (force, moment) through every joint on its link, in the link's axes.

    `base` are `base_twist` and `base_acceleration` where it moves.
    """
    fall, _ = gravity_as_base_or_torque(model, q, "base")
    A = adjoints(model, q)
    F = wrenches(model, A, twists(model, A, qd, qdd, base_motion(fall, **base)), tip_wrench)
    return in_link_frames(model, q, qd, qdd, [Force.of(F_i) for F_i in F])


def base_motion(
    fall: Twist, base_twist: Twist | None = None, base_acceleration: Twist | None = None
) -> LinkTwist:
    """V_0 and V̇_0, zero where not given; `fall` is gravity's part of V̇_0."""
    V = np.zeros(6) if base_twist is None else base_twist
    return LinkTwist(V, fall if base_acceleration is None else base_acceleration + fall)
