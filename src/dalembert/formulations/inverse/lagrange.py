"""Lagrange's equations in coordinates: M(θ) θ̈ + C(θ, θ̇) θ̇ + N(θ) = τ (000 p.21–24, p.31; 002).

M from the body Jacobians J_i, written in the spatial frame as Property 2 has them, C from the
Christoffel symbols of its closed form of ∂M/∂θ, N from the potential. All joints must have one
degree each: the velocity of a ball is no rate of coordinates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formulations.mass.christoffel import coriolis_matrix
from dalembert.formulations.mass.screw_sum import mass_matrix, require_coordinates
from dalembert.formulations.parts.base_motion import weight_torque, with_base_coordinates
from dalembert.formulations.parts.elements import add, resistance, tendon_acceleration_torques
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.spatial.arrays import Vector


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; `gravity` as "base" motion or "potential"."""
    model, q, qd, qdd = inputs.model, inputs.q, inputs.qd, inputs.qdd
    require_coordinates(model)
    grounded, base_acceleration = model, inputs.base_acceleration
    if inputs.is_by_base:
        grounded = replace(model, gravity=np.zeros(3))
        _, base_acceleration = inputs.base_twists
    extended = with_base_coordinates(grounded, q, qd, qdd, inputs.base_twist, base_acceleration)
    bodies, q_all, qd_all, qdd_all, own = extended
    tau = mass_matrix(bodies, q_all) @ qdd_all + coriolis_matrix(bodies, q_all, qd_all) @ qd_all
    tau = (tau + weight_torque(bodies, q_all))[own]
    tau = add(tau + resistance(model, q, qd), tendon_acceleration_torques(model, q, qdd))
    return inputs.with_tip_torques(tau)
