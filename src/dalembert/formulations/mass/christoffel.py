"""Velocity terms from ∂M/∂q alone: Christoffel symbols (000 p.23), 003's V, Khatib's B and C."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dalembert.formulations.mass.screw_sum import (
    mass_matrix,
    mass_matrix_derivative,
    mass_matrix_partials,
    require_coordinates,
)
from dalembert.formulations.parts.base_motion import weight_torque, with_base_coordinates
from dalembert.formulations.parts.elements import with_element_bias
from dalembert.model import Model
from dalembert.spatial.arrays import Array, Matrix, Twist, Vector


def christoffel(model: Model, q: Vector) -> Array:
    """Γ_ijk (nv, nv, nv) = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row (000 p.23)."""
    return from_derivative(mass_matrix_derivative(model, q))


def from_derivative(D: Array) -> Array:
    """Γ_ijk from D_ijk = ∂M_ij/∂q_k."""
    result: Array = 0.5 * (D + np.transpose(D, (0, 2, 1)) - np.transpose(D, (2, 1, 0)))
    return result


def coriolis_matrix(model: Model, q: Vector, qd: Vector) -> Matrix:
    """C_ij (nv, nv) = Σ_k Γ_ijk q̇_k, for which Ṁ − 2C is skew (000 p.23–24)."""
    return christoffel(model, q) @ qd


def coriolis_centrifugal(model: Model, q: Vector) -> tuple[Matrix, Matrix]:
    """Khatib's (B, C) with V = B(q)[q̇q̇] + C(q)[q̇²] (003).

    B (nv, nv(nv−1)/2) has the columns 2Γ_{i,jk} in the order of the pairs 12, 13, …, (n−1)n, and
    C (nv, nv) the columns Γ_{i,jj}.
    """
    return products_and_squares(christoffel(model, q))


def products_and_squares(Gamma: Array) -> tuple[Matrix, Matrix]:
    """Khatib's (B, C) of Christoffel symbols (n, n, n)."""
    n = Gamma.shape[0]
    columns = Gamma.reshape(n, n * n)
    C = np.stack([columns[:, j * n + j] for j in range(n)]).T
    if n == 1:
        return np.zeros((1, 0)), C
    return np.stack([2.0 * columns[:, j * n + k] for j, k in combinations(range(n), 2)]).T, C


def bias(
    model: Model,
    q: Vector,
    qd: Vector,
    base_twist: Twist | None = None,
    base_acceleration: Twist | None = None,
) -> Vector:
    """h (nv,) = Ṁ q̇ − ½ [q̇ᵀ M_{q_i} q̇] + ∂U/∂q, without friction (003)."""
    require_coordinates(model)
    extended = with_base_coordinates(
        model, q, qd, np.zeros(model.nv), base_twist, base_acceleration
    )
    # V = Ṁ q̇ − ½ [q̇ᵀ M_{q_1} q̇, …, q̇ᵀ M_{q_n} q̇], where Ṁ q̇ = Σ_k (∂M/∂q_k q̇) q̇_k
    partials = mass_matrix_partials(extended.model, extended.q)
    products = np.stack([dM @ extended.qd for dM in partials])
    h = products.T @ extended.qd - 0.5 * (products @ extended.qd)
    h = h + weight_torque(extended.model, extended.q)
    if base_twist is not None or base_acceleration is not None:
        h = h + mass_matrix(extended.model, extended.q) @ extended.qdd
    return with_element_bias(model, h[extended.own], q, qd)
