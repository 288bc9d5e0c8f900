"""First derivatives of forward dynamics, from those of inverse dynamics at the same motion.

τ = ID(q, q̇, q̈(q, q̇, τ)) differentiated gives ∂q̈/∂x = −M⁻¹ ∂ID/∂x and ∂q̈/∂τ = M⁻¹ (Jain and
Rodriguez 1993; Carpentier and Mansard 2018). Traced as one program, M, its factor and the velocities
are shared with inverse dynamics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations.derivatives.inverse import derivatives_by_blocks
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.linalg.factorisations import TreeFactor
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Vector


def forward_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, tau: Vector, **options: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ = M⁻¹), each (nv, nv), row i for q̈_i; q in its tangent space."""
    M = mass_matrix(model, q)
    # for every velocity coordinate the coordinates of the joints that carry it, from the base
    paths: list[list[int]] = []
    for body, line in zip(model.bodies, model.supports, strict=True):
        moving = [k for j in line for k in range(model.bodies[j].v.start, model.bodies[j].v.stop)]
        paths += [[c for c in moving if c < k] for k in range(body.v.start, body.v.stop)]
    if model.elements.tendons_with_inertia:  # they couple branches
        paths = [list(range(k)) for k in range(model.nv)]
    factor = TreeFactor(M, paths)
    M_inverse = factor.inverse()
    net = tau - inverse_dynamics(model, q, qd, np.zeros(model.nv), **options)
    qdd = factor.solve(net.reshape(-1, 1)).ravel()
    by_q, by_qd, _, own_q, own_qd = derivatives_by_blocks(model, q, qd, qdd, **options)
    by_q, by_qd = factor.solve(by_q, -1.0), factor.solve(by_qd, -1.0)
    return by_q - own_q, by_qd - own_qd, M_inverse
