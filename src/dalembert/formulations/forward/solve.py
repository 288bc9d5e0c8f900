"""Forward dynamics by solving M q̈ = τ − h, with M factored in five ways.

h = C q̇ + N + J_tᵀ F_t + friction is the torque of the motion with q̈ = 0. Each function takes
(model, q, qd, tau) and, by name, tip_wrench, base_twist and base_acceleration.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.formulations.inverse import newton_euler, operator
from dalembert.formulations.mass import composite_body
from dalembert.formulations.mass.square_root import square_root, square_root_inverse
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.linalg.symmetric_root import symmetric_roots
from dalembert.linalg.tree import tree_solve
from dalembert.linalg.triangular import back_substitution, forward_substitution
from dalembert.model import Model
from dalembert.spatial.arrays import Vector


def torque_left(
    model: Model,
    q: Vector,
    qd: Vector,
    tau: Vector,
    given: dict[str, Any],
    route: ModuleType = newton_euler,
) -> Vector:
    """τ − h (nv,): what is left of the torques to accelerate the joints."""
    return tau - route.inverse_dynamics(model, q, qd, np.zeros(model.nv), **given)


def tree_factor(model: Model, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,) by M = Lᵀ D L."""
    return tree_solve(composite_body.mass_matrix(model, q), tau)


def by_composite_body(model: Model, q: Vector, qd: Vector, tau: Vector, **given: Any) -> Vector:
    """q̈ (nv,) by Cholesky's factor of M (Walker and Orin 1982)."""
    return cholesky_solve(
        composite_body.mass_matrix(model, q), torque_left(model, q, qd, tau, given)
    )


def by_tree_factor(model: Model, q: Vector, qd: Vector, tau: Vector, **given: Any) -> Vector:
    """q̈ (nv,) by M = Lᵀ D L, factored from the tips (Featherstone 2008, §6.5).

    This keeps the zeros between branches and needs no root. For arms of up to seven joints it is
    less arithmetic than articulated bodies.
    """
    return tree_factor(model, q, torque_left(model, q, qd, tau, given))


def by_square_root(model: Model, q: Vector, qd: Vector, tau: Vector, **given: Any) -> Vector:
    """q̈ (nv,) from W (Wᵀ q̈) = τ − h, W the triangular root of articulated inertias (000 p.50)."""
    W = square_root(model, q)
    left = torque_left(model, q, qd, tau, given)
    return forward_substitution(W.T, back_substitution(W, left))


def by_symmetric_root(model: Model, q: Vector, qd: Vector, tau: Vector, **given: Any) -> Vector:
    """q̈ (nv,) = M^{−1/2} M^{−1/2} (τ − h), with the root of v = M^{1/2} q̇ (003)."""
    _, inverse = symmetric_roots(composite_body.mass_matrix(model, q))
    return inverse @ (inverse @ torque_left(model, q, qd, tau, given))


def by_operator(model: Model, q: Vector, qd: Vector, tau: Vector, **given: Any) -> Vector:
    """q̈ (nv,) = W⁻ᵀ W⁻¹ (τ − h), all in stacked operators (000 p.47 and p.50)."""
    W_inverse = square_root_inverse(model, q)
    left = torque_left(model, q, qd, tau, given, operator)
    return W_inverse.T @ (W_inverse @ left)
