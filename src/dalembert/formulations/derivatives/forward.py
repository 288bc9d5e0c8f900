"""First derivatives of forward dynamics, from those of inverse dynamics at the same motion.

τ = ID(q, q̇, q̈(q, q̇, τ)) differentiated gives ∂q̈/∂x = −M⁻¹ ∂ID/∂x and ∂q̈/∂τ = M⁻¹ (Jain and
Rodriguez 1993; Carpentier and Mansard 2018). Traced as one program, M, its factor and the velocities
are shared with inverse dynamics.
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.derivatives.inverse import inverse_dynamics_derivatives
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.linalg.tree import tree_inverse
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Twist, Vector, Wrench


def forward_dynamics_derivatives(
    model: Model,
    q: Vector,
    qd: Vector,
    tau: Vector,
    tip_wrench: Wrench | None = None,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ = M⁻¹), each (nv, nv), row i for q̈_i; q in its tangent space."""
    known = (tip_wrench, base_twist, base_acceleration)
    still = np.zeros(model.nv)
    _, _, M = inverse_dynamics_derivatives(model, q, qd, still, *known)
    M_inverse = tree_inverse(M)
    qdd = M_inverse @ (tau - inverse_dynamics(model, q, qd, still, *known))
    dq, dqd, _ = inverse_dynamics_derivatives(model, q, qd, qdd, *known)
    return -(M_inverse @ dq), -(M_inverse @ dqd), M_inverse
