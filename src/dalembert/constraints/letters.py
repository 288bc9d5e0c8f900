"""A constrained system in letters: what `Constrained.equations` writes (000 p.56–64, p.70).

By Cramer's rule with adjugates instead of inverses, so that every entry is one quotient of polynomials:

    λ = adj(S) (A adj(M) f − det(M) γ) / det(S),    S = A adj(M) Aᵀ,
    P_ω = 1 − Aᵀ adj(S) A adj(M) / det(S),          M_r = Tᵀ M T,    T = [1; −A₂⁻¹ A₁].

Quotients that the constraints on positions shorten (x² + y² = l²) come with them as `relations`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.constraints import reduced
from dalembert.constraints.friction import require_smooth
from dalembert.constraints.metric import terms
from dalembert.constraints.quantities import drift, jacobian, residual
from dalembert.constraints.reduced import Reduction
from dalembert.constraints.trap import difference_term
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import Formulation, Quantity, Size
from dalembert.linalg.cramer import adjugate

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

LARGEST = 6  # rows of a matrix that is inverted in letters: 720 products in its determinant


class Multiplied(NamedTuple):
    """What λ and P_ω are made of, with det(S) as the one denominator."""

    A: Any  # (rows, nv), independent rows only
    adj_M: Any
    det_M: Any
    adj_S: Any
    det_S: Any


def _inverse(A: Any, what: str) -> tuple[Any, Any]:
    if A.shape[0] > LARGEST:
        raise ConstraintError(
            f"{what} is {A.shape[0]} × {A.shape[0]}: its inverse in letters fills books; ask for "
            f"quantities without it, such as 'A' and 'gamma'"
        )
    return adjugate(A)


def _multiplied(system: ConstrainedDynamics, M: Any, A: Any) -> Multiplied:
    require_smooth(system, "the form in letters")
    A = A[list(system.require_pivots().rows)]
    adj_M, det_M = _inverse(M, f"M of {system.name}")
    S = A @ adj_M @ A.T
    return Multiplied(A, adj_M, det_M, *_inverse(S, f"A M⁻¹ Aᵀ of {system.name}"))


def multipliers(system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None) -> Any:
    """λ (rows,): the explicit solution of p.56."""
    if len(system.require_pivots().rows) < system.rows:
        raise ConstraintError(
            f"{system.name}: the constraints are redundant, so λ is no function in letters; leave "
            "out the rows that mobility() names"
        )
    M, f, A, drift = terms(system, q, qd, tau, t)
    made = _multiplied(system, M, A)
    drift = drift[list(system.require_pivots().rows)]
    right = made.adj_S @ (made.A @ (made.adj_M @ f) - made.det_M * drift)
    order = np.argsort(system.require_pivots().rows)
    return right[order] / made.det_S


def projector(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """P_ω (nv, nv) of p.68."""
    M = system.dynamics.at_time(t).mass_matrix(q)
    made = _multiplied(system, M, system.at(q, None, t).A)
    unit = made.det_S * np.eye(system.nv)
    normal = made.A.T @ made.adj_S @ made.A @ made.adj_M
    return (unit - normal) / made.det_S


def tangent_projector(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """P_T = P_ωᵀ (nv, nv)."""
    return projector(system, q, t).T


def projected_mass_matrix(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """P_ω M (nv, nv): M̃ of p.70."""
    return projector(system, q, t) @ system.dynamics.at_time(t).mass_matrix(q)


def projected_bias(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """P_ω (C q̇ + N) (nv,): C̃ + Ñ of p.70."""
    return projector(system, q, t) @ system.dynamics.at_time(t).bias(q, qd)


def projected_forces(system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None) -> Any:
    """P_ω (τ + ψ) (nv,): τ̃ of p.70."""
    forces = tau + system.dynamics.generalized_forces(q, qd, t)
    return projector(system, q, t) @ forces


def _reduced(system: ConstrainedDynamics, q: Any, qd: Any, t: Any) -> Reduction:
    """q̇ = T ṙ + n by Cramer's rule, with r the coordinates that elimination keeps."""
    require_smooth(system, "the form in letters")
    chosen = system.require_pivots()
    rows, held = list(chosen.rows), list(chosen.columns)
    free = system.free_columns
    order = np.argsort([*free, *held])
    still = np.zeros(len(free))

    def whole(of_free: Any, of_held: Any) -> Any:
        return np.concatenate([of_free, of_held])[order]

    at = system.at(q, None, t)
    adj, det = _inverse(at.A[rows][:, held], f"A₂ of {system.name}")
    T = whole(np.eye(len(free)), -(adj @ at.A[rows][:, free]) / det)
    moving = T @ qd[free] + whole(still, (adj @ at.b[rows]) / det)
    drift = system.at(q, moving, t).drift[rows]
    return Reduction(T, moving, whole(still, (adj @ drift) / det))


def reduced_mass_matrix(system: ConstrainedDynamics, q: Any, t: Any = None) -> Any:
    """M_r (freedoms, freedoms) of p.60–62."""
    made = _reduced(system, q, np.zeros(system.nv), t)
    return reduced.mass_matrix(system, q, made, t)


def reduced_bias(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """h_r (freedoms,), in the velocities ṙ alone."""
    return reduced.bias(system, q, _reduced(system, q, qd, t), t)


def reduced_forces(system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None) -> Any:
    """Tᵀ (τ + ψ) (freedoms,)."""
    return reduced.forces(system, q, tau, _reduced(system, q, qd, t), t)


def difference(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """right − wrong (freedoms,): what the constrained Lagrangian loses (p.64)."""
    made = _reduced(system, q, qd, t)
    return difference_term(system, q, made.qd)


def _quantity(
    name: str, inputs: tuple[str, ...], sizes: tuple[Size, ...], function: Callable[..., Any]
) -> Quantity:
    """A quantity as the catalogues have them; quotients come with h, which shortens them."""

    @wraps(function)
    def with_relations(system: ConstrainedDynamics, **given: Any) -> tuple[Any, Any]:
        return function(system, **given), residual(system, given["q"], given.get("t"))

    outputs: dict[str, tuple[Size, ...]] = {name: sizes, "relations": ("held",)}
    run: Callable[..., Any] = with_relations
    if function in (jacobian, residual, drift):
        del outputs["relations"]
        run = function
    way = Formulation("letters", run, "000 §4.5", name.replace("_", " "))
    return Quantity(name, way.summary, inputs, outputs, (way,), optional=("t",))


STATE, FORCED = ("q", "qd"), ("q", "qd", "tau")
_ALL = (
    _quantity("constraint_matrix", ("q",), ("rows", "nv"), jacobian),
    _quantity("constraints", ("q",), ("held",), residual),
    _quantity("constraint_drift", STATE, ("rows",), drift),
    _quantity("multipliers", FORCED, ("rows",), multipliers),
    _quantity("projector", ("q",), ("nv", "nv"), projector),
    _quantity("tangent_projector", ("q",), ("nv", "nv"), tangent_projector),
    _quantity("projected_mass_matrix", ("q",), ("nv", "nv"), projected_mass_matrix),
    _quantity("projected_bias", STATE, ("nv",), projected_bias),
    _quantity("projected_forces", FORCED, ("nv",), projected_forces),
    _quantity("reduced_mass_matrix", ("q",), ("freedoms", "freedoms"), reduced_mass_matrix),
    _quantity("reduced_bias", STATE, ("freedoms",), reduced_bias),
    _quantity("reduced_forces", FORCED, ("freedoms",), reduced_forces),
    _quantity("difference_term", STATE, ("freedoms",), difference),
)
IN_LETTERS = {quantity.name: quantity for quantity in _ALL}
