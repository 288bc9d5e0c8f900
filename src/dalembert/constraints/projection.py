"""Liu and Li's projections onto T*Q and T*Q⊥ (000 p.65–74).

P_ω = 1 − Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹ takes forces to T*Q, P_T = P_ωᵀ velocities to TQ. Dynamics in T*Q:
P_ω (M q̈ + C q̇ + N − τ) = 0; dynamics in T*Q⊥: M S(q̇, q̇) = (1 − P_ω)(τ − N) − Aᵀλ, with the second
fundamental form S(q̇, q̇) = (1 − P_T)(q̈ + M⁻¹ C q̇) and the covariant derivative along Q
∇̃_q̇ q̇ = P_T (q̈ + M⁻¹ C q̇).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert import tracing
from dalembert.constraints.kinds import Time
from dalembert.constraints.kkt import metric, metric_at, terms
from dalembert.constraints.multiplier import bound, consistent
from dalembert.constraints.registry import solved
from dalembert.linalg.factorisations import flagged, ldl, symmetric
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

# from the error of an integration step to rounding
NEWTON_STEPS = 2
# of each diagonal entry of A M⁻¹ Aᵀ, added to it: a step back stays short where a row is being lost
DAMPING = 1e-8


@solved("P_w(nv, nv), P_T(nv, nv)", "P_ω and P_T", "000 p.68")
def projectors(system: ConstrainedDynamics, q: Array) -> tuple[Array, Array]:
    """(P_ω, P_T), each (nv, nv) (000 p.68–70)."""
    maps = metric_at(system, q)
    P_w = np.eye(system.nv) - maps.flat(maps.A)[0].T @ maps.A_sharp  # 1 − Aᵀ M₂♭ A M♯
    return P_w, P_w.T


def forward_dynamics(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)): P_ω f is the inertia force in T*Q, the drift gives the one in T*Q⊥."""
    M, f, A, drift = terms(system, q, qd, tau)
    maps = metric(system, M, A)
    # (1 − P_ω) M q̈ = Aᵀ M₂♭ A q̈ = Aᵀ M₂♭ γ
    normal, _ = maps.flat(drift)
    along = maps.project(f)  # P_ω f
    qdd = maps.M.solve(along + A.T @ normal)
    # (1 − P_ω) f = Aᵀ (λ + M₂♭ γ)
    lam = maps.normal(f - along) - normal
    most = bound(maps.space.squares, f @ maps.M.solve(f))
    _, residual = maps.space.coordinates(maps.sharp(f) - drift)
    return flagged(consistent(system, residual, maps.space.lost, drift, most), qdd, lam)


@solved("S(nv), force(nv)", "S(q̇, q̇) and the centrifugal force M S", "000 p.72")
def second_fundamental_form(
    system: ConstrainedDynamics, q: Array, qd: Array
) -> tuple[Array, Array]:
    """(S(q̇, q̇) (nv,), M S(q̇, q̇)): acceleration normal to Q and the centrifugal force (000 p.72)."""
    maps = metric_at(system, q)
    # A (q̈ + M⁻¹ C q̇) with A q̈ = γ, whatever q̈ is along Q
    normal, _ = maps.flat(system.at(q, qd).drift + maps.sharp(_coriolis(system, q, qd)))
    force = maps.A.T @ normal
    return maps.M.solve(force), force


@solved("a(nv)", "∇_q̇ q̇ = q̈ + M⁻¹ C q̇", "000 p.71–74")
def ambient_derivative(system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array) -> Array:
    """∇_q̇ q̇ (nv,) = q̈ + M⁻¹ C q̇ of the metric M without constraints (000 p.71–74)."""
    a: Array = qdd + ldl(system.dynamics.mass_matrix(q)).solve(_coriolis(system, q, qd))
    return a


@solved("along(nv)", "∇̃_q̇ q̇ = P_T (q̈ + M⁻¹ C q̇)", "000 p.71–74")
def covariant_derivative(system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array) -> Array:
    """∇̃_q̇ q̇ (nv,) = P_T (q̈ + M⁻¹ C q̇): the acceleration along Q (000 p.71, p.74)."""
    M = system.dynamics.mass_matrix(q)
    maps = metric(system, M, system.at(q).A)
    # M P_T = P_ω M
    return maps.M.solve(maps.project(M @ qdd + _coriolis(system, q, qd)))


def _coriolis(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """C q̇ (nv,): what the velocities add to the bias."""
    plant = system.dynamics
    force: Array = plant.bias(q, qd) - plant.bias(q, np.zeros(system.nv))
    return force


@solved(
    "q(nq), qd(nv)",
    "the nearest state on the constraints, from one that is off by little",
    "000 p.68",
)
def project(system: ConstrainedDynamics, q: Array, qd: Array) -> tuple[Array, Array]:
    """(q, q̇) nearest to these, in the metric M, with h = 0 and A q̇ = b.

    The step back −M⁻¹Aᵀ (A M⁻¹ Aᵀ)⁺ h, A of the rows that hold positions, is Newton's: it squares
    the error of a state that is off by little.
    """
    for step, times in system.projection_steps:
        for _ in range(times):
            q, qd = step(system, q, qd)
    return q, qd


def position_step(
    system: ConstrainedDynamics, q: Array, qd: Array, t: Time = None
) -> tuple[Array, Array]:
    """The step of `project` that is taken `NEWTON_STEPS` times."""
    return newton_step(system.at_time(t), q), qd


def velocity_step(
    system: ConstrainedDynamics, q: Array, qd: Array, t: Time = None
) -> tuple[Array, Array]:
    """The last step of `project`."""
    return q, project_velocity(system.at_time(t), q, qd)


def newton_step(system: ConstrainedDynamics, q: Array, stiff: Array | None = None) -> Array:
    """q (nq,) after one of Newton's steps to h = 0, the shortest in the metric M + diag(stiff).

    Velocities that are `stiff` (nv,) hardly move as long as others can close the chain.
    """
    rows, M = system.at(q), system.dynamics.mass_matrix(q)
    by, own = M if stiff is None else M + np.diag(stiff), closable(system)
    A = rows.A[[system.positions[k] for k in own]]
    # δ (nv,) with M δ + Aᵀμ = 0 and A δ − E μ = −h
    h = rows.h[own]
    mass = ldl(by)
    B = np.stack(mass.half_solve(A.T)).T
    scaled = B * mass.weights
    S = symmetric(lambda i, j: scaled[i] @ B[j], B.shape[0])
    diagonal = np.stack([S[i, i] for i in range(B.shape[0])])
    E = DAMPING * (diagonal + sum(diagonal[1:], diagonal[0]) / B.shape[0])
    damped = ldl(S + np.diag(E))
    mu = damped.solve(h)

    def solved(f: Array, g: Array) -> tuple[Array, Array]:
        z = np.stack(mass.half_solve(f))
        multipliers = damped.solve(scaled @ z - g)
        return mass.full_solve(list(z - B.T @ multipliers)), multipliers

    # E, which is small, is kept constant: a change of it would change δ by 1e-8 of the step itself
    delta, _ = tracing.solution(
        [-mass.full_solve(list(B.T @ mu)), mu],
        lambda d, m, e: [by @ d + A.T @ m, A @ d - e * m + h],
        solved,
        solved,
        constants=[E],
    )
    q = system.integrate(q, delta)
    return q


def closable(system: ConstrainedDynamics) -> list[int]:
    """Entries of h that a step can close: those of rows that are not dependent by digits."""
    return [k for k, row in enumerate(system.positions) if row not in system.dependent]


@solved("qd(nv)", "the nearest velocity the constraints allow", "000 p.68")
def project_velocity(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """The velocity (nv,) nearest to q̇ in the metric M with A q̇ = b."""
    rows, M = system.at(q), system.dynamics.mass_matrix(q)
    maps, A = metric(system, M, rows.A), rows.A
    error = A @ qd - rows.b
    v = maps.shortest(error)
    if tracing.is_differentiating():
        # the least v with A v = A q̇ − b, from M v + Aᵀμ = 0
        v, _ = tracing.solution(
            [v, -maps.flat(error)[0]],
            lambda v, mu: [M @ v + A.T @ mu, A @ v - error],
            lambda f, drift: maps.motion(f, drift)[:2],
            lambda f, drift: maps.motion(f, drift)[:2],
        )
    qd = qd - v
    return qd
