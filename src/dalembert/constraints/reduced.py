"""The motion in independent velocities ẋ, some of the q̇ themselves (000 p.58–62).

    q̇ = N ẋ + n,    A N = 0,    A n = b,    M_r ẍ + h_r = Nᵀ (τ + ψ),    M_r = Nᵀ M N,
    h_r = Nᵀ (C q̇ + N + M (q̈ − N ẍ))

N is found from X = M⁻¹ P_ω E with E the unit velocities of ẋ: EᵀX = M_r⁻¹ is symmetric and positive,
so N = X (EᵀX)⁻¹ needs no pivots and holds wherever ẋ determine the motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.inverse import selected
from dalembert.constraints.kkt import metric_at
from dalembert.constraints.registry import quantity, solved
from dalembert.errors import ConstraintError
from dalembert.linalg.factorisations import flagged
from dalembert.linalg.row_space import row_space
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


class Reduction(NamedTuple):
    """q̇ = N ẋ + n, with ẋ some of the velocities."""

    N: Array  # (nv, k)
    qd: Array  # N ẋ + n (nv,)
    drift: Array  # q̈ − N ẍ (nv,)


class Reduced(NamedTuple):
    """M_r ẍ + h_r = Nᵀ (τ + ψ) with q̇ = N ẋ + n."""

    M_r: Array  # (k, k)
    h_r: Array  # (k,)
    N: Array  # (nv, k)
    n: Array  # (nv,)


def mass_matrix(system: ConstrainedDynamics, q: Array, reduction: Reduction) -> Array:
    """M_r (k, k) = Nᵀ M N."""
    M_r: Array = reduction.N.T @ system.dynamics.mass_matrix(q) @ reduction.N
    return M_r


def bias(system: ConstrainedDynamics, q: Array, reduction: Reduction) -> Array:
    """h_r (k,) = Nᵀ (C q̇ + N + M (q̈ − N ẍ)), in the velocities ẋ alone."""
    plant = system.dynamics
    h_r: Array = reduction.N.T @ (
        plant.bias(q, reduction.qd) + plant.mass_matrix(q) @ reduction.drift
    )
    return h_r


def forces(system: ConstrainedDynamics, q: Array, tau: Array, reduction: Reduction) -> Array:
    """τ_r (k,) = Nᵀ (τ + ψ)."""
    tau_r: Array = reduction.N.T @ (tau + system.generalized_forces(q, reduction.qd))
    return tau_r


def columns(system: ConstrainedDynamics, independent: str | None) -> list[int]:
    """Velocities ẋ, from names joined by commas; None is those that elimination keeps."""
    if not system.freedoms:
        raise ConstraintError(f"{system.name}: the constraints leave nothing to move")
    if independent is None:
        return system.free_columns
    result = selected(system, independent)
    if len(set(result)) != system.freedoms:
        raise ConstraintError(
            f"{system.name} has {system.freedoms} degrees of freedom, so that many velocities are "
            f"independent, not {len(set(result))} ({independent})"
        )
    return result


def reduction(
    system: ConstrainedDynamics, q: Array, qd: Array | None = None, independent: str | None = None
) -> Reduction:
    """N, q̇ and the drift at a posture; NaN where ẋ do not determine the motion."""
    free = columns(system, independent)
    maps = metric_at(system, q)
    qd = np.zeros(system.nv) if qd is None else qd
    # P_ω E in the metric M⁻¹; twice, so that near a singular posture only what is there remains
    half, across = maps.half(np.eye(system.nv)[:, free]).T, maps.space.across
    along = np.stack([across(across(column)) for column in half])
    X = maps.M.full_solve(list(along.T))
    inverse = row_space(along, len(free), maps.space.weights)
    N = inverse.solve(X.T)[0].T
    # q̇ and q̈ of what moves by itself, less their parts along N
    n = maps.shortest(system.at(q).b)
    moving = N @ qd[free] + (n - N @ n[free])
    a = maps.shortest(system.at(q, moving).drift)
    return Reduction(*flagged(inverse.lost < 0.5, N, moving, a - N @ a[free]))


@solved(
    "M_r(freedoms, freedoms), h_r(freedoms), N(nv, freedoms), n(nv)",
    "M_r ẍ + h_r = Nᵀ(τ + ψ) in independent velocities, q̇ = N ẋ + n",
    "000 p.58–62",
)
def reduced(
    system: ConstrainedDynamics, q: Array, qd: Array, independent: str | None = None
) -> Reduced:
    """The motion in ẋ at a state; of q̇ only ẋ counts."""
    require_smooth(system, "the reduced form")
    result = reduction(system, q, qd, independent)
    n = result.qd - result.N @ qd[columns(system, independent)]
    return Reduced(mass_matrix(system, q, result), bias(system, q, result), result.N, n)


@solved("J(6, freedoms)", "velocity of a frame per independent velocity", "000 p.58–62")
def frame_jacobian(
    system: ConstrainedDynamics,
    q: Array,
    frame: str = "tool",
    expressed_in: str = "world",
    independent: str | None = None,
) -> Array:
    """J N (6, k): velocity of a frame, (linear, angular), per independent velocity."""
    J = system.dynamics.frame_jacobian(q, frame, expressed_in)
    reduced_jacobian: Array = J @ reduction(system, q, None, independent).N
    return reduced_jacobian


@quantity("Y(nv, inertial)", "Y with Y θ + Aᵀλ = τ + ψ", depends_on_time=False)
def regressor(system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array) -> Array:
    """Y (nv, inertial) with M q̈ + C q̇ + N = Y θ: Y θ + Aᵀλ = τ + ψ, λ free."""
    return system.dynamics.compute("regressor", q=q, qd=qd, qdd=qdd)


@solved("Y_r(freedoms, inertial)", "Nᵀ Y with Nᵀ Y θ = Nᵀ (τ + ψ)", "000 p.58–62")
def reduced_regressor(
    system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array, independent: str | None = None
) -> Array:
    """Nᵀ Y (k, inertial): Nᵀ Y θ = Nᵀ (τ + ψ), whatever λ is."""
    Y_r: Array = reduction(system, q, None, independent).N.T @ regressor(system, q, qd, qdd)
    return Y_r
