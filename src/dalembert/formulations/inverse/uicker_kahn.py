"""Lagrange's equation in 4×4 matrices, evaluated as written, O(n⁴): Uicker and Kahn (001 §1.2).

A tree of links is a product of 4×4 matrices, W_j = A_1 … A_j. A_i(q_i) takes link i's coordinates to
its parent's, and ∂A_i/∂q_i = A_i Q_i with a constant Q_i, since the joint's twist is constant in its
own link. (Uicker's Q_i stands in front: his joints turn about the axes of the link before.) A joint
of several degrees has one Q_k for each, and "∂/∂q_k" is then the change of W along the k-th component
of its velocity. Such directions are no coordinates, but d'Alembert's principle needs only virtual
displacements, so every trace stays as it is.

The kinetic energy of link j is ½ tr(Ẇ_j J_j Ẇ_jᵀ) and its potential −m_j gᵀ W_j r_j, so Lagrange's
equation (1.1) becomes, the terms with ∂Ẇ/∂q cancelling as in (3.4),

    τ_i = Σ_{j ≥ i} [ tr(∂W_j/∂q_i J_j Ẅ_jᵀ) − m_j gᵀ ∂W_j/∂q_i r_j ]                      (1.2)
    Ẅ_j = Σ_k ∂W_j/∂q_k q̈_k + Σ_k Σ_l ∂²W_j/∂q_k∂q_l q̇_k q̇_l

The derivatives are formed once, but the sums of Ẅ_j are computed again for every i, with the trace
inside them as Kahn has it: nothing is taken out of any sum. That is what Hollerbach (1980) counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.formulations.parts.recursion_table import nothing
from dalembert.formulations.parts.sweeps import outward
from dalembert.model import Body, Frame, Model
from dalembert.spatial.arrays import Matrix4, Pose, Scalar, Vector, Wrench
from dalembert.spatial.inertia import pseudo_inertia_of_moments
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import hat_se3, pose


class Moving(NamedTuple):
    """W, Ẇ, Ẅ (4, 4) of a frame, in the base's coordinates."""

    W: Pose
    rate: Matrix4
    acceleration: Matrix4


def link_matrices(model: Model, q: Vector) -> list[Pose]:
    """A_i (4, 4) of every link: its frame in its parent's."""
    return [pose(*body.transform(q)) for body in model.bodies]


def differentiation_matrices(body: Body) -> list[Matrix4]:
    """Q_k (4, 4) of each velocity component of a joint: ∂A/∂q_k = A Q_k."""
    return [hat_se3(body.subspace[:, k]) for k in range(body.chart.nv)]


def base_matrices(inputs: Inputs) -> Moving:
    """W_0 = 1, Ẇ_0 = V̂_0, Ẅ_0 = V̂_0² + V̂̇_0; gravity by "base" adds −g to the last column."""
    rate = np.zeros((4, 4)) if inputs.base_twist is None else hat_se3(inputs.base_twist)
    acceleration = rate @ rate
    if inputs.base_acceleration is not None:
        acceleration = acceleration + hat_se3(inputs.base_acceleration)
    if inputs.is_by_base:
        acceleration = acceleration - hat_se3(np.concatenate([inputs.model.gravity, np.zeros(3)]))
    return Moving(np.eye(4), rate, acceleration)


def inertia_matrix(body: Body) -> Matrix4:
    """Uicker's J = ∫ (r, 1)(r, 1)ᵀ dm (4, 4), in link coordinates."""
    return pseudo_inertia_of_moments(body.mass, body.moment, body.inertia)


def mass_vector(body: Body) -> Vector:
    """∫ (r, 1) dm = m (c, 1) (4,), in link coordinates."""
    return np.concatenate([body.moment, np.stack([body.mass])])


def tip_matrix(tool: Frame, W: Pose, tip_wrench: Wrench) -> Matrix4:
    """T Φᵀ (4, 4) of a wrench F_t at the tool, to be added to J Ẅᵀ of the link W that carries it.

    With W_t = W T the tool's frame and R its rotation, the work of F_t = (f, n) is
    f·Rᵀδp + n·vee(RᵀδR) = tr(δW_t Φᵀ), Φ = [[½ R n^, R f], [0, 0]].
    """
    R = W[0:3, 0:3] @ tool.rotation
    moment = 0.5 * (R @ hat(tip_wrench[3:6]))
    top = np.concatenate([moment, (R @ tip_wrench[0:3]).reshape(3, 1)], axis=1)
    Phi: Matrix4 = np.concatenate([top, np.zeros((1, 4))])
    return pose(tool.rotation, tool.translation) @ Phi.T


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


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "potential" or by "base"."""
    model, qd, qdd, tool = inputs.model, inputs.qd, inputs.qdd, inputs.tool
    links, base = derivatives(model, inputs.q), base_matrices(inputs)
    at_rest = inputs.base_twist is None and inputs.base_acceleration is None
    at_rest = at_rest and not inputs.is_by_base
    base_part = None if at_rest else [_base_acceleration(link, base, qd) for link in links]
    if inputs.record is not nothing:
        # W_j, Ẇ_j and Ẅ_j in the base's coordinates: the sums that the torques have inside traces
        for j, link in enumerate(links):
            W_dot = sum(dW * qd[k] for k, dW in link.first.items())
            W_ddot = sum(dW * qdd[k] for k, dW in link.first.items())
            for (k, l), ddW in link.second.items():
                # pairs of two joints are there once and stand for both orders
                both = 1.0 if k == l or (l, k) in link.second else 2.0
                W_ddot = W_ddot + both * ddW * qd[k] * qd[l]
            W_ddot = W_ddot + _base_acceleration(link, base, qd)
            inputs.record(j, W=link.W, W_dot=base.rate @ link.W + W_dot, W_ddot=W_ddot)

    tau = []
    for i in range(model.nv):
        total: Scalar = 0.0
        for j, (body, link) in enumerate(zip(model.bodies, links, strict=True)):
            if i not in link.first:
                continue
            J, dW = inertia_matrix(body), link.first[i]
            # tr(∂W_j/∂q_i J_j Ẅ_jᵀ) on a base at rest, term by term
            inertial: Scalar = 0.0
            for k, dW_k in link.first.items():
                inertial = inertial + np.trace(dW @ J @ dW_k.T) * qdd[k]
                for l in link.first:
                    ddW = link.second[(k, l) if (k, l) in link.second else (l, k)]
                    inertial = inertial + np.trace(dW @ J @ ddW.T) * qd[k] * qd[l]
            total = total + inertial
            if base_part is not None:
                total = total + np.trace(dW @ J @ base_part[j].T)
            if not inputs.is_by_base:
                total = total - model.gravity @ (dW @ mass_vector(body))[0:3]
            if inputs.tip_wrench is not None and j == tool.body:
                total = total + np.trace(dW @ tip_matrix(tool, link.W, inputs.tip_wrench))
        tau.append(total)
    return inputs.with_joint_torques(np.stack(tau))


def _base_acceleration(link: Derivatives, base: Moving, qd: Vector) -> Matrix4:
    """Ẅ_0 W_j + 2 Ẇ_0 Ẇ_j (4, 4): the part of Ẅ_j by the base's known motion W_0(t)."""
    W_dot = sum((dW * qd[k] for k, dW in link.first.items()), start=np.zeros((4, 4)))
    return base.acceleration @ link.W + 2.0 * (base.rate @ W_dot)
