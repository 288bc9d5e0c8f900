"""First derivatives of inverse dynamics by a recursion of their own, in link frames.

One coordinate of body i, with the constant twist S = (s, w) in the body's axes, changes the motion of
its body, and of nothing nearer to the base; all that the body carries keeps its motion as seen from it.
With (ω', α', a') the parent's motion in these axes, at this origin, and (v, w_rel) = S q̇,

    by q̈:  δω = 0,       δα = w,                       δa = s
    by q̇:  δω = w,       δα = ω' × w,                  δa = (ω' + ω) × s + w × v
    by q:  δω = ω' × w,  δα = α' × w + δω × w_rel,     δa = a' × w + U' s + 2 δω × v

A particle at r that moves with r' as seen from the body accelerates by δa + δU r + 2 δω × r' more.
Summed over all that is carried, particles enter by m, h = ∫ r dm, Σ = ∫ r rᵀ dm, P = 2 ∫ r' dm and
N = 2 ∫ r' rᵀ dm. That is the change ∂F of the wrench through joint i, and joints below project it; by
q the wrench turns along too. For joints i beyond j, whose twists turn along with everything, it is

    ∂τ_i = ∫ (S_i r) · (δa + δU r + 2 δω × r') dm = F_i · (δa, δα + ω × δω) + b_i · δω,

F_i = I S_i the response to q̈_i, b_i the weight of 2 δω × ṙ, ṙ seen from axes that do not turn. So F,
∂F/∂q, ∂F/∂q̇ and b of every coordinate go inward, link by link (Carpentier and Mansard 2018; Singh,
Russell and Wensing 2022), and only pairs of which one carries the other cost anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.derivatives.automatic import jacobians
from dalembert.formulations.inverse.newton_euler import (
    LinkMotion,
    base_motion,
    link_wrenches,
    motions,
)
from dalembert.formulations.mass.composite_body import Blocks, assemble, composites, from_blocks
from dalembert.formulations.parts.elements import (
    add,
    conservative,
    dissipative,
    joint_inertia,
    tendon_acceleration_torques,
    tendon_inertia,
    velocity_torques,
)
from dalembert.formulations.parts.inputs import Inputs
from dalembert.formulations.parts.rigid_body import (
    acceleration_matrix_change,
    rotated_moments,
    wrench_of_moments,
)
from dalembert.formulations.parts.sweeps import Placements, inward
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import Force, Motion, Placement


class CompositeMoments(NamedTuple):
    """Moments of a body with all that it carries, about its origin, in its frame."""

    m: Scalar
    h: Vector3  # ∫ r dm
    sigma: Matrix3  # ∫ r rᵀ dm
    P: Vector3  # 2 ∫ r' dm, r' the velocity as seen from the body
    N: Matrix3  # 2 ∫ r' rᵀ dm


class Change(NamedTuple):
    """Change of a body's motion by its k coordinates, each (3, k) in its axes."""

    omega: Matrix
    alpha: Matrix
    a: Matrix
    twist: tuple[Matrix, Matrix]  # (δa, δα + ω × δω), multiplied by F of the joints beyond


def _change(omega: Vector3, d_omega: Matrix, d_alpha: Matrix, d_a: Matrix) -> Change:
    return Change(d_omega, d_alpha, d_a, (d_a, d_alpha + hat(omega) @ d_omega))


class Responses(NamedTuple):
    """Change of the wrench of all that k coordinates carry, by q̈, q and q̇ beside each other."""

    f: Matrix  # (3, 3k)
    n: Matrix  # (3, 3k)
    b: Matrix  # (3, k): multiplied by the δω of joints below
    k: int


def composite_moments(
    model: Model, q: Vector, placements: Placements, qd: Vector
) -> list[CompositeMoments]:
    """Moments of every body with all that it carries, inward."""
    still = composites(model, q, placements)

    def step(i: int, body: Body, children: list[tuple[int, CompositeMoments]]) -> CompositeMoments:
        P, N = np.zeros(3), np.zeros((3, 3))  # the body itself stands still in its frame
        for child, c in children:
            R, p = placements[child]
            link = model.bodies[child]
            v, w = Motion.of(link.subspace @ (2.0 * qd[link.v]))
            v = R @ v
            # r = p + R r_c and r' = v + R (r'_c + w × r_c)
            P_c = R @ (c.P + np.cross(w, c.h)) + c.m * v
            spun = rotated_moments(link, q, c.N + hat(w) @ c.sigma, False)
            N = N + spun + np.outer(v, R @ c.h) + np.outer(P_c, p)
            P = P + P_c
        return CompositeMoments(*still[i], P, N)

    return inward(model, step)


def changes(
    body: Body, placement: Placement, parent: LinkMotion, own: LinkMotion, qd: Vector
) -> tuple[Change, Change]:
    """Change of a body's motion by its coordinates, by q and by q̇."""
    s, w = body.subspace[0:3], body.subspace[3:6]
    v, w_rel = Motion.of(body.subspace @ qd[body.v])
    turn, alpha = hat(placement.R.T @ parent.omega), hat(placement.R.T @ parent.alpha)
    a = placement.acceleration_to_child(parent.a, parent.U)
    omega_w = turn @ w
    by_q = _change(
        own.omega,
        omega_w,
        alpha @ w - hat(w_rel) @ omega_w,
        hat(a) @ w + alpha @ s + turn @ (turn @ s) - hat(2.0 * v) @ omega_w,
    )
    both = turn + hat(own.omega)
    return by_q, _change(own.omega, w, omega_w, both @ s - hat(v) @ w)


def responses(
    body: Body, c: CompositeMoments, by: tuple[Change, Change], omega: Vector3, wrench: Force
) -> Responses:
    """Of the body's own coordinates, about its origin, in its axes."""
    s, w = body.subspace[0:3], body.subspace[3:6]
    still = np.zeros((3, body.chart.nv))
    wrenches = [
        _response(c, omega, *(x[:, k] for x in change[0:3]))
        for change in (_change(omega, still, w, s), *by)
        for k in range(body.chart.nv)
    ]
    f, n = (np.stack(half, axis=1) for half in zip(*wrenches, strict=True))
    # by q the wrench turns along
    force, moment = (hat(x) for x in wrench)
    none = np.zeros_like(s)
    f = f - np.concatenate([none, force @ w, none], axis=1)
    n = n - np.concatenate([none, moment @ w + force @ s, none], axis=1)
    spin = 2.0 * omega
    P = c.P + np.cross(spin, c.h)
    b = hat(P) @ s + np.trace(c.N) * w - c.N.T @ w + c.sigma @ (hat(spin) @ w)
    return Responses(f, n, b, body.chart.nv)


def _response(
    c: CompositeMoments, omega: Vector3, d_omega: Vector3, d_alpha: Vector3, d_a: Vector3
) -> Force:
    """The wrench that gives all that is carried δa + δU r + 2 δω × r'."""
    dU = acceleration_matrix_change(omega, d_omega, d_alpha)
    f, n = wrench_of_moments(c.m, c.h, c.sigma, d_a, dU)
    return Force(f + np.cross(d_omega, c.P), n + np.trace(c.N) * d_omega - c.N @ d_omega)


BlockDerivatives = tuple[Matrix, Matrix, Matrix, Matrix, Matrix]


def inverse_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, qdd: Vector, **options: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ = M), each (nv, nv), row i for τ_i.

    q varies in the tangent space: ∂/∂q_j is along `integrate(q, δ)` at δ = 0. Of friction, the
    viscous part counts; Coulomb's is constant where it is defined. `options` are `tip_wrench`,
    `base_twist` and `base_acceleration`.
    """
    by_q, by_qd, M, own_q, own_qd = derivatives_by_blocks(model, q, qd, qdd, **options)
    return by_q + M @ own_q, by_qd + M @ own_qd, M


def derivatives_by_blocks(
    model: Model, q: Vector, qd: Vector, qdd: Vector, **options: Any
) -> BlockDerivatives:
    """(by_q, by_qd, M, own_q, own_qd): ∂τ/∂q = by_q + M own_q and ∂τ/∂q̇ = by_qd + M own_qd.

    Block by block of coordinates of which one carries the other. `own` is the change of motion of
    bodies that float freely from the base: their coordinates alone compensate it, so that −M⁻¹ ∂τ/∂q
    needs no solution there.
    """
    whole, model = model, model.minimal
    inputs = Inputs(model, q, qd, qdd, **options)
    base, placements, moving = base_motion(inputs), inputs.placements, motions(inputs, qdd)
    wrenches = link_wrenches(inputs, moving)
    moments = composite_moments(model, q, placements, qd)
    bodies = model.bodies
    parents = [moving[body.parent] if body.parent >= 0 else base for body in bodies]
    # velocity of every body's origin relative to its parent's origin, in the parent's axes
    shifts = [
        np.cross(parent.omega, X.p) + X.R @ (b.subspace[0:3] @ qd[b.v])
        for b, X, parent in zip(bodies, placements, parents, strict=True)
    ]
    changed = [changes(b, placements[i], parents[i], moving[i], qd) for i, b in enumerate(bodies)]
    M: Blocks = {}
    by: tuple[Blocks, Blocks] = {}, {}
    for i, body in enumerate(bodies):
        first = responses(body, moments[i], changed[i], moving[i].omega, wrenches[i])
        for j, response in _inward(model, i, placements, shifts, first):
            # Sᵀ (f, n) of the responses by q̈, q and q̇: τ of the joints that carry
            S, k = bodies[j].subspace, response.k
            tau = S[0:3].T @ response.f + S[3:6].T @ response.n
            M[j, i], *columns = (tau[:, c * k : (c + 1) * k] for c in range(3))
            for blocks, column, change in zip(by, columns, changed[j], strict=True):
                if j != i:
                    blocks[j, i] = column
                # ∂τ of joints beyond body j, or its own; F · twist is M own where the body floats
                rows = response.b.T @ change.omega
                if not floats(bodies[j]):
                    f, n = response.f[:, 0:k], response.n[:, 0:k]
                    rows = rows + f.T @ change.twist[0] + n.T @ change.twist[1]
                blocks[i, j] = rows
    own = [
        {(i, i): np.concatenate(changed[i][c].twist) for i, b in enumerate(bodies) if floats(b)}
        for c in (0, 1)
    ]
    return _with_drives(whole, q, qd, qdd, M, by, own)


def floats(body: Body) -> bool:
    """Whether the body has all six degrees of freedom relative to the base."""
    return body.parent < 0 and body.chart.nv == 6


def _with_drives(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    M: Blocks,
    by: Sequence[Blocks],
    own: Sequence[Blocks],
) -> BlockDerivatives:
    """The matrices, with rotors, viscous friction and elements."""
    own_q, own_qd = (from_blocks(model, some) for some in own)
    # M own is of the bodies alone
    by_q, by_qd = (
        from_blocks(model, some) - model.drive.rotor.reshape(-1, 1) * own_change
        for some, own_change in zip(by, (own_q, own_qd), strict=True)
    )
    more_q, more_qd = [], []
    if model.elements:
        dq, dqd, _ = jacobians(_element_torque, model, q, qd, qdd)
        more_q, more_qd = [dq], [dqd]
    for inertia in tendon_inertia(model, q):
        more_q, more_qd = [*more_q, -inertia @ own_q], [*more_qd, -inertia @ own_qd]
    by_q, by_qd = add(by_q, more_q), add(by_qd + np.diag(model.drive.viscous), more_qd)
    return by_q, by_qd, assemble(model, M) + joint_inertia(model, q), own_q, own_qd


def _element_torque(model: Model, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """The torques (nv,) of elements."""
    stored, damped = conservative(model, q), dissipative(model, q, qd)
    inertial = tendon_acceleration_torques(model, q, qdd)
    return add(np.zeros(model.nv), stored, damped, velocity_torques(model, q, qd), inertial)


def _inward(
    model: Model, i: int, placements: Placements, shifts: list[Vector3], first: Responses
) -> Iterator[tuple[int, Responses]]:
    """The responses of the coordinates of body i, seen from it and every body below it."""
    f, n, b, k = first
    yield i, first
    while model.bodies[i].parent >= 0:
        R, p = placements[i]
        f = R @ f
        n = R @ n + hat(p) @ f
        # relative to the parent's origin all particles are faster by u
        b = R @ b + hat(2.0 * shifts[i]) @ f[:, 0:k]
        i = model.bodies[i].parent
        yield i, Responses(f, n, b, k)
