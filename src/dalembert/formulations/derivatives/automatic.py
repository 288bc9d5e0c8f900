"""The same slopes by CasADi's automatic differentiation, beside the recursion of their own.

q moves by `integrate(q, δ)` and is differentiated with respect to δ at δ = 0, so that spherical and
free joints have tangent-space slopes like all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.formulations.forward.articulated_body import forward_dynamics
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.model import Model
from dalembert.model.parameter import is_symbolic


def inverse_dynamics_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, **known: Any
) -> tuple[Any, Any, Any]:
    """(∂τ/∂q, ∂τ/∂q̇, M), each (nv, nv)."""
    return slopes(inverse_dynamics, model, q, qd, qdd, **known)


def forward_dynamics_derivatives(
    model: Model, q: Any, qd: Any, tau: Any, **known: Any
) -> tuple[Any, Any, Any]:
    """(∂q̈/∂q, ∂q̈/∂q̇, M⁻¹), each (nv, nv)."""
    return slopes(forward_dynamics, model, q, qd, tau, **known)


def slopes(
    function: Callable[..., Any], model: Model, q: Any, qd: Any, last: Any, **known: Any
) -> tuple[Any, Any, Any]:
    """Jacobians of function(model, q, qd, last, **known) with respect to its three arrays."""
    import casadi

    delta, rate, third = (casadi.SX.sym(name, model.nv) for name in ("delta", "rate", "last"))
    moved = model.integrate(q, casadi.array(delta).ravel())
    value = function(model, moved, casadi.array(rate).ravel(), casadi.array(third).ravel(), **known)
    jacobians = [casadi.jacobian(value.to_casadi(), x) for x in (delta, rate, third)]
    symbolic = [x for x in (q, qd, last) if is_symbolic(x)]
    here = [casadi.DM.zeros(model.nv), *(_matrix(x) for x in (qd, last))]
    bound = casadi.substitute(jacobians, [delta, rate, third], [casadi.SX(x) for x in here])
    dense = [casadi.densify(matrix) for matrix in bound]
    if symbolic:
        return tuple(casadi.array(matrix) for matrix in dense)  # type: ignore[return-value]
    return tuple(np.array(casadi.evalf(matrix)) for matrix in dense)  # type: ignore[return-value]


def _matrix(x: Any) -> Any:
    return x.to_casadi() if is_symbolic(x) else np.asarray(x, dtype=float)
