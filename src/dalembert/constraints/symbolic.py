"""Symbolic quantities of a constrained system: what `Constrained.equations` writes (000 p.56–64, p.70).

By Cramer's rule with adjugates instead of inverses, so that every entry is one quotient of
polynomials:

    λ = adj(S) (A adj(M) f − det(M) γ) / det(S),    S = A adj(M) Aᵀ,
    P_ω = 1 − Aᵀ adj(S) A adj(M) / det(S),          M_r = Tᵀ M T,    T = [1; −A₂⁻¹ A₁].

The position constraints, which simplify quotients (x² + y² = l²), are returned with them as
`relations`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import reduced
from dalembert.constraints.constrained_lagrangian import difference_term
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.kkt import terms
from dalembert.constraints.quantities import drift, jacobian, residual
from dalembert.constraints.reduced import Reduction
from dalembert.constraints.registry import timed
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import Formulation, Quantity, Size
from dalembert.linalg.factorisations import adjugate
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

LARGEST_INVERSE = (
    6  # rows of a matrix that is inverted symbolically: 720 products in its determinant
)


def _inverse(A: Array, what: str) -> tuple[Array, Array]:
    if A.shape[0] > LARGEST_INVERSE:
        raise ConstraintError(
            f"{what} is {A.shape[0]} × {A.shape[0]}: its symbolic inverse is too long; choose "
            f"quantities without it, such as 'A' and 'gamma'"
        )
    return adjugate(A)


def _schur_factors(system: ConstrainedDynamics, M: Array, A: Array) -> tuple[Array, ...]:
    """(A of the independent rows, adj M, det M, adj S, det S), det S the one denominator."""
    require_smooth(system, "the symbolic form")
    A = A[list(system.require_pivots().rows)]
    adj_M, det_M = _inverse(M, f"M of {system.name}")
    S = A @ adj_M @ A.T
    return A, adj_M, det_M, *_inverse(S, f"A M⁻¹ Aᵀ of {system.name}")


def multipliers(system: ConstrainedDynamics, q: Array, qd: Array, tau: Array) -> Array:
    """λ (rows,): the explicit solution of p.56."""
    if len(system.require_pivots().rows) < system.rows:
        raise ConstraintError(
            f"{system.name}: the constraints are redundant, so λ has no symbolic form; leave "
            "out the rows that mobility() names"
        )
    M, f, A, drift = terms(system, q, qd, tau)
    A, adj_M, det_M, adj_S, det_S = _schur_factors(system, M, A)
    rows = list(system.require_pivots().rows)
    right = adj_S @ (A @ (adj_M @ f) - det_M * drift[rows])
    lam: Array = right[np.argsort(rows)] / det_S
    return lam


def accelerations(system: ConstrainedDynamics, q: Array, qd: Array, tau: Array) -> Array:
    """q̈ (nv,) by Udwadia and Kalaba's equation, without M⁻¹ (Udwadia and Phohomsiri 2006).

    ((I − A⁺A) M + A⁺A) q̈ = (I − A⁺A) f + A⁺γ, times det A Aᵀ.
    """
    require_smooth(system, "the symbolic form")
    M, f, A, drift = terms(system, q, qd, tau)
    rows = list(system.require_pivots().rows)
    A, drift = A[rows], drift[rows]
    adj, det = _inverse(A @ A.T, f"A Aᵀ of {system.name}")
    across = det * np.eye(system.nv) - A.T @ adj @ A
    adj_K, det_K = _inverse(across @ M + A.T @ adj @ A, f"M of {system.name}")
    qdd: Array = (adj_K @ (across @ f + A.T @ (adj @ drift))) / det_K
    return qdd


def projector(system: ConstrainedDynamics, q: Array) -> Array:
    """P_ω (nv, nv) of p.68."""
    M = system.dynamics.mass_matrix(q)
    A, adj_M, _, adj_S, det_S = _schur_factors(system, M, system.at(q).A)
    P_w: Array = (det_S * np.eye(system.nv) - A.T @ adj_S @ A @ adj_M) / det_S
    return P_w


def _reduced(system: ConstrainedDynamics, q: Array, qd: Array) -> Reduction:
    """q̇ = T ṙ + n by Cramer's rule, with r the coordinates that elimination keeps."""
    require_smooth(system, "the symbolic form")
    chosen = system.require_pivots()
    rows, dependent = list(chosen.rows), list(chosen.columns)
    free = system.free_columns
    order = np.argsort([*free, *dependent])
    still = np.zeros(len(free))

    def whole(of_free: Array, of_dependent: Array) -> Array:
        return np.concatenate([of_free, of_dependent])[order]

    at = system.at(q)
    adj, det = _inverse(at.A[rows][:, dependent], f"A₂ of {system.name}")
    T = whole(np.eye(len(free)), -(adj @ at.A[rows][:, free]) / det)
    moving = T @ qd[free] + whole(still, (adj @ at.b[rows]) / det)
    drift = system.at(q, moving).drift[rows]
    return Reduction(T, moving, whole(still, (adj @ drift) / det))


def _quantity(name: str, sizes: tuple[Size, ...], function: Callable[..., Array]) -> Quantity:
    """A quantity of the catalogue; quotients are returned with h, which simplifies them."""
    inputs = tuple(x for x in signature(function).parameters if x in ("q", "qd", "tau"))
    outputs: dict[str, tuple[Size, ...]] = {name: sizes}
    run: Callable[..., Any] = function
    if function not in (jacobian, residual, drift):

        @wraps(function)
        def with_relations(system: ConstrainedDynamics, **inputs: Any) -> tuple[Array, Array]:
            return function(system, **inputs), residual(system, inputs["q"])

        outputs["relations"], run = ("position_count",), with_relations
    formulation = Formulation("letters", timed(run), "000 §4.5", name.replace("_", " "))
    return Quantity(name, formulation.summary, inputs, outputs, (formulation,), optional=("t",))


SQUARE, VECTOR, FREE = ("nv", "nv"), ("nv",), ("freedoms",)
Form = tuple[tuple[Size, ...], Callable[..., Array]]  # shape, and a function of q, q̇ and τ
_FORMS: dict[str, Form] = {
    "constraint_matrix": (("rows", "nv"), jacobian),
    "constraints": (("position_count",), residual),
    "constraint_drift": (("rows",), drift),
    "multipliers": (("rows",), multipliers),
    "accelerations": (VECTOR, accelerations),
    "projector": (SQUARE, projector),
    # P_T = P_ωᵀ
    "tangent_projector": (SQUARE, lambda s, q: projector(s, q).T),
    # M̃ = P_ω M, C̃ + Ñ = P_ω (C q̇ + N) and τ̃ = P_ω (τ + ψ) of p.70
    "projected_mass_matrix": (SQUARE, lambda s, q: projector(s, q) @ s.dynamics.mass_matrix(q)),
    "projected_bias": (VECTOR, lambda s, q, qd: projector(s, q) @ s.dynamics.bias(q, qd)),
    "projected_forces": (
        VECTOR,
        lambda s, q, qd, tau: projector(s, q) @ (tau + s.generalized_forces(q, qd)),
    ),
    # M_r, h_r and Tᵀ (τ + ψ) of p.60–62, in the velocities ṙ alone
    "reduced_mass_matrix": (
        ("freedoms", "freedoms"),
        lambda s, q: reduced.mass_matrix(s, q, _reduced(s, q, np.zeros(s.nv))),
    ),
    "reduced_bias": (FREE, lambda s, q, qd: reduced.bias(s, q, _reduced(s, q, qd))),
    "reduced_forces": (FREE, lambda s, q, qd, tau: reduced.forces(s, q, tau, _reduced(s, q, qd))),
    # the term that the constrained Lagrangian lacks (p.64)
    "difference_term": (FREE, lambda s, q, qd: difference_term(s, q, _reduced(s, q, qd).qd)),
}
SYMBOLIC_QUANTITIES = {name: _quantity(name, *form) for name, form in _FORMS.items()}
