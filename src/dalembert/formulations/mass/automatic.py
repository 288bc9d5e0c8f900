"""Derivatives by automatic differentiation, beside the closed forms."""

from __future__ import annotations

from dalembert import tracing
from dalembert.formulations.mass.christoffel import from_derivative
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.mass.screw_sum import require_coordinates
from dalembert.model import Model
from dalembert.spatial.arrays import Array, Vector


def mass_matrix_derivative(model: Model, q: Vector) -> Array:
    """∂M_ij/∂q_k (nv, nv, nv), k the last index, of the mass matrix by composite bodies."""
    require_coordinates(model)
    x = tracing.symbol("x", model.nq)
    return tracing.at([tracing.jacobian(mass_matrix(model, x), x)], [x], [q])[0]


def christoffel(model: Model, q: Vector) -> Array:
    """Γ_ijk (nv, nv, nv), i the row, from that derivative: fewer operations than the closed form."""
    return from_derivative(mass_matrix_derivative(model, q))
