"""Lagrange's equation in 4×4 matrices, evaluated as written, O(n⁴): Uicker and Kahn (001 §1.2).

The kinetic energy of link j is ½ tr(Ẇ_j J_j Ẇ_jᵀ) and its potential −m_j gᵀ W_j r_j, so Lagrange's
equation (1.1) becomes, the terms with ∂Ẇ/∂q cancelling as in (3.4),

    τ_i = Σ_{j ≥ i} [ tr(∂W_j/∂q_i J_j Ẅ_jᵀ) − m_j gᵀ ∂W_j/∂q_i r_j ]                      (1.2)
    Ẅ_j = Σ_k ∂W_j/∂q_k q̈_k + Σ_k Σ_l ∂²W_j/∂q_k∂q_l q̇_k q̇_l

The derivatives are formed once, but the sums of Ẅ_j are gone through again for every i, with the
trace inside them as Kahn has it: nothing is taken out of any sum. That is what Hollerbach (1980)
counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.parts.chain4x4 import (
    Moving,
    base_matrices,
    differentiation_matrices,
    inertia_matrix,
    link_matrices,
    mass_vector,
    tip_matrix,
)
from dalembert.formulations.parts.drive import with_own
from dalembert.formulations.parts.passes import outward
from dalembert.formulations.parts.record import Record, nothing
from dalembert.formulations.parts.weight import by_base
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix4, Pose, Scalar, Twist, Vector, Wrench


class Derivatives(NamedTuple):
    """W_j (4, 4) and its derivatives, by coordinate and by pair of coordinates."""

    W: Pose
    first: dict[int, Matrix4]  # i → ∂W_j/∂q_i
    second: dict[tuple[int, int], Matrix4]  # (k, l), k's joint not beyond l's → ∂²W_j/∂q_k∂q_l


def derivatives(model: Model, q: Vector) -> list[Derivatives]:
    """W_j, ∂W_j/∂q_i and ∂²W_j/∂q_k∂q_l of every link j, for the coordinates that move it."""
    A = link_matrices(model, q)

    def step(i: int, body: Body, parent: Derivatives) -> Derivatives:
        W = parent.W @ A[i]
        own = dict(enumerate(differentiation_matrices(body), start=body.v.start))
        first = {k: dW @ A[i] for k, dW in parent.first.items()}
        first |= {k: W @ Q for k, Q in own.items()}
        second = {pair: ddW @ A[i] for pair, ddW in parent.second.items()}
        second |= {(k, l): dW @ Q for l, Q in own.items() for k, dW in first.items()}
        return Derivatives(W, first, second)

    return outward(model, Derivatives(np.eye(4), {}, {}), step)


def inertial_force(link: Derivatives, J: Matrix4, i: int, qd: Vector, qdd: Vector) -> Scalar:
    """tr(∂W_j/∂q_i J_j Ẅ_jᵀ) on a base at rest, term by term."""
    total: Scalar = 0.0
    for k, dW in link.first.items():
        total = total + np.trace(link.first[i] @ J @ dW.T) * qdd[k]
        for l in link.first:
            ddW = link.second[(k, l) if (k, l) in link.second else (l, k)]
            total = total + np.trace(link.first[i] @ J @ ddW.T) * qd[k] * qd[l]
    return total


def inverse_dynamics(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
    gravity: str = "potential",
    record: Record = nothing,
) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "potential" or by "base"."""
    links = derivatives(model, q)
    base = base_matrices(model, base_twist, base_acceleration, gravity)
    at_rest = base_twist is None and base_acceleration is None and not by_base(gravity)
    carried = None if at_rest else [_carried(link, base, qd) for link in links]
    tool = model.frame(model.tool)
    if record is not nothing:
        _record_rates(links, base, qd, qdd, record)

    def generalized_force(i: int) -> Scalar:
        total: Scalar = 0.0
        for j, (body, link) in enumerate(zip(model.bodies, links, strict=True)):
            if i not in link.first:
                continue
            J, dW = inertia_matrix(body), link.first[i]
            total = total + inertial_force(link, J, i, qd, qdd)
            if carried is not None:
                total = total + np.trace(dW @ J @ carried[j].T)
            if not by_base(gravity):
                total = total - model.gravity @ (dW @ mass_vector(body))[0:3]
            if tip_wrench is not None and j == tool.body:
                total = total + np.trace(dW @ tip_matrix(model, link.W, tip_wrench))
        return total

    tau = np.stack([generalized_force(i) for i in range(model.nv)])
    return with_own(model, tau, q, qd, qdd)


def _record_rates(
    links: list[Derivatives], base: Moving, qd: Vector, qdd: Vector, record: Record
) -> None:
    """W_j, Ẇ_j and Ẅ_j in the base's coordinates: the sums that the torques have inside traces."""
    for j, link in enumerate(links):
        W_dot = sum(dW * qd[k] for k, dW in link.first.items())
        W_ddot = sum(dW * qdd[k] for k, dW in link.first.items())
        for (k, l), ddW in link.second.items():
            # pairs of two joints are there once and stand for both orders
            both = 1.0 if k == l or (l, k) in link.second else 2.0
            W_ddot = W_ddot + both * ddW * qd[k] * qd[l]
        W_ddot = W_ddot + _carried(link, base, qd)
        record(j, W=link.W, W_dot=base.rate @ link.W + W_dot, W_ddot=W_ddot)


def _carried(link: Derivatives, base: Moving, qd: Vector) -> Matrix4:
    """Ẅ_0 W_j + 2 Ẇ_0 Ẇ_j (4, 4): what the base's known motion W_0(t) adds to Ẅ_j."""
    W_dot = sum(dW * qd[k] for k, dW in link.first.items())
    return base.acceleration @ link.W + 2.0 * (base.rate @ W_dot)
