"""Derivatives by automatic differentiation, beside the recursive and closed forms.

q moves by `integrate(q, δ)` and is differentiated with respect to δ at δ = 0, so that spherical and
free joints have tangent-space derivatives like all others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert import tracing
from dalembert.formulations.forward.articulated_body import forward_dynamics
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.formulations.mass.christoffel import from_derivative
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.mass.screw_sum import require_coordinates
from dalembert.model import Model
from dalembert.spatial.arrays import Array, Matrix, Vector


def inverse_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, qdd: Vector, **options: Vector
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂τ/∂q, ∂τ/∂q̇, M), each (nv, nv)."""
    return jacobians(inverse_dynamics, model, q, qd, qdd, **options)


def forward_dynamics_derivatives(
    model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, M⁻¹), each (nv, nv)."""
    return jacobians(forward_dynamics, model, q, qd, tau, **options)


def jacobians(
    function: Callable[..., Vector],
    model: Model,
    q: Vector,
    qd: Vector,
    last: Vector,
    **options: Vector,
) -> tuple[Matrix, Matrix, Matrix]:
    """Jacobians of function(model, q, qd, last, **options) with respect to its three arrays."""
    symbols = [tracing.symbol(name, model.nv) for name in ("delta", "rate", "last")]
    delta, rate, third = symbols
    value = function(model, model.integrate(q, delta), rate, third, **options)
    derivatives = [tracing.jacobian(value, x) for x in symbols]
    by_q, by_qd, by_last = tracing.at(derivatives, symbols, [np.zeros(model.nv), qd, last])
    return by_q, by_qd, by_last


def mass_matrix_derivative(model: Model, q: Vector) -> Array:
    """∂M_ij/∂q_k (nv, nv, nv), k the last index, of the mass matrix by composite bodies."""
    require_coordinates(model)
    x = tracing.symbol("x", model.nq)
    return tracing.at([tracing.jacobian(mass_matrix(model, x), x)], [x], [q])[0]


def christoffel(model: Model, q: Vector) -> Array:
    """Γ_ijk (nv, nv, nv), i the row, from that derivative: fewer operations than the closed form."""
    return from_derivative(mass_matrix_derivative(model, q))
