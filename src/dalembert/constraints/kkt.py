"""The KKT equations of constrained motion, solved by one factorisation of M and of the rows.

    M q̈ + Aᵀλ = f,  A q̈ = γ:    (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ,    M q̈ = f − Aᵀλ        (000 p.56, p.67)

With M = L D Lᵀ, coordinates in reverse so that L keeps the zeros of a tree, and B = A L⁻ᵀ it is (B
D⁻¹ Bᵀ) λ = B D⁻¹ z − γ, z = L⁻¹ f, solved from an orthogonal basis of the rows of B: near a singular
configuration errors grow like their condition, not its square. Right-hand sides may have several
columns, all solved with the same factors.

The equations are symmetric in (q̈, λ), so derivatives go back through them by solving once more with
the same factors (`implicit`, `solution`). Where rows are redundant, λ of least norm lies in the range
of A and turns with it, as in `derivatives`: with A y = λ it changes by (1 − A A⁺) A′y besides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.linalg.factorisations import LeavesFirst, flagged, is_large, leaves_first
from dalembert.linalg.row_space import HUGE, AnyRowSpace, BlockedRowSpace, blocked_rows, row_space
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.constraints.udwadia_kalaba import Stacked


class Metric(NamedTuple):
    """The maps between T*E, TE and the space of the constraints (000 p.67)."""

    M: LeavesFirst  # L D Lᵀ, the last coordinate first
    A: Array  # h_* (rows, nv)
    B: Array  # A L⁻ᵀ (rows, nv): M₂♯ = B D⁻¹ Bᵀ = A M⁻¹ Aᵀ
    space: AnyRowSpace | BlockedRowSpace  # of the rows of B, by which M₂♭ is applied

    def flat(self, a: Array) -> tuple[Array, Array]:
        """(M₂♭ a, what no constraint force can do of a), for a (rows,) or (rows, m)."""
        return self.space.solve(a)

    def weigh(self, z: Array) -> Array:
        """D⁻¹ z, for z (nv,) or (nv, m)."""
        weighed: Array = (self.space.weights * z.T).T
        return weighed

    def sharp(self, f: Array) -> Array:
        """h_* M♯ f (rows,) = A M⁻¹ f."""
        a: Array = self.B @ self.weigh(self.half(f))
        return a

    def half(self, f: Array) -> Array:
        """L⁻¹ f (nv,) or (nv, m)."""
        return np.stack(self.M.half_solve(f))

    def normal(self, f: Array) -> Array:
        """M₂♭ h_* M♯ f (rows,): Aᵀ times it is (1 − P_ω) f."""
        return self.flat(self.sharp(f))[0]

    def project(self, f: Array) -> Array:
        """P_ω f (nv,)."""
        along: Array = f - self.A.T @ self.normal(f)
        return along

    def motion(self, f: Array, drift: Array) -> tuple[Array, Array, Array]:
        """(q̈, λ of least norm, what is left of A M⁻¹ f − γ) under forces f."""
        z = self.half(f)
        lam, left = self.space.solve(self.B @ self.weigh(z) - drift)
        return self.M.full_solve(list(z - self.B.T @ lam)), lam, left

    def shortest(self, a: Array) -> Array:
        """The shortest velocity v in the metric M with A v = a, for a (rows,) or (rows, m)."""
        y, _ = self.space.coordinates(a)
        return self.M.full_solve(list(self.space.back(y)))

    @property
    def A_sharp(self) -> Array:
        """h_* ∘ M♯ = A M⁻¹ (rows, nv)."""
        return self.M.full_solve(list(self.B.T)).T


def metric(system: ConstrainedDynamics, M: Array, A: Array) -> Metric:
    """M♯ and M₂♯ = h_* ∘ M♯ ∘ h*, with M₂♭ its pseudo-inverse where rows are redundant."""
    mass = leaves_first(M)
    B = np.stack(mass.half_solve(A.T)).T
    return Metric(mass, A, B, span(system, B, mass.weights))


def span(
    system: ConstrainedDynamics, B: Array, weights: Array | None = None
) -> AnyRowSpace | BlockedRowSpace:
    """The space of the rows of A in other velocities, B, its rank that of the constraints."""
    is_redundant = system.known_rank and not system.balanced
    if len(system.blocks) > 1 and is_redundant and not is_large(B):
        # rows of each block, and how many of them are independent at nearly every posture
        independent = set(system.require_pivots().rows)
        blocks = [(list(rows), len(independent.intersection(rows))) for rows in system.blocks]
        return blocked_rows(B, np.ones(system.nv) if weights is None else weights, blocks)
    return row_space(B, system.known_rank, weights=weights)


def metric_at(system: ConstrainedDynamics, q: Array) -> Metric:
    """The metric of a system at a posture."""
    return metric(system, system.dynamics.mass_matrix(q), system.at(q).A)


def terms(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array
) -> tuple[Array, Array, Array, Array]:
    """(M (nv, nv), f = τ + ψ − C q̇ − N (nv,), A (rows, nv), γ (rows,)) of M q̈ + Aᵀλ = f, A q̈ = γ."""
    rows = system.at(q, qd)
    f = tau + system.generalized_forces(q, qd) - system.dynamics.bias(q, qd)
    return system.dynamics.mass_matrix(q), f, rows.A, rows.drift


def implicit(
    route: Callable[..., Any], maps_at: Callable[..., Metric | Stacked] = metric_at
) -> Callable[..., Any]:
    """The route to (q̈, λ), differentiated through the equations of motion.

    These are solved once more by `maps_at` (system, q): by other factors where M may be singular.
    """

    @wraps(route)
    def forward(
        system: ConstrainedDynamics, q: Array, qd: Array, tau: Array, **choices: str
    ) -> tuple[Array, Array]:
        qdd, lam = route(system, q, qd, tau, **choices)
        if not tracing.is_differentiating():
            return qdd, lam
        rows, maps = system.at(q, qd), maps_at(system, q)

        def residual(a: Array, multipliers: Array) -> tuple[Array, Array]:
            force = demanded(system, q, qd, a) + rows.A.T @ multipliers - tau
            return force, rows.A @ a - rows.drift

        return solution(system, maps, (qdd, lam), residual)

    return forward


def solution(
    system: ConstrainedDynamics,
    maps: Metric | Stacked,
    x: tuple[Any, Any],
    missing: Callable[..., Any],
) -> tuple[Array, Array]:
    """x = (q̈, λ), λ of least norm, whose derivatives are those of M q̈ + Aᵀλ − f and A q̈ − γ, `missing`.

    Nothing is smooth where a row is lost, and there is nothing where x is NaN.
    """
    least_norm = () if system.balanced else (maps.shortest(x[1]),)
    sound = (maps.space.lost < 0.5) * (np.abs(x[0][0]) < HUGE)

    def residual(a: Array, lam: Array, *y: Any) -> tuple[Array, ...]:
        return *missing(a, lam), *(-maps.A @ each for each in y)

    def forth(f: Array, drift: Array, *turned: Any) -> tuple[Array, ...]:
        a, lam, _ = maps.motion(f, drift)
        return flagged(sound, a, sum((maps.space.coordinates(each)[1] for each in turned), lam))

    def back(w: Array, of_lam: Array) -> tuple[Array, ...]:
        more = maps.space.coordinates(of_lam)[1:] if least_norm else ()
        return flagged(sound, *maps.motion(w, of_lam)[:2], *more)

    qdd, lam = tracing.solution(x, residual, forth, back, least_norm)
    return qdd, lam


def demanded(system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array) -> Array:
    """M q̈ + h − ψ (nv,), by inverse dynamics where the plant has them."""
    plant = system.dynamics
    force: Array
    if "inverse_dynamics_derivatives" in plant.catalogue:
        force = plant.compute("inverse_dynamics", q=q, qd=qd, qdd=qdd)
    else:
        force = plant.mass_matrix(q) @ qdd + plant.bias(q, qd) - system.generalized_forces(q, qd)
    return force
