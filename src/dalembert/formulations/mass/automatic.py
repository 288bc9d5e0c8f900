"""Derivatives by CasADi's automatic differentiation, beside the closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations.mass.christoffel import from_derivative
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.mass.screw_sum import require_coordinates
from dalembert.model import Model
from dalembert.model.parameter import is_symbolic


def mass_matrix_derivative(model: Model, q: Any) -> Any:
    """∂M_ij/∂q_k (nv, nv, nv), k the last index, of the mass matrix by composite bodies."""
    import casadi

    require_coordinates(model)
    x = casadi.SX.sym("x", model.nq)
    M = mass_matrix(model, casadi.array(x).ravel()).ravel()
    shape = (model.nv, model.nv, model.nq)
    if not is_symbolic(M):  # slides alone: M is constant
        return np.zeros(shape)
    slopes = casadi.densify(casadi.jacobian(M.to_casadi(), x))
    if is_symbolic(q):
        return casadi.array(casadi.substitute(slopes, x, q.to_casadi())).reshape(*shape)
    return np.array(casadi.Function("slopes", [x], [slopes])(q)).reshape(*shape)


def christoffel(model: Model, q: Any) -> Any:
    """Γ_ijk (nv, nv, nv), i the row, from that derivative: fewer operations than the closed form."""
    return from_derivative(mass_matrix_derivative(model, q))
