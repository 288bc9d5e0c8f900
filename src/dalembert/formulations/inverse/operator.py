"""The recursions as one product of stacked matrices: 000 p.40–47.

Twists and wrenches of all links stand in columns V, F (6n,). Γ holds Ad_{g⁻¹} at (i, parent of i),
ξ and M are block-diagonal, P_0 and P_t reach the base and the tool. Then Γⁿ = 0 and

    G = (I − Γ)⁻¹ = I + Γ G,   V = G (ξ θ̇ + P_0 V_0),   F = Gᵀ (M V̇ + ad_Vᵀ M V + P_tᵀ F_t)

where, as in the source, the stacked ad_{ξθ̇} and ad_Vᵀ carry their minus signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.formulations.inverse.screw import adjoints, tool_adjoint
from dalembert.formulations.parts.elements import (
    add,
    conservative,
    joint_inertia,
    velocity_matrix,
    with_element_bias,
)
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics, joint_wrenches_of
from dalembert.formulations.parts.sweeps import outward
from dalembert.linalg.factorisations import symmetric
from dalembert.model import Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Matrix, Twist, Vector
from dalembert.spatial.se3 import Force


class Operators(NamedTuple):
    """The stacked matrices of n bodies (000 p.40–45), each (..., ·, ·).

    Twists V (6n,) have the linear part of every body (m/s) before its angular one (rad/s), wrenches
    F (6n,) force (N) before moment (N m), both in the frame of their body: V = G (ξ q̇ + P_0 V_0),
    τ = ξᵀF, and M holds kilograms, kg m and kg m².
    """

    xi: Matrix  # ξ (6n, nv), block-diagonal: velocities of the joints to twists of their bodies
    Gamma: Matrix  # Γ (6n, 6n): a body's twist to those of the bodies on it, Γⁿ = 0
    G: Matrix  # (I − Γ)⁻¹ (6n, 6n): to those of all bodies beyond it
    M: Matrix  # (6n, 6n), block-diagonal: inertias of the bodies
    P_0: Matrix  # (6n, 6): twist of the base to those of the bodies on it
    P_t: Matrix  # (6, 6n): twist of the tool's body to that of the tool


def operators(model: Model, q: Vector) -> Operators:
    """ξ, Γ, G, M, P_0 and P_t at the configuration q."""
    A, n = adjoints(model, q), len(model.bodies)
    parents, tool = [body.parent for body in model.bodies], model.frame(model.tool).body
    unit, zero = np.eye(6 * n), np.zeros((6, 6))
    # G = I + Γ G, one block row after the other
    rows = outward(
        model, np.zeros((6, 6 * n)), lambda i, body, parent: unit[6 * i : 6 * i + 6] + A[i] @ parent
    )
    return Operators(
        xi=diagonal([body.subspace for body in model.bodies]),
        Gamma=np.block([[A[i] if parents[i] == j else zero for j in range(n)] for i in range(n)]),
        G=np.concatenate(rows),
        M=diagonal([body.spatial_inertia for body in model.bodies]),
        P_0=np.concatenate([A[i] if parents[i] < 0 else zero for i in range(n)]),
        P_t=np.concatenate([tool_adjoint(model) if i == tool else zero for i in range(n)], axis=1),
    )


def diagonal(blocks: Sequence[Matrix]) -> Matrix:
    """The block-diagonal matrix of these blocks."""
    return np.block(
        [
            [a if i == j else np.zeros((a.shape[0], b.shape[1])) for j, b in enumerate(blocks)]
            for i, a in enumerate(blocks)
        ]
    )


def stacked_ad(V: Vector) -> Matrix:
    """diag(ad_{V_1}, …, ad_{V_n}) (6n, 6n) of a stacked twist V (6n,)."""
    return diagonal([se3.ad(V[i : i + 6]) for i in range(0, V.shape[0], 6)])


def mass_matrix(model: Model, q: Vector) -> Matrix:
    """M (nv, nv) = ξᵀ Gᵀ M G ξ (000 p.47), plus rotors and tendons."""
    op = operators(model, q)
    J = op.G @ op.xi
    M = J.T @ (op.M @ J) + joint_inertia(model, q)
    return symmetric(lambda i, j: M[i, j], model.nv)


def gravity_torque(model: Model, q: Vector) -> Vector:
    """φ (nv,) = ξᵀ Gᵀ M G P_0 V̇_0 with V̇_0 = (−g, 0) (000 p.47)."""
    op = operators(model, q)
    fall = np.concatenate([-model.gravity, np.zeros(3)])
    return add(op.xi.T @ (op.G.T @ (op.M @ (op.G @ (op.P_0 @ fall)))), conservative(model, q))


def coriolis_matrix_printed(model: Model, q: Vector, qd: Vector) -> Matrix:
    """C (nv, nv) = ξᵀ Gᵀ (M G ad_{ξθ̇} Γ + ad_Vᵀ M) G ξ as printed (000 p.46–47).

    C q̇ is right, but Ṁ − 2C is not skew; `coriolis_matrix` has the term that is missing.
    """
    J, F, _ = _coriolis_factors(model, q, qd)
    return add(J.T @ F, velocity_matrix(model, q, qd))


def coriolis_matrix(model: Model, q: Vector, qd: Vector) -> Matrix:
    """C (nv, nv) = ξᵀ Gᵀ (M G ad_{ξθ̇} Γ + ad_Vᵀ M + M ad_V) G ξ, for which Ṁ − 2C is skew.

    The last term, diag(ad_{V_i}) with its true sign, adds nothing to C q̇, since ad_V V = 0. With
    J = G ξ and J̇ = G ad_{ξθ̇} Γ J, C = Jᵀ M J̇ + Jᵀ (M ad_V − (M ad_V)ᵀ) J.
    """
    J, F, added = _coriolis_factors(model, q, qd)
    return add(J.T @ (F + added), velocity_matrix(model, q, qd))


def _coriolis_factors(model: Model, q: Vector, qd: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """J = G ξ, (M G ad_{ξθ̇} Γ + ad_Vᵀ M) J and M ad_V J, each (6n, nv)."""
    op = operators(model, q)
    J = op.G @ op.xi
    ad_xi, ad_V = -stacked_ad(op.xi @ qd), stacked_ad(J @ qd)
    F = op.M @ (op.G @ (ad_xi @ (op.Gamma @ J))) - ad_V.T @ (op.M @ J)
    return J, F, op.M @ (ad_V @ J)


def stacked_wrenches(inputs: Inputs, op: Operators) -> Vector:
    """F (6n,) = Gᵀ (M V̇ + ad_Vᵀ M V + P_tᵀ F_t) (000 p.44–45)."""
    qd, qdd, tip_wrench = inputs.qd, inputs.qdd, inputs.tip_wrench
    V_0, V_dot_0 = inputs.base_twists
    rate = op.xi @ qd
    V = op.G @ (rate + op.P_0 @ V_0)
    ad_xi, ad_V = -stacked_ad(rate), stacked_ad(V)
    # V̇ = G (ξ θ̈ + P_0 V̇_0 + ad_{ξθ̇} (P_0 V_0 + Γ V))
    V_dot = op.G @ (op.xi @ qdd + op.P_0 @ V_dot_0 + ad_xi @ (op.P_0 @ V_0 + op.Gamma @ V))
    own = op.M @ V_dot - ad_V.T @ (op.M @ V)
    F = op.G.T @ (own if tip_wrench is None else own + op.P_t.T @ tip_wrench)
    for i in range(len(inputs.model.bodies)):
        block = slice(6 * i, 6 * i + 6)
        inputs.record(i, V=V[block], V_dot=V_dot[block], F=F[block])
    return F


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = ξᵀ F + friction + rotors; `gravity` as "base" motion or "potential"."""
    op, N = operators(inputs.model, inputs.q), inputs.weight_torques
    return inputs.with_joint_torques(op.xi.T @ stacked_wrenches(inputs, op) + N)


def bias(
    model: Model,
    q: Vector,
    qd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """h (nv,) = C q̇ + φ: the torques of a motion without joint accelerations, no friction."""
    op, still = operators(model, q), np.zeros(model.nv)
    inputs = Inputs(model, q, qd, still, None, base_twist, base_acceleration)
    h = op.xi.T @ stacked_wrenches(inputs, op)
    return with_element_bias(model, h, q, qd)


@joint_wrenches_of
def joint_wrenches(inputs: Inputs) -> list[Force]:
    """F of every link, from the stacked one."""
    F = stacked_wrenches(inputs, operators(inputs.model, inputs.q))
    return [Force.of(F[i : i + 6]) for i in range(0, F.shape[0], 6)]
