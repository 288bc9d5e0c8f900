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
from typing import NamedTuple

import numpy as np

from dalembert.formulations.derivatives.automatic import slopes
from dalembert.formulations.inverse.newton_euler import (
    LinkMotion,
    base_motion,
    link_wrenches,
    motions,
)
from dalembert.formulations.mass.composite_body import Blocks, assemble, composites, from_blocks
from dalembert.formulations.parts.body_wrench import acceleration_slope, wrench_of_moments
from dalembert.formulations.parts.elements import add, conservative, dissipative, turning
from dalembert.formulations.parts.passes import Placed, inward, transforms
from dalembert.formulations.parts.turned import turned
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Twist, Vector, Vector3, Wrench
from dalembert.spatial.placement import Force, Placement, split
from dalembert.spatial.rotations import hat

# what the coordinates of a body change of its motion, and of the wrench of all that it carries


class Carried(NamedTuple):
    """Moments of a body with all that it carries, about its origin, in its frame."""

    m: Scalar
    h: Vector3  # ∫ r dm
    sigma: Matrix3  # ∫ r rᵀ dm
    P: Vector3  # 2 ∫ r' dm, r' the velocity as seen from the body
    N: Matrix3  # 2 ∫ r' rᵀ dm


class Change(NamedTuple):
    """What the k coordinates of a body change of its motion, each (3, k) in its axes."""

    omega: Matrix
    alpha: Matrix
    a: Matrix
    twist: tuple[Matrix, Matrix]  # (δa, δα + ω × δω), which F of the joints beyond weighs


def _change(omega: Vector3, d_omega: Matrix, d_alpha: Matrix, d_a: Matrix) -> Change:
    return Change(d_omega, d_alpha, d_a, (d_a, d_alpha + hat(omega) @ d_omega))


class Responses(NamedTuple):
    """What k coordinates do to the wrench of all they carry, by q̈, q and q̇ beside each other."""

    f: Matrix  # (3, 3k)
    n: Matrix  # (3, 3k)
    b: Matrix  # (3, k): weighs the δω of joints below
    k: int


def carried(model: Model, q: Vector, placed: Placed, qd: Vector) -> list[Carried]:
    """Moments of every body with all that it carries, inward."""
    still = composites(model, q, placed)

    def step(i: int, body: Body, children: list[tuple[int, Carried]]) -> Carried:
        P, N = np.zeros(3), np.zeros((3, 3))  # the body itself stands still in its frame
        for child, c in children:
            R, p = placed[child]
            link = model.bodies[child]
            v, w = split(link.subspace @ (2.0 * qd[link.v]))
            v = R @ v
            # r = p + R r_c and r' = v + R (r'_c + w × r_c)
            P_c = R @ (c.P + np.cross(w, c.h)) + c.m * v
            spun = turned(link, q, c.N + hat(w) @ c.sigma, False)
            N = N + spun + np.outer(v, R @ c.h) + np.outer(P_c, p)
            P = P + P_c
        return Carried(*still[i], P, N)

    return inward(model, step)


def changes(
    body: Body, place: Placement, parent: LinkMotion, own: LinkMotion, qd: Vector
) -> tuple[Change, Change]:
    """What the body's coordinates change of its motion, by q and by q̇."""
    s, w = body.subspace[0:3], body.subspace[3:6]
    v, w_rel = split(body.subspace @ qd[body.v])
    turn, alpha = hat(place.R.T @ parent.omega), hat(place.R.T @ parent.alpha)
    a = place.acceleration_to_child(parent.a, parent.U)
    turned_w = turn @ w
    by_q = _change(
        own.omega,
        turned_w,
        alpha @ w - hat(w_rel) @ turned_w,
        hat(a) @ w + alpha @ s + turn @ (turn @ s) - hat(2.0 * v) @ turned_w,
    )
    both = turn + hat(own.omega)
    return by_q, _change(own.omega, w, turned_w, both @ s - hat(v) @ w)


def responses(
    body: Body, c: Carried, by: tuple[Change, Change], omega: Vector3, wrench: Force
) -> Responses:
    """Of the body's own coordinates, about its origin, in its axes."""
    s, w = body.subspace[0:3], body.subspace[3:6]
    still = np.zeros((3, body.chart.nv))
    found = [
        _response(c, omega, *(x[:, k] for x in change[0:3]))
        for change in (_change(omega, still, w, s), *by)
        for k in range(body.chart.nv)
    ]
    f, n = (np.stack(half, axis=1) for half in zip(*found, strict=True))
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
    c: Carried, omega: Vector3, d_omega: Vector3, d_alpha: Vector3, d_a: Vector3
) -> Force:
    """The wrench that gives all that is carried δa + δU r + 2 δω × r'."""
    dU = acceleration_slope(omega, d_omega, d_alpha)
    f, n = wrench_of_moments(c.m, c.h, c.sigma, d_a, dU)
    return f + np.cross(d_omega, c.P), n + np.trace(c.N) * d_omega - c.N @ d_omega


class Slopes(NamedTuple):
    """∂τ/∂q = by_q + M own_q and ∂τ/∂q̇ = by_qd + M own_qd, all (nv, nv).

    `own` is the change of motion of bodies that float freely from the base: their coordinates can make
    up for it alone, so that −M⁻¹ ∂τ/∂q needs no solution there.
    """

    by_q: Matrix
    by_qd: Matrix
    M: Matrix
    own_q: Matrix
    own_qd: Matrix


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
    by_q, by_qd, M, own_q, own_qd = slopes_by_blocks(
        model, q, qd, qdd, tip_wrench, base_twist, base_acceleration
    )
    return by_q + M @ own_q, by_qd + M @ own_qd, M


def slopes_by_blocks(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    tip_wrench: Wrench | None,
    base_twist: Twist | None,
    base_acceleration: Twist | None,
) -> Slopes:
    """The derivatives, block by block of coordinates of which one carries the other."""
    whole, model = model, model.lean
    base = base_motion(model, base_twist, base_acceleration)
    placed = transforms(model, q)
    moving = motions(model, placed, qd, qdd, base)
    wrenches = link_wrenches(model, placed, moving, tip_wrench)
    moments = carried(model, q, placed, qd)
    bodies = model.bodies
    parents = [moving[body.parent] if body.parent >= 0 else base for body in bodies]
    shifts = [_origin_velocity(b, placed[i], parents[i], qd) for i, b in enumerate(bodies)]
    changed = [changes(b, placed[i], parents[i], moving[i], qd) for i, b in enumerate(bodies)]
    M: Blocks = {}
    by: tuple[Blocks, Blocks] = {}, {}
    for i, body in enumerate(bodies):
        first = responses(body, moments[i], changed[i], moving[i].omega, wrenches[i])
        for j, seen in _inward(model, i, placed, shifts, first):
            M[j, i], *columns = _projected(bodies[j], seen)
            for blocks, column, change in zip(by, columns, changed[j], strict=True):
                if j != i:
                    blocks[j, i] = column
                blocks[i, j] = _weighed(bodies[j], seen, change)
    own = [
        {(i, i): np.concatenate(changed[i][c].twist) for i, b in enumerate(bodies) if floats(b)}
        for c in (0, 1)
    ]
    return _with_drives(whole, q, qd, M, by, own)


def _projected(body: Body, seen: Responses) -> list[Matrix]:
    """Sᵀ (f, n) of the responses by q̈, q and q̇: τ of joints that carry."""
    S, k = body.subspace, seen.k
    tau = S[0:3].T @ seen.f + S[3:6].T @ seen.n
    return [tau[:, c * k : (c + 1) * k] for c in range(3)]


def _weighed(body: Body, seen: Responses, change: Change) -> Matrix:
    """∂τ (k, k') of joints beyond a body, or its own; without F · twist where the body floats."""
    rows = seen.b.T @ change.omega
    if floats(body):
        return rows
    k = seen.k
    return rows + seen.f[:, 0:k].T @ change.twist[0] + seen.n[:, 0:k].T @ change.twist[1]


def floats(body: Body) -> bool:
    """Whether nothing holds the body: its coordinates make every motion relative to the base."""
    return body.parent < 0 and body.chart.nv == 6


def _with_drives(
    model: Model, q: Vector, qd: Vector, M: Blocks, by: Sequence[Blocks], own: Sequence[Blocks]
) -> Slopes:
    """The matrices, with rotors, viscous friction and elements."""
    viscous, rotor = model.drive.viscous, model.drive.rotor
    own_q, own_qd = (from_blocks(model, some) for some in own)
    # M own is of the bodies alone
    by_q, by_qd = (
        from_blocks(model, some) - rotor.reshape(-1, 1) * given
        for some, given in zip(by, (own_q, own_qd), strict=True)
    )
    more_q, more_qd = element_slopes(model, q, qd)
    return Slopes(
        add(by_q, more_q),
        add(by_qd + np.diag(viscous), more_qd),
        assemble(model, M) + np.diag(rotor),
        own_q,
        own_qd,
    )


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


def _origin_velocity(body: Body, place: Placement, parent: LinkMotion, qd: Vector) -> Vector3:
    """Velocity of the body's origin relative to its parent's origin, in the parent's axes."""
    return np.cross(parent.omega, place.p) + place.R @ (body.subspace[0:3] @ qd[body.v])


def _inward(
    model: Model, i: int, placed: Placed, shifts: list[Vector3], first: Responses
) -> Iterator[tuple[int, Responses]]:
    """The responses of the coordinates of body i, seen from it and every body below it."""
    f, n, b, k = first
    yield i, first
    while model.bodies[i].parent >= 0:
        R, p = placed[i]
        f = R @ f
        n = R @ n + hat(p) @ f
        # relative to the parent's origin all particles are faster by u
        b = R @ b + hat(2.0 * shifts[i]) @ f[:, 0:k]
        i = model.bodies[i].parent
        yield i, Responses(f, n, b, k)
