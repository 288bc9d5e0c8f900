"""Symbolic quantities of a constrained system: what `Constrained.equations` writes (000 p.56–64, p.70).

By Cramer's rule with adjugates instead of inverses, so that every entry is one quotient of
polynomials:

    λ = adj(S) (A adj(M) f − det(M) γ) / det(S),    S = A adj(M) Aᵀ,
    P_ω = 1 − Aᵀ adj(S) A adj(M) / det(S),          M_r = Tᵀ M T,    T = [1; −A₂⁻¹ A₁].

The position constraints, which simplify quotients (x² + y² = l²), are returned with them as
`relations`. Where such a quotient would be long, the quantity is written in the entries of `PARTS`:

    λ = Z y / D,  P_ω = 1 − Aᵀ K,  K = Z B / D,  Z = adj(S),  D = det(S),  S = B Aᵀ,  B = A W,
    y = B f − γ,  W = M⁻¹.
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


PARTS: dict[str, tuple[Size, ...]] = {
    "M": ("nv", "nv"),
    "W": ("nv", "nv"),  # M⁻¹
    "A": ("known_rank", "nv"),  # independent rows
    "B": ("known_rank", "nv"),  # A M⁻¹
    "S": ("known_rank", "known_rank"),  # A M⁻¹ Aᵀ
    "D": (),  # det S
    "Z": ("known_rank", "known_rank"),  # adj S
    "f": ("nv",),  # τ + ψ − C q̇ − g
    "y": ("known_rank",),  # A M⁻¹ f − γ
    "K": ("known_rank", "nv"),  # S⁻¹ A M⁻¹
    "T": ("nv", "freedoms"),  # q̇ = T ṙ
    "v": ("nv",),  # q̇ of the constrained motion
    "mu": ("nv",),  # C q̇ + g there
    "gamma": ("known_rank",),  # A q̈ there
    "sigma": ("nv",),  # q̈ − T r̈
}
Parts = dict[str, Array]
Written = tuple[Array, Array, Parts]  # a quantity, the same from its parts, and these


def _factors(system: ConstrainedDynamics, M: Array, A: Array) -> tuple[Array, Array, Parts]:
    """adj M, det M, and the parts M, W, A, B, S, D, Z."""
    require_smooth(system, "the symbolic form")
    A = A[sorted(system.require_pivots().rows)]
    adj_M, det_M = _inverse(M, f"M of {system.name}")
    W = adj_M / det_M
    B = A @ W
    S = _symmetric(B @ A.T)
    Z, D = _inverse(S, f"A M⁻¹ Aᵀ of {system.name}")
    return adj_M, det_M, {"M": M, "W": W, "A": A, "B": B, "S": S, "D": D, "Z": Z}


def _symmetric(S: Array) -> Array:
    """S with S₂₁ the same value as S₁₂."""
    row, column = np.indices(S.shape)
    return S[np.minimum(row, column), np.maximum(row, column)]


def multipliers(system: ConstrainedDynamics, q: Array, qd: Array, tau: Array) -> Written:
    """λ (rows,): the explicit solution of p.56."""
    if len(system.require_pivots().rows) < system.rows:
        raise ConstraintError(
            f"{system.name}: the constraints are redundant, so λ has no symbolic form; leave "
            "out the rows that mobility() names"
        )
    M, f, A, drift = terms(system, q, qd, tau)
    adj_M, det_M, x = _factors(system, M, A)
    adj_S, det_S = adjugate(_symmetric(A @ adj_M @ A.T))
    lam = adj_S @ (A @ (adj_M @ f) - det_M * drift) / det_S
    x |= {"f": f, "y": x["B"] @ f - drift}
    return lam, x["Z"] @ x["y"] / x["D"], x


def accelerations(system: ConstrainedDynamics, q: Array, qd: Array, tau: Array) -> Written:
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
    return qdd, qdd, {}


def projector(system: ConstrainedDynamics, q: Array) -> Written:
    """P_ω (nv, nv) of p.68."""
    adj_M, _, x = _factors(system, system.dynamics.mass_matrix(q), system.at(q).A)
    one, A = np.eye(system.nv), x["A"]
    adj_S, det_S = adjugate(_symmetric(A @ adj_M @ A.T))
    P_w: Array = (det_S * one - A.T @ adj_S @ A @ adj_M) / det_S
    x["K"] = x["Z"] @ x["B"] / x["D"]
    return P_w, one - A.T @ x["K"], x


def projected(system: ConstrainedDynamics, q: Array, f: Array) -> Written:
    """P_ω f, for forces (nv,) or (nv, m)."""
    P_w, in_parts, x = projector(system, q)
    return P_w @ f, in_parts @ f, x


def _reduced(
    system: ConstrainedDynamics, q: Array, qd: Array | None = None
) -> tuple[Reduction, Parts]:
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
    M = system.dynamics.mass_matrix(q)
    if qd is None:
        rest = np.zeros(system.nv)
        return Reduction(T, rest, rest), {"M": M, "T": T}
    moving = T @ qd[free] + whole(still, (adj @ at.b[rows]) / det)
    gamma = system.at(q, moving).drift[rows]
    drift = whole(still, (adj @ gamma) / det)
    mu = system.dynamics.bias(q, moving)
    parts = {
        "M": M,
        "T": T,
        "v": moving,
        "mu": mu,
        "gamma": gamma[np.argsort(rows)],
        "sigma": drift,
    }
    return Reduction(T, moving, drift), parts


def reduced_mass_matrix(system: ConstrainedDynamics, q: Array) -> Written:
    """M_r (freedoms, freedoms) of p.60–62."""
    reduction, x = _reduced(system, q)
    M_r = reduced.mass_matrix(system, q, reduction)
    return M_r, M_r, x


def reduced_bias(system: ConstrainedDynamics, q: Array, qd: Array) -> Written:
    """h_r (freedoms,) of p.60–62, in the velocities ṙ alone."""
    reduction, x = _reduced(system, q, qd)
    h_r = reduced.bias(system, q, reduction)
    return h_r, h_r, x


def reduced_forces(system: ConstrainedDynamics, q: Array, qd: Array, tau: Array) -> Written:
    """Tᵀ (τ + ψ) (freedoms,) of p.60–62."""
    reduction, x = _reduced(system, q, qd)
    tau_r = reduced.forces(system, q, tau, reduction)
    return tau_r, tau_r, {key: x[key] for key in ("T", "v")}


def difference(system: ConstrainedDynamics, q: Array, qd: Array) -> Written:
    """The term that the constrained Lagrangian lacks (freedoms,) (p.64)."""
    reduction, x = _reduced(system, q, qd)
    Delta = difference_term(system, q, reduction.qd)
    if system.position_count == system.rows:  # A = ∂h/∂q: nothing is lost
        Delta = 0.0 * Delta
    return Delta, Delta, {key: x[key] for key in ("T", "v")}


def _quantity(name: str, sizes: tuple[Size, ...], function: Callable[..., Any]) -> Quantity:
    """A quantity of the catalogue; quotients with h, which simplifies them, and with their parts."""
    inputs = tuple(x for x in signature(function).parameters if x in ("q", "qd", "tau"))
    outputs: dict[str, tuple[Size, ...]] = {name: sizes}
    run: Callable[..., Any] = function
    if function not in (jacobian, residual, drift):

        @wraps(function)
        def in_parts(system: ConstrainedDynamics, **inputs: Any) -> tuple[Array, ...]:
            value, from_parts, parts = function(system, **inputs)
            entries = (parts.get(key, np.zeros(0)) for key in PARTS)
            return value, residual(system, inputs["q"]), from_parts, *entries

        run, outputs = in_parts, outputs | {"relations": ("position_count",), "in_parts": sizes}
        outputs |= PARTS
    formulation = Formulation("symbolic", timed(run), "000 §4.5", name.replace("_", " "))
    return Quantity(name, formulation.summary, inputs, outputs, (formulation,), optional=("t",))


def _transposed(value: Array, from_parts: Array, parts: Parts) -> Written:
    return value.T, from_parts.T, parts


SQUARE, VECTOR, FREE = ("nv", "nv"), ("nv",), ("freedoms",)
Form = tuple[tuple[Size, ...], Callable[..., Any]]  # shape, and a function of q, q̇ and τ
_FORMS: dict[str, Form] = {
    "constraint_matrix": (("rows", "nv"), jacobian),
    "constraints": (("position_count",), residual),
    "constraint_drift": (("rows",), drift),
    "multipliers": (("rows",), multipliers),
    "accelerations": (VECTOR, accelerations),
    "projector": (SQUARE, projector),
    # P_T = P_ωᵀ
    "tangent_projector": (SQUARE, lambda s, q: _transposed(*projector(s, q))),
    # M̃ = P_ω M, C̃ + Ñ = P_ω (C q̇ + N) and τ̃ = P_ω (τ + ψ) of p.70
    "projected_mass_matrix": (SQUARE, lambda s, q: projected(s, q, s.dynamics.mass_matrix(q))),
    "projected_bias": (VECTOR, lambda s, q, qd: projected(s, q, s.dynamics.bias(q, qd))),
    "projected_forces": (
        VECTOR,
        lambda s, q, qd, tau: projected(s, q, tau + s.generalized_forces(q, qd)),
    ),
    "reduced_mass_matrix": (("freedoms", "freedoms"), reduced_mass_matrix),
    "reduced_bias": (FREE, reduced_bias),
    "reduced_forces": (FREE, reduced_forces),
    "difference_term": (FREE, difference),
}
SYMBOLIC_QUANTITIES = {name: _quantity(name, *form) for name, form in _FORMS.items()}
