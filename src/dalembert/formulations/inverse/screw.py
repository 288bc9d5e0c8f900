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

from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics, joint_wrenches_of
from dalembert.formulations.parts.sweeps import inward, outward, project, transforms
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Matrix6, Twist, Vector, Wrench
from dalembert.spatial.body import newton_euler_body
from dalembert.spatial.se3 import Force

LinkTwist = tuple[Twist, Twist]  # V_i and V̇_i (6,), in the link's frame


def adjoints(model: Model, q: Vector) -> list[Matrix6]:
    """Ad_{g⁻¹} (6, 6) of every link, g its pose in the frame of the link before."""
    return [se3.Ad_inv(se3.pose(R, p)) for R, p in transforms(model, q)]


def tool_adjoint(model: Model) -> Matrix6:
    """Ad_{g⁻¹_{n,n+1}} (6, 6), g_{n,n+1} the pose of the tool in the frame of its link."""
    tool = model.frame(model.tool)
    return se3.Ad_inv(se3.pose(tool.rotation, tool.translation))


def twists(inputs: Inputs, A: list[Matrix6]) -> list[LinkTwist]:
    """V_i and V̇_i of every link, outward (000 p.39); `A` are the `adjoints`."""
    qd, qdd = inputs.qd, inputs.qdd

    def step(i: int, body: Body, parent: LinkTwist) -> LinkTwist:
        xi = body.subspace
        V_before, V_dot_before = parent
        V_parent, rate = A[i] @ V_before, xi @ qd[body.v]
        V_dot = A[i] @ V_dot_before + xi @ qdd[body.v] - se3.ad(rate) @ V_parent
        V = V_parent + rate
        inputs.record(i, Ad=A[i], V=V, V_dot=V_dot)
        return V, V_dot

    return outward(inputs.model, inputs.base_twists, step)


def joint_forces(inputs: Inputs) -> list[Force]:
    """F_i that each link receives through its joint, in C_i, inward (000 p.39)."""
    model, tip_wrench = inputs.model, inputs.tip_wrench
    A = adjoints(model, inputs.q)
    moving = twists(inputs, A)

    def step(i: int, body: Body, children: list[tuple[int, Wrench]]) -> Wrench:
        F = newton_euler_body(body.spatial_inertia, *moving[i])
        for child, F_c in children:
            F = F + A[child].T @ F_c
        if tip_wrench is not None and i == inputs.tool.body:
            F = F + tool_adjoint(model).T @ tip_wrench
        inputs.record(i, F=F)
        return F

    return [Force.of(F) for F in inward(model, step)]


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; `gravity` as "base" motion or "potential"."""
    N = inputs.weight_torques
    return inputs.with_joint_torques(project(inputs.model, joint_forces(inputs)) + N)


joint_wrenches = joint_wrenches_of(joint_forces)
