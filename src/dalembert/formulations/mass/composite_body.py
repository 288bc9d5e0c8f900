"""Mass matrix by composite bodies: each joint moves everything beyond it as one rigid body.

Walker and Orin (1982), method 3; Featherstone (2008) §6.2. A composite is its mass, first moment h
and second moment Σ = ∫ r rᵀ dm, which add, change frame and pass a joint more cheaply than tensors.
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.parts.elements import joint_inertia
from dalembert.formulations.parts.rigid_body import rotated_moments
from dalembert.formulations.parts.sweeps import Placements, inward, transforms
from dalembert.linalg.factorisations import add_outer, symmetric
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.se3 import Force, cross

Composite = tuple[Scalar, Vector3, Matrix3]  # m, h, Σ
Blocks = dict[tuple[int, int], Matrix]  # rows of one body, columns of another


def composites(model: Model, q: Vector, placements: Placements) -> list[Composite]:
    """Mass, first and second moment of every body with all that it carries, in its own frame."""

    def step(i: int, body: Body, children: list[tuple[int, Composite]]) -> Composite:
        m, h, sigma = body.mass, body.moment, body.second_moment
        for child, (m_c, h_c, sigma_c) in children:
            R, p = placements[child]
            Rh = R @ h_c
            rotated = rotated_moments(model.bodies[child], q, sigma_c, True)
            # r = p + R r_c:  Σ = R Σ_c Rᵀ + (R h_c) pᵀ + p (R h_c)ᵀ + m_c p pᵀ
            sigma = sigma + add_outer(rotated, Rh + 0.5 * m_c * p, p)
            m, h = m + m_c, h + Rh + m_c * p
        return m, h, sigma

    return inward(model, step)


def mass_matrix(model: Model, q: Vector) -> Matrix:
    """M (nv, nv), with the inertia of rotors and tendons: M_ij = S_jᵀ X (composite_i S_i)."""
    bodies = model.minimal
    placements = transforms(bodies, q)
    blocks: Blocks = {}
    for i, (m, h, sigma) in enumerate(composites(bodies, q, placements)):
        S = bodies.bodies[i].subspace
        linear, angular = S[0:3], S[3:6]
        # wrench of the composite for unit accelerations of joint i, with I = tr Σ − Σ:
        # f = m v + ω × h, n = h × v + I ω
        f = m * linear - cross(h, angular)
        F = Force(f, cross(h, linear) + np.trace(sigma) * angular - sigma @ angular)
        for j in reversed(bodies.supports[i]):
            S = bodies.bodies[j].subspace
            blocks[j, i] = S[0:3].T @ F.linear + S[3:6].T @ F.angular
            if bodies.bodies[j].parent >= 0:
                F = placements[j].act(F)
    return assemble(bodies, blocks) + joint_inertia(model, q)


def assemble(model: Model, upper: Blocks) -> Matrix:
    """The full symmetric matrix from its blocks (j, i), j ≤ i; absent ones are zero."""
    lower = {(i, j): block.T for (j, i), block in upper.items() if i != j}
    own = {(i, j): _mirrored(block) for (j, i), block in upper.items() if i == j}
    return from_blocks(model, {**upper, **lower, **own})


def from_blocks(model: Model, blocks: Blocks) -> Matrix:
    """The (nv, nv) matrix with these blocks of rows of body j and columns of body i; else zero."""
    widths = [body.chart.nv for body in model.bodies]
    rows = []
    for j, height in enumerate(widths):
        # the blocks beside each other; zeros between branches, most of a large tree, as one
        parts: list[Matrix] = []
        empty = 0
        for i, width in enumerate(widths):
            if (j, i) not in blocks:
                empty += width
                continue
            if empty:
                parts.append(np.zeros((height, empty)))
                empty = 0
            parts.append(blocks[j, i])
        parts += [np.zeros((height, empty))] if empty else []
        rows.append(np.concatenate(parts, axis=1))
    return np.concatenate(rows)


def _mirrored(block: Matrix) -> Matrix:
    """A symmetric block with its lower half taken from the upper one, to the last bit."""
    return symmetric(lambda i, j: block[i, j], block.shape[0])
