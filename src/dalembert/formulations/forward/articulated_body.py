"""Forward dynamics by articulated bodies, O(n): Featherstone (1983), 000 p.48–50.

A body with free joints beyond it answers a wrench with an acceleration as if it had the articulated
inertia M̂ and a bias wrench b: F = M̂ A + b. Here A is the acceleration beyond that of the motion
with q̈ = 0, so b collects exactly the wrenches of that motion and no velocity products remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.inverse.newton_euler import motions
from dalembert.formulations.parts.elements import inertial_rows, resistance
from dalembert.formulations.parts.inputs import Inputs
from dalembert.formulations.parts.rigid_body import inertial_wrench, rotated_moments
from dalembert.formulations.parts.sweeps import inward, outward, transforms
from dalembert.linalg.factorisations import cholesky_solve, symmetric, tree_inverse, tree_solve
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix6, Vector, Vector3
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import Force, Motion, Placement
from dalembert.tracing import is_symbolic


class Articulated(NamedTuple):
    """A body seen from its parent's side of the joint, in its own frame."""

    inertia: Matrix6  # M̂ − M̂ S D⁻¹ Sᵀ M̂ (6, 6)
    bias: Force  # b + M̂ S D⁻¹ u
    MS: Matrix  # M̂ S (6, k)
    D: Matrix  # Sᵀ M̂ S + rotor (k, k)
    u: Vector  # τ − Sᵀ b (k,)


def forward_dynamics(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Any) -> Vector:
    """q̈ (nv,) with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ.

    `options` are `tip_wrench`, `base_twist` and `base_acceleration`.
    """
    inputs = Inputs(model.minimal, q, qd, np.zeros(model.nv), **options)
    bodies, moving, tool = inputs.model, motions(inputs, None), inputs.tool
    pairs = zip(bodies.bodies, moving, strict=True)
    biases = [inertial_wrench(body, motion.a, motion.U) for body, motion in pairs]
    if tool.body >= 0:  # what presses on the base moves nothing
        biases[tool.body] = sum(inputs.tip_forces(tool.body), biases[tool.body])
    qdd = _accelerations(bodies, q, inputs.placements, biases, tau - resistance(model, q, qd))
    return _with_tendon_inertia(model, q, qdd)


def solve(model: Model, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,): forward dynamics without motion, gravity and wrenches."""
    return _with_tendon_inertia(model, q, _solve_bodies(model, q, tau))


def _solve_bodies(model: Model, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,) of the bodies and rotors, without tendons."""
    bodies = model.minimal
    still = [Force.zero()] * len(model.bodies)
    return _accelerations(bodies, q, transforms(bodies, q), still, tau)


def _with_tendon_inertia(model: Model, q: Vector, qdd: Vector) -> Vector:
    """q̈ (nv,) with tendons, from the one without: (M + Bᵀ B)⁻¹ M q̈ = q̈ − X (1 + B X)⁻¹ B q̈.

    B has the rows √a J of the tendons with inertia, and X = M⁻¹ Bᵀ (Woodbury).
    """
    rows = [np.sqrt(t.armature[0]) * row for t, row in inertial_rows(model, q)]
    if not rows:
        return qdd
    B = np.stack(rows)
    X = np.stack([_solve_bodies(model, q, row) for row in B]).T
    result: Vector = qdd - X @ cholesky_solve(np.eye(len(rows)) + B @ X, B @ qdd)
    return result


def _accelerations(
    model: Model, q: Vector, placements: Sequence[Placement], biases: Sequence[Force], drive: Vector
) -> Vector:
    """q̈ (nv,) under torques `drive`, beyond the wrenches of the motion with q̈ = 0 on every body."""

    def gather(i: int, body: Body, children: list[tuple[int, Articulated]]) -> Articulated:
        inertia, bias = body.spatial_inertia, biases[i]
        for child, beyond in children:
            link, X = model.bodies[child], placements[child]
            inertia = inertia + inertia_in_parent(link, q, X.p, beyond.inertia)
            bias = bias + X.act(beyond.bias)
        return through_joint(body, inertia, bias, drive[body.v], model.drive.rotor[body.v])

    behind = inward(model, gather)
    results: list[Vector] = []

    def accelerate(i: int, body: Body, parent: Motion) -> Motion:
        # A = X A_parent + S q̈  with  D q̈ = u − (M̂ S)ᵀ X A_parent
        own, A = behind[i], placements[i].act_inv(parent)
        left = own.u - own.MS.T @ A.array
        qdd = left / own.D[0] if own.D.shape == (1, 1) else tree_solve(own.D, left)
        results.append(qdd)
        return A + Motion.of(body.subspace @ qdd)

    outward(model, Motion.zero(), accelerate)
    return np.concatenate(results)


def through_joint(
    body: Body, inertia: Matrix6, bias: Force, tau: Vector, rotor: Vector
) -> Articulated:
    """An articulated body as its parent meets it, behind its joint (000 p.50)."""
    S, b = body.subspace, bias.array
    MS = inertia @ S
    D = S.T @ MS + np.diag(rotor)
    D_inverse = 1.0 / D if D.shape == (1, 1) else tree_inverse(D)
    u = tau - S.T @ b
    gain = MS @ D_inverse
    # along the one axis of a joint without a rotor, M̂ − M̂ S D⁻¹ Sᵀ M̂ is zero
    free: int | None = None
    if S.shape[1] == 1 and not (is_symbolic(S) or is_symbolic(rotor) or rotor.dtype != float):
        axes = np.flatnonzero(S[:, 0])
        free = int(axes[0]) if len(axes) == 1 and rotor[0] == 0.0 else None
    # along its free axis a joint carries its own torque
    wrench = [tau[0] / S[k, 0] if k == free else b[k] + gain[k] @ u for k in range(6)]
    beyond = symmetric(lambda i, j: 0.0 if free in (i, j) else inertia[i, j] - gain[i] @ MS[j], 6)
    return Articulated(beyond, Force.of(np.stack(wrench)), MS, D, u)


def inertia_in_parent(body: Body, q: Vector, p: Vector3, inertia: Matrix6) -> Matrix6:
    """Ad_{g⁻¹}ᵀ M Ad_{g⁻¹} (6, 6), by blocks: A the mass, B the coupling, C the rotation.

    g is the body's frame in its parent's, and p its origin there.
    """
    A = rotated_moments(body, q, inertia[0:3, 0:3], True)
    B = rotated_moments(body, q, inertia[0:3, 3:6], False)
    C = rotated_moments(body, q, inertia[3:6, 3:6], True)
    P = hat(p)
    shifted = B - A @ P  # coupling about the parent's origin
    # C + p^B + (p^B)ᵀ − p^A p^, which is C + ½ (p^T + (p^T)ᵀ) with T = B + (B − A p^)
    T = B + shifted
    diagonal, half = P @ T, (0.5 * P) @ T
    turned = symmetric(
        lambda i, j: C[i, j] + (diagonal[i, i] if i == j else half[i, j] + half[j, i])
    )
    return np.block([[A, shifted], [shifted.T, turned]])
