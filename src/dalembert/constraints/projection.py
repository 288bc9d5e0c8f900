"""Liu and Li's projections onto T*Q and T*Q⊥ (000 p.65–74).

P_ω = 1 − Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹ takes forces to T*Q, P_T = P_ωᵀ velocities to TQ. Dynamics in T*Q:
P_ω (M q̈ + C q̇ + N − τ) = 0; dynamics in T*Q⊥: M S(q̇, q̇) = (1 − P_ω)(τ − N) − Aᵀλ, with the second
fundamental form S(q̇, q̇) = (1 − P_T)(q̈ + M⁻¹ C q̇).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.implicit import shortest
from dalembert.constraints.metric import Metric, metric
from dalembert.constraints.multiplier import bound, consistent
from dalembert.constraints.terms import terms
from dalembert.linalg.entries import flagged
from dalembert.linalg.ldl import ldl
from dalembert.linalg.symmetric import symmetric
from dalembert.systems.held import StepBack

# from the error of an integration step to rounding
NEWTON_STEPS = 2
# of each diagonal entry of A M⁻¹ Aᵀ, added to it: a step back stays short where a row is being lost
DAMPING = 1e-8


def projectors(system: ConstrainedDynamics, q: Any, t: Any = None) -> tuple[Any, Any]:
    """(P_ω, P_T), each (nv, nv) (000 p.68–70)."""
    A = system.at(q, None, t).A
    P_w = projector(metric(system, system.dynamics.at_time(t).mass_matrix(q), A))
    return P_w, P_w.T


def projector(maps: Metric) -> Any:
    """P_ω (nv, nv) = 1 − Aᵀ M₂♭ A M♯."""
    return np.eye(maps.A.shape[1]) - maps.flat(maps.A)[0].T @ maps.A_sharp


def forward_dynamics(
    system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None
) -> tuple[Any, Any]:
    """(q̈ (nv,), λ (rows,)): P_ω f is the inertia force in T*Q, the drift gives the one in T*Q⊥."""
    M, f, A, drift = terms(system, q, qd, tau, t)
    maps = metric(system, M, A)
    # (1 − P_ω) M q̈ = Aᵀ M₂♭ A q̈ = Aᵀ M₂♭ γ
    normal, _ = maps.flat(drift)
    along = maps.project(f)  # P_ω f
    qdd = maps.M.solve(along + A.T @ normal)
    # (1 − P_ω) f = Aᵀ (λ + M₂♭ γ)
    lam = maps.normal(f - along) - normal
    most = bound(maps.space.squares, f @ maps.M.solve(f))
    _, left = maps.space.coordinates(maps.sharp(f) - drift)
    return flagged(consistent(left, maps.space.lost, drift, most), qdd, lam)


def second_fundamental_form(
    system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None
) -> tuple[Any, Any]:
    """(S(q̇, q̇) (nv,), M S(q̇, q̇)): acceleration normal to Q and the centrifugal force (000 p.72)."""
    plant = system.dynamics.at_time(t)
    rows, M = system.at(q, qd, t), plant.mass_matrix(q)
    maps = metric(system, M, rows.A)
    coriolis = plant.bias(q, qd) - plant.bias(q, np.zeros(system.nv))
    # A (q̈ + M⁻¹ C q̇) with A q̈ = γ, whatever q̈ is along Q
    normal, _ = maps.flat(rows.drift + maps.sharp(coriolis))
    force = rows.A.T @ normal
    return maps.M.solve(force), force


def project(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
    """(q, q̇) nearest to these, in the metric M, with h = 0 and A q̇ = b.

    The step back −M⁻¹Aᵀ (A M⁻¹ Aᵀ)⁺ h, A of the rows that hold positions, is Newton's: it squares
    the error of a state that is off by little.
    """
    for step, times in steps_back(system):
        for _ in range(times):
            q, qd = step(system, q, qd, t)
    return q, qd


def steps_back(system: ConstrainedDynamics) -> tuple[tuple[StepBack, int], ...]:
    """The steps of `project`: (q, q̇, t) → (q, q̇), each with how often it is taken."""
    newton = ((_closer_state, NEWTON_STEPS),) if system.held else ()
    return *newton, (_closer_velocity, 1)


def _closer_state(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
    return closer(system, q, t), qd


def _closer_velocity(
    system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None
) -> tuple[Any, Any]:
    return q, project_velocity(system, q, qd, t)


def closer(system: ConstrainedDynamics, q: Any, t: Any = None, stiff: Any = None) -> Any:
    """q (nq,) after one of Newton's steps to h = 0, the shortest in the metric M + diag(stiff).

    Velocities that are `stiff` (nv,) hardly move as long as others can close the chain.
    """
    found, M = system.at(q, None, t), system.dynamics.at_time(t).mass_matrix(q)
    by = M if stiff is None else M + np.diag(stiff)
    return system.integrate(q, _step_back(by, found.A[list(system.positions)], found.h))


def _step_back(M: Any, A: Any, h: Any) -> Any:
    """δ (nv,) with M δ + Aᵀμ = 0 and A δ − E μ = −h.

    Where a row is being lost, h bends more than it slopes along it: hence the damping E.
    """
    mass = ldl(M)
    B = np.stack(mass.half_solve(A.T)).T
    scaled = B * mass.weights
    S = symmetric(lambda i, j: scaled[i] @ B[j], B.shape[0])
    diagonal = np.stack([S[i, i] for i in range(B.shape[0])])
    E = DAMPING * (diagonal + sum(diagonal[1:], diagonal[0]) / B.shape[0])
    damped = ldl(S + np.diag(E))
    mu = damped.solve(h)

    def solved(f: Any, g: Any) -> Any:
        z = np.stack(mass.half_solve(f))
        found = damped.solve(scaled @ z - g)
        return mass.full_solve(list(z - B.T @ found)), found

    # E, which is small, is held: a change of it would change δ by 1e-8 of the step itself
    delta, _ = bridge.solution(
        [-mass.full_solve(list(B.T @ mu)), mu],
        lambda d, m, e: [M @ d + A.T @ m, A @ d - e * m + h],
        solved,
        solved,
        held=[E],
    )
    return delta


def project_velocity(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> Any:
    """The velocity (nv,) nearest to q̇ in the metric M with A q̇ = b."""
    rows, M = system.at(q, None, t), system.dynamics.at_time(t).mass_matrix(q)
    maps = metric(system, M, rows.A)
    return qd - shortest(maps, M, rows.A, rows.A @ qd - rows.b)
