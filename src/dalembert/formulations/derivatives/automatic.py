"""The same derivatives by automatic differentiation, beside the recursion of their own.

q moves by `integrate(q, δ)` and is differentiated with respect to δ at δ = 0, so that spherical and
free joints have tangent-space slopes like all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.formulations.forward.articulated_body import forward_dynamics
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.model import Model
from dalembert.spatial.arrays import Matrix, Vector


def inverse_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, qdd: Vector, **known: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂τ/∂q, ∂τ/∂q̇, M), each (nv, nv)."""
    return slopes(inverse_dynamics, model, q, qd, qdd, **known)


def forward_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, tau: Vector, **known: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, M⁻¹), each (nv, nv)."""
    return slopes(forward_dynamics, model, q, qd, tau, **known)


def slopes(
    function: Callable[..., Any], model: Model, q: Vector, qd: Vector, last: Vector, **known: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """Jacobians of function(model, q, qd, last, **known) with respect to its three arrays."""
    symbols = [tracing.symbol(name, model.nv) for name in ("delta", "rate", "last")]
    delta, rate, third = symbols
    value = function(model, model.integrate(q, delta), rate, third, **known)
    slopes = [tracing.jacobian(value, x) for x in symbols]
    by_position, by_rate, by_last = tracing.at(slopes, symbols, [np.zeros(model.nv), qd, last])
    return by_position, by_rate, by_last
