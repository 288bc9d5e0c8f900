"""The recursive Lagrangian with rotations and displacements, O(n): Hollerbach 1980 (001 §1.4).

A point r of link j is at p_j + W_j r, W_j now 3×3 and p_j the link frame's origin. With the moments
m_j, h_j = ∫ r dm and J_j = ∫ r rᵀ dm about that origin, Lagrange's equation of
K = ½ Σ_j tr(m_j ṗ_j ṗ_jᵀ + 2 Ẇ_j h_j ṗ_jᵀ + Ẇ_j J_j Ẇ_jᵀ) is

    τ_i = Σ_{j ≥ i} tr[ ∂p_j/∂q_i (m_j p̈_j + Ẅ_j h_j)ᵀ + ∂W_j/∂q_i (h_j p̈_jᵀ + J_j Ẅ_jᵀ) ]

Every link beyond i turns and shifts with it, ∂W_j/∂q_i = ∂W_i/∂q_i ⁱW_j and
∂p_j/∂q_i = ∂p_i/∂q_i + ∂W_i/∂q_i ⁱp_j. Taken out of the sums, what is left obeys

    e_i = e_{i+1} + m_i p̈_i + Ẅ_i h_i
    D_i = A_{i+1} D_{i+1} + ⁱp_{i+1} e_{i+1}ᵀ + h_i p̈_iᵀ + J_i Ẅ_iᵀ

so that τ_i = tr(∂W_i/∂q_i D_i) + ∂p_i/∂q_i · e_i. The weights likewise add
−gᵀ(∂W_i/∂q_i c_i + ∂p_i/∂q_i M_i), where link i and all beyond it have

    M_i = m_i + M_{i+1}                  c_i = h_i + A_{i+1} c_{i+1} + M_{i+1} ⁱp_{i+1}
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.inverse.uicker_kahn import base_matrices
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.model import Body
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.rotations import hat


class Moving(NamedTuple):
    """A link's rotation W with its derivatives (3, 3), and p̈ of its origin (3,)."""

    W: Matrix3
    W_dot: Matrix3
    W_ddot: Matrix3
    p_ddot: Vector3


Forces = tuple[Matrix3, Vector3]  # D_i (3, 3) and e_i (3,)
Weights = tuple[Scalar, Vector3]  # M_i () and c_i (3,)


def rotation_motions(inputs: Inputs, base: Moving) -> list[Moving]:
    """W_i, Ẇ_i, Ẅ_i and p̈_i of every link, outward."""
    placements, qd, qdd = inputs.placements, inputs.qd, inputs.qdd

    def step(i: int, body: Body, parent: Moving) -> Moving:
        A, p = placements[i]
        velocity, gained = body.subspace @ qd[body.v], body.subspace @ qdd[body.v]
        V = hat(velocity[3:6])
        A_dot = A @ V
        A_ddot = A_dot @ V + A @ hat(gained[3:6])
        # the joint may also slide: ⁱ⁻¹ṗ_i = A v,  ⁱ⁻¹p̈_i = Ȧ v + A v̇
        p_dot, p_ddot = A @ velocity[0:3], A_dot @ velocity[0:3] + A @ gained[0:3]
        link = Moving(
            parent.W @ A,
            parent.W_dot @ A + parent.W @ A_dot,
            parent.W_ddot @ A + 2.0 * (parent.W_dot @ A_dot) + parent.W @ A_ddot,
            parent.p_ddot + parent.W_ddot @ p + 2.0 * (parent.W_dot @ p_dot) + parent.W @ p_ddot,
        )
        inputs.record(i, R=A, p=p, **link._asdict())
        return link

    return outward(inputs.model, base, step)


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "potential" or by "base"."""
    model, placements, tool = inputs.model, inputs.placements, inputs.tool
    tip_wrench, (W, rate, acceleration) = inputs.tip_wrench, base_matrices(inputs)
    base = Moving(W[0:3, 0:3], rate[0:3, 0:3], acceleration[0:3, 0:3], acceleration[0:3, 3])
    moving = rotation_motions(inputs, base)

    def forces(i: int, body: Body, children: list[tuple[int, Forces]]) -> Forces:
        h, J, link = body.moment, body.second_moment, moving[i]
        e = body.mass * link.p_ddot + link.W_ddot @ h
        D = np.outer(h, link.p_ddot) + J @ link.W_ddot.T
        for child, (D_c, e_c) in children:
            A, p = placements[child]
            D, e = D + A @ D_c + np.outer(p, e_c), e + e_c
        if tip_wrench is not None and i == tool.body:
            # n·vee(RᵀδR) = tr(δR ½ (R n^)ᵀ), the tool's rotation being R
            R = link.W @ tool.rotation
            f = R @ tip_wrench[0:3]
            moment = 0.5 * (R @ hat(tip_wrench[3:6])).T
            D, e = D + tool.rotation @ moment + np.outer(tool.translation, f), e + f
        inputs.record(i, D=D, e=e)
        return D, e

    def weights(i: int, body: Body, children: list[tuple[int, Weights]]) -> Weights:
        M, c = body.mass, body.moment
        for child, (M_c, c_c) in children:
            A, p = placements[child]
            M, c = M + M_c, c + A @ c_c + M_c * p
        inputs.record(i, M=M, c=c)
        return M, c

    sums = inward(model, forces)
    carried_weights = None if inputs.is_by_base else inward(model, weights)
    tau = []
    for i, (body, (D, e)) in enumerate(zip(model.bodies, sums, strict=True)):
        for k in range(body.chart.nv):
            dp, dW = moving[i].W @ body.subspace[0:3, k], moving[i].W @ hat(body.subspace[3:6, k])
            force = np.sum(dW * D.T) + dp @ e  # tr(dW D) + dp·e
            if carried_weights is not None:
                M, c = carried_weights[i]
                force = force - model.gravity @ (dW @ c + M * dp)
            tau.append(force)
    return inputs.with_joint_torques(np.stack(tau))
