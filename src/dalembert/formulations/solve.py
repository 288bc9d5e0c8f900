"""Forward dynamics by solving M q̈ = τ − h, with M factored in four ways.

h = C q̇ + N + J_tᵀ F_t + friction is the torque of the motion with q̈ = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations import composite_body, newton_euler, operator
from dalembert.formulations.square_root import square_root, square_root_inverse, symmetric_roots
from dalembert.formulations.triangular import (
    back_substitution,
    cholesky_solve,
    forward_substitution,
)
from dalembert.model import Model


def by_composite_body(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    tip_wrench: Any = None,
    base_twist: Any = None,
    base_acceleration: Any = None,
) -> Any:
    """q̈ (nv,) by Cholesky's factor of M (Walker and Orin 1982)."""
    still = np.zeros(model.nv)
    h = newton_euler.inverse_dynamics(
        model, q, qd, still, tip_wrench, base_twist, base_acceleration
    )
    return cholesky_solve(composite_body.mass_matrix(model, q), tau - h)


def by_square_root(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    tip_wrench: Any = None,
    base_twist: Any = None,
    base_acceleration: Any = None,
) -> Any:
    """q̈ (nv,) from W (Wᵀ q̈) = τ − h, W the triangular root of articulated inertias (000 p.50)."""
    still = np.zeros(model.nv)
    h = newton_euler.inverse_dynamics(
        model, q, qd, still, tip_wrench, base_twist, base_acceleration
    )
    W = square_root(model, q)
    return forward_substitution(W.T, back_substitution(W, tau - h))


def by_symmetric_root(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    tip_wrench: Any = None,
    base_twist: Any = None,
    base_acceleration: Any = None,
) -> Any:
    """q̈ (nv,) = M^{−1/2} M^{−1/2} (τ − h), with the root of v = M^{1/2} q̇ (003)."""
    still = np.zeros(model.nv)
    h = newton_euler.inverse_dynamics(
        model, q, qd, still, tip_wrench, base_twist, base_acceleration
    )
    _, inverse = symmetric_roots(composite_body.mass_matrix(model, q))
    return inverse @ (inverse @ (tau - h))


def by_operator(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    tip_wrench: Any = None,
    base_twist: Any = None,
    base_acceleration: Any = None,
) -> Any:
    """q̈ (nv,) = W⁻ᵀ W⁻¹ (τ − h), all in stacked operators (000 p.47 and p.50)."""
    still = np.zeros(model.nv)
    h = operator.inverse_dynamics(model, q, qd, still, tip_wrench, base_twist, base_acceleration)
    W_inverse = square_root_inverse(model, q)
    return W_inverse.T @ (W_inverse @ (tau - h))
