"""The motion in independent velocities ẋ, some of the q̇ themselves (000 p.58–62).

    q̇ = N ẋ + n,    A N = 0,    A n = b,    M_r ẍ + h_r = Nᵀ (τ + ψ),    M_r = Nᵀ M N,
    h_r = Nᵀ (C q̇ + N + M (q̈ − N ẍ))

N is found from X = M⁻¹ P_ω E with E the unit velocities of ẋ: EᵀX = M_r⁻¹ is symmetric and positive,
so N = X (EᵀX)⁻¹ needs no pivots and holds wherever ẋ determine the motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.constraints.friction import require_smooth
from dalembert.constraints.inverse import selected
from dalembert.constraints.metric import metric_at
from dalembert.errors import ConstraintError
from dalembert.linalg.entries import flagged
from dalembert.linalg.row_space import row_space

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


class Reduction(NamedTuple):
    """q̇ = N ẋ + n, with ẋ some of the velocities."""

    N: Any  # (nv, k)
    qd: Any  # N ẋ + n (nv,)
    carried: Any  # q̈ − N ẍ (nv,)


class Reduced(NamedTuple):
    """M_r ẍ + h_r = Nᵀ (τ + ψ) with q̇ = N ẋ + n."""

    M_r: Any  # (k, k)
    h_r: Any  # (k,)
    N: Any  # (nv, k)
    n: Any  # (nv,)


def mass_matrix(system: ConstrainedDynamics, q: Any, made: Reduction, t: Any = None) -> Any:
    """M_r (k, k) = Nᵀ M N."""
    return made.N.T @ system.dynamics.at_time(t).mass_matrix(q) @ made.N


def bias(system: ConstrainedDynamics, q: Any, made: Reduction, t: Any = None) -> Any:
    """h_r (k,) = Nᵀ (C q̇ + N + M (q̈ − N ẍ)), in the velocities ẋ alone."""
    plant = system.dynamics.at_time(t)
    return made.N.T @ (plant.bias(q, made.qd) + plant.mass_matrix(q) @ made.carried)


def forces(system: ConstrainedDynamics, q: Any, tau: Any, made: Reduction, t: Any = None) -> Any:
    """τ_r (k,) = Nᵀ (τ + ψ)."""
    return made.N.T @ (tau + system.dynamics.generalized_forces(q, made.qd, t))


def columns(system: ConstrainedDynamics, independent: str | None) -> list[int]:
    """Velocities ẋ, from names joined by commas; None is those that elimination keeps."""
    if not system.freedoms:
        raise ConstraintError(f"{system.name}: the constraints leave nothing to move")
    if independent is None:
        return system.free_columns
    found = selected(system, independent)
    if len(set(found)) != system.freedoms:
        raise ConstraintError(
            f"{system.name} has {system.freedoms} degrees of freedom, so that many velocities are "
            f"independent, not {len(set(found))} ({independent})"
        )
    return found


def reduction(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any = None,
    t: Any = None,
    independent: str | None = None,
) -> Reduction:
    """N, q̇ and what is carried at a posture; NaN where ẋ do not determine the motion."""
    free = columns(system, independent)
    maps = metric_at(system, q, t)
    qd = np.zeros(system.nv) if qd is None else qd
    # P_ω E in the metric M⁻¹; twice, so that near a singular posture only what is there remains
    half, across = maps.half(np.eye(system.nv)[:, free]).T, maps.space.across
    along = np.stack([across(across(column)) for column in half])
    X = maps.M.full_solve(list(along.T))
    inverse = row_space(along, len(free), maps.space.weights)
    N = inverse.solve(X.T)[0].T

    def kept(v: Any) -> Any:
        return v - N @ v[free]

    moving = N @ qd[free] + kept(maps.shortest(system.at(q, None, t).b))
    carried = kept(maps.shortest(system.at(q, moving, t).drift))
    return Reduction(*flagged(inverse.lost < 0.5, N, moving, carried))


def reduced(
    system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None, independent: str | None = None
) -> Reduced:
    """The motion in ẋ at a state; of q̇ only ẋ counts."""
    require_smooth(system, "the reduced form")
    made = reduction(system, q, qd, t, independent)
    n = made.qd - made.N @ qd[columns(system, independent)]
    return Reduced(mass_matrix(system, q, made, t), bias(system, q, made, t), made.N, n)


def frame_jacobian(
    system: ConstrainedDynamics,
    q: Any,
    t: Any = None,
    frame: str = "tool",
    expressed_in: str = "world",
    independent: str | None = None,
) -> Any:
    """J N (6, k): velocity of a frame, (linear, angular), per independent velocity."""
    J = system.dynamics.frame_jacobian(q, frame, expressed_in)
    return J @ reduction(system, q, None, t, independent).N


def regressor(system: ConstrainedDynamics, q: Any, qd: Any, qdd: Any) -> Any:
    """Y (nv, inertial) with M q̈ + C q̇ + N = Y θ: Y θ + Aᵀλ = τ + ψ, λ free."""
    return system.dynamics.compute("regressor", q=q, qd=qd, qdd=qdd)


def reduced_regressor(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    t: Any = None,
    independent: str | None = None,
) -> Any:
    """Nᵀ Y (k, inertial): Nᵀ Y θ = Nᵀ (τ + ψ), whatever λ is."""
    return reduction(system, q, None, t, independent).N.T @ regressor(system, q, qd, qdd)
