"""Forward dynamics by articulated bodies, O(n): Featherstone (1983), 000 p.48–50.

A body with free joints beyond it answers a wrench with an acceleration as if it had the articulated
inertia M̂ and a bias wrench b: F = M̂ A + b. Here A is the acceleration beyond that of the motion
with q̈ = 0, so b collects exactly the wrenches of that motion and no velocity products remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.formulations.inverse.newton_euler import base_motion, motions
from dalembert.formulations.parts.body_wrench import inertial_wrench
from dalembert.formulations.parts.drive import resisting
from dalembert.formulations.parts.passes import inward, outward, transforms
from dalembert.linalg.symmetric import congruence, symmetric
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix6, Twist, Vector, Wrench
from dalembert.spatial.placement import Placement, split
from dalembert.spatial.rotations import hat


class Articulated(NamedTuple):
    """A body seen from its parent's side of the joint, in its own frame."""

    inertia: Matrix6  # M̂ − M̂ S D⁻¹ Sᵀ M̂ (6, 6)
    bias: Wrench  # b + M̂ S D⁻¹ u (6,)
    MS: Matrix  # M̂ S (6, k)
    D_inverse: Matrix  # (Sᵀ M̂ S + rotor)⁻¹ (k, k)
    u: Vector  # τ − Sᵀ b (k,)


def forward_dynamics(
    model: Model,
    q: Vector,
    qd: Vector,
    tau: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """q̈ (nv,) with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ."""
    placed = transforms(model, q)
    moving = motions(model, placed, qd, None, base_motion(model, base_twist, base_acceleration))
    biases = [
        np.concatenate(inertial_wrench(body, moving[i].a, moving[i].U))
        for i, body in enumerate(model.bodies)
    ]
    tool = model.frame(model.tool)
    if tip_wrench is not None and tool.body >= 0:  # what presses on the base moves nothing
        pressed = np.concatenate(tool.placement.force_to_parent(split(tip_wrench)))
        biases[tool.body] = biases[tool.body] + pressed
    return _answered(model, placed, biases, tau - resisting(model, q, qd))


def solve(model: Model, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,): the same where nothing else acts and nothing moves."""
    return _answered(model, transforms(model, q), [np.zeros(6)] * len(model.bodies), tau)


def _answered(
    model: Model, placed: Sequence[Placement], biases: Sequence[Wrench], drive: Vector
) -> Vector:
    """q̈ (nv,) under torques `drive`, beyond the wrenches of the motion with q̈ = 0 on every body."""

    def gather(i: int, body: Body, children: list[tuple[int, Articulated]]) -> Articulated:
        inertia, bias = body.spatial_inertia, biases[i]
        for child, beyond in children:
            inertia = inertia + inertia_in_parent(placed[child], beyond.inertia)
            bias = bias + np.concatenate(placed[child].force_to_parent(split(beyond.bias)))
        return through_joint(body, inertia, bias, drive[body.v], model.drive.rotor[body.v])

    seen = inward(model, gather)

    def accelerate(i: int, body: Body, parent: Twist) -> Vector:
        carried = np.concatenate(placed[i].motion_to_child(split(parent)))
        qdd = seen[i].D_inverse @ (seen[i].u - seen[i].MS.T @ carried)
        results[i] = qdd
        return carried + body.subspace @ qdd

    results: dict[int, Vector] = {}
    outward(model, np.zeros(6), accelerate)
    return np.concatenate([results[i] for i in range(len(model.bodies))])


def through_joint(
    body: Body, inertia: Matrix6, bias: Wrench, tau: Vector, rotor: Vector
) -> Articulated:
    """What the parent feels of an articulated body behind its joint (000 p.50)."""
    S = body.subspace
    MS = inertia @ S
    D = S.T @ MS + np.diag(rotor)
    D_inverse = 1.0 / D if D.shape == (1, 1) else np.linalg.inv(D)
    u = tau - S.T @ bias
    gain = MS @ D_inverse
    reduced = symmetric(lambda i, j: inertia[i, j] - gain[i] @ MS[j], 6)
    return Articulated(reduced, bias + gain @ u, MS, D_inverse, u)


def inertia_in_parent(place: Placement, inertia: Matrix6) -> Matrix6:
    """Ad_{g⁻¹}ᵀ M Ad_{g⁻¹} (6, 6), by blocks: A the mass, B the coupling, C the rotation."""
    R, p = place
    A = congruence(R, inertia[0:3, 0:3])
    B = R @ inertia[0:3, 3:6] @ R.T
    P = hat(p)
    shifted = B - A @ P  # coupling about the parent's origin
    half = P @ B
    C = congruence(R, inertia[3:6, 3:6])
    # C + p^B + (p^B)ᵀ − p^A p^
    square = P @ A
    moved = symmetric(lambda i, j: C[i, j] + half[i, j] + half[j, i] - square[i] @ P[:, j])
    return np.block([[A, shifted], [shifted.T, moved]])
