"""Voronec's and Chaplygin's equations: independent coordinates r of q = (r, s), where ṡ = B(q) ṙ.

With L_c(q, ṙ) = L(q, ṙ, B ṙ), θ = ∂L/∂ṡ at ṡ = B ṙ, and D_i = ∂/∂r_i + Σ_s B_si ∂/∂s along what the
constraints permit (Voronec 1901),

    d/dt ∂L_c/∂ṙ_i − D_i L_c − Σ_s θ_s (Ḃ_si − D_i (B ṙ)_s) = Q_i + Σ_s B_si Q_s.

Where T, V, Q and B do not depend on s, D_i is ∂/∂r_i and the equations are a system in r alone
(Chaplygin 1897). Without the last term they are those of the constrained Lagrangian, which are right
only where that term vanishes, as it does for integrable constraints (000 p.63–64).

They are the equations of Boltzmann and Hamel in u = (ṙ, ṡ − B ṙ), a chart that ends where the dependent
block of A is singular. M, the bias and γ of the other routes do not enter.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints.boltzmann_hamel import lagrangian
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.elimination import WEAK_PIVOT
from dalembert.constraints.reduced import Reduced, columns
from dalembert.constraints.registry import solved
from dalembert.errors import ConstraintError
from dalembert.linalg.factorisations import adjugate, flagged, largest
from dalembert.linalg.row_space import row_space
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

LARGEST_ADJUGATE = 6  # rows of a dependent block up to which B is a quotient of polynomials
SAMPLES = 5  # random states at which a derivative that is zero in disguise is told from others
ZERO = 1e-9  # of a derivative beside 1


class Parts(NamedTuple):
    """M r̈ + constrained + difference = Q_r + BᵀQ_s."""

    M: Array  # (m, m)
    constrained: Array  # (m,) d/dt ∂L_c/∂ṙ − D L_c at r̈ = 0
    difference: Array  # (m,) −θ (Ḃ − D (B ṙ)), what L_c lacks
    B: Array  # (rank, m)


def require_plain(system: ConstrainedDynamics, what: str) -> None:
    """Raise where velocities are no rates, L has linear terms, or anything depends on time."""
    if system.moving or system.gyroscopic or system.nq != system.nv or not system.resting:
        raise ConstraintError(
            f"{system.name}: {what} needs coordinates whose rates are the velocities, L without "
            "terms linear in them, and constraints that do not move (b = 0); take the equations of "
            "Boltzmann and Hamel (dl.QuasiVelocities)"
        )


def dependent_velocities(system: ConstrainedDynamics, free: list[int]) -> list[int]:
    """The velocities ṡ, in the order of the pivots where these are they."""
    pivots = system.require_pivots().columns
    dependent = [k for k in range(system.nv) if k not in free]
    return list(pivots) if set(pivots) == set(dependent) else dependent


def substitution(system: ConstrainedDynamics, q: Array, free: list[int]) -> Array:
    """B (rank, m) with ṡ = B ṙ."""
    rows, dependent = list(system.require_pivots().rows), dependent_velocities(system, free)
    A = system.at(q).A[rows]
    A1, A2 = A[:, free], A[:, dependent]
    if len(rows) > LARGEST_ADJUGATE:
        B: Array = -np.linalg.solve(A2, A1)
        return B
    adjugated, det = adjugate(A2)
    B = -(adjugated @ A1) / det
    return B


def equations(
    system: ConstrainedDynamics, q: Array, r_dot: Array, free: list[int], in_r_alone: bool = False
) -> Parts:
    """The parts at a configuration and velocities ṙ (m,), by derivatives of L_c.

    Only ∂/∂r is taken where the system is one `in_r_alone`.
    """
    plant, dependent = system.dynamics, dependent_velocities(system, free)
    x, w = tracing.symbol("q", system.nq), tracing.symbol("r_dot", len(free))
    v, B = tracing.symbol("v", system.nv), substitution(system, x, free)
    motion = np.concatenate([w, B @ w])[np.argsort([*free, *dependent])]
    L = lagrangian(plant, x, v)
    L_c, momentum = tracing.at([L, tracing.gradient(L, v)], [v], [motion])
    # ∂/∂s counts along B, and not at all in r alone
    across = np.zeros(tracing.shape_of(B)) if in_r_alone else B
    p, by_q = tracing.gradient(L_c, w), tracing.gradient(L_c, x)
    constrained = tracing.directional(p, x, motion) - (by_q[free] + across.T @ by_q[dependent])
    rates_by_q = tracing.jacobian(B @ w, x)
    along = rates_by_q[:, free] + rates_by_q[:, dependent] @ across
    difference = -(tracing.directional(B, x, motion) - along).T @ momentum[dependent]
    parts = [tracing.jacobian(p, w), constrained, difference, B]
    return Parts(*tracing.at(parts, [x, w], [q, r_dot]))


def require_independent(system: ConstrainedDynamics, free: list[int]) -> None:
    """Raise where T, V, Q or B depends on a dependent coordinate, naming both."""
    plant, dependent = system.dynamics, dependent_velocities(system, free)
    x, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    functions: dict[str, Any] = {
        "T": plant.kinetic_energy(x, v),
        "V": plant.potential_energy(x),
        "Q": system.generalized_forces(x, v),
        "B": substitution(system, x, free),
    }
    for name, value in functions.items():
        for k in dependent:
            if tracing.depends_on(value, x[k]) and not _is_zero(tracing.jacobian(value, x[k])):
                names = ", ".join(plant.velocities[j] for j in free)
                raise ConstraintError(
                    f"{system.name}: Chaplygin's form needs T, V, Q and B that do not depend on the "
                    f"dependent coordinates, got {name} that depends on {plant.coordinates[k]!r} "
                    f'with ({names}) independent; take formulation="voronec", or other '
                    "independent velocities"
                )


def _is_zero(value: Array) -> bool:
    """Whether a derivative vanishes at random states, whatever its expression is."""
    symbols = tracing.symbols_of(tracing.flat([value]))
    if not symbols:
        return tracing.is_zero(value)
    function, rng = tracing.Function(symbols, [value]), np.random.default_rng(0)
    with np.errstate(all="ignore"):
        sampled = [function(*rng.uniform(0.2, 0.8, len(symbols)))[0] for _ in range(SAMPLES)]
    return not any((np.abs(x) > ZERO).any() for x in sampled)


def _reduced(
    system: ConstrainedDynamics, q: Array, qd: Array, independent: str | None, in_r_alone: bool
) -> Reduced:
    """The equations with N = [1; B]; NaN where the dependent block of A is singular."""
    what = "Chaplygin's form" if in_r_alone else "Voronec's form"
    require_smooth(system, what)
    require_plain(system, what)
    free = columns(system, independent)
    if in_r_alone:
        require_independent(system, free)
    M_r, constrained, difference, B = equations(system, q, qd[free], free, in_r_alone)
    dependent, rows = dependent_velocities(system, free), list(system.require_pivots().rows)
    N = np.concatenate([np.eye(len(free)), B])[np.argsort([*free, *dependent])]
    # columns over √M_jj have no units
    M = system.dynamics.mass_matrix(q)
    size = np.sqrt(np.stack([M[k, k] for k in range(system.nv)]))
    block = system.at(q).A[rows][:, dependent] / size[dependent]
    ok = row_space(block, len(rows)).lost < 0.5
    ok = ok * (WEAK_PIVOT * largest(B * size[dependent].reshape(-1, 1) / size[free]) <= 1.0)
    n = np.zeros(system.nv) + np.where(ok, 0.0, np.nan)  # zeros that were multiplied would stay
    M_r, h_r, N = flagged(ok, M_r, constrained + difference, N)
    return Reduced(M_r, h_r, N, n)


_as_reduced = partial(
    solved,
    "M_r(freedoms, freedoms), h_r(freedoms), N(nv, freedoms), n(nv)",
    "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
    "Neimark and Fufaev 1972, ch. III",
    name="reduced",
)


@_as_reduced(formulation=("voronec", "derivatives of L_c(q, ṙ), and θ (Ḃ − D (B ṙ))"))
def voronec(
    system: ConstrainedDynamics, q: Array, qd: Array, independent: str | None = None
) -> Reduced:
    """The motion in ṙ by Voronec's equations; of q̇ only ṙ counts."""
    return _reduced(system, q, qd, independent, in_r_alone=False)


@_as_reduced(formulation=("chaplygin", "the same in r alone, where T, V, Q and B are free of s"))
def chaplygin(
    system: ConstrainedDynamics, q: Array, qd: Array, independent: str | None = None
) -> Reduced:
    """The motion in r alone by Chaplygin's equations; an error where they do not apply."""
    return _reduced(system, q, qd, independent, in_r_alone=True)
