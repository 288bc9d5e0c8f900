"""Lagrange's equation in 4×4 matrices made recursive, O(n): Hollerbach 1980 (001 §1.4).

In (1.2), τ_i = Σ_{j ≥ i} [ tr(∂W_j/∂q_i J_j Ẅ_jᵀ) − gᵀ ∂W_j/∂q_i m_j r_j ], every link beyond i
moves with it: ∂W_j/∂q_i = ∂W_i/∂q_i A_{i+1} … A_j. Taken out of the sums, what is left obeys

    D_i = J_i Ẅ_iᵀ + A_{i+1} D_{i+1}          c_i = m_i r_i + A_{i+1} c_{i+1}

so that τ_i = tr(∂W_i/∂q_i D_i) − gᵀ ∂W_i/∂q_i c_i, while outward, W_i = W_{i−1} A_i gives

    Ẇ_i = Ẇ_{i−1} A_i + W_{i−1} Ȧ_i           Ẅ_i = Ẅ_{i−1} A_i + 2 Ẇ_{i−1} Ȧ_i + W_{i−1} Ä_i
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.inverse.uicker_kahn import (
    Moving,
    base_matrices,
    differentiation_matrices,
    inertia_matrix,
    link_matrices,
    mass_vector,
    tip_matrix,
)
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.formulations.parts.sweeps import inward, outward
from dalembert.model import Body
from dalembert.spatial.arrays import Matrix4, Vector
from dalembert.spatial.se3 import hat_se3


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "potential" or by "base"."""
    model, qd, qdd = inputs.model, inputs.qd, inputs.qdd
    A = link_matrices(model, inputs.q)

    def move(i: int, body: Body, parent: Moving) -> Moving:
        # Ȧ = A V,  Ä = A (V² + V̇)  with V = Q q̇, which for one coordinate is ∂²A/∂q² q̇² + ∂A/∂q q̈
        V, V_dot = hat_se3(body.subspace @ qd[body.v]), hat_se3(body.subspace @ qdd[body.v])
        A_dot = A[i] @ V
        A_ddot = A_dot @ V + A[i] @ V_dot
        link = Moving(
            parent.W @ A[i],
            parent.rate @ A[i] + parent.W @ A_dot,
            parent.acceleration @ A[i] + 2.0 * (parent.rate @ A_dot) + parent.W @ A_ddot,
        )
        inputs.record(i, A=A[i], W=link.W, W_dot=link.rate, W_ddot=link.acceleration)
        return link

    def gather(i: int, body: Body, children: list[tuple[int, Matrix4]]) -> Matrix4:
        D = inertia_matrix(body) @ moving[i].acceleration.T
        for child, D_c in children:
            D = D + A[child] @ D_c
        if inputs.tip_wrench is not None and i == inputs.tool.body:
            D = D + tip_matrix(inputs.tool, moving[i].W, inputs.tip_wrench)
        inputs.record(i, D=D)
        return D

    def weigh(i: int, body: Body, children: list[tuple[int, Vector]]) -> Vector:
        c: Vector = mass_vector(body) + sum(A[child] @ c for child, c in children)
        inputs.record(i, c=c)
        return c

    moving = outward(model, base_matrices(inputs), move)
    D = inward(model, gather)
    c = None if inputs.is_by_base else inward(model, weigh)
    tau = []
    for i, body in enumerate(model.bodies):
        for Q in differentiation_matrices(body):
            dW = moving[i].W @ Q
            force = np.sum(dW * D[i].T)  # tr(dW D)
            tau.append(force if c is None else force - model.gravity @ (dW @ c[i])[0:3])
    return inputs.with_joint_torques(np.stack(tau))
