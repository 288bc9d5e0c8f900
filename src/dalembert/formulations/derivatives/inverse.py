"""First derivatives of inverse dynamics by a recursion of their own, in link frames.

Turning joint j moves all that it carries as one rigid body, so ∂τ/∂q_j needs only how the motion
beyond joint j differs from one that simply turns along. For a particle at r beyond the joint, with
S_j = (s, w) the joint's twist and V, A the parent's motion there,

    ∂r̈/∂q_j  = w × r̈ + Ψ̈_j r + 2 Ψ̇_j ṙ,      Ψ̇_j = [V, S_j],  Ψ̈_j = [A, S_j] + [V, Ψ̇_j]
    ∂r̈/∂q̇_j  = (Ψ̇_j + Ṡ_j) r + 2 S_j ṙ

(Carpentier and Mansard 2018; Singh, Russell and Wensing 2022). A twist acts on ṙ by its angular part
alone. Summed over everything beyond joint i, the particles enter by m, h = ∫ r dm, Σ = ∫ r rᵀ dm,
P = ∫ ṙ dm and N = ∫ ṙ rᵀ dm, with ṙ relative to the origin of link i: velocities of origins never
appear. Two rows (r_I, b) and two columns (∂F/∂q, ∂F/∂q̇) per joint then go inward, link by link.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dalembert.formulations.derivatives.automatic import slopes
from dalembert.formulations.inverse.newton_euler import (
    LinkMotion,
    base_motion,
    link_wrenches,
    motions,
)
from dalembert.formulations.parts.elements import add, conservative, dissipative, turning
from dalembert.formulations.parts.passes import Placed, inward, transforms
from dalembert.formulations.parts.turned import turned
from dalembert.linalg.symmetric import add_outer
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import Force, Motion, Placement
from dalembert.spatial.rotations import hat


class Carried(NamedTuple):
    """Moments of a body with all that it carries, about its origin, in its frame."""

    m: Scalar
    h: Vector3  # ∫ r dm
    sigma: Matrix3  # ∫ r rᵀ dm
    P: Vector3  # ∫ ṙ dm, ṙ relative to the origin
    N: Matrix3  # ∫ ṙ rᵀ dm


class Column(NamedTuple):
    """One velocity coordinate: its twist S, Ψ̇, Ψ̈ and Ψ̇ + Ṡ in its body's frame."""

    S: Motion
    psi: Motion
    psi2: Motion
    rate: Motion


def inverse_dynamics_derivatives(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ = M), each (nv, nv), row i for τ_i.

    q varies in the tangent space: ∂/∂q_j is along `integrate(q, δ)` at δ = 0. Of friction, the
    viscous part counts; Coulomb's has no slope where it has a value.
    """
    whole, model = model, model.lean
    base = base_motion(model, base_twist, base_acceleration)
    placed = transforms(model, q)
    moving = motions(model, placed, qd, qdd, base)
    wrenches = link_wrenches(model, placed, moving, tip_wrench)
    shifts = _origin_velocities(model, placed, qd, moving, base)
    carried = _carried(model, q, placed, moving, shifts)
    columns = [_columns(b, placed[i], qd, moving, base) for i, b in enumerate(model.bodies)]
    dq, dqd, M = _Entries(model.nv), _Entries(model.nv), _Entries(model.nv)
    for i, body in enumerate(model.bodies):
        for k, column in enumerate(columns[i]):
            own = body.v.start + k
            response = _responses(carried[i], column, wrenches[i])
            for other, c in enumerate(columns[i], body.v.start):
                # the body's own twists turn along with the wrench
                dq[own, other] = response.b @ c.psi[1] + _dot(response.inertial, c.psi2)
                dqd[own, other] = response.b @ c.S[1] + _dot(response.inertial, c.rate)
                if other <= own:
                    M[other, own] = M[own, other] = _dot(c.S, response.inertial)
            for j, moved in _inward(model, i, placed, shifts, response):
                for other, c in enumerate(columns[j], model.bodies[j].v.start):
                    dq[own, other] = moved.b @ c.psi[1] + _dot(moved.inertial, c.psi2)
                    dqd[own, other] = moved.b @ c.S[1] + _dot(moved.inertial, c.rate)
                    dq[other, own] = _dot(c.S, moved.dq)
                    dqd[other, own] = _dot(c.S, moved.dqd)
                    M[other, own] = M[own, other] = _dot(c.S, moved.inertial)
    viscous, rotor = np.diag(model.drive.viscous), np.diag(model.drive.rotor)
    by_q, by_qd = element_slopes(whole, q, qd)
    return add(dq.matrix(), by_q), add(dqd.matrix() + viscous, by_qd), M.matrix() + rotor


def element_slopes(model: Model, q: Vector, qd: Vector) -> tuple[list[Matrix], list[Matrix]]:
    """∂/∂q and ∂/∂q̇ (nv, nv) of the torques of elements; empty where there are none."""

    def torque(model: Model, q: Vector, qd: Vector, unused: Vector) -> Vector:
        none = np.zeros(model.nv)
        held, damped = conservative(model, q), dissipative(model, q, qd)
        return add(none, held, damped, turning(model, qd))

    if not model.elements:
        return [], []
    by_q, by_qd, _ = slopes(torque, model, q, qd, np.zeros(model.nv))
    return [by_q], [by_qd]


class _Entries(dict[tuple[int, int], Scalar]):
    """A square matrix entry by entry; absent ones are zero."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def matrix(self) -> Matrix:
        n = range(self.size)
        return np.stack([np.stack([self.get((i, j), 0.0) for j in n]) for i in n])


def _parent_motion(body: Body, moving: list[LinkMotion], base: LinkMotion) -> LinkMotion:
    return moving[body.parent] if body.parent >= 0 else base


def _origin_velocities(
    model: Model, placed: Placed, qd: Vector, moving: list[LinkMotion], base: LinkMotion
) -> list[Vector3]:
    """Velocity of every body's origin relative to its parent's origin, in the parent's axes."""
    return [
        np.cross(_parent_motion(body, moving, base).omega, p)
        + R @ (body.subspace[0:3] @ qd[body.v])
        for body, (R, p) in zip(model.bodies, placed, strict=True)
    ]


def _carried(
    model: Model, q: Vector, placed: Placed, moving: list[LinkMotion], shifts: list[Vector3]
) -> list[Carried]:
    def step(i: int, body: Body, children: list[tuple[int, Carried]]) -> Carried:
        m, h, sigma = body.mass, body.moment, body.second_moment
        omega = moving[i].omega
        P, N = np.cross(omega, h), hat(omega) @ sigma
        for child, c in children:
            R, p = placed[child]
            u, link = shifts[child], model.bodies[child]
            h_c, P_c = R @ c.h, R @ c.P + c.m * u
            # r = p + r_c and ṙ = u + ṙ_c
            sigma = sigma + add_outer(turned(link, q, c.sigma, True), h_c + 0.5 * c.m * p, p)
            N = N + turned(link, q, c.N, False) + np.outer(u, h_c) + np.outer(P_c, p)
            m, h, P = m + c.m, h + h_c + c.m * p, P + P_c
        return Carried(m, h, sigma, P, N)

    return inward(model, step)


def _bracket(V: Motion, S: Motion) -> Motion:
    """[V, S] = (ω × s + v × w, ω × w)."""
    return np.cross(V[1], S[0]) + np.cross(V[0], S[1]), np.cross(V[1], S[1])


def _add(X: Motion | Force, Y: Motion | Force) -> Motion | Force:
    return X[0] + Y[0], X[1] + Y[1]


def _columns(
    body: Body, place: Placement, qd: Vector, moving: list[LinkMotion], base: LinkMotion
) -> list[Column]:
    """The body's coordinates, with velocities relative to the velocity of its origin."""
    R = place.R
    parent = _parent_motion(body, moving, base)
    gained = body.subspace @ qd[body.v]
    v, omega = -gained[0:3], R.T @ parent.omega
    a = place.acceleration_to_child(parent.a, parent.U) - np.cross(omega, v)
    V, A = (v, omega), (a, R.T @ parent.alpha)
    V_body = (np.zeros(3), omega + gained[3:6])
    columns = []
    for k in range(body.chart.nv):
        S = (body.subspace[0:3, k], body.subspace[3:6, k])
        psi = _bracket(V, S)
        psi2 = _add(_bracket(A, S), _bracket(V, psi))
        columns.append(Column(S, psi, psi2, _add(psi, _bracket(V_body, S))))
    return columns


class Responses(NamedTuple):
    """What one coordinate does to the wrench of all it carries, and the rows that weigh its own τ."""

    inertial: Force  # I S: the row of ∂τ_i/∂q̈, and its column
    b: Vector3  # (3,) with Sᵀ 2 B X = b · w_X
    dq: Force  # ∂F/∂q
    dqd: Force  # ∂F/∂q̇


def _inertia_times(c: Carried, X: Motion) -> Force:
    """∫ (s + w × r) dm and ∫ r × (s + w × r) dm."""
    linear, angular = X
    moment = np.trace(c.sigma) * angular - c.sigma @ angular
    return c.m * linear + np.cross(angular, c.h), np.cross(c.h, linear) + moment


def _twice_B_times(c: Carried, w: Vector3) -> Force:
    """∫ 2 w × ṙ dm and ∫ r × (2 w × ṙ) dm."""
    return 2.0 * np.cross(w, c.P), 2.0 * (np.trace(c.N) * w - c.N @ w)


def _responses(c: Carried, column: Column, wrench: Force) -> Responses:
    S, psi, psi2, rate = column
    s, w = S
    f, n = wrench
    b = 2.0 * (np.cross(c.P, s) + np.trace(c.N) * w - c.N.T @ w)
    turning = (np.cross(w, f), np.cross(w, n) + np.cross(s, f))
    dq = _add(_add(_inertia_times(c, psi2), _twice_B_times(c, psi[1])), turning)
    dqd = _add(_inertia_times(c, rate), _twice_B_times(c, w))
    return Responses(_inertia_times(c, S), b, dq, dqd)


def _dot(X: Motion | Force, Y: Motion | Force) -> Scalar:
    return X[0] @ Y[0] + X[1] @ Y[1]


def _inward(
    model: Model, i: int, placed: Placed, shifts: list[Vector3], response: Responses
) -> Iterator[tuple[int, Responses]]:
    """The responses of a coordinate of body i, seen from every body below it."""
    inertial, b, dq, dqd = response
    while model.bodies[i].parent >= 0:
        inertial, dq, dqd = (placed[i].force_to_parent(F) for F in (inertial, dq, dqd))
        # relative to the parent's origin all particles are faster by u
        b = placed[i].R @ b + 2.0 * np.cross(shifts[i], inertial[0])
        i = model.bodies[i].parent
        yield i, Responses(inertial, b, dq, dqd)
