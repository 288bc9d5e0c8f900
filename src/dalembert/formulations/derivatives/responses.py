"""What the coordinates of a body change of its motion, and of the wrench of all that it carries.

The equations stand in `inverse`, which sums these up along the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.formulations.inverse.newton_euler import LinkMotion
from dalembert.formulations.mass.composite_body import composites
from dalembert.formulations.parts.body_wrench import acceleration_slope, wrench_of_moments
from dalembert.formulations.parts.passes import Placed, inward
from dalembert.formulations.parts.turned import turned
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.placement import Force, Placement, split
from dalembert.spatial.rotations import hat


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
