"""Mass matrix as a sum over the bodies, by their Jacobians: 000 p.21–22, 002 and 003."""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, columns_of_all
from dalembert.formulations.parts.elements import joint_inertia
from dalembert.formulations.parts.sweeps import outward, transforms
from dalembert.linalg.factorisations import symmetric
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Matrix, Matrix4, Pose, Vector
from dalembert.spatial.inertia import inertia_of_moments

DifferentiatedPose = tuple[Pose, dict[int, Matrix4]]  # g, and {v: ∂g/∂q_v} where not zero


def body_jacobians(model: Model, q: Vector) -> list[Matrix]:
    """J_i = [ξ₁† … ξ_i† 0 … 0] (6, nv) with V_i = J_i q̇ in frame L_i at the mass centre (000 p.21).

    ξ_j† = Ad⁻¹_{g_sl_i} of the spatial twist of joint j, for the joints that carry link i.
    """
    poses = body_poses(model, q)
    columns = columns_of_all(model, poses)
    jacobians = []
    for i, (body, (R, p)) in enumerate(zip(model.bodies, poses, strict=True)):
        to_link = se3.Ad_inv(se3.pose(R, p + R @ body.center))
        supports = [model.bodies[j].v for j in model.supports[i]]
        carrying = {v for own in supports for v in range(own.start, own.stop)}
        twists = [to_link @ c if v in carrying else np.zeros(6) for v, c in enumerate(columns)]
        jacobians.append(np.stack(twists).T)
    return jacobians


def mass_matrix(model: Model, q: Vector) -> Matrix:
    """M (nv, nv) = Σ J_iᵀ M_i J_i, M_i = diag(m, m, m, I) in L_i (000 p.22), and `joint_inertia`."""
    total = joint_inertia(model, q)
    for body, J in zip(model.bodies, body_jacobians(model, q), strict=True):
        total = total + J.T @ (
            inertia_of_moments(body.mass, np.zeros(3), body.inertia_about_center) @ J
        )
    return symmetric(lambda i, j: total[i, j], model.nv)


def center_jacobians(model: Model, q: Vector) -> list[tuple[Matrix, Matrix]]:
    """(J_v, J_ω) (3, nv) of every mass centre, in the world (003).

    J_v = [∂p_C/∂q_1 … ∂p_C/∂q_i 0 … 0], the centres differentiated; J_ω = [ε̄_1 z_1 … ε̄_i z_i 0 …].
    """
    placements = transforms(model, q)

    def step(i: int, body: Body, parent: DifferentiatedPose) -> DifferentiatedPose:
        # the product rule along g = A_1(q_1) … A_i(q_i), with ∂A/∂q = A ξ̂ for each unit velocity
        A = se3.pose(*placements[i])
        g, dg = parent[0] @ A, {v: derivative @ A for v, derivative in parent[1].items()}
        for k in range(body.chart.nv):
            dg[body.v.start + k] = g @ se3.hat_se3(body.subspace[:, k])
        return g, dg

    result = []
    base: DifferentiatedPose = np.eye(4), {}
    poses = outward(model, base, step)
    # ε̄ z (3,) of every velocity coordinate in the world: zero for a slide
    axes = [
        g[0:3, 0:3] @ body.subspace[3:6, k]
        for body, (g, _) in zip(model.bodies, poses, strict=True)
        for k in range(body.chart.nv)
    ]
    for body, (_, dg) in zip(model.bodies, poses, strict=True):
        center = np.concatenate([body.center, np.ones(1)])
        zero = np.zeros(3)
        linear = [(dg[v] @ center)[0:3] if v in dg else zero for v in range(model.nv)]
        angular = [axes[v] if v in dg else zero for v in range(model.nv)]
        result.append((np.stack(linear).T, np.stack(angular).T))
    return result


def mass_matrix_by_centers(model: Model, q: Vector) -> Matrix:
    """M (nv, nv) = Σ m J_vᵀ J_v + J_ωᵀ R I Rᵀ J_ω (002; 003), plus rotors and tendons."""
    total = joint_inertia(model, q)
    jacobians, poses = center_jacobians(model, q), body_poses(model, q)
    for body, (J_v, J_omega), (R, _) in zip(model.bodies, jacobians, poses, strict=True):
        J_link = R.T @ J_omega
        total = total + body.mass * (J_v.T @ J_v) + J_link.T @ (body.inertia_about_center @ J_link)
    return symmetric(lambda i, j: total[i, j], model.nv)
